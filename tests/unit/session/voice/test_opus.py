"""Sound in Opus packets: its length is known before anything is decoded, and nothing that is none gets through."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("av")

from quizglass.session import Codec, SpeechStart
from quizglass_server.errors import InvalidInput
from quizglass_server.session.voice.intake import intake
from quizglass_server.session.voice.opus import packet_seconds
from tests.support.sessions.opus import encoded
from tests.support.sessions.speech import tone

_START = SpeechStart("a", codec=Codec.OPUS)


@pytest.mark.parametrize("frame_s", [0.0025, 0.005, 0.01, 0.02, 0.04, 0.06])
@pytest.mark.parametrize("channels", [1, 2])
def test_what_was_encoded_is_heard(frame_s, channels):
    sound = tone(1.0, rate_hz=48_000, channels=channels)
    packets = encoded(sound, channels=channels, frame_s=frame_s)
    taken = intake(_START)
    assert [taken.seconds(packet) for packet in packets] == [pytest.approx(frame_s)] * len(packets)
    heard = b"".join(taken.take(packet) for packet in packets) + taken.end()
    samples = np.frombuffer(heard, "<i2").astype(float)
    assert len(samples) / 16_000 == pytest.approx(1.0, abs=0.1)
    given_loudness = np.frombuffer(sound, "<i2").astype(float).std()
    assert samples[3_000:12_000].std() == pytest.approx(given_loudness, rel=0.15)


@pytest.mark.parametrize(
    ("packet", "seconds"),
    [
        (b"\x00", 0.01),  # SILK, 10 ms, one frame
        (b"\x19\x00", 0.12),  # SILK, 60 ms, two frames
        (b"\x78\x00", 0.02),  # hybrid, 20 ms
        (b"\x83\x04", 0.01),  # CELT, 2.5 ms, four frames
    ],
)
def test_a_packets_table_of_contents_tells_its_length(packet, seconds):
    """By the tables of RFC 6716, sections 3.1 and 3.2."""
    assert packet_seconds(packet) == pytest.approx(seconds)


@pytest.mark.parametrize("packet", [b"", b"\x03", b"\x03\x00", b"\x1b\x03", b"\x1b\x3f"])
def test_a_packet_of_no_frames_or_of_too_many_is_refused(packet):
    with pytest.raises(InvalidInput) as failed:
        packet_seconds(packet)
    assert failed.value.field == "data"


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=12))
def test_what_is_no_sound_is_refused_and_what_follows_is_heard(junk):
    taken = intake(_START)
    for packet in junk:
        with suppress(InvalidInput):
            seconds = taken.seconds(packet)
            assert len(taken.take(packet)) <= 2 * 16_000 * (seconds + 0.2)
    heard = [taken.take(packet) for packet in encoded(tone(0.5, rate_hz=48_000))]
    assert np.frombuffer(b"".join(heard), "<i2").astype(float).std() > 500
