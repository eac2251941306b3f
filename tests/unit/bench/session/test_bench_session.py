"""What the benchmark of sessions draws: frames as glasses stream them, and photographs with faults."""

import io
import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bench.engine.server.serving import Stock
from bench.session import over_http
from bench.session.closer import HEIGHT, WIDTH, frame_of
from bench.session.coaching import auc
from bench.session.photographs import KINDS, found
from quizglass_lab.coaching.photographs import crop
from quizglass_lab.pocketworld.dataset import SCENE_SIZE
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.questions import make_questions
from quizglass_lab.pocketworld.world import make_world


def test_a_frame_is_as_glasses_stream_it() -> None:
    (question,) = make_questions(make_world(7, 60), 1, 7)
    with Image.open(io.BytesIO(frame_of(question))) as frame:
        assert frame.size == (WIDTH, HEIGHT) == (720, 1280)


async def test_what_is_compared_is_asked_the_same_of_the_same_scene_and_no_picture_comes_twice() -> None:
    stock = Stock(make_questions(make_world(7, 60), 3, 7))
    await stock.ahead(2)
    pictures = [next(stock)[1]]
    for _ in range(3):
        question, twins = stock.twins()
        scene = np.asarray(draw_scene(question.scene, SCENE_SIZE), int)
        for encoded in twins:
            drawn = np.asarray(Image.open(io.BytesIO(encoded)).convert("RGB"), int)
            assert np.abs(drawn - scene)[16:].mean() < 8  # but for the mark and what JPEG lost
        pictures += twins
    assert len(set(pictures)) == len(pictures)


@pytest.mark.parametrize("kind", KINDS)
def test_a_photograph_is_spoilt_in_one_way_and_has_no_empty_corners(kind: str) -> None:
    whole = Image.new("RGB", (300, 200), (200, 120, 90))
    for seed in range(10):
        pixels = crop(random.Random(seed), whole, kind)
        assert pixels.dtype == np.uint8
        assert pixels.shape[2] == 3
        corners = pixels[[0, 0, -1, -1], [0, -1, 0, -1]].astype(int)
        assert corners.min() > 15


def test_equal_scores_tell_nothing_whichever_stand_first() -> None:
    there = np.array([False, False, True, True])
    assert auc(np.zeros(4, np.float32), there) == auc(np.zeros(4, np.float32), ~there) == 0.5
    assert auc(np.array([1, 2, 3, 4], np.float32), there) == 1
    assert auc(np.array([1, 3, 3, 4], np.float32), there) == 3.5 / 4


def test_photographs_are_those_of_the_two_packages(tmp_path: Path) -> None:
    for name in ("skimage/data/coffee.png", "skimage/data/page.png", "sklearn/datasets/images/china.jpg", "coffee.png"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert [path.name for path in found(tmp_path)] == ["coffee.png", "china.jpg"]


async def test_without_what_drives_a_browser_it_says_what_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_http, "DRIVER", Path("/no/such/folder"))
    with pytest.raises(RuntimeError, match="make clients-packages"):
        async with over_http._page("http://127.0.0.1:1"):
            pass
