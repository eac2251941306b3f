"""The server's image search, run on a world that no model has seen: the same views and boxes, the same fusion, real
questions of both formats.

What it measures sets the threshold that goes with the served procedure (`quizglass_server.steps.lookup.image_search`).
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from transformers import CLIPVisionModelWithProjection

from quizglass.values import Entry, Region
from quizglass_bundle.fields import Size
from quizglass_bundle.inputs.vision_inputs import fit
from quizglass_bundle.tuning import EvidenceLimits, Thresholds, Tuning
from quizglass_lab.pocketworld.dataset import PICTURE_SIZE, SCENE_SIZE
from quizglass_lab.pocketworld.draw import draw_scene, draw_thing
from quizglass_lab.pocketworld.questions import Question, make_questions
from quizglass_lab.pocketworld.world import FORMATS, World, make_world
from quizglass_lab.retrieval.image_encoder import embed_images
from quizglass_lab.retrieval.shapes import IMAGE_SIZE
from quizglass_lab.retrieval.thresholds import Report, keeping_threshold, match_of, recalls
from quizglass_lab.starter_bundle.settings import read_settings
from quizglass_server.domain.entries import EntryHit
from quizglass_server.domain.turns import Picture, Vector
from quizglass_server.roles.shared.fitting import content_hash
from quizglass_server.steps.lookup.image_search import embed_views, search_pictures
from quizglass_server.steps.lookup.parts.crop import place_of, views_of

EVIDENCE: dict[str, Any] = {
    "views": {"placed": [0.5, 0.4], "unplaced": [1.0, 0.5]},
    "box_step": 0.2,
    "kind_bonus": 0.2,
}
"""How the starter bundle searches by picture, chosen on the world of the thresholds."""
_KEPT_SHARE = 0.995
"""Of right first hits: a line that turns away twice as many turns away hardly more strangers."""
_MISSING = 1_000_000
Regions = Callable[[Picture, str], Awaitable[Sequence[Region]]]
"""From a picture and a question to the regions that the picture is searched for by; none: by the views."""


@dataclass(frozen=True)
class Found:
    """What one question's picture brought back."""

    question: Question
    format: int
    hits: Sequence[EntryHit]
    strangers: Sequence[EntryHit]
    """What the same search brings back in a world without the thing."""

    @property
    def rank(self) -> int:
        """Position of the thing, from 0; beyond every limit if it was not brought back."""
        ids = [hit.entry.id for hit in self.hits]
        return ids.index(self.question.target) if self.question.target in ids else _MISSING

    @property
    def tags(self) -> tuple[str, ...]:
        """Groups that the question is counted in."""
        scene, fault = self.question.scene, self.question.scene.fault
        place = "placed" if place_of(self.question.text) else "unplaced"
        things, fault_name = f"things {len(scene.things)}, {place}", f"fault {fault.name if fault else 'none'}"
        return "all", f"format {self.format}", things, fault_name


class TrainedImageEncoder:
    """The trained encoder with the interface of the server's image encoder."""

    def __init__(self, folder: Path) -> None:
        self._model = CLIPVisionModelWithProjection.from_pretrained(folder)
        self.dimension = int(self._model.config.projection_dim)
        self.fingerprint = ""

    async def embed(self, pictures: Sequence[Picture]) -> list[Vector]:
        """One vector a picture."""
        size = Size(width=IMAGE_SIZE, height=IMAGE_SIZE)
        pixels = np.stack([fit(np.ascontiguousarray(picture.pixels), size) for picture in pictures])
        return list(embed_images(self._model, pixels).numpy())


class Gallery:
    """The pictures of a world's entries; one entry can be hidden, so that its thing is a stranger."""

    def __init__(self, world: World, vectors: Sequence[Vector]) -> None:
        self._entries = [Entry(thing.id, thing.name, kind=thing.kind) for thing in world.things]
        self._vectors = np.stack(list(vectors))
        self.hidden: str | None = None

    async def search_views(self, vectors: Sequence[Vector], limit: int) -> list[list[EntryHit]]:
        """For each vector, the entries with the nearest pictures, best first."""
        return [self._nearest(vector, limit) for vector in vectors]

    def _nearest(self, vector: Vector, limit: int) -> list[EntryHit]:
        scores = self._vectors @ vector
        order = (int(i) for i in np.argsort(-scores)[: limit + 1])
        hits = [EntryHit(self._entries[i], float(scores[i])) for i in order if self._entries[i].id != self.hidden]
        return hits[:limit]


def tuning(evidence: EvidenceLimits) -> Tuning:
    """The procedure of a bundle, without a threshold."""
    return Tuning.of(evidence, Thresholds(), "")


def evaluate_images(workdir: Path, seed: int, things: int, queries: int, regions: Regions | None = None) -> Report:
    """Recall of the thing that a question is about, as `settings.json` says it is searched for, and the threshold.

    Args:
        workdir: has `image_encoder` and `settings.json`.
        seed: of the world and the questions.
        things: how many the world has.
        queries: half of them of each format.
        regions: where the detector finds what is asked about.

    Raises:
        ExportError: `settings.json` is not as documented.
    """
    how = tuning(read_settings(workdir).evidence)
    world = make_world(seed, things, format=FORMATS[-1])
    search = Search(TrainedImageEncoder(workdir / "image_encoder"), world, how, regions)
    found = asyncio.run(search.all(_questions(world, queries, seed)))
    ranks: dict[str, list[int]] = defaultdict(list)
    for one in found:
        for tag in one.tags:
            ranks[tag].append(one.rank)
    report: Report = {name: recalls(values) for name, values in sorted(ranks.items())}
    firsts = [one.hits[0].score for one in found if one.rank == 0]
    accept = keeping_threshold(firsts, [hit.score for one in found for hit in one.strangers[:1]], _KEPT_SHARE)
    kept = [replace(one, hits=[hit for hit in one.hits if hit.score >= accept["threshold"]]) for one in found]
    return report | {
        "accept": accept,
        "accepted": recalls([one.rank for one in kept]),
        "match": match_of(
            _firsts(one.hits for one in found if one.rank == 0),
            _firsts(hits for one in found for hits in (one.strangers, one.hits if one.rank else ())),
        ),
    }


def _firsts(searches: Iterable[Sequence[EntryHit]]) -> list[tuple[float, float]]:
    """Cosine of the first entry, and its margin over the best of the others, where there are any."""
    several = [[hit.score for hit in hits] for hits in searches if len(hits) > 1]
    return [(first, first - max(others)) for first, *others in several]


def _picture(drawn: Image.Image) -> Picture:
    pixels = np.asarray(drawn)
    return Picture(content_hash(pixels), pixels)


class Search:
    """The searches of one world, with the interface of the server's steps."""

    def __init__(self, encoder: TrainedImageEncoder, world: World, how: Tuning, regions: Regions | None) -> None:
        self._encoder = encoder
        self._world = world
        self._how = how
        self._regions = regions

    async def all(self, questions: Iterator[tuple[int, Question]]) -> list[Found]:
        """What each question, with its format, brings back."""
        pictures = [_picture(draw_thing(thing.look, PICTURE_SIZE)) for thing in self._world.things]
        gallery = Gallery(self._world, await self._encoder.embed(pictures))
        return [await self._found(gallery, number, question) for number, question in questions]

    async def _found(self, gallery: Gallery, number: int, question: Question) -> Found:
        picture = _picture(draw_scene(question.scene, SCENE_SIZE))
        regions = await self._regions(picture, question.text) if self._regions else ()
        vectors = await embed_views(self._encoder, picture, regions or views_of(question.text, self._how.views))
        step = self._how.box_step if regions else 0.0
        gallery.hidden = None
        hits = (await search_pictures(gallery, vectors, question.text, self._how, step=step)).hits
        gallery.hidden = question.target
        others = (await search_pictures(gallery, vectors, question.text, self._how, step=step)).hits
        return Found(question, number, hits, others)


def _questions(world: World, queries: int, seed: int) -> Iterator[tuple[int, Question]]:
    """Questions that need the picture looked up, and the formats of their scenes."""
    for number in FORMATS:
        asked = make_questions(world, queries // len(FORMATS), seed, groups=("image", "both"), format=number)
        yield from ((number, question) for question in asked if question.target)
