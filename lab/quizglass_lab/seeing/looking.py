"""Measures the detector as the server uses it: does the asked-for thing's box hold it, and is it recognised by it?

On a world that no model has seen: questions about one of the things in a picture, by the words that describe it (what
QA-Dragon's image agent asks for) and by those of the question.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
import torch

from quizglass.values import Region
from quizglass_bundle.fields import Size
from quizglass_bundle.inputs.resizing import RGB
from quizglass_bundle.inputs.vision_inputs import fit
from quizglass_bundle.tuning import Tuning, Views
from quizglass_lab.pocketworld.arrangement import boxes
from quizglass_lab.pocketworld.dataset import PICTURE_SIZE
from quizglass_lab.pocketworld.draw import draw_scene, draw_thing
from quizglass_lab.pocketworld.layout import intersection_over_union
from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.questions import make_questions
from quizglass_lab.pocketworld.world import World, make_world
from quizglass_lab.retrieval.image_encoder import normalise_pixels
from quizglass_lab.retrieval.picture_search import EVIDENCE, Gallery, Regions, TrainedImageEncoder
from quizglass_lab.retrieval.thresholds import Report, best_threshold, recalls
from quizglass_lab.retrieval.training import DONE, finished
from quizglass_lab.seeing.detector_shape import SIDE, PhraseReader, load_detector
from quizglass_lab.seeing.phrases import NO_THINGS
from quizglass_lab.seeing.scenes import SCENE_SIZE
from quizglass_lab.starter_bundle.settings import read_settings
from quizglass_server.domain.regions import Detection
from quizglass_server.domain.turns import Picture
from quizglass_server.roles.detector import distinct
from quizglass_server.roles.shared.fitting import content_hash
from quizglass_server.steps.language.phrases import phrases_of
from quizglass_server.steps.lookup.image_search import embed_views, search_pictures
from quizglass_server.steps.lookup.parts.crop import Part, place_of, views_of
from quizglass_server.steps.lookup.parts.detect import around, chosen

WORLD = (7001, 1000, 400)
"""Seed and size of the world, and how many questions."""
OVERLAP, FORMAT = 0.5, 2
_MISSING = 1_000_000


class TrainedDetector:
    """The trained detector with the interface of the server's, for square pictures."""

    def __init__(self, folder: Path) -> None:
        self._model, tokenizer = load_detector(folder)
        self._reader = PhraseReader(tokenizer)

    async def detect(self, picture: Picture, phrases: Sequence[str], least_score: float) -> list[Detection]:
        """Regions that show what the phrases say, likeliest first."""
        pixels = fit(np.ascontiguousarray(picture.pixels), Size(width=SIDE, height=SIDE))
        ids, mask = self._reader.rows(phrases)
        with torch.inference_mode():
            output = self._model(pixel_values=normalise_pixels(np.stack([pixels])), input_ids=ids, attention_mask=mask)
        scores = output.logits[0].sigmoid().double().numpy()
        return distinct(scores, output.pred_boxes[0].double().numpy(), phrases, least_score)


@dataclass(frozen=True)
class Sight:
    """A question's picture, the number of the thing that it is about, and that thing's box."""

    question: Question
    pixels: RGB
    number: int
    box: Region

    @property
    def tags(self) -> tuple[str, ...]:
        """Groups that the sight is counted in."""
        count = len(self.question.scene.things)
        return "all", "one thing" if count == 1 else "2 or 3 things" if count < 4 else "4 to 6 things"


def sights(world: World, count: int, seed: int) -> Iterator[Sight]:
    """Questions about one thing that the picture shows; half of the scenes show several."""
    alone = several = 0
    for question in make_questions(world, 6 * count, seed, groups=("image", "both"), format=FORMAT):
        ids = [placed.thing.id for placed in question.scene.things]
        if not question.meant or question.target not in ids or (len(ids) == 1 and 2 * alone >= count):
            continue
        alone, several = alone + (len(ids) == 1), several + (len(ids) > 1)
        number = ids.index(question.target)
        pixels = np.asarray(draw_scene(question.scene, SCENE_SIZE), np.uint8)
        yield Sight(question, pixels, number, Region(*boxes(question.scene)[number]))
        if alone + several == count:
            return


def finder(workdir: Path) -> Regions | None:
    """Where the trained detector finds what a question asks about, with the line that its stage measured, or else the
    settings have; None: there is no detector."""
    folder = workdir / "detector"
    if not (folder / "model.safetensors").is_file():
        return None
    detector, how = TrainedDetector(folder), Tuning(detect_accept=line_of(folder))

    async def regions(picture: Picture, question: str) -> list[Region]:
        found = await detector.detect(picture, phrases_of(question), how.detect_accept)
        return [around(each, picture) for each in chosen(found, place_of(question), how)]

    return regions


def line_of(folder: Path) -> float:
    """The threshold in a finished detector's report; of one that was copied that of the settings beside it; where there
    is none what the server takes."""
    if finished(folder):
        measured = json.loads((folder / DONE).read_text(encoding="utf-8")).get("detect_accept")
        return Tuning().detect_accept if measured is None else float(measured)
    return read_settings(folder.parent).thresholds.detect_accept


def evaluate_detector(workdir: Path, seed: int, things: int, count: int) -> Report:
    """Shares of asked-for things boxed at IoU >= 0.5, recall of their entries by views and boxes, and the threshold."""
    return asyncio.run(_evaluate(workdir, make_world(seed, things, format=FORMAT), count, seed))


async def _evaluate(workdir: Path, world: World, count: int, seed: int) -> Report:
    detector, encoder = TrainedDetector(workdir / "detector"), TrainedImageEncoder(workdir / "image_encoder")
    drawn = [_picture(np.asarray(draw_thing(thing.look, PICTURE_SIZE), np.uint8)) for thing in world.things]
    gallery = Gallery(world, await encoder.embed(drawn))
    tally, rng = Tally(), random.Random(seed)
    for sight in sights(world, count, seed):
        picture = _picture(sight.pixels)
        for way, phrases in {"described": [sight.question.meant], "asked": phrases_of(sight.question.text)}.items():
            answers = await detector.detect(picture, phrases, 0.0)
            tally.add(way, sight, answers, place_of(sight.question.text))
        answers = await detector.detect(picture, [sight.question.meant], 0.0)
        absent = await detector.detect(picture, [rng.choice(NO_THINGS)], 0.0)
        tally.unsure += [each.score for each in absent[:1]]
        for way, rank in (await _ranks(sight, picture, answers, gallery, encoder)).items():
            for tag in sight.tags:
                tally.ranks[f"{way}, {tag}"].append(rank)
    return tally.report()


class Tally:
    """What was seen and recognised so far."""

    def __init__(self) -> None:
        self._boxed: dict[str, list[bool]] = defaultdict(list)
        self._sure: list[float] = []
        self.unsure: list[float] = []
        self.ranks: dict[str, list[int]] = defaultdict(list)

    def add(self, way: str, sight: Sight, answers: Sequence[Detection], place: str | None) -> None:
        """Count whether the first box is the thing's, at the place that the question names if there is one."""
        first = chosen(answers, place, Tuning(boxes=1))
        hit = bool(first) and intersection_over_union(astuple(first[0]), astuple(sight.box)) >= OVERLAP
        if hit and way == "described":
            self._sure.append(answers[0].score)
        for tag in sight.tags:
            self._boxed[f"{way}, {tag}"].append(hit)

    def report(self) -> Report:
        """Shares, recalls, and the probability that tells what is there from what is not."""
        line = best_threshold(self._sure, self.unsure) if self._sure and self.unsure else {}
        return {
            "boxed": {tag: [len(hits), round(float(np.mean(hits)), 4)] for tag, hits in sorted(self._boxed.items())},
            "recognised": {way: recalls(values) for way, values in sorted(self.ranks.items())},
            "accept": line,
            "detect_accept": line.get("threshold"),
        }


async def _ranks(
    sight: Sight, picture: Picture, answers: Sequence[Detection], gallery: Gallery, encoder: TrainedImageEncoder
) -> dict[str, int]:
    """Where the asked-for thing's entry stands when looked up by views, by the best box, and by both; no kind bonus."""
    how, question = Tuning(views=Views.model_validate(EVIDENCE["views"]), boxes=1), sight.question
    views = views_of(question.text, how.views)
    regions = [around(each, picture) for each in chosen(answers, place_of(question.text), how)]
    ways: dict[str, tuple[Part, ...]] = {
        "views": views,
        "boxes": tuple(regions),
        "views and boxes": (*views, *regions),
        "true box": (around(sight.box, picture),),
    }
    ranks = {}
    for way, parts in ways.items():
        vectors = await embed_views(encoder, picture, parts) if parts else []
        found = await search_pictures(gallery, vectors, question.text, how)
        ids = [hit.entry.id for hit in found.hits]
        ranks[way] = ids.index(question.target) if question.target in ids else _MISSING
    return ranks


def _picture(pixels: RGB) -> Picture:
    return Picture(content_hash(pixels), pixels)
