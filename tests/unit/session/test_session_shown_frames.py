"""What the Python client sends of a picture that it has shown small."""

import asyncio
import io
import random
import threading

import pytest
from PIL import Image

from quizglass.session import FrameBegin, FrameNeed, Ping, Role
from quizglass.values import Region
from quizglass_client.errors import Cancelled
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
        (lambda shown, name: shown.forget(), [Role.THUMBNAIL]),
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


@pytest.mark.parametrize("thumbnail", [0, 50])
async def test_a_picture_that_was_being_made_ready_when_all_were_forgotten_is_not_sent(monkeypatch, thumbnail):
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def slow(*about):
        begun.set()
        await goes_on.wait()
        return large()

    monkeypatch.setattr(frames, "encode_on_thread", slow)
    outgoing = OutgoingMessages()
    shown = ShownFrames(outgoing)
    showing = asyncio.create_task(shown.show("photo.jpg", pinned=False, thumbnail=thumbnail, side=0))
    await begun.wait()
    shown.forget()
    goes_on.set()
    with pytest.raises(Cancelled) as forgotten:
        await showing
    assert (forgotten.value.status, forgotten.value.reason) == ("CANCELLED", "FORGOTTEN")
    outgoing.say(Ping())
    assert isinstance(await outgoing.next(), Ping)
    assert await shown.show("later.jpg", pinned=False, thumbnail=0, side=0)
