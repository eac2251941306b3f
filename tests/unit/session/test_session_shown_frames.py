"""What the Python client sends of a picture that it has shown small."""

import asyncio
import io
import random
import threading

import pytest
from PIL import Image

from quizglass.session import FrameBegin, FrameNeed, Ping, Role
from quizglass.values import Region
from quizglass_client.session import frames
from quizglass_client.session.frames import ShownFrames
from quizglass_client.session.outgoing import OutgoingMessages


def large():
    out = io.BytesIO()
    Image.frombytes("RGB", (200, 200), random.Random(0).randbytes(200 * 200 * 3)).save(out, "JPEG")
    return out.getvalue()


@pytest.mark.parametrize(
    ("gone", "sent"),
    [
        (lambda shown, name: None, [Role.THUMBNAIL, Role.CROP]),
        (lambda shown, name: shown.drop(b"another" * 4), [Role.THUMBNAIL, Role.CROP]),
        (lambda shown, name: shown.drop(name), [Role.THUMBNAIL]),
        (lambda shown, name: shown.clear(), [Role.THUMBNAIL]),
    ],
    ids=["kept", "another dropped", "dropped", "all forgotten"],
)
async def test_a_part_is_not_sent_of_a_picture_that_was_given_up_while_it_was_cut_out(monkeypatch, gone, sent):
    begun, goes_on = asyncio.Event(), threading.Event()
    loop, cut_out = asyncio.get_running_loop(), frames.cut_out

    def slow(*about):
        loop.call_soon_threadsafe(begun.set)
        goes_on.wait()
        return cut_out(*about)

    monkeypatch.setattr(frames, "cut_out", slow)
    outgoing = OutgoingMessages()
    shown = ShownFrames(outgoing)
    name = await shown.show(large(), pinned=False, thumbnail=50, side=0)
    shown.need(FrameNeed(name, region=Region(0, 0, 0.5, 0.5), least_side=80))
    await begun.wait()
    cutting = asyncio.all_tasks() - {asyncio.current_task()}
    gone(shown, name)
    goes_on.set()
    await asyncio.gather(*cutting, return_exceptions=True)
    outgoing.say(Ping())
    said = []
    while not isinstance(each := await outgoing.next(), Ping):
        said.append(each)
    assert [each.role for each in said if isinstance(each, FrameBegin)] == sent
