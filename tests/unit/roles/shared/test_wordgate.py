"""The gate before reading: what it lets through, where it points, and that its file says what it is."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from quizglass.values import Region
from quizglass_lab.pocketworld.dataset import SCENE_SIZE, build_world
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.questions import make_questions
from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.errors import EngineFailed
from quizglass_server.roles.reader import RapidOcrReader, window
from quizglass_server.roles.shared.wordgate import LARGE_SIDE, SMALL_SIDE, WordGate, fitted, is_cheap, searched_side


@pytest.fixture(scope="module")
def gate() -> WordGate:
    return WordGate()


@pytest.fixture(scope="module")
def scenes() -> list[tuple[RGB, str]]:
    """Pictures of a world that nothing was trained on, and the words on each."""
    questions = make_questions(build_world(2027, 100, core=True), 240, 2027)
    signed = [question for question in questions if question.words][:20]
    plain = [question for question in questions if not question.words][:40]
    return [(np.asarray(draw_scene(q.scene, SCENE_SIZE)), q.words or "") for q in signed + plain]


def lettered(width: int, height: int, text: str, at: tuple[int, int], size: int = 40) -> RGB:
    image = Image.new("RGB", (width, height), (120, 140, 160))
    ImageDraw.Draw(image).text(at, text, "white", font=ImageFont.load_default(size))
    return np.asarray(image)


def test_signs_are_let_through_and_pictures_without_words_are_not(gate: WordGate, scenes: list) -> None:
    assert [words for pixels, words in scenes if words and gate.find(pixels) is None] == []
    through = [pixels for pixels, words in scenes if not words and gate.find(pixels) is not None]
    assert len(through) <= 8, "most pictures without words should not be read"


@pytest.mark.parametrize("shape", [(448, 448), (720, 1280), (1080, 1920), (480, 300)])
def test_an_even_picture_is_not_read(gate: WordGate, shape: tuple[int, int]) -> None:
    assert gate.find(np.full((*shape, 3), 128, np.uint8)) is None


@pytest.mark.parametrize("shape", [(8, 8), (8, 64), (9, 70), (17, 33), (2000, 250), (250, 2000)])
def test_a_picture_of_any_shape_can_be_judged(gate: WordGate, shape: tuple[int, int]) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (*shape, 3), np.uint8)
    small = fitted(pixels, searched_side(pixels))
    assert min(small.shape[:2]) >= 16
    assert np.isfinite(gate.logits(small)).all()
    assert is_cheap(small) == (gate.find(pixels) == Region(0.0, 0.0, 1.0, 1.0))


def test_it_points_at_the_words(gate: WordGate) -> None:
    part = gate.find(lettered(448, 448, "Velmora", (40, 330)))
    assert part is not None
    assert part.left < 40 / 448 < part.right
    assert 0.4 < part.top < 330 / 448
    assert 375 / 448 < part.bottom <= 1.0


def test_a_part_is_as_large_as_the_detector_takes_it() -> None:
    pixels = np.zeros((448, 448, 3), np.uint8)
    scale = SMALL_SIDE / 448
    taken = pixels[window(pixels, Region(0.3, 0.7, 0.62, 0.85), scale)]
    for side in taken.shape[:2]:
        assert abs(side * scale / 32 - round(side * scale / 32)) < 0.05
    assert pixels[window(pixels, Region(0.0, 0.0, 1.0, 1.0), scale)].shape == pixels.shape
    whole = pixels[:20][window(pixels[:20], Region(0.1, 0.1, 0.2, 0.9), 1.0)]
    assert whole.shape == (20, 64, 3), "a part is never beyond the picture"


@pytest.mark.parametrize("size", [(448, 448), (1080, 1920)])
def test_words_are_read_in_a_part_as_in_the_whole(gate: WordGate, size: tuple[int, int]) -> None:
    reader = RapidOcrReader(EnginePool(1))
    pixels = lettered(size[1], size[0], "Velmora 1974", (60, size[0] - 120), 56)
    part = gate.find(pixels)
    assert part is not None
    assert part.area < 0.5
    assert reader.lines(pixels, part) == reader.lines(pixels, None) == ["Velmora 1974"]


async def test_the_threshold_of_a_bundle_overrides_the_gates_own() -> None:
    even = Picture(b"even", np.full((448, 448, 3), 128, np.uint8))
    sign = Picture(b"sign", lettered(448, 448, "Velmora", (40, 200)))
    assert await RapidOcrReader(EnginePool(1), 0.0).find(even) is not None
    assert await RapidOcrReader(EnginePool(1), 1.0).find(sign) is None


def test_a_higher_threshold_reads_fewer_pictures_and_the_same_part_of_them(gate: WordGate, scenes: list) -> None:
    strict = WordGate(0.4)
    assert [words for pixels, words in scenes if words and strict.find(pixels) != gate.find(pixels)] == []
    plain = [pixels for pixels, words in scenes if not words]
    assert sum(strict.find(each) is not None for each in plain) <= sum(gate.find(each) is not None for each in plain)
    assert WordGate(1.0).find(scenes[0][0]) is None


def test_the_file_says_its_threshold_and_where_it_comes_from(gate: WordGate) -> None:
    assert 0 < gate.least < 1
    assert gate.notes["provenance"]


def test_small_pictures_are_searched_small() -> None:
    assert searched_side(np.zeros((448, 512, 3), np.uint8)) == SMALL_SIDE
    assert searched_side(np.zeros((448, 513, 3), np.uint8)) == LARGE_SIDE


async def test_a_reader_whose_models_cannot_be_loaded_says_so_when_it_is_asked(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    monkeypatch.setattr("quizglass_server.roles.reader.find_spec", lambda _: object())
    pool = EnginePool(1)
    reader = RapidOcrReader(pool)
    try:
        with pytest.raises(EngineFailed, match="rapidocr cannot be imported"):
            await reader.loaded()
        with pytest.raises(EngineFailed, match="rapidocr cannot be imported"):
            await reader.read(Picture(b"", np.zeros((64, 64, 3), np.uint8)))
        assert await reader.find(Picture(b"", np.zeros((400, 400, 3), np.uint8))) is None
    finally:
        pool.close()
    assert "no words are read in pictures" in caplog.text


async def test_models_that_read_words_are_loaded_once_and_when_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []

    def load(*_: object) -> None:
        loads.append("begun")
        raise EngineFailed("broken")

    monkeypatch.setattr("quizglass_server.roles.reader._load", load)
    pool = EnginePool(1)
    reader = RapidOcrReader(pool)
    try:
        await reader.find(Picture(b"", np.zeros((400, 400, 3), np.uint8)))
        assert loads == []
        for _ in range(2):
            with pytest.raises(EngineFailed, match="broken"):
                await reader.loaded()
        assert loads == ["begun"]
    finally:
        pool.close()


def test_a_reader_without_its_package_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quizglass_server.roles.reader.find_spec", lambda _: None)
    with pytest.raises(EngineFailed, match="rapidocr is not installed"):
        RapidOcrReader(EnginePool(1))
