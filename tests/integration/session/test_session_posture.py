"""The posture of a device over a real socket: announced once, kept to by server and client."""

import io
import subprocess
import sys

import pytest
from PIL import Image

from quizglass.session import DeviceState, Heat, LinkQuality, Notice, Ping, Pong, Posture, PostureChange
from quizglass_client import AsyncSession, InvalidRequest
from tests.support.rpc_fakes import png, serving, serving_on_a_thread
from tests.support.sessions.session_links import opened, question, words


async def test_a_change_is_announced_once_and_answers_get_shorter(tmp_path):
    async with serving(tmp_path) as stage, opened(stage.target) as (link, _):
        stage.assistant.script = words(50)
        await link.say(DeviceState(8), DeviceState(8), DeviceState(heat=Heat.WARM), question("a"))
        change = await link.until(PostureChange)
        assert (change.posture, change.limits.answer_words) == (Posture.RESERVE, 30)
        await link.done("a")
        assert sum(isinstance(said, PostureChange) for _, said in link.heard) == 1
        said = "".join(segment.text for _, each in link.heard for segment in getattr(each, "segments", ()))
        assert len(said.split()) == 30
        await link.say(question("b", "Go on"))
        assert (await link.done("b")).answer.split()[0] == "w30."


async def test_a_device_that_recovers_is_told_without_saying_more(tmp_path, monkeypatch):
    monkeypatch.setattr("quizglass_server.session.posture.HOLD_S", 0.1)
    async with serving(tmp_path) as stage, opened(stage.target) as (link, _):
        await link.say(DeviceState(heat=Heat.HOT), DeviceState(heat=Heat.NORMAL))
        assert (await link.until(PostureChange)).posture is Posture.RESERVE
        change = await link.until(PostureChange)
        assert (change.posture, change.limits.answer_words) == (Posture.NORMAL, 0)


async def test_nothing_is_looked_at_ahead_for_a_device_that_conserves(tmp_path):
    async with serving(tmp_path) as stage, opened(stage.target) as (link, _):
        await link.say(DeviceState(link=LinkQuality.FAIR))
        await link.until(PostureChange)
        await link.show(png())
        await link.say(question("a"))
        await link.done("a")
        await link.say(Ping(b"x"))
        await link.until(Pong)
        assert stage.assistant.looked_at == []


async def test_a_charge_that_is_none_is_refused(tmp_path):
    async with serving(tmp_path) as stage, opened(stage.target) as (link, _):
        await link.say(DeviceState(101))
        assert (await link.until(Notice)).field == "device_state.battery_percent"


async def test_the_python_client_sends_smaller_pictures_then(tmp_path):
    async with serving(tmp_path) as stage, AsyncSession(stage.target) as session:
        with pytest.raises(InvalidRequest, match="heat"):
            await session.device(heat="boiling")
        with pytest.raises(InvalidRequest, match="battery: 101 is not between 0 and 100"):
            await session.device(101)
        await session.device(9)
        change = await anext(each async for each in session.news() if isinstance(each, PostureChange))
        out = io.BytesIO()
        Image.new("RGB", (1200, 900), "red").save(out, "JPEG")
        await session.answer("What is this?", out.getvalue())
        (turn,) = stage.assistant.turns
        assert max(turn.picture.pixels.shape[:2]) == change.limits.frame_side


def test_chat_tells_the_posture_and_what_it_asks_for(tmp_path):
    with serving_on_a_thread(tmp_path) as stage:
        command = [sys.executable, "-m", "quizglass_client.cli", "--server", stage.target, "chat"]
        typed = "/device battery=9\n/device colour=red\n/device heat=boiling\nWhat?\n"
        run = subprocess.run(command, input=typed, text=True, capture_output=True, timeout=300)
    assert run.returncode == 1, run.stderr  # two lines were wrong, besides those from the terminal
    assert "reserve: the battery is at 9 %: frames of" in run.stderr
    assert "colour: there are battery, heat and link" in run.stderr
    assert "'boiling' is none of normal, warm, hot" in run.stderr
