"""The hostile benchmark's own arithmetic and the files that it sends; nothing is measured here."""

import io
import os

import pytest
from PIL import Image

from bench.engine.server.serving import Outcome
from bench.hostile import inputs, markup
from bench.hostile.stage import MemoryWatch, Under, timed, tree_mib


def test_bombs_are_what_they_are_called() -> None:
    made = inputs.bombs(200)
    modes = {name: Image.open(io.BytesIO(data)).mode for name, data in made.items()}
    assert modes["WebP with alpha"] == modes["PNG RGBA"] == "RGBA"
    assert modes["PNG LA"] == "LA"
    assert len(made["WebP with alpha"]) < 50
    for data in made.values():
        with Image.open(io.BytesIO(data)) as image:
            image.load()
            assert image.size == (200, 200)


def test_a_bomb_of_scans_has_as_many_as_asked_for() -> None:
    data = inputs.scan_bomb(64, 500)
    assert data.count(b"\xff\xda") == 500
    Image.open(io.BytesIO(data)).load()


def test_rows_carry_the_bars() -> None:
    alone, beside = (
        [Outcome("answered", 0, 0.1)] * 100,
        [Outcome("answered", 0, 0.4)] * 99 + [Outcome("answered", 0, 3)],
    )
    rows = Under("x", 900, 5, alone, beside).rows()
    assert [row.ok for row in rows] == [True, None, True, False, None]
    assert rows[2].ratio == pytest.approx(4.26, abs=0.01)


def test_a_quick_refusal_is_no_quick_answer() -> None:
    alone, refused = [Outcome("answered", 0, 0.1)] * 100, [Outcome("refused", 0, 0.001)] * 100
    rows = Under("x", 900, 5, alone, [Outcome("answered", 0, 0.1), *refused]).rows()
    assert [row.ok for row in rows] == [True, None, False, True, None]


def test_memory_of_a_process_is_seen() -> None:
    watch = MemoryWatch(os.getpid())
    held = bytearray(64 << 20)
    held[::4096] = b"x" * len(held[::4096])
    now = tree_mib(os.getpid())
    assert now > 64
    assert watch.end() >= 64


async def test_what_became_of_a_request() -> None:
    async def fails() -> None:
        raise ValueError

    async def works() -> None:
        return None

    assert (await timed(fails))[0] == "ValueError"
    assert (await timed(works))[0] == "answered"


def test_hostile_markup_is_of_the_longest_length_and_each_time_another() -> None:
    for text_format, piece in markup.FORMS.values():
        imports = markup.Imports(text_format, piece)
        assert len(imports.text(7)) > markup.CHARACTERS - 20
        assert imports.text(7) != imports.text(8)
