"""The recipes of docs/devices.md, run against devices that fail as those do."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from quizglass import values
from quizglass_client import AsyncSession
from tests.support.rpc_fakes import png, serving

PAGE = Path(__file__).parents[3] / "docs" / "devices.md"
LONG = "The bridge was built in 1903 by two brothers from the valley. It carries carts, cattle and, since 1951, cars."


def recipe(name):
    names: dict[str, Any] = {}
    exec(PAGE.read_text(encoding="utf-8").partition(f"# {name}\n")[2].partition("```")[0], names)
    return names


class Camera:
    """Streams what each start is to bring. When a stream stalls, its last frame comes again and again, or nothing."""

    def __init__(self, *streams, repeats=False):
        self.streams, self.repeats = list(streams), repeats
        self.starts = self.stops = 0
        self.state = "stopped"

    async def start(self):
        self.starts, self.state = self.starts + 1, "streaming"
        return self.frames(self.streams.pop(0))

    async def stop(self):
        self.stops, self.state = self.stops + 1, "stopped"

    async def frames(self, stream):
        for frame in stream:
            yield frame
        while self.streams:  # it says that it streams
            assert self.state == "streaming"
            if not self.repeats:
                await asyncio.Event().wait()
            await asyncio.sleep(0)
            yield stream[-1]


@pytest.mark.parametrize("repeats", [False, True])
async def test_a_stream_that_stalls_without_a_word_is_started_anew(repeats):
    camera = Camera([b"1", b"2"], [b"3"], [b"4", b"5"], repeats=repeats)
    frames = [frame async for frame in recipe("relay.py")["watched"](camera, 0.05)]
    assert frames == [b"1", b"2", b"3", b"4", b"5"]
    assert (camera.starts, camera.stops, camera.state) == (3, 3, "stopped")


async def test_the_newest_frame_is_asked_about_whatever_its_size_and_none_from_before_a_stall(tmp_path):
    now = [100.0]
    large, small = png(720, 1280), png(360, 640, "blue")
    async with serving(tmp_path) as stage, AsyncSession(stage.target) as session:
        relay = recipe("relay.py")["Relay"](session, clock=lambda: now[0])
        assert await relay.ask("What is this?") == "The camera shows nothing new. Wait a moment, and ask again."
        await relay.run(Camera([large, small]))  # the size drops by itself
        assert await relay.ask("What is this?") == "45 crowns"
        now[0] += 2.0
        assert (await relay.ask("And now?")).startswith("The camera shows nothing new")
        (turn,) = stage.assistant.turns
        assert (turn.picture.width, turn.picture.height) == (180, 320)
        assert turn.picture.pixels[0, 0, 2] > 200


class Display:
    """Five lines of 488 pixels, in characters of 12."""

    def __init__(self):
        self.pages = []
        self.turned = asyncio.Event()

    async def page(self, lines):
        assert 1 <= len(lines) <= 5
        assert all(12 * len(line) <= 488 for line in lines)
        self.pages.append(" ".join(lines))
        await self.turned.wait()


async def test_an_answer_is_paged_for_a_small_display_and_what_was_not_turned_to_can_be_had_later(tmp_path):
    async def told(turn, policy, budget):
        yield values.AnswerDelta(f"**Well.** {LONG * 4}")
        yield values.Done(f"**Well.** {LONG * 4}", values.FinishReason.COMPLETE)

    names, display = recipe("display.py"), Display()
    async with serving(tmp_path) as stage, AsyncSession(stage.target, output=names["profile"]()) as session:
        stage.assistant.script = told
        showing = asyncio.create_task(names["show"](await session.ask("What is this bridge?"), display))
        display.turned.set()
        await showing
        whole = " ".join(display.pages)
        assert len(display.pages) > 2
        assert whole.startswith("Well. The bridge was built in 1903")
        assert len(whole.split()) <= 60


@pytest.mark.parametrize(("verdict", "answer"), [(values.Confirmed(), "A cup."), (values.Withdrawn(), "A mug.")])
async def test_a_small_display_shows_a_draft_when_it_is_confirmed_and_not_when_it_is_withdrawn(
    tmp_path, verdict, answer
):
    async def told(turn, policy, budget):
        yield values.Provisional("A cup.")
        yield values.AnswerDelta(answer)
        yield verdict
        yield values.Done(answer, values.FinishReason.COMPLETE)

    names, display = recipe("display.py"), Display()
    async with serving(tmp_path) as stage, AsyncSession(stage.target, output=names["profile"]()) as session:
        stage.assistant.script = told
        display.turned.set()
        await names["show"](await session.ask("What is this?"), display)
        assert display.pages == [answer]
