"""Reads printed words with RapidOCR, whose default models come inside its package: nothing is downloaded.

Detection is the costly half and grows with the picture's area; recognition always sees the full picture. At 448 x 448
on one thread of the development machine a detector side of 736 (the package's default) takes 350 ms, 448 takes 140 ms
and 320 takes 90 ms, all with the same words read on the starter world's signs; 320 is used for small frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from quizglass_server.domain import RGB, Picture
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import import_onnxruntime
from quizglass_server.errors import EngineFailed
from quizglass_server.models.prompts import clean
from quizglass_server.scheduling.clock import measured_engine

MIN_CONFIDENCE = 0.6
SMALL_PICTURE, SMALL_SIDE, LARGE_SIDE = 512, 320, 736
"""Pictures up to SMALL_PICTURE pixels a side are searched for words at SMALL_SIDE, larger ones at LARGE_SIDE."""

Corners = Sequence[Sequence[float]]


class RapidOcrReader:
    """Lines of printed words."""

    executor = "cpu"

    def __init__(self, pool: EnginePool) -> None:
        """Load detector and recogniser.

        Raises:
            EngineFailed: rapidocr or onnxruntime is not installed, or its models cannot be loaded.
        """
        self._pool = pool
        self._lock = Lock()
        self._cv2, self._ocr = _load()
        self._read(_sign())  # with a word in it, so that the recogniser is warm too

    async def read(self, picture: Picture) -> list[str]:
        """Lines top to bottom, left to right; what was read with a confidence below 0.6 is left out."""
        return await self._pool.run(lambda: self._read(picture.pixels))

    def _read(self, pixels: RGB) -> list[str]:
        bgr = self._cv2.cvtColor(pixels, self._cv2.COLOR_RGB2BGR)  # numpy takes forty times as long
        # The detector's side is a setting of the object, so one picture at a time.
        with self._lock:
            small = max(pixels.shape[:2]) <= SMALL_PICTURE
            if self._ocr.text_det is not None:
                self._ocr.text_det.limit_side_len = SMALL_SIDE if small else LARGE_SIDE
            try:
                with measured_engine():
                    result = self._ocr(bgr)
            except Exception as error:
                raise EngineFailed("the reader of printed words failed; see the server's log") from error
        if result.txts is None or result.boxes is None:
            return []
        found = zip(result.boxes.tolist(), result.txts, result.scores, strict=True)
        return in_reading_order([(box, clean(text)) for box, text, score in found if score >= MIN_CONFIDENCE])


def in_reading_order(found: Sequence[tuple[Corners, str]]) -> list[str]:
    """Texts top to bottom; those whose middles lie within half a line's height of each other left to right.

    Args:
        found: four corners (x, y) in pixels and the text inside. Lone characters other than digits are left out:
            they are nearly always ornaments.
    """
    boxes = []
    for corners, text in found:
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
    return [text for row in rows for _, _, _, text in sorted(row, key=lambda box: box[2])]


def _sign() -> RGB:
    picture = Image.new("RGB", (320, 160), "white")
    ImageDraw.Draw(picture).text((40, 40), "OPEN", "black", font_size=64)
    return np.asarray(picture)


def _load() -> tuple[Any, Any]:
    """OpenCV and the reader."""
    import_onnxruntime()
    try:
        import cv2
        from rapidocr import RapidOCR
    except ImportError as error:
        raise EngineFailed("rapidocr is not installed: pip install 'quizglass[server]'") from error
    # One thread: the package's sessions let waiting threads spin, which takes cores from the other engines.
    cv2.setNumThreads(1)
    settings = {
        "Global.log_level": "error",
        "Global.use_cls": False,
        "Det.limit_type": "max",
        "Det.limit_side_len": LARGE_SIDE,
        "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    }
    try:
        return cv2, RapidOCR(params=settings)
    except Exception as error:
        raise EngineFailed(f"rapidocr cannot be started: {error}") from error
