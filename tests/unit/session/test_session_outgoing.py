"""What the Python client says again over a new link, and what it does not."""

import pytest

from quizglass.session import (
    FrameBegin,
    FrameName,
    FrameState,
    FrameStatus,
    Ping,
    Playback,
    Question,
    SessionAsk,
)
from quizglass_client.session.outgoing import OutgoingMessages

PICTURE = bytes(10)


@pytest.fixture
def outgoing():
    return OutgoingMessages()


async def said(outgoing):
    """Kinds of all that is to be sent now."""
    outgoing.say(Ping())
    kinds = []
    while (kind := type(await outgoing.next())) is not Ping:
        kinds.append(kind)
    return kinds


def gone(name):
    return FrameStatus(name, FrameState.DROPPED)


async def test_a_picture_that_the_server_let_go_is_not_sent_again_with_every_link(outgoing):
    name = outgoing.show(PICTURE, pinned=True)
    outgoing.again(resumed=True)
    assert await said(outgoing) == [FrameBegin]
    outgoing.status(gone(name))
    outgoing.again(resumed=True)
    assert await said(outgoing) == []
    outgoing.show(PICTURE, pinned=True)
    assert await said(outgoing) == [FrameBegin]


async def test_a_picture_that_a_new_session_was_not_told_of_waits_for_a_question_about_it(outgoing):
    name = outgoing.show(PICTURE)
    outgoing.again(resumed=False)
    outgoing.again(resumed=True)
    assert await said(outgoing) == []
    outgoing.say(SessionAsk("one", Question("What?", (FrameName(sha256=name),))))
    outgoing.again(resumed=True)
    assert await said(outgoing) == [FrameBegin, SessionAsk]


async def test_what_was_heard_in_a_session_that_is_gone_is_not_told_to_later_ones(outgoing):
    outgoing.say(Playback("one", 0, 1))
    outgoing.again(resumed=True)
    assert await said(outgoing) == [Playback]
    outgoing.again(resumed=False)
    outgoing.again(resumed=True)
    assert await said(outgoing) == []
