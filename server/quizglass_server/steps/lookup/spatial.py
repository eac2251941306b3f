"""Tells which entries a picture shows by keypoints that lie in it as in the entries' own pictures."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quizglass_server.domain.entries import EntryHit
from quizglass_server.domain.turns import Picture, StepDetail
from quizglass_server.knowledge.content.keypoints import Keypoints, same_places
from quizglass_server.scheduling.at_once import at_once
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import texts

MOST_PICTURES = 2
"""Of an entry that are compared: comparing costs by the picture."""
_SAME = 0.7
"""The share of the keypoints of two entries that both have, from which their pictures are one picture."""


class KeypointSource(Protocol):
    """What has keypoints."""

    async def of_frame(self, picture: Picture) -> Keypoints:
        """Those of a picture that was asked about."""
        ...

    async def of_entry(self, sha256: bytes) -> Keypoints | None:
        """Those of a stored picture; None where there is none that can be shown."""
        ...


def _count(_: Picture, hits: Sequence[EntryHit], __: int) -> float:
    return len(hits)


def _told(shown: list[EntryHit] | None, _: Picture, hits: Sequence[EntryHit], least: int) -> Telling:
    given = texts("candidate", *(hit.entry.title for hit in hits))
    return (*given, StepDetail("least", str(least))), texts("entry", *(hit.entry.title for hit in shown or ()))


@step("spatial_match", role="keypoints", optional=True, size=_count, told=_told)
async def match_places(
    source: KeypointSource, picture: Picture, hits: Sequence[EntryHit], least: int
) -> list[EntryHit]:
    """The entries whose things the picture shows, the clearest first.

    Args:
        source: has the keypoints of pictures.
        picture: what was asked about.
        hits: candidates: what some part of the picture is like.
        least: how many keypoints an entry's picture must share. Each counts for one entry: things that were
            photographed at one place share what is around them. Entries that have one picture share all: they are
            told apart elsewhere (`alike`), and all of them are returned.
    """
    frame = await source.of_frame(picture)
    if len(frame.places) < least:  # no picture of the store has to be read for that
        return []
    shared = await at_once([_shared(source, frame, hit) for hit in hits])
    taken, shown = np.zeros(len(frame.places), bool), list[tuple[EntryHit, NDArray[np.intp]]]()
    for hit, places in sorted(zip(hits, shared, strict=True), key=lambda each: -len(each[1])):
        own = int((~taken[places]).sum())
        if own >= least or (len(places) >= least and any(_is_same(places, others) for _, others in shown)):
            shown.append((hit, places))
        taken[places] = True
    return [hit for hit, _ in shown]


def _is_same(places: NDArray[np.intp], others: NDArray[np.intp]) -> bool:
    return len(np.intersect1d(places, others)) >= _SAME * len(np.union1d(places, others))


async def _shared(source: KeypointSource, frame: Keypoints, hit: EntryHit) -> NDArray[np.intp]:
    best = np.zeros(0, np.intp)
    for sha256 in hit.entry.picture_sha256[:MOST_PICTURES]:
        stored = await source.of_entry(sha256)
        places = best if stored is None else await asyncio.to_thread(same_places, frame, stored)
        best = max(best, places, key=len)
    return best
