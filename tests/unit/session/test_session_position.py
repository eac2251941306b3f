"""Where the client is in its session: what it acknowledges, and when it sees that messages have got lost."""

import pytest

from quizglass.session import Ack
from quizglass_client import InvalidRequest
from quizglass_client.session.liveness import LinkDead
from quizglass_client.session.position import SessionPosition
from quizglass_client.session.values import SessionOptions


def test_every_sixteenth_message_is_acknowledged_and_what_ends_a_turn_at_once():
    position = SessionPosition()
    assert [position.advance(seq, 100, ends=False) for seq in range(1, 17)] == [None] * 15 + [Ack(16)]
    assert position.advance(17, 100, ends=True) == Ack(17)
    assert position.advance(18, 100, ends=False) is None


def test_long_messages_are_acknowledged_sooner():
    position = SessionPosition()
    assert [position.advance(seq, 8 * 1024, ends=False) for seq in (1, 2, 3)] == [None, Ack(2), None]


def test_a_message_that_is_missing_is_seen_by_the_next_one_with_a_number_or_without():
    position = SessionPosition()
    position.advance(1, 100, ends=False)
    assert (position.has(1), position.has(2)) == (True, False)
    position.check(1)
    with pytest.raises(LinkDead, match="lost"):
        position.advance(3, 100, ends=False)
    with pytest.raises(LinkDead, match="lost"):
        position.check(2)


def test_a_state_that_was_signed_is_what_a_later_session_begins_with():
    position = SessionPosition()
    assert position.state == b""
    position.signed(b"signed")
    position.signed(b"")
    first, second = (each.open(SessionOptions()) for each in (position, SessionPosition(position.state)))
    assert (second.holder, second.state) == (first.holder, b"signed")
    position.forget()
    assert position.state == b""
    with pytest.raises(InvalidRequest, match="no state of a session"):
        SessionPosition(first.holder)
