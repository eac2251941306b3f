"""`quizglass chat --voice`: an open microphone, and answers from the loudspeaker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
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
    paused: bool
    """Whether it is quiet, and keeps what is to be played."""

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
    fail: Callable[[ClientError], None],
    frame: bytes,
    options: AskOptions,
) -> None:
    """Ask whatever is said and play the answers, until the microphone ends.

    Args:
        session: opened with `OutputProfile(aloud=True)`.
        microphone: pieces of 16-bit PCM, of one channel.
        rate_hz: samples a second.
        speaker: plays answers. It pauses when the wearer may have begun to speak, and is quiet with the first word.
        tell: takes what is printed about the questions.
        fail: takes why one failed.
        frame: name of the picture that they are about.
        options: of the questions.
    """
    following: set[asyncio.Task[None]] = set()
    player = _Player(speaker)
    async for turn in session.listen(microphone, rate_hz=rate_hz, frame=frame, pauses=True, **options):
        task = asyncio.create_task(_follow(turn, player, tell, fail))
        following.add(task)
        task.add_done_callback(following.discard)
    await asyncio.gather(*following)


class _Player:
    """The speaker, and the turn whose answer it plays."""

    def __init__(self, speaker: Speaker) -> None:
        self.speaker = speaker
        self._turn: AsyncTurn | None = None
        self._paused_by: AsyncTurn | None = None

    async def play(self, turn: AsyncTurn, audio: AnswerAudio) -> None:
        """Play more of a turn's answer."""
        self.speaker.play(audio)
        self._turn = turn
        await self.tell()

    async def pause(self, listening: AsyncTurn) -> None:
        """Pause, for what may be a question."""
        self._paused_by = listening
        self.speaker.paused = True
        await self.tell()

    async def play_on(self, listening: AsyncTurn) -> None:
        """It was none, or is over."""
        if self._paused_by is listening:
            self._paused_by, self.speaker.paused = None, False
            await self.tell()

    async def tell(self) -> None:
        """Tell the server how far the answer is."""
        if self._turn is not None:
            await self._turn.playing(self.speaker.seconds, paused=self.speaker.paused)

    async def wait(self, turn: AsyncTurn) -> None:
        """Wait until the turn's answer is played, and tell the server meanwhile how far it is."""
        while self._turn is turn and self.speaker.seconds is not None:
            await self.tell()
            await asyncio.sleep(_TELL_S)

    async def over(self, turn: AsyncTurn) -> None:
        """Tell the server that the turn's answer is played no more."""
        if self._turn is turn:
            self._turn = None
            await turn.playing(None)

    async def heed(self, turn: AsyncTurn, said: TurnSaid) -> None:
        """Be quiet, louder or quieter, as the wearer wants it."""
        match said:
            case SpeechStatus(state=SpeechState.PAUSE):
                await self.pause(turn)
            case SpeechStatus(state=SpeechState.RESUME):
                await self.play_on(turn)
            case SpeechStatus(state=SpeechState.VOICE) | Interrupted() | SpeechTranscript(command=Command.STOP):
                self.speaker.stop()
                await self.tell()
            case SpeechTranscript(command=Command.LOUDER):
                self.speaker.volume *= _LOUDER
            case SpeechTranscript(command=Command.QUIETER):
                self.speaker.volume /= _LOUDER


async def _follow(
    turn: AsyncTurn, player: _Player, tell: Callable[[TurnSaid], None], fail: Callable[[ClientError], None]
) -> None:
    playing: asyncio.Task[None] | None = None
    try:
        async for said in turn:
            if isinstance(said, AnswerAudio):
                await player.play(turn, said)
                if playing is None or playing.done():  # what came before may be played by now
                    playing = asyncio.create_task(player.wait(turn))
            else:
                await player.heed(turn, said)
            tell(said)
        if playing is not None:
            await playing
    except ClientError as error:
        fail(error)
    finally:
        await player.play_on(turn)
        if playing is not None:
            playing.cancel()
        await player.over(turn)
