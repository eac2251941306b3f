"""Addresses and commands of speech servers."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_bundle.speech_server import SpeechServer, speech_server


@pytest.mark.parametrize(
    ("text", "expected", "elsewhere", "leaves"),
    [
        ("tcp://127.0.0.1:10300", {"host": "127.0.0.1", "port": 10300}, True, False),
        ("tcp://localhost:1", {"host": "localhost", "port": 1}, True, False),
        ("tcp://[::1]:1", {"host": "::1", "port": 1}, True, False),
        ("tcp://whisper.local:10300/", {"host": "whisper.local", "port": 10300}, True, True),
        ("unix:///run/piper.sock", {"socket": Path("/run/piper.sock")}, False, False),
        ("piper --voice 'a b'", {"command": ("piper", "--voice", "a b")}, False, False),
    ],
)
def test_what_is_taken(text: str, expected: dict[str, object], elsewhere: bool, leaves: bool) -> None:
    made = speech_server(text)
    assert made == SpeechServer(text, **expected)  # type: ignore[arg-type]
    assert (made.elsewhere, made.leaves_machine, str(made)) == (elsewhere, leaves, text)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "a\nb", "tcp://host", "tcp://:1", "tcp://host:x", "tcp://a:1/b", "tcp://u:p@host:1"),
        *("unix://", "unix:///", "unix://host/x", "http://host:1", "piper 'x", "piper --uri tcp://h:1"),
    ],
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"tcp://HOST:PORT|the command"):
        speech_server(text)


@given(st.text(max_size=60))
def test_whatever_is_given_is_taken_or_refused_by_a_value_error(text: str) -> None:
    with suppress(ValueError):
        assert speech_server(text).text == text.strip()
