"""Questions and answers as sound, for `quizglass ask` and `quizglass chat`."""

from __future__ import annotations

import argparse
import wave
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Self

from quizglass.convert import said_name
from quizglass.session import AnswerAudio, AnswerSpoken, OutputProfile, TurnUpdate
from quizglass_client.access import Access
from quizglass_client.session.sync import Session
from quizglass_client.session.turns import TurnSaid
from quizglass_client.terminal.output import as_fields, as_json, say
from quizglass_client.terminal.usage import UsageError
from quizglass_client.types import AskOptions, Event, PictureLike


class WaveFile:
    """A WAV file that an answer's sound is written to as it comes; it is made with the first of it.

    Args:
        path: where; None: nowhere.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: wave.Wave_write | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, audio: AnswerAudio) -> None:
        """More of it."""
        if self._path is None or not audio.data:
            return
        if self._file is None:
            self._file = wave.open(str(self._path), "wb")  # noqa: SIM115  # it is closed when this is left
            self._file.setnchannels(audio.channels)
            self._file.setsampwidth(2)
            self._file.setframerate(audio.rate_hz)
        self._file.writeframes(audio.data)


def ask_by_voice(
    arguments: argparse.Namespace,
    question: str,
    about: PictureLike | None,
    options: AskOptions,
    tell: Callable[[TurnSaid], None],
) -> bool:
    """Ask one question that is spoken, or answered aloud; the answer's sound is written as it comes.

    Args:
        arguments: `say` and `speak`, files of the question's sound and of the answer's, or None; and the server.
        question: where it is not spoken.
        about: the picture.
        options: of the question.
        tell: takes its events.

    Returns:
        Whether the answer was said aloud to its end, where that is wanted.

    Raises:
        UsageError: the server has no voice, and one is wanted.
        ClientError: there is no answer.
    """
    access: Access = arguments.access
    profile = OutputProfile(aloud=arguments.speak is not None)
    with Session(arguments.server, output=profile, credentials=access.credentials, metadata=access.metadata) as session:
        if profile.aloud and session.limits is not None and not session.limits.speaks:
            raise UsageError("--speak: the server has no voice; docs/voice.md says how to give it one")
        spoken = arguments.say
        turn = session.ask(question, about, **options) if spoken is None else session.say(spoken, about, **options)
        whole = True
        with WaveFile(arguments.speak) as out:
            for said in turn:
                tell(said)
                if isinstance(said, AnswerAudio):
                    out.write(said)
                elif isinstance(said, AnswerSpoken) and not said.whole:
                    whole = False
                    say(f"the answer could not be said aloud ({said.reason})")
        turn.answer()  # fails where there is none
    return whole


def as_line(said: TurnSaid) -> dict[str, object]:
    """What `--json` prints: the message by its name, an event of a turn as `quizglass ask --json` has it.

    Of a piece of sound it has the size alone.
    """
    line = {"message": said_name(said)} | {each.name: as_json(getattr(said, each.name)) for each in fields(said)}
    if isinstance(said, TurnUpdate) and said.event is not None:
        line |= as_fields(Event(said.turn_id, said.seq, said.elapsed, said.event))
    if isinstance(said, AnswerAudio):
        line["data"] = len(said.data)
    return line
