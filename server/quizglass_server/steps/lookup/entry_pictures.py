"""Brings the pictures of entries, for prompts that show them beside the wearer's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quizglass_server.domain.turns import Picture
from quizglass_server.scheduling.at_once import at_once
from quizglass_server.scheduling.ledger import handed
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import texts


class PictureSource(Protocol):
    """What has the pictures of entries."""

    async def picture(self, sha256: bytes) -> Picture | None:
        """One, decoded; None when there is none that can be shown."""
        ...


def _count(wanted: Sequence[bytes]) -> float:
    return len(wanted)


def _told(pictures: tuple[Picture, ...] | None, wanted: Sequence[bytes]) -> Telling:
    return texts("wanted", str(len(wanted))), texts("shown", str(len(pictures or ())))


@step("entry_pictures", role="pictures", optional=True, size=_count, told=_told)
async def entry_pictures(source: PictureSource, wanted: Sequence[bytes]) -> tuple[Picture, ...]:
    """The pictures of these hashes in their order, up to the first that cannot be shown.

    A prompt pairs them with lines of evidence, so there is no gap between them.
    """
    handed("knowledge", sum(map(len, wanted)))
    pictures: list[Picture] = []
    for picture in await at_once([source.picture(sha256) for sha256 in wanted]):
        if picture is None:
            break
        pictures.append(picture)
    return tuple(pictures)
