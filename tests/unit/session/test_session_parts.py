"""The parts of a session: its log, its segments, what was heard, and the client's window."""

import hashlib
from collections import deque

import pytest
from google_crc32c import value as crc32c
from hypothesis import given
from hypothesis import strategies as st

from quizglass.session import FrameBegin, FramePart, FrameState, OutputProfile, Segment, SegmentState
from quizglass.values import (
    AnswerDelta,
    Citation,
    Confirmed,
    Done,
    FinishReason,
    Provisional,
    Withdrawn,
)
from quizglass_client.channel import KEEPALIVE_S
from quizglass_client.session.pacing import LEAST, PART, Window
from quizglass_server.config.settings import LinkOptions
from quizglass_server.errors import InvalidInput, Overloaded
from quizglass_server.session.conversation import Conversation, Said
from quizglass_server.session.dialogue.following import Spoken
from quizglass_server.session.dialogue.references import asks_to_go_on
from quizglass_server.session.frames import FramePool, FrameShelf, ShelfLimits
from quizglass_server.session.link import SessionLink
from quizglass_server.session.log import MessageLog
from quizglass_server.session.output.plain import clean
from quizglass_server.session.output.profile import Shape
from quizglass_server.session.segments import Segmenter, cleaned


class Message:
    def ByteSize(self):
        return 10


def test_a_log_keeps_what_is_not_acknowledged():
    log = MessageLog(1000, 60.0)
    messages = [Message() for _ in range(5)]
    for message in messages:
        log.add(message)
    log.acknowledge(2)
    assert (log.last, log.keeps_after(2), log.keeps_after(1)) == (5, True, False)
    assert log.get(3) is messages[2]


def test_a_log_lets_go_of_what_was_written_and_of_nothing_else():
    log = MessageLog(35, 60.0)
    for _ in range(6):
        log.add(Message())
    log.make_room(written=2)
    assert log.full
    assert log.keeps_after(2)
    log.make_room(written=6)
    assert not log.full
    assert log.keeps_after(3)


def test_a_log_lets_go_of_what_is_too_old():
    now = [0.0]
    log = MessageLog(1000, 60.0, lambda: now[0])
    log.add(Message())
    log.wrote(1)
    now[0] = 61.0
    log.add(Message())
    log.wrote(2)
    log.make_room(written=2)
    assert not log.keeps_after(0)
    assert log.keeps_after(1)


async def test_what_waited_for_a_link_is_kept_as_long_as_what_did_not():
    now = [0.0]
    log = MessageLog(1000, 60.0, lambda: now[0])
    log.add(Message())  # while the client is away
    now[0] = 59.0
    link = SessionLink(1, log, 0, lambda said, seq, state: Message())
    sent = link.messages()
    await anext(sent)
    log.add(Message())
    await anext(sent)  # the first counts as written
    now[0] = 118.0
    log.make_room(link.written)
    assert log.keeps_after(0), "its client may come back and say that it never arrived"
    now[0] = 119.0
    log.make_room(link.written)
    assert not log.keeps_after(0)
    log.acknowledge(2)
    link.finish()
    assert [each async for each in sent] == []


@pytest.mark.parametrize("acknowledged", [1, 2, 3])
async def test_a_link_passes_over_what_was_acknowledged_before_it_was_written(acknowledged):
    log = MessageLog(1000, 60.0)
    messages = [Message() for _ in range(4)]
    for message in messages[:3]:
        log.add(message)
    link = SessionLink(1, log, 0, lambda said, seq, state: Message())
    sent = link.messages()
    assert await anext(sent) is messages[0]
    log.acknowledge(acknowledged)
    log.add(messages[3])
    link.finish()
    assert [each async for each in sent] == messages[acknowledged:]
    assert (link.written, link.behind) == (4, False)


def test_a_frame_that_must_not_be_pinned_takes_no_room():
    gone = []
    shelf = FrameShelf(ShelfLimits(100, 100, 2, 1), FramePool(1000), lambda _: None, gone.append)
    pinned, other, refused = (FrameBegin(bytes([number]) * 32, 40, pinned=number != 2) for number in (1, 2, 3))
    shelf.begin(pinned)
    shelf.begin(other)
    with pytest.raises(InvalidInput, match="pinned"):
        shelf.begin(refused)
    assert gone == []
    assert shelf.status(refused.sha256).state is FrameState.DROPPED
    assert shelf.status(other.sha256).state is FrameState.SEND


def shown(shelf, number, size, *, pinned=False):
    """Send a whole frame to a shelf; its name."""
    data = bytes([number]) * size
    name = hashlib.sha256(data).digest()
    shelf.begin(FrameBegin(name, size, pinned=pinned))
    shelf.part(FramePart(name, 0, data, crc32c(data)))
    return name


def test_frames_that_one_address_pins_leave_room_for_others_and_theirs_go_first():
    pool, limits = FramePool(800), ShelfLimits(100, 1000, 20, 20)
    greedy = [FrameShelf(limits, pool, lambda _: None, lambda _: None, lambda: "greedy") for _ in range(2)]
    modest = FrameShelf(limits, pool, lambda _: None, lambda _: None, lambda: "modest")
    mine = shown(modest, 100, 50)
    loose = shown(greedy[1], 50, 100)
    pinned = [shown(greedy[0], number, 100, pinned=True) for number in range(7)]
    with pytest.raises(Overloaded, match="700 bytes of frames are pinned from your address"):
        shown(greedy[1], 51, 100, pinned=True)
    other = shown(modest, 101, 50)
    assert modest.whole(mine)
    assert modest.whole(other)
    assert all(greedy[0].whole(name) for name in pinned)
    assert greedy[1].whole(loose) is None
    greedy[0].clear()
    assert pool.bytes == 100


TEXTS = st.lists(st.text(st.sampled_from("ab ,.!?:\n"), max_size=30), max_size=20)


@given(TEXTS, st.integers(20, 60))
def test_confirmed_segments_are_the_answer_whatever_the_pieces_it_comes_in(pieces, longest):
    answer = clean("".join(pieces)).strip()
    segmenter = Segmenter(Shape(OutputProfile(longest)))
    segments = [s for piece in pieces if piece for s in segmenter.take(cleaned(AnswerDelta(piece)))]
    segments += segmenter.take(Done(answer, FinishReason.COMPLETE))
    assert "".join(segment.text for segment in segments).strip() == answer
    assert all(len(segment.text) <= longest for segment in segments)
    assert [segment.index for segment in segments] == list(range(len(segments)))


def states(segments):
    return [(segment.index, segment.state.value, segment.text) for segment in segments]


def test_a_draft_is_confirmed_or_retracted_and_the_answer_not_said_twice():
    segmenter = Segmenter(Shape(OutputProfile()))
    assert states(segmenter.take(Provisional("One. Two."))) == [(0, "draft", "One."), (1, "draft", " Two.")]
    assert segmenter.take(AnswerDelta("One. Two.")) == ()
    assert states(segmenter.take(Confirmed())) == [(0, "confirmed", ""), (1, "confirmed", "")]
    assert segmenter.take(Done("One. Two.", FinishReason.COMPLETE)) == ()
    segmenter = Segmenter(Shape(OutputProfile()))
    segmenter.take(Provisional("One."))
    segmenter.take(AnswerDelta("Three. Four"))
    assert states(segmenter.take(Withdrawn())) == [(0, "retracted", ""), (1, "confirmed", "Three.")]
    assert states(segmenter.take(Done("Three. Four", FinishReason.COMPLETE))) == [(2, "confirmed", " Four")]


@given(st.text(max_size=60))
def test_nothing_that_steers_a_display_passes(text):
    seen = clean(text)
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in seen)
    assert not set(seen) & set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def test_citations_keep_pointing_at_their_words():
    done = Done("It\u202e is\x00 red.", FinishReason.COMPLETE, citations=(Citation("1", "", "", 8, 11),))
    seen = cleaned(done)
    (citation,) = seen.citations
    assert seen.answer[citation.start : citation.end] == done.answer[8:11] == "red"


def said(*texts, spoken=None, rest=""):
    segments = tuple(Segment(at, SegmentState.CONFIRMED, text) for at, text in enumerate(texts))
    return Said("a", "Q?", segments, rest, b"f" * 32, spoken)


def test_without_a_word_from_the_client_all_that_was_sent_is_heard():
    over = said("One.", " Two.", spoken=Spoken("Q?", "One. Two.", entities=("Velmora",)))
    assert (over.heard, over.unheard, over.left()) == (
        "One. Two.",
        "",
        Spoken("Q?", "One. Two.", entities=("Velmora",)),
    )
    cut = said("One.", rest=" Tw")
    assert (cut.heard, cut.unheard) == ("One.", "Tw")
    assert cut.left() == Spoken("Q?", "One.", b"f" * 32, unheard="Tw")
    assert said().left() is None


def test_playback_never_goes_back():
    over = said("One.", " Two.", spoken=Spoken("Q?", "One. Two."))
    over.played(1, 3)
    over.played(0, 1)
    assert (over.heard, over.unheard) == ("One. Tw", "o.")
    with pytest.raises(InvalidInput):
        over.played(2, 0)


def test_a_conversation_goes_on_from_an_earlier_one():
    conversation = Conversation((Spoken("Before?", "Yes."),))
    first = said("One.", rest=" Two")
    conversation.add(first)
    assert [spoken.question for spoken in conversation.dialogue] == ["Before?", "Q?"]
    assert conversation.unheard == "Two"


@pytest.mark.parametrize("words", ["Go on", "go on.", "Please continue!", "Keep going, please"])
def test_who_wants_the_rest(words):
    assert asks_to_go_on(words)


@pytest.mark.parametrize("words", ["What is going on?", "Continue the story of Velmora", "Go on a walk"])
def test_who_wants_something_else(words):
    assert not asks_to_go_on(words)


def carried(rate: float, delay_s: float, seconds: float) -> tuple[Window, list[float], float]:
    """A window over a link that carries `rate` bytes a second, each `delay_s` late, and its answers as late again.

    Returns:
        The window, the seconds that each piece would have let a message wait, and the share of the time in which the
        link carried something.
    """
    window, now, free, busy = Window(), 0.0, 0.0, 0.0
    answers: deque[tuple[float, bytes]] = deque()
    waits = []
    while now < seconds:
        while window.room >= (size := window.piece):
            free = max(now, free) + size / rate
            busy += size / rate
            waits.append(free - now)
            answers.append((free + 2 * delay_s, window.sent(size, now)))
        now, payload = answers.popleft()
        window.answered(payload, now)
    return window, waits, busy / now


@pytest.mark.parametrize("rate", [125_000, 1_000_000])
@pytest.mark.parametrize("delay_s", [0.0005, 0.02, 0.04])
def test_on_a_slow_link_a_message_waits_little_and_the_link_is_used(rate, delay_s):
    _, waits, used = carried(rate, delay_s, 60)
    assert max(waits) < 0.22
    assert used > 0.75


def test_on_a_fast_link_as_much_is_on_its_way_as_may_be():
    window, waits, _ = carried(1e9, 0.005, 2)
    assert window.piece == PART
    assert max(waits) < 0.01


def test_a_window_shrinks_to_the_least_when_answers_wait():
    window = Window()
    window.answered(window.sent(window.piece, 0.0), 0.01)
    for now in range(1, 20):
        payload = b""
        while window.room >= window.piece:
            payload = window.sent(window.piece, now)
        window.answered(payload, now + 0.9)
    assert window.room == LEAST


def test_what_is_on_its_way_is_counted_until_it_has_arrived():
    window = Window()
    first = window.sent(5000, 0.0)
    second = window.sent(5000, 0.0)
    before = window.room
    window.answered(second, 10.0)  # its ping stands for both
    window.answered(first, 10.1)
    assert window.room > before


def test_keepalives_of_both_ends_agree():
    assert LinkOptions().least_keepalive_s < KEEPALIVE_S
