"""One spoken question, from its first piece of sound to its transcript."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from time import monotonic
from typing import Protocol

from quizglass.session import SpeechAudio, SpeechStart, SpeechState, SpeechStatus
from quizglass_server.domain import checks
from quizglass_server.domain.sound import Transcript
from quizglass_server.errors import InvalidInput, Unfinished
from quizglass_server.roles.speech import Hearing
from quizglass_server.scheduling.ledger import ByteLedger
from quizglass_server.scheduling.places import Place
from quizglass_server.session.voice.barge_in import NOTHING, WORD_WINDOWS, BargeIn
from quizglass_server.session.voice.echo import EchoCanceller, PlayedSound
from quizglass_server.session.voice.endpoint import Endpointer
from quizglass_server.session.voice.intake import HEARD, MAX_PIECE_BYTES, intake
from quizglass_server.session.voice.pool import SpeechPool

IDLE_S = 30.0
"""Longest silence of a link in the middle of a speech, which is then given up."""
_BEFORE_S = 0.5
"""Sound before the first word that is heard with it, where the server waits for that."""
_BEFORE_PAUSED_S = 2.0
"""The same while an answer is paused, as it takes longer to be sure then."""
_WORD_WINDOWS_PUSHED = 2
"""Windows that are a word where a button is held: the wearer means to speak."""


class SpeechListener(Protocol):
    """Receives the progress of a speech."""

    @property
    def away(self) -> bool:
        """Whether the client has no link: what it records comes over the next one."""
        ...

    def pause(self, speech: Speech, *, pause: bool) -> None:
        """The first word may have begun, and an answer is to be paused; or it had not, and is played on."""
        ...

    def voice(self, speech: Speech) -> None:
        """The first word was heard."""
        ...

    def partly(self, speech: Speech, transcript: Transcript) -> None:
        """So much was understood so far."""
        ...

    def ended(self, speech: Speech) -> None:
        """Nothing more of it is taken."""
        ...


class Speech:
    """One spoken question.

    Args:
        start: what its client announced; its name is sound.
        message_id: of that message.
        hearing: makes text of it.
        pool: bounds it.
        place: that it takes there.
        listener: receives its events.
        played: what the device may be playing meanwhile.

    Raises:
        InvalidInput: its sound is of a kind that is not taken.
        EngineFailed: what decodes it is not installed.
    """

    def __init__(
        self,
        start: SpeechStart,
        message_id: int,
        hearing: Hearing,
        pool: SpeechPool,
        place: Place,
        listener: SpeechListener,
        played: PlayedSound,
    ) -> None:
        self.start, self.message_id, self.place = start, message_id, place
        self.ledger = ByteLedger()
        self.task: asyncio.Task[None] | None = None
        self.over = False
        """Whether no more events follow."""
        self.end_seq: int | None = None
        """Pieces that it has; None: it has not ended."""
        self._hearing, self._pool, self._listener = hearing, pool, listener
        self._intake = intake(start)
        word = WORD_WINDOWS if start.ends_by_silence else _WORD_WINDOWS_PUSHED
        self._endpoint = Endpointer(pool.detector(), BargeIn(pauses=start.pauses, word=word))
        self._came = asyncio.Event()
        self._waiting: deque[SpeechAudio] = deque()
        self._echo = EchoCanceller(played)
        self.beside = ""
        """Name of the answer that was being played when its first word was heard; empty: none was."""
        self._pausing = False
        self._began = monotonic()
        self._next_seq = 0
        self._whole = False
        """Whether no more pieces are taken."""
        self.examined = 0
        """Pieces that were looked for a voice."""
        self._seconds = 0.0
        """Of sound that came."""
        self._voiced_s = 0.0
        """Seconds since the first word."""

    @property
    def id(self) -> str:
        """Its name."""
        return self.start.id

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return monotonic() - self._began

    @property
    def status(self) -> SpeechStatus:
        """How far it is."""
        if self.end_seq is not None:
            return SpeechStatus(self.id, SpeechState.ENDED, self.end_seq)
        return SpeechStatus(self.id, SpeechState.LISTENING, self._next_seq)

    def missing_before(self, seq: int) -> bool:
        """Whether pieces before that number have not come."""
        return seq > self._next_seq

    def take(self, audio: SpeechAudio) -> None:
        """Take a piece, which leaves no gap; one that is there already is left alone.

        Raises:
            InvalidInput: it is no sound of the announced kind, or too much.
            Overloaded: its address has sent more than its wearers can have said.
        """
        if audio.seq < self._next_seq or self._whole:
            return
        checks.within(len(audio.data), 1, MAX_PIECE_BYTES, "data")
        seconds = self._intake.seconds(audio.data)
        self._check_length(seconds)
        self._pool.take(self.place.client.address, seconds)
        self._seconds += seconds
        self._next_seq += 1
        self._waiting.append(audio)
        self._came.set()

    def end(self, parts: int) -> None:
        """The client has sent all of it: so many pieces.

        Raises:
            InvalidInput: another number came.
        """
        if self.end_seq is None:
            if parts != self._next_seq:
                raise InvalidInput("parts", f"{parts} is not the number of pieces that came, which is {self._next_seq}")
            self._whole = True
            if not self.start.ends_by_silence:  # else it may have ended before: what has come is looked at first
                self._end(parts)
            self._came.set()

    def linked(self) -> None:
        """There is a new link, over which the rest may take its time."""
        self._came.set()

    async def heard(self) -> Transcript:
        """What was said, once it is over; empty where nothing was.

        Raises:
            InvalidInput: its sound is none of the announced kind.
            Unfinished: nothing more of it comes.
            QuizglassError: the recogniser fails.
        """
        final = Transcript("", final=True)
        async with aclosing(self._sound()) as sound:
            before = await self._first_words(sound)
            if self._endpoint.spoke:
                heard = self._hearing.transcribe(_joined(before, sound), HEARD, self.start.language)
                async with aclosing(heard) as transcripts:
                    async for transcript in transcripts:
                        if transcript.final:
                            final = transcript
                        else:
                            self._listener.partly(self, transcript)
            if self.end_seq is None:  # the recogniser has found the end by itself
                self._end(self.examined)
        self._waiting.clear()
        return final

    def _check_length(self, more: float) -> None:
        """Refuse more seconds than a question can have, before they are kept.

        An open microphone sends at once all that it has recorded without a link: there, `SpeechPool` bounds it alone.
        """
        longest = self._pool.longest_s
        if not self.start.ends_by_silence and self._seconds + more > longest:
            raise InvalidInput("data", f"a spoken question has at most {longest:g} seconds, and this one more")

    async def _first_words(self, sound: AsyncIterator[bytes]) -> list[bytes]:
        """Sound up to the first word, as much of it as is heard with that; all of it where a button is held."""
        before: deque[bytes] = deque()
        kept = 0
        async for piece in sound:
            before.append(piece)
            kept += len(piece)
            if self._endpoint.spoke:
                self._listener.voice(self)
                break
            kept_s = _BEFORE_S if not self._pausing else _BEFORE_PAUSED_S
            while self.start.ends_by_silence and kept - len(before[0]) > kept_s * HEARD.bytes_per_second:
                kept -= len(before.popleft())
        return list(before)

    async def _sound(self) -> AsyncGenerator[bytes, None]:
        """The sound, as recognisers take it, until the speech has ended."""
        while True:
            if self._waiting:
                # On another thread: the detector takes a tenth of a millisecond for each thirtieth of a second.
                sound = await asyncio.to_thread(self._looked_at, self._waiting.popleft())
                self.examined += 1
                self._pause()
                if sound:
                    yield sound
                if self.end_seq is None and self.start.ends_by_silence and self._finished:
                    self._end(self.examined)
                    return
            elif self._whole:
                if self.end_seq is None:
                    self._end(self.examined)
                if rest := self._intake.end():
                    yield rest
                return
            else:
                await self._more()

    def _pause(self) -> None:
        """Have an answer paused, or played on."""
        if self._pausing != self._endpoint.pausing:
            self._pausing = self._endpoint.pausing
            if not self._endpoint.spoke:  # else the end of speech is sent
                self._listener.pause(self, pause=self._pausing)

    async def _more(self) -> None:
        self._came.clear()
        try:
            async with asyncio.timeout(IDLE_S):
                await self._came.wait()
        except TimeoutError:
            if not self._listener.away:
                raise Unfinished(IDLE_S, "audio, or speech_end") from None

    def _looked_at(self, audio: SpeechAudio) -> bytes:
        sound, playing = self._intake.take(audio.data), audio.playing
        spoke, beside = self._endpoint.spoke, NOTHING
        if playing is not None:
            sound = self._echo.take(sound, playing)
            beside = self._echo.beside
        self._endpoint.take(sound, beside)
        if self._endpoint.spoke and not spoke and playing is not None:
            self.beside = playing.ask_id
        self.ledger.add("hearing", len(sound))
        if self._endpoint.spoke:
            self._voiced_s += HEARD.seconds(len(sound))
        return sound

    @property
    def _finished(self) -> bool:
        return self._endpoint.over or self._voiced_s >= self._pool.longest_s

    def _end(self, seq: int) -> None:
        self.end_seq, self._whole = seq, True
        self._listener.ended(self)


async def _joined(before: list[bytes], sound: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    while before:
        yield before.pop(0)
    async for piece in sound:
        yield piece
