"""`quizglass chat --voice`: an open microphone, and answers from the loudspeaker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

from quizglass.session import AnswerAudio, Command, Interrupted, SpeechState, SpeechStatus, SpeechTranscript
from quizglass_client.errors import ClientError
from quizglass_client.session.aio import AsyncSession, AsyncTurn
from quizglass_client.session.turns import TurnSaid
from quizglass_client.types import AskOptions

_TELL_S = 0.1
_LOUDER = 1.5


class Speaker(Protocol):
    """Plays answers; `session.voice.device.Loudspeaker` is one."""

    volume: float

    @property
    def seconds(self) -> float | None:
        """Of the answer that were played; None: nothing is."""
        ...

    def play(self, audio: AnswerAudio) -> None:
        """Play more of it."""
        ...

    def stop(self) -> None:
        """Be quiet at once."""
        ...


async def converse(
    session: AsyncSession,
    microphone: Iterable[bytes],
    rate_hz: int,
    speaker: Speaker,
    tell: Callable[[TurnSaid], None],
    frame: bytes,
    options: AskOptions,
) -> None:
    """Ask whatever is said and play the answers, until the microphone ends.

    Args:
        session: opened with `OutputProfile(aloud=True)`.
        microphone: pieces of 16-bit PCM, of one channel.
        rate_hz: samples a second.
        speaker: plays answers. It is quiet with the first word of the wearer.
        tell: takes what is printed about the questions.
        frame: name of the picture that they are about.
        options: of the questions.
    """
    following: set[asyncio.Task[None]] = set()
    async for turn in session.listen(microphone, rate_hz=rate_hz, frame=frame, **options):
        task = asyncio.create_task(_follow(turn, speaker, tell))
        following.add(task)
        task.add_done_callback(following.discard)
    await asyncio.gather(*following)


async def _follow(turn: AsyncTurn, speaker: Speaker, tell: Callable[[TurnSaid], None]) -> None:
    playing: asyncio.Task[None] | None = None
    try:
        async for said in turn:
            match said:
                case SpeechStatus(state=SpeechState.VOICE) | Interrupted() | SpeechTranscript(command=Command.STOP):
                    speaker.stop()
                case SpeechTranscript(command=Command.LOUDER):
                    speaker.volume *= _LOUDER
                case SpeechTranscript(command=Command.QUIETER):
                    speaker.volume /= _LOUDER
                case AnswerAudio():
                    speaker.play(said)
                    playing = playing or asyncio.create_task(_tell_position(turn, speaker))
            tell(said)
        while playing is not None and speaker.seconds is not None:  # noqa: ASYNC110  # there is no event for it
            await asyncio.sleep(_TELL_S)
    except ClientError:
        pass  # its notice says so
    finally:
        if playing is not None:
            playing.cancel()
            with suppress(asyncio.CancelledError):
                await playing
            await turn.playing(None)


async def _tell_position(turn: AsyncTurn, speaker: Speaker) -> None:
    """While the answer is played, tell the server how far it is."""
    while True:
        await turn.playing(speaker.seconds)
        await asyncio.sleep(_TELL_S)
