"""Reading printed words with the models that come inside the RapidOCR package."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from quizglass.values import Region
from quizglass_server.domain.turns import Picture
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.roles.reader import RapidOcrReader
from quizglass_server.scheduling.clock import stage_clock


def sign(lines: list[str], size: int = 448) -> Picture:
    image = Image.new("RGB", (size, size), "white")
    font = ImageFont.load_default(40)
    for index, line in enumerate(lines):
        ImageDraw.Draw(image).text((60, 80 + 120 * index), line, "black", font=font)
    pixels = np.asarray(image)
    return Picture(sha256(pixels.tobytes()).digest(), pixels)


@pytest.fixture(scope="module")
def reader() -> RapidOcrReader:
    return RapidOcrReader(EnginePool(1))


async def test_lines_are_read_top_to_bottom(reader: RapidOcrReader) -> None:
    assert await reader.read(sign(["Velmora", "Open 24 hours"])) == ["Velmora", "Open 24 hours"]


async def test_lines_are_located_in_the_picture_also_where_a_part_is_searched(reader: RapidOcrReader) -> None:
    picture = sign(["Velmora", "Open 24 hours"])
    for part in (None, Region(0.0, 0.1, 1.0, 0.65)):
        first, second = sorted(await reader.locate(picture, part), key=lambda line: line.top)
        for line, top in ((first, 80), (second, 200)):
            assert line.left * 448 < 70 < line.right * 448
            assert top - 10 < line.top * 448 < top + 15
            assert 20 < (line.bottom - line.top) * 448 < 65
    assert await reader.locate(sign([])) == []


async def test_a_picture_without_words_has_none(reader: RapidOcrReader) -> None:
    assert await reader.read(sign([])) == []


async def test_reading_counts_as_engine_time_and_the_lines_are_the_callers(reader: RapidOcrReader) -> None:
    first = await reader.read(sign(["Tandric"]))
    first.append("changed by the caller")
    with stage_clock() as clock:
        assert await reader.read(sign(["Tandric"])) == ["Tandric"]
    assert clock.us > 0


async def test_small_print_of_a_large_picture_is_read(reader: RapidOcrReader) -> None:
    assert "Tandric" in await reader.read(sign(["Tandric"], size=1024))
