"""Who waits for whom where pictures are brought to a model's size, and which of them are kept."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from quizglass_bundle.fields import Size
from quizglass_bundle.files import Bundle
from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.roles.load import load_role
from quizglass_server.roles.shared import fitting
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.shared.loading import Loading
from quizglass_server.scheduling.priority import Priority, at_priority
from tests.support.bundles.tiny_bundle import write_bundle

SIZE = Size(width=8, height=8)
FIT = fitting.fit


def picture(level: int) -> Picture:
    pixels = np.full((16, 16, 3), level, np.uint8)
    return Picture(sha256(pixels.tobytes()).digest(), pixels)


class Blocked:
    """Making dark pictures waits until it is let go."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.made = threading.Semaphore(0), threading.Event(), list[int]()

    def __call__(self, pixels: RGB, size: Size) -> RGB:
        self.made.append(int(pixels[0, 0, 0]))
        if not pixels.any():
            self.begun.release()
            assert self.go_on.wait(60)
        return FIT(pixels, size)


@pytest.fixture
def blocked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Blocked]:
    made = Blocked()
    monkeypatch.setattr(fitting, "fit", made)
    yield made
    made.go_on.set()


def test_a_picture_does_not_wait_until_another_is_made(blocked: Blocked) -> None:
    fitter = PictureFitter()
    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(fitter.fit, picture(0), SIZE)
        assert blocked.begun.acquire(timeout=60)
        try:
            assert threads.submit(fitter.fit, picture(9), SIZE).result(60).shape == (8, 8, 3)
            assert not slow.done()
        finally:
            blocked.go_on.set()
        assert slow.result(60).shape == (8, 8, 3)


def test_those_who_want_the_same_at_once_have_it_made_once(blocked: Blocked) -> None:
    fitter = PictureFitter()
    with ThreadPoolExecutor(4) as threads:
        waiting = [threads.submit(fitter.fitted, picture(0), SIZE) for _ in range(4)]
        assert blocked.begun.acquire(timeout=60)
        blocked.go_on.set()
        assert len({id(each.result(60)) for each in waiting}) == 1
    assert blocked.made == [0]
    assert fitter._making == {}


async def test_pictures_of_an_import_leave_those_of_turns_where_they_are(tmp_path: Path) -> None:
    bundle = Bundle.load(write_bundle(tmp_path / "tiny", ("image_encoder",)))
    part = bundle.roles.part("image_encoder")
    assert part is not None
    pool, fitter = EnginePool(1), PictureFitter()
    try:
        encoder = load_role(
            "image_encoder", part, Loading(bundle, pool, fitter, OnnxOptions(threads=1, provider="cpu"))
        )
        with at_priority(Priority.BACKGROUND):
            await encoder.embed([picture(1)])
        await encoder.embed([picture(2)])
    finally:
        pool.close()
    (size,) = [Size(width=width, height=height) for width, height in part.sizes()]
    assert fitter.kept(picture(1), size) is None
    assert fitter.kept(picture(2), size) is not None


def test_no_more_of_pictures_is_kept_than_is_allowed() -> None:
    size = Size(width=28, height=14)
    fitter = PictureFitter(kept_bytes=2 * 28 * 14 * 3)
    pictures = [picture(number) for number in range(3)]
    for each in pictures:
        fitter.fit(each, size)
    assert [fitter.kept(each, size) is not None for each in pictures] == [False, True, True]
