"""Reads printed words with RapidOCR, whose default models come inside its package: nothing is downloaded.

A gate says first whether and where a picture may show words (`wordgate.py`). Detection is the costly half and grows
with the area that is searched, so only that part is; recognition sees it in the picture's own pixels. The whole picture
is searched at the gate's size: at 448 x 448 on one thread of an AMD EPYC a detector side of 736 (the package's default)
takes 350 ms, 448 takes 140 ms and 320 takes 90 ms, all with the same words read on the starter world's signs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from quizglass.values import Region
from quizglass_bundle.inputs.prompts import clean
from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import cpu_session, import_onnxruntime
from quizglass_server.errors import BundleError, EngineFailed
from quizglass_server.roles.shared.loading import RoleKey
from quizglass_server.roles.shared.wordgate import LARGE_SIDE, WordGate, searched_side
from quizglass_server.scheduling.clock import measured_engine
from quizglass_server.scheduling.ledger import handed
from quizglass_server.scheduling.priority import Priority

logger = logging.getLogger(__name__)

MIN_CONFIDENCE = 0.6
_BLOCK = 32
"""The detector takes sides that are multiples of this."""
_NEARLY_ALL = 0.8
"""A larger share of the picture is searched as a whole."""

Corners = Sequence[Sequence[float]]


class Reader(Protocol):
    """Reads printed words in pictures (OCR)."""

    @property
    def reads_all(self) -> bool:
        """Whether every picture is to be read, whatever it shows and whatever is asked."""
        ...

    async def loaded(self) -> None:
        """Load what it reads with, unless that is done. Raises EngineFailed where it cannot be loaded."""
        ...

    async def find(self, picture: Picture) -> Region | None:
        """The part of a picture that may show words, cheaply; None when nothing does."""
        ...

    async def read(self, picture: Picture, part: Region | None = None) -> list[str]:
        """Lines of words in a part of a picture or in all of it, top to bottom, left to right."""
        ...

    async def locate(self, picture: Picture, part: Region | None = None) -> list[Region]:
        """Where the lines are, in shares of the picture's sides, cheaper than reading them."""
        ...


READER = RoleKey[Reader]("reader")


class RapidOcrReader:
    """Lines of printed words."""

    executor = "cpu"

    def __init__(
        self, pool: EnginePool, least: float | None = None, *, detector: Path | None = None, threads: int = 1
    ) -> None:
        """Load the gate and a bundle's detector. The package is loaded when first wanted, by `loaded` or a picture.

        It takes longest of all models to load, and most turns read nothing.

        Args:
            pool: where they run.
            least: the probability of words from which a picture is read; None: as the gate was fitted.
            detector: an ONNX file that finds lines in place of the package's; the recogniser remains the package's.
            threads: of the detector and of the recogniser.

        Raises:
            BundleError: the detector cannot be loaded, or is none.
            EngineFailed: rapidocr or onnxruntime is not installed.
        """
        _check_installed()
        self._pool, self._threads = pool, threads
        self._detector = None if detector is None else _line_detector(detector, threads)
        self._lock = Lock()
        self._gate = WordGate(least)
        self._scale = 1.0
        self._beginning = Lock()
        self._loading: Future[Any] | None = None

    @property
    def reads_all(self) -> bool:
        """Whether the gate lets every picture through, as the bundle may have it."""
        return self._gate.least <= 0

    async def loaded(self) -> None:
        """Wait until it can read. Raises EngineFailed where its models cannot be loaded."""
        await asyncio.shield(asyncio.wrap_future(self._begun()))

    async def find(self, picture: Picture) -> Region | None:
        """The part of the picture that may show words; None when nothing does."""
        return await self._pool.run(lambda: self._gate.find(picture.pixels))

    async def read(self, picture: Picture, part: Region | None = None) -> list[str]:
        """Lines top to bottom, left to right, of a part or the whole; without those of a confidence below 0.6."""
        return await self._pool.run(lambda: self.lines(picture.pixels, part))

    async def locate(self, picture: Picture, part: Region | None = None) -> list[Region]:
        """Where lines of words are, upright boxes around each, without reading them: shares of the picture's sides."""
        return await self._pool.run(lambda: self._located(picture.pixels, part))

    def lines(self, pixels: RGB, part: Region | None) -> list[str]:
        """What `read` gives, on the caller's thread."""
        result, _ = self._run(self._begun().result(), pixels, part)
        if result.txts is None or result.boxes is None:
            return []
        texts = zip(result.boxes.tolist(), result.txts, result.scores, strict=True)
        return in_reading_order([(box, clean(text)) for box, text, score in texts if score >= MIN_CONFIDENCE])

    def _located(self, pixels: RGB, part: Region | None) -> list[Region]:
        result, (top, left) = self._run(self._begun().result().text_det, pixels, part)
        if result.boxes is None:
            return []
        height, width = pixels.shape[:2]
        corners = (np.asarray(result.boxes, np.float64) + np.array([left, top])) / np.array([width, height])
        lows, highs = corners.min(axis=1).clip(0, 1).tolist(), corners.max(axis=1).clip(0, 1).tolist()
        return [Region(*low, *high) for low, high in zip(lows, highs, strict=True)]

    def _begun(self) -> Future[Any]:
        """Detector and recogniser, which begin to load now if they have not."""
        with self._beginning:
            if self._loading is None:
                self._loading = self._pool.submit(self._loaded, Priority.BACKGROUND)
            return self._loading

    def _loaded(self) -> Any:
        """Load detector and recogniser, and read a sign once, with a word on it, so that both are warm."""
        try:
            ocr = _load(self._detector, self._threads)
            self._run(ocr, _sign(), None)
        except EngineFailed as error:
            logger.error("no words are read in pictures: %s", error.message)
            raise
        ocr.text_det.get_preprocess = lambda: self._prepared
        return ocr

    def _run(self, work: Callable[[RGB], Any], pixels: RGB, part: Region | None) -> tuple[Any, tuple[int, int]]:
        """What the package finds in a part or the whole, and where the part begins: its top and left in pixels."""
        scale, begins = min(1.0, searched_side(pixels) / max(pixels.shape[:2])), (0, 0)
        if part is not None and part.area < _NEARLY_ALL:
            rows, columns = window(pixels, part, scale)
            pixels, begins = np.ascontiguousarray(pixels[rows, columns]), (rows.start, columns.start)
        import cv2

        bgr: RGB = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR).astype(
            np.uint8, copy=False
        )  # numpy takes forty times as long
        # The detector's scale is a setting of the object, so one picture at a time.
        with self._lock:
            self._scale = scale
            try:
                handed("reader", bgr.nbytes)
                with measured_engine():
                    return work(bgr), begins
            except Exception as error:
                raise EngineFailed("the reader of printed words failed; see the server's log") from error

    def _prepared(self, bgr: RGB) -> NDArray[np.float32]:
        return detector_input(bgr, self._scale)


def detector_input(bgr: RGB, scale: float) -> NDArray[np.float32]:
    """What the detector is given of a picture: float32 [1, 3, H, W], -1 to 1. The package's own way takes ten times as
    long.

    Args:
        bgr: the picture, blue first.
        scale: of its sides, before they are rounded to multiples of the detector's block.
    """
    import cv2

    height, width = bgr.shape[:2]
    size = tuple(max(_BLOCK, round(side * scale / _BLOCK) * _BLOCK) for side in (width, height))
    values = cv2.resize(bgr, size).astype(np.float32)
    values *= np.float32(1 / 127.5)
    values -= np.float32(1)
    return np.ascontiguousarray(values.transpose(2, 0, 1)[None])


def window(pixels: RGB, part: Region, scale: float) -> tuple[slice, slice]:
    """Rows and columns of a part, made so much larger that its sides, scaled, are multiples of the detector's block.

    A side that is rounded to the next block would be stretched, a short one by as much as a third.
    """
    slices = []
    for length, low, high in ((pixels.shape[0], part.top, part.bottom), (pixels.shape[1], part.left, part.right)):
        block = _BLOCK / scale
        wanted = min(length, round(ceil((high - low) * length / block) * block))
        start = round((low + high) / 2 * length - wanted / 2)
        start = max(0, min(start, length - wanted))
        slices.append(slice(start, start + wanted))
    return slices[0], slices[1]


def in_reading_order(texts: Sequence[tuple[Corners, str]]) -> list[str]:
    """Lines top to bottom; of texts whose middles lie within half a line's height of each other one, left to right.

    Args:
        texts: four corners (x, y) in pixels and the text inside. Lone characters other than digits are left out:
            they are nearly always ornaments.
    """
    boxes = []
    for corners, text in texts:
        if len(text) > 1 or text.isdigit():
            xs, ys = [point[0] for point in corners], [point[1] for point in corners]
            boxes.append((sum(ys) / len(ys), max(ys) - min(ys), min(xs), text))
    boxes.sort()
    rows: list[list[tuple[float, float, float, str]]] = []
    for box in boxes:
        if rows and box[0] - rows[-1][0][0] <= min(box[1], rows[-1][0][1]) / 2:
            rows[-1].append(box)
        else:
            rows.append([box])
    return [" ".join(text for _, _, _, text in sorted(row, key=lambda box: box[2])) for row in rows]


def _sign() -> RGB:
    picture = Image.new("RGB", (320, 160), "white")
    ImageDraw.Draw(picture).text((40, 40), "OPEN", "black", font_size=64)
    return np.asarray(picture)


def _check_installed() -> None:
    import_onnxruntime()
    if find_spec("rapidocr") is None:
        raise EngineFailed("rapidocr is not installed; in the clone: pip install '.[cpu]'")


def package_model(settings: Mapping[str, Any]) -> Path:
    """The file of a model that comes with the package, by what the package's settings say of it: its `Det` or `Rec`."""
    import rapidocr
    from rapidocr.inference_engine.base import FileInfo, InferSession

    keys = ("engine_type", "ocr_version", "task_type", "lang_type", "model_type")
    entry = InferSession.get_model_url(FileInfo(**{key: settings[key] for key in keys}))
    return Path(rapidocr.__file__).parent / "models" / Path(entry["model_dir"]).name


def package_detector() -> Path:
    """The package's file of the model that finds lines. Raises EngineFailed where the package is not installed."""
    _check_installed()
    return package_model(_started().cfg.Det)


def _line_detector(path: Path, threads: int) -> Any:
    """A session of a bundle's detector. Raises BundleError where it is none."""
    name, side = f"{path.parent.name}/{path.name}", _BLOCK
    session = cpu_session(path, threads)
    try:
        inputs = {each.name: np.zeros((1, 3, side, side), np.float32) for each in session.get_inputs()}
        shapes = [np.shape(each) for each in session.run(None, inputs)]
    except Exception as error:
        raise BundleError(f"{name}: takes no pictures: {error}; export it again") from error
    if shapes != [(1, 1, side, side)]:
        raise BundleError(f"{name}: gives {shapes} of a picture of {side} x {side}, no map of it; export it again")
    return session


class _Settings(dict[str, Any]):
    """The package's settings of a model, with a session, which its own kind of mapping does not hold. What it does not
    say, such as the font for drawings, is None."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)


def _load(detector: Any, threads: int) -> Any:
    """The package's reader, whose models run in sessions of ours: its own let waiting threads spin, which takes cores
    from the other engines, and return their memory after every run.

    Args:
        detector: a session of another detector than the package's; None: that one.
        threads: of each session that is opened here.

    Raises:
        EngineFailed: the package or one of its models cannot be loaded.
    """
    try:
        ocr = _started()
        from rapidocr.ch_ppocr_det import TextDetector
        from rapidocr.ch_ppocr_rec import TextRecognizer

        finds, reads = (_Settings(ocr.cfg[key]) for key in ("Det", "Rec"))
        finds["session"] = cpu_session(package_model(finds), threads) if detector is None else detector
        reads["session"] = cpu_session(package_model(reads), threads)
        ocr.text_det, ocr.text_rec = TextDetector(finds), TextRecognizer(reads)
    except EngineFailed:
        raise
    except Exception as error:
        raise EngineFailed(f"rapidocr cannot be started: {error}") from error
    return ocr


def _started() -> Any:
    """The package's object, which has loaded no model yet."""
    try:
        import cv2
        from rapidocr import RapidOCR
    except ImportError as error:
        raise EngineFailed(f"rapidocr cannot be imported: {error}") from error
    cv2.setNumThreads(1)
    settings = {
        "Global.log_level": "error",
        "Global.use_cls": False,
        "Det.limit_type": "max",
        "Det.limit_side_len": LARGE_SIDE,
    }
    try:
        return RapidOCR(params=settings)
    except Exception as error:
        raise EngineFailed(f"rapidocr cannot be started: {error}") from error
