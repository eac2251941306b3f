"""Dialogues in tokens: whole again with the same key, in time; refused by name otherwise, whatever comes."""

import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quizglass_server.errors import InvalidInput, SessionExpired, SessionForged, SessionUnknownKey
from quizglass_server.session.dialogue import token as token_module
from quizglass_server.session.dialogue.following import Dialogue, Spoken
from quizglass_server.session.dialogue.token import LONGEST, DialogueSealer
from quizglass_server.steady_clock import SteadyClock
from tests.support.clock import Clock

KEY, OTHER = bytes(range(32)), bytes(32)
TTL = 3600
DIALOGUE = (
    Spoken("What is this?", "A boat.", b"\1" * 32),
    Spoken("How much does it cost?", "45 crowns", b"\1" * 32, ("Velmora", "Größe ☃")),
    Spoken("Who founded Jolawex?", "Mara Lind"),
)


@pytest.fixture
def clock() -> Clock:
    return Clock(1_000_000.5)


def sessions(*keys: bytes, clock: Clock | None = None) -> DialogueSealer:
    return DialogueSealer(keys or (KEY,), TTL, clock or Clock(1_000_000.5))


TOKEN = sessions().seal(DIALOGUE)
TEXT = st.text(max_size=300)
SPOKEN = st.builds(
    Spoken, TEXT, TEXT, st.just(b"") | st.binary(min_size=32, max_size=32), st.lists(TEXT, max_size=4).map(tuple)
)


@settings(max_examples=50)
@given(st.lists(SPOKEN, min_size=1, max_size=6).map(tuple))
def test_a_dialogue_comes_back_or_its_end_does(dialogue: Dialogue) -> None:
    token = sessions().seal(dialogue)
    again = sessions().open(token)
    assert len(token) <= LONGEST
    assert again == dialogue[-len(again) :]


def test_another_server_with_the_same_key_goes_on() -> None:
    assert sessions(KEY).open(TOKEN) == DIALOGUE


@pytest.mark.parametrize("jump", [86_400, -86_400])
def test_a_system_clock_that_jumps_ends_no_dialogue_and_prolongs_none(
    jump: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed, wall = Clock(5.0), Clock(1_000_000.0)
    monkeypatch.setattr(token_module, "SteadyClock", lambda: SteadyClock(wall=wall, counter=passed))
    sealer = DialogueSealer([KEY], TTL)
    token = sealer.seal(DIALOGUE)
    wall.now += jump
    passed.now += TTL - 1
    assert sealer.open(token) == DIALOGUE
    passed.now += 2
    with pytest.raises(SessionExpired):
        sealer.open(token)


def test_keys_rotate() -> None:
    both = sessions(OTHER, KEY)
    assert both.open(TOKEN) == DIALOGUE
    with pytest.raises(SessionUnknownKey):
        sessions(KEY).open(both.seal(DIALOGUE))


def test_a_foreign_key_is_named() -> None:
    with pytest.raises(SessionUnknownKey, match=r"^session: was signed with a key that this server does not have"):
        sessions(OTHER).open(TOKEN)


def test_a_token_ends_to_the_second(clock: Clock) -> None:
    token = sessions(clock=clock).seal(DIALOGUE)
    clock.now += TTL - 1
    assert sessions(clock=clock).open(token) == DIALOGUE
    clock.now += 1
    with pytest.raises(SessionExpired, match=r"^session: has expired; ask again without it"):
        sessions(clock=clock).open(token)


def test_a_signed_end_cannot_be_moved(clock: Clock) -> None:
    later = TOKEN[:5] + struct.pack(">Q", 2**63) + TOKEN[13:]
    with pytest.raises(SessionForged):
        sessions().open(later)


def test_every_flipped_bit_is_refused() -> None:
    for bit in range(8 * len(TOKEN)):
        flipped = bytearray(TOKEN)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(SessionUnknownKey if 1 <= bit // 8 <= 4 else SessionForged):
            sessions().open(bytes(flipped))


def test_every_beginning_is_refused() -> None:
    for length in range(len(TOKEN)):
        with pytest.raises(SessionForged):
            sessions().open(TOKEN[:length])


@given(st.binary(max_size=300) | st.binary(max_size=100).map(lambda tail: TOKEN[:13] + tail))
def test_any_bytes_are_refused(token: bytes) -> None:
    with pytest.raises((SessionForged, SessionUnknownKey)):
        sessions().open(token)


def test_what_is_longer_than_any_token_is_refused_for_its_length() -> None:
    with pytest.raises(InvalidInput, match="8193 bytes is more than the 8192") as caught:
        sessions().open(TOKEN + bytes(LONGEST + 1 - len(TOKEN)))
    assert caught.value.code == "INVALID_FIELD"


def test_a_dialogue_is_compressed_a_few_times_however_long_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    compress = token_module.zlib.compress
    monkeypatch.setattr(token_module.zlib, "compress", lambda data: tried.append(len(data)) or compress(data))
    sessions().seal(tuple(Spoken(f"What is {at}?", "A boat.") for at in range(32)))
    assert len(tried) == 1
    drawn = random.Random(1)
    long = tuple(Spoken(f"What is {at}?", drawn.randbytes(500).hex()) for at in range(32))
    assert len(sessions().open(sessions().seal(long))) > 8
    assert len(tried) <= 1 + 1 + 5 + 1


def test_the_oldest_turns_go_first_and_the_last_keeps_its_frame_and_entities() -> None:
    texts = ["".join(chr(0x4E00 + (7919 * i * (j + 1)) % 20_000) for j in range(1000)) for i in range(1, 9)]
    dialogue = tuple(Spoken(text, text[::-1], bytes([i]) * 32, ("Velmora",)) for i, text in enumerate(texts))
    kept = sessions().open(sessions().seal(dialogue))
    assert 1 <= len(kept) < len(dialogue)
    assert kept == dialogue[-len(kept) :]
    long = Spoken("".join(texts) * 2, "".join(texts), b"\7" * 32, ("Velmora",))
    (last,) = sessions().open(sessions().seal((*dialogue, long)))
    assert (last.frame, last.entities) == (long.frame, long.entities)
    assert last.question
    assert long.question.startswith(last.question)
    assert long.answer.startswith(last.answer)


def test_a_long_dialogue_keeps_its_last_turns() -> None:
    dialogue = tuple(Spoken(f"{i}?", str(i)) for i in range(500))
    assert sessions().open(sessions().seal(dialogue)) == dialogue[-32:]
