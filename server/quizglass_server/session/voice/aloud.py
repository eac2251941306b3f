"""Says the answers of one session aloud, segment by segment while they are written, and knows how far it got."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Protocol

from quizglass.session import (
    AnswerAudio,
    AnswerSpoken,
    Cause,
    Interrupted,
    Notice,
    Segment,
    SegmentState,
    ServerSaid,
    TurnUpdate,
)
from quizglass.values import Done, LedgerEntry, SkippedStep
from quizglass_server.decoding.resampling import Resampler, mono
from quizglass_server.domain.sound import Sound
from quizglass_server.errors import EngineLost, NotLocal, reported
from quizglass_server.roles.speech import Voice
from quizglass_server.scheduling.ledger import text_size
from quizglass_server.session.output.plain import clean, without_markup
from quizglass_server.session.output.spoken import spoken

STEP = "voice"
"""What `done.skipped` calls saying an answer."""
_PIECE_BYTES = 16 * 1024
_CITED = re.compile(r"\s?\[[0-9]+(?:\s?[,–-]\s?[0-9]+)*\]")
"""Marks of citations, "[1]" and "[2, 3]"."""


@dataclass(frozen=True, slots=True)
class Mouth:
    """What speaks for all sessions."""

    voice: Voice | None = None
    """None: nothing does."""
    elsewhere: bool = False
    """Whether it is behind a network address."""


class HeardOf(Protocol):
    """An exchange of the session's dialogue."""

    @property
    def told(self) -> bool:
        """Whether its client has told how much was heard."""
        ...

    @property
    def heard(self) -> str:
        """What counts as heard of its answer."""
        ...

    @property
    def unheard(self) -> str:
        """The rest."""
        ...

    def played(self, segment: int, code_point: int) -> None:
        """So much was heard."""
        ...


@dataclass(eq=False, slots=True)
class _Utterance:
    """An answer that is being said."""

    ask_id: str
    segments: asyncio.Queue[Segment | None] = field(default_factory=asyncio.Queue)
    """Those to be said; None: there are no more."""
    texts: dict[int, Segment] = field(default_factory=dict)
    """Every segment that has a text, by its number."""
    size: int = 0
    """Bytes of text that the voice is given."""
    written: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the turn is over."""
    task: asyncio.Task[None] | None = None
    reached: int | None = None
    """The last segment of which sound was sent."""
    silent: bool = False
    """Whether nothing more of it is to be said."""


class Aloud:
    """The sound of a session's answers, one after the other.

    Args:
        mouth: speaks.
        emit: sends a message.
        room: waits until the client has what was sent.
        said: the exchange of a question; None: it is not remembered.
        stays_here: whether nothing of the session may leave this machine.
        sent: told of sound before it is sent.
        over: called once an answer is said no further.
    """

    def __init__(
        self,
        mouth: Mouth,
        emit: Callable[[ServerSaid], None],
        room: Callable[[], Awaitable[None]],
        said: Callable[[str], HeardOf | None],
        stays_here: Callable[[], bool],
        sent: Callable[[str, Sound], None],
        over: Callable[[], None],
    ) -> None:
        self._mouth, self._emit, self._room, self._said, self._stays_here = mouth, emit, room, said, stays_here
        self._sent, self._over = sent, over
        self._answers: dict[str, _Utterance] = {}
        self.language = ""
        """BCP 47 tag in which answers are said; empty: the voice's own."""
        self.most_hz = 0
        """Most samples a second; 0: any number."""

    def before(self, said: ServerSaid) -> ServerSaid:
        """A message as it is to be sent: the end of a turn says where the voice was given its words, or why not."""
        if not isinstance(said, TurnUpdate) or not isinstance(said.event, Done):
            return said
        if reason := self._missing:
            return replace(said, event=replace(said.event, skipped=(*said.event.skipped, SkippedStep(STEP, reason))))
        answer = self._answers.get(said.ask_id)
        size = sum(text_size(_words(each)) for each in said.segments if each.text)
        size += answer.size if answer is not None else 0
        entry = LedgerEntry(STEP, size, "", 0.0, self._mouth.elsewhere)
        return replace(said, event=replace(said.event, ledger=(*said.event.ledger, entry))) if size else said

    def after(self, said: ServerSaid) -> None:
        """A message was sent: what it brings of an answer is said, and what it ends is said no further."""
        match said:
            case TurnUpdate():
                self._follow(said)
            case Interrupted(ask_id=ask_id):
                self._answers.pop(ask_id, None)
            case Notice(ask_id=ask_id, turn_over=True):
                self.silence(ask_id)
                self._answers.pop(ask_id, None)

    def silence(self, ask_id: str) -> None:
        """Say no more of an answer, whose end is sent next; what was sent of it counts as heard."""
        if (answer := self._answers.get(ask_id)) is not None:
            self._silence(answer)

    def cut(self, cause: Cause, *, but: str = "", only: str = "") -> None:
        """Say no more of answers that are written and still being said: of all, but for one, or of one alone."""
        for answer in list(self._answers.values()):
            if answer.written.is_set() and answer.ask_id != but and only in ("", answer.ask_id):
                self._silence(answer)
                self._end(answer, cause.name)

    def stop(self) -> None:
        """Say nothing more, and send no event."""
        for answer in self._answers.values():
            answer.silent = True
            if answer.task is not None:
                answer.task.cancel()
        self._answers.clear()

    @property
    def speaking(self) -> bool:
        """Whether an answer is being said."""
        return bool(self._answers)

    @property
    def _missing(self) -> str:
        """Why nothing can be said now: a reason of errors; empty: it can."""
        if self._mouth.voice is None:
            return "ROLE_MISSING"
        if self._mouth.elsewhere and self._stays_here():
            return NotLocal.code
        return "" if self._mouth.voice.ready else EngineLost.code

    def _follow(self, update: TurnUpdate) -> None:
        if (voice := self._mouth.voice) is None:
            return
        if (reason := self._missing) == NotLocal.code:
            if isinstance(update.event, Done):
                self._emit(self._spoken(update.ask_id, reason))
            return
        answer = self._answers.get(update.ask_id) or self._begin(update.ask_id, voice)
        for segment in update.segments:
            if segment.text:
                answer.texts[segment.index] = segment
            if segment.state is SegmentState.CONFIRMED and (whole := answer.texts.get(segment.index)) is not None:
                answer.size += text_size(_words(whole))
                answer.segments.put_nowait(whole)
        if isinstance(update.event, Done):
            answer.written.set()
            answer.segments.put_nowait(None)

    def _begin(self, ask_id: str, voice: Voice) -> _Utterance:
        before = next(reversed(self._answers.values()), None)
        answer = self._answers[ask_id] = _Utterance(ask_id)
        answer.task = asyncio.create_task(self._run(answer, voice, before), name=f"say {ask_id}")
        return answer

    async def _run(self, answer: _Utterance, voice: Voice, before: _Utterance | None) -> None:
        reason = ""
        try:
            if before is not None and before.task is not None:
                await asyncio.wait({before.task})
            await self._say(answer, voice)
        except Exception as error:
            reason = reported(error, "speech").code
            await answer.written.wait()
        if not answer.silent:
            self._end(answer, reason)

    async def _say(self, answer: _Utterance, voice: Voice) -> None:
        handed = list[Segment]()
        current: int | None = None
        rate: _Rate | None = None
        speaking = voice.speak(_texts(answer, handed), self.language)
        async with aclosing(speaking) as sounds:
            async for sound in sounds:
                if rate is None or sound.text != current:
                    self._end_segment(rate)
                    segment = handed[sound.text]
                    rate, current = _Rate(answer.ask_id, segment.index, sound, self.most_hz), sound.text
                answer.reached = rate.segment
                self._sent(answer.ask_id, sound)
                await self._send(rate, rate.take(sound))
        self._end_segment(rate)

    async def _send(self, rate: _Rate, data: bytes) -> None:
        for at in range(0, len(data), _PIECE_BYTES):
            await self._room()
            self._emit(rate.message(data[at : at + _PIECE_BYTES]))

    def _end_segment(self, rate: _Rate | None) -> None:
        if rate is not None:
            self._emit(rate.message(rate.end(), last=True))

    def _silence(self, answer: _Utterance) -> None:
        """Say no more of it; where its client has not told how much was heard, that is what was sent."""
        answer.silent = True
        if answer.task is not None:
            answer.task.cancel()
        said = self._said(answer.ask_id)
        if said is None or said.told or not answer.texts:
            return
        if answer.reached is None:
            said.played(min(answer.texts), 0)
        else:
            said.played(answer.reached, len(answer.texts[answer.reached].text))

    def _end(self, answer: _Utterance, reason: str) -> None:
        self._answers.pop(answer.ask_id, None)
        self._emit(self._spoken(answer.ask_id, reason))
        self._over()

    def _spoken(self, ask_id: str, reason: str) -> AnswerSpoken:
        said = self._said(ask_id)
        heard, unheard = (said.heard, said.unheard) if said is not None else ("", "")
        return AnswerSpoken(ask_id, not reason, heard, unheard, reason)


class _Rate:
    """Brings the sound of one segment to a rate that is low enough.

    Args:
        ask_id: of the question.
        segment: its number.
        sound: its first piece.
        most_hz: samples a second; 0: any number.
    """

    def __init__(self, ask_id: str, segment: int, sound: Sound, most_hz: int) -> None:
        self.segment = segment
        self._ask_id = ask_id
        rate = sound.format.rate_hz
        self.hz = min(rate, most_hz or rate)
        self._resampler = Resampler(rate, self.hz) if self.hz < rate else None
        self.channels = sound.format.channels if self._resampler is None else 1

    def take(self, sound: Sound) -> bytes:
        """A piece at that rate."""
        if self._resampler is None:
            return sound.samples
        return self._resampler.take(mono(sound.samples, sound.format.channels)).tobytes()

    def end(self) -> bytes:
        """The rest of it."""
        return b"" if self._resampler is None else self._resampler.end().tobytes()

    def message(self, data: bytes, *, last: bool = False) -> AnswerAudio:
        """A piece of it, for the client."""
        return AnswerAudio(self._ask_id, self.segment, self.hz, self.channels, data, last)


async def _texts(answer: _Utterance, handed: list[Segment]) -> AsyncGenerator[str, None]:
    while (segment := await answer.segments.get()) is not None:
        handed.append(segment)
        yield _words(segment)


def _words(segment: Segment) -> str:
    """A segment as people say it, however it is written: numbers and units in words, citations not at all."""
    return spoken(_CITED.sub("", clean(without_markup(segment.text)))).strip()
