"""Open-vocabulary detectors: Grounding DINO (Liu et al. 2023) and OWLv2 (Minderer et al. 2023)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quizglass.values import Region
from quizglass_bundle.fields import Normalised, Size, graphs
from quizglass_bundle.inputs.products import product
from quizglass_bundle.inputs.prompts import clean
from quizglass_bundle.inputs.text_rows import TextRow, TextTokenizer, padded
from quizglass_bundle.inputs.vision_inputs import channels
from quizglass_bundle.parts import OWL, DetectorPart
from quizglass_server.domain.regions import Detection
from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.engines.cache import BoundedCache
from quizglass_server.engines.onnx.providers import InputRange
from quizglass_server.engines.onnx.session import OnnxSession, Signature
from quizglass_server.errors import BundleError
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.shared.grids import Grids, blank, pixel_range
from quizglass_server.roles.shared.loading import Loading, RoleKey
from quizglass_server.roles.shared.logits import checked, sigmoid
from quizglass_server.scheduling.clients import current_client

MAX_PHRASES = 8
SAME = 0.5
"""Boxes of one phrase that overlap by more are one thing; the likelier one stays."""
_GREY = 128
_KEPT_PHRASES, _LATELY = 1024, 32

Scores = NDArray[np.float64]
"""[boxes, phrases], 0 to 1."""


class Detector(Protocol):
    """Finds things in pictures by words for them."""

    async def detect(self, picture: Picture, phrases: Sequence[str], least_score: float) -> list[Detection]:
        """Regions that show what the phrases say with at least this probability, likeliest first."""
        ...

    async def guess(self, picture: Picture, least_score: float, each: int) -> list[Detection]:
        """Regions that show what was lately looked for in other pictures, likeliest first: `each` of every phrase.

        What finding anything in the picture begins with is done and kept. Nothing where all of that needs phrases.
        """
        ...


DETECTOR = RoleKey[Detector]("detector")


@dataclass(frozen=True, slots=True)
class _Phrases:
    """Phrases as the model takes them, and which columns of its logits belong to which of them."""

    inputs: dict[str, NDArray[np.int64]]
    columns: list[slice]


class OnnxDetector:
    """Where a picture shows what phrases say."""

    def __init__(self, spec: DetectorPart, loading: Loading) -> None:
        """Load.

        Raises:
            BundleError: a file of the role is damaged, or gives other boxes than the manifest says.
        """
        self._spec = spec
        self._pool = loading.pool
        self._fitter = loading.fitter
        self.executor = ""
        """What runs it: tensorrt, cuda or cpu."""
        self._tokenizer = TextTokenizer(loading.files.path(spec.tokenizer), spec.max_tokens)
        self._frame, self._stop = self._marks(spec)
        self._halves: _Halves | None = None
        if spec.text_model is not None:
            self._halves = _Halves(spec, spec.text_model, loading)
            self.executor = self._halves.executor
            self._halves.warm_up(self._phrases(["a"]))
            return
        graphs_by_size = [(size, _DetectorGraph(spec, size, name, loading)) for size, name in graphs(spec)]
        self._graphs = Grids(graphs_by_size)
        self.executor = self._graphs.first.executor
        for size, graph in graphs_by_size:
            graph.run(blank(size), self._phrases(["a"]))

    async def detect(self, picture: Picture, phrases: Sequence[str], least_score: float = 0.0) -> list[Detection]:
        """What was found, likeliest first; boxes of one phrase that nearly coincide count once.

        Args:
            picture: where to look.
            phrases: a few words each; of more than eight the first count.
            least_score: boxes of a smaller probability are left out.
        """
        wanted = [text for phrase in phrases if (text := " ".join(clean(phrase).replace(".", " ").split()))]
        wanted = wanted[:MAX_PHRASES]
        return await self._pool.run(lambda: self._detect(picture, wanted, least_score)) if wanted else []

    async def guess(self, picture: Picture, least_score: float, each: int) -> list[Detection]:
        """Regions that show what was lately looked for in other pictures, likeliest first: `each` of every phrase.

        What finding anything in the picture begins with is done and kept. Nothing where all of that needs phrases.
        """
        halves = self._halves
        return [] if halves is None else await self._pool.run(lambda: halves.guess(picture, least_score, each))

    def _detect(self, picture: Picture, wanted: Sequence[str], least_score: float) -> list[Detection]:
        if self._halves is not None:
            look, vectors = self._halves.look(picture), self._halves.vectors(wanted, self._phrases)
            return look.showing(wanted, vectors, least_score)
        phrases = self._phrases(wanted)
        if self._spec.kind == OWL:
            side = max(picture.width, picture.height)
            graph = self._graphs.fitting(side, side)
            square, shown = squared(picture, graph.size, self._fitter)
            scores, boxes = graph.run(square, phrases)
            boxes = _unpadded(boxes, graph.size, shown)
        else:
            graph = self._graphs.fitting(picture.width, picture.height)
            scores, boxes = graph.run(self._fitter.fit(picture, graph.size), phrases)
        return distinct(scores, boxes, wanted, least_score)

    def _phrases(self, phrases: Sequence[str]) -> _Phrases:
        """OWLv2 takes a row for each phrase, Grounding DINO one row with a full stop after each."""
        if self._spec.kind == OWL:
            inputs = padded(self._tokenizer.rows(phrases), self._spec.max_tokens)
            columns = [slice(place, place + 1) for place in range(len(phrases))]
        else:
            row, columns = self._sentence(phrases)
            inputs = padded([row])
        return _Phrases({name: inputs[name] for name in ("input_ids", "attention_mask")}, columns)

    def _sentence(self, phrases: Sequence[str]) -> tuple[TextRow, list[slice]]:
        before, after = self._frame
        ids, columns = list(before), list[slice]()
        for row in self._tokenizer.rows(phrases):
            words = row.ids[len(before) : len(row) - len(after)]
            room = self._spec.max_tokens - len(ids) - len(self._stop) - len(after)
            words = words[: max(room, 0)]
            columns.append(slice(len(ids), len(ids) + len(words)))
            ids += [*words, *self._stop] if words else []
        ids += after
        return TextRow(ids, [0] * len(ids)), columns

    def _marks(self, spec: DetectorPart) -> tuple[tuple[list[int], list[int]], list[int]]:
        """Special tokens before and after a text, and the full stop's."""
        empty, stop = (self._tokenizer.rows([text])[0].ids for text in ("", "."))
        before = next((place for place, (one, other) in enumerate(zip(empty, stop, strict=False)) if one != other), 0)
        after = len(empty) - before
        marks = stop[before : len(stop) - after]
        if spec.kind != OWL and not marks:
            raise BundleError(f"{spec.tokenizer}: has no token for a full stop, which ends the detector's phrases")
        return (empty[:before], empty[before:]), marks


class _DetectorGraph:
    """The detector's graph for one picture size."""

    def __init__(self, spec: DetectorPart, size: Normalised, model: str, loading: Loading) -> None:
        self.size = size
        self._boxes = spec.boxes
        longest = spec.max_tokens
        text = InputRange((1, 1), (1, min(16, longest)), (1, longest))
        if spec.kind == OWL:
            text = InputRange((1, longest), (1, longest), (MAX_PHRASES, longest))
        shapes = {"pixel_values": pixel_range(size, 1), "input_ids": text, "attention_mask": text}
        self._session = OnnxSession(loading.files.path(model), Signature("pred_boxes", shapes), loading.how)
        self.executor = self._session.executor

    def run(self, pixels: RGB, phrases: _Phrases) -> tuple[Scores, NDArray[np.float64]]:
        """A score for each box and phrase, and the boxes [boxes, 4]: centre x, centre y, width, height, 0 to 1."""
        inputs: dict[str, NDArray[np.generic]] = dict(phrases.inputs)
        inputs["pixel_values"] = channels(pixels, self.size)[None]
        logits, boxes = self._session.run_for(["logits", "pred_boxes"], inputs)
        name, width = self._session.name, logits.shape[-1]
        checked(boxes, (1, self._boxes, 4), name)
        likely = sigmoid(checked(logits, (1, self._boxes, width), name)[0])
        scores = [likely[:, columns].max(axis=1, initial=0.0) for columns in phrases.columns]
        return np.stack(scores, axis=1), boxes[0].astype(np.float64)


@dataclass(frozen=True, eq=False, slots=True)
class _SeenPicture:
    """What OWLv2 makes of a picture, whatever is looked for in it."""

    vectors: NDArray[np.float32]
    """[boxes, D]: the product with a phrase's vector is that phrase's logit."""
    boxes: NDArray[np.float64]
    """[boxes, 4]: centre x, centre y, width, height, as shares of the picture's sides."""

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return self.vectors.nbytes + self.boxes.nbytes

    def showing(self, phrases: Sequence[str], vectors: NDArray[np.float32], least_score: float) -> list[Detection]:
        """What shows phrases of these vectors [phrases, D], as `distinct` has it."""
        return distinct(sigmoid(product(self.vectors, vectors.T)), self.boxes, phrases, least_score)


class _Halves:
    """OWLv2 in two graphs, for pictures and for phrases. Both are kept: of one picture much is asked, and of many
    pictures the same.
    """

    def __init__(self, spec: DetectorPart, phrases: str, loading: Loading) -> None:
        size, longest = spec.picture, spec.max_tokens
        text = InputRange((1, longest), (1, longest), (MAX_PHRASES, longest))
        self._size, self._boxes, self._fitter = size, spec.boxes, loading.fitter
        self._of_pictures = OnnxSession(
            loading.files.path(spec.model), Signature("pred_boxes", {"pixel_values": pixel_range(size, 1)}), loading.how
        )
        self._of_phrases = OnnxSession(
            loading.files.path(phrases),
            Signature("phrase_vectors", {"input_ids": text, "attention_mask": text}),
            loading.how,
        )
        self.executor = self._of_pictures.executor
        self._looks = BoundedCache[bytes, _SeenPicture](
            loading.fitter.kept_bytes, lambda look: look.nbytes, kind="forms"
        )
        self._vectors = BoundedCache[tuple[str, str], NDArray[np.float32]](_KEPT_PHRASES)
        """By tenant and phrase."""

    def warm_up(self, phrases: _Phrases) -> None:
        """Run both once, so that graphs that do not fit each other fail now and not in a turn."""
        vectors = self._of_phrases.run(phrases.inputs)
        seen, _ = self._run(blank(self._size))
        checked(vectors, (1, seen.shape[1]), self._of_phrases.name)

    def look(self, picture: Picture) -> _SeenPicture:
        """What the model makes of a picture, made once."""
        look = self._looks.get(picture.key)
        if look is None:
            square, shown = squared(picture, self._size, self._fitter)
            vectors, boxes = self._run(square)
            look = _SeenPicture(vectors, _unpadded(boxes, self._size, shown))
            self._looks.put(picture.key, look)
        return look

    def vectors(self, wanted: Sequence[str], rows: Callable[[Sequence[str]], _Phrases]) -> NDArray[np.float32]:
        """A vector for each phrase [phrases, D], those made now in one run; `rows` makes its inputs."""
        tenant = current_client().tenant
        kept = {phrase: self._vectors.get((tenant, phrase)) for phrase in wanted}
        vectors = {phrase: vector for phrase, vector in kept.items() if vector is not None}
        if missing := [phrase for phrase in kept if phrase not in vectors]:
            vectors |= zip(missing, self._of_phrases.run(rows(missing).inputs), strict=True)
        for phrase, vector in vectors.items():  # also those that are there: they were looked for lately
            self._vectors.put((tenant, phrase), vector)
        return np.stack([vectors[phrase] for phrase in wanted])

    def guess(self, picture: Picture, least_score: float, each: int) -> list[Detection]:
        """See `Detector.guess`."""
        look = self.look(picture)
        tenant, newest = current_client().tenant, self._vectors.newest(_KEPT_PHRASES)
        lately = [(phrase, vector) for (whose, phrase), vector in newest.items() if whose == tenant][-_LATELY:]
        shown = [look.showing([phrase], vector[None], least_score)[:each] for phrase, vector in lately]
        return sorted((one for some in shown for one in some), key=lambda one: -one.score)

    def _run(self, square: RGB) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Vectors and boxes of a picture in the model's size."""
        inputs = {"pixel_values": channels(square, self._size)[None]}
        vectors, boxes = self._of_pictures.run_for(["box_vectors", "pred_boxes"], inputs)
        name = self._of_pictures.name
        checked(boxes, (1, self._boxes, 4), name)
        return checked(vectors, (1, self._boxes, vectors.shape[-1]), name)[0], boxes[0].astype(np.float64)


def _unpadded(boxes: NDArray[np.float64], size: Size, shown: Size) -> NDArray[np.float64]:
    """Boxes as shares of the picture, of ones that are shares of the square which it was padded to."""
    return np.asarray(boxes * np.array([size.width / shown.width, size.height / shown.height] * 2))


def squared(picture: Picture, size: Size, fitter: PictureFitter) -> tuple[RGB, Size]:
    """A picture as OWLv2 was trained on them: padded to a square at the right and the bottom, and that in a size.

    It is made smaller before it is padded: the square of a long picture in its own size would take eight times as much
    memory as the picture.

    Returns:
        The square, uint8 [size.height, size.width, 3], and how much of it the picture is, from its upper left corner.
    """
    side = max(picture.width, picture.height)
    width, height = round(size.width * picture.width / side), round(size.height * picture.height / side)
    shown = Size(width=max(width, 1), height=max(height, 1))
    square = np.full((size.height, size.width, 3), _GREY, np.uint8)
    square[: shown.height, : shown.width] = fitter.fit(picture, shown)
    return square, shown


def distinct(
    scores: Scores, boxes: NDArray[np.float64], phrases: Sequence[str], least_score: float = 0.0
) -> list[Detection]:
    """Each box for its likeliest phrase, likeliest first, without those that a likelier one of the phrase covers.

    Args:
        scores: of each box and phrase.
        boxes: [boxes, 4]: centre x, centre y, width, height, 0 to 1; what lies outside of the picture is cut off.
        phrases: in the order of the scores.
        least_score: boxes of a smaller one are left out.
    """
    best, phrase = scores.max(axis=1), scores.argmax(axis=1)
    centres, halves = boxes[:, :2], boxes[:, 2:] / 2
    sides = np.concatenate([centres - halves, centres + halves], axis=1).clip(0.0, 1.0)
    left = (best >= least_score) & (_areas(sides) > 0)
    detections: list[Detection] = []
    for place in np.argsort(-best, kind="stable"):
        if left[place]:
            left &= (phrase != phrase[place]) | (_overlaps(sides, sides[place]) <= SAME)
            detections.append(Detection(Region(*map(float, sides[place])), float(best[place]), phrases[phrase[place]]))
    return detections


def _areas(sides: NDArray[np.float64]) -> NDArray[np.float64]:
    """Areas of rectangles [N, 4]: left, top, right, bottom."""
    return np.asarray((sides[:, 2:] - sides[:, :2]).clip(0.0).prod(axis=1))


def _overlaps(sides: NDArray[np.float64], one: NDArray[np.float64]) -> NDArray[np.float64]:
    """Area that each shares with `one` over the area that either covers; `one` is not empty."""
    shared = _areas(np.concatenate([np.maximum(sides[:, :2], one[:2]), np.minimum(sides[:, 2:], one[2:])], axis=1))
    return np.asarray(shared / (_areas(sides) + _areas(one[None]) - shared))
