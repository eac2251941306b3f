"""The spoken questions of one session: one is listened to, those before it may still be understood."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Protocol

from quizglass.session import (
    Cause,
    Command,
    Interrupted,
    Overlap,
    Progress,
    Question,
    ServerSaid,
    SessionAsk,
    SpeechAudio,
    SpeechEnd,
    SpeechStart,
    SpeechState,
    SpeechStatus,
    SpeechTranscript,
)
from quizglass_server.domain import checks
from quizglass_server.domain.sound import Transcript
from quizglass_server.errors import EngineLost, InvalidInput, NotFound, NotLocal, SpeechRunning, needed
from quizglass_server.roles.speech import Hearing
from quizglass_server.scheduling.clients import Client
from quizglass_server.scheduling.ledger import ByteLedger
from quizglass_server.session.voice.commands import command, heard
from quizglass_server.session.voice.echo import PlayedSound, is_echo
from quizglass_server.session.voice.pool import SpeechPool
from quizglass_server.session.voice.speech import Speech

STAGE = "hearing"
"""What `progress` calls listening and understanding."""
MAX_ID_CHARS = 64
_MAX_LANGUAGE_CHARS = 35
_REMEMBERED = 256
"""Most speeches that are over and whose names are still known."""


@dataclass(frozen=True, slots=True)
class Ears:
    """What hears for all sessions."""

    hearing: Hearing | None = None
    """None: nothing does."""
    pool: SpeechPool = field(default_factory=SpeechPool)
    elsewhere: bool = False
    """Whether it is behind a network address."""


class Asker(Protocol):
    """Asks what was heard; implemented by the session."""

    @property
    def client(self) -> Client:
        """Whose session it is."""
        ...

    @property
    def stays_here(self) -> bool:
        """Whether nothing of it may leave this machine."""
        ...

    @property
    def away(self) -> bool:
        """Whether its client has no link."""
        ...

    def check(self, start: SpeechStart) -> None:
        """Raise what `ask` would, whatever is heard."""
        ...

    def ask(self, ask: SessionAsk, message_id: int, ledger: ByteLedger, language: str) -> None:
        """Ask what was heard, in a language (empty: unknown), of which the ledger says where its sound went."""
        ...

    def hush(self, by: str) -> None:
        """End what runs and what is said: the wearer speaks, under the name `by`."""
        ...

    def emit(self, said: ServerSaid) -> None:
        """Send a message."""
        ...

    def failed(self, ask_id: str, message_id: int, error: Exception, message: str) -> None:
        """Tell that a spoken question is over without a turn."""
        ...

    def settled(self) -> None:
        """Note that one is over."""
        ...

    def answer_to(self, ask_id: str) -> str:
        """What was answered to a question, as far as it is remembered."""
        ...


class Speeches:
    """What a session's wearer says.

    Args:
        ears: hear it.
        asker: asks it.
        played: what the device may be playing meanwhile.
    """

    def __init__(self, ears: Ears, asker: Asker, played: PlayedSound) -> None:
        self._ears, self._asker, self._played = ears, asker, played
        self.hands_free = False
        """Whether the microphone stays open, as far as is known."""
        self._open: dict[str, Speech] = {}
        self._known: OrderedDict[str, tuple[bytes, SpeechStatus]] = OrderedDict()
        """Hash and status of speeches by their names, also of those that are over."""

    @property
    def open(self) -> tuple[str, ...]:
        """Names of the speeches that are listened to or being understood, in their order."""
        return tuple(self._open)

    def knows(self, name: str) -> bool:
        """Whether a speech of that name was started."""
        return name in self._known

    def progress(self) -> Progress | None:
        """How long the first one lasts; None: there is none."""
        first = next(iter(self._open.values()), None)
        return None if first is None else Progress(first.id, STAGE, first.elapsed)

    @property
    def wait_s(self) -> float:
        """Seconds for which nothing more is to be read, as the address has sent as much sound as it may; 0: none."""
        if all(each.end_seq is not None for each in self._open.values()):
            return 0.0
        return self._ears.pool.wait_s(self._asker.client.address)

    def start(self, start: SpeechStart, message_id: int) -> None:
        """Begin to listen; saying the same again changes nothing.

        Raises:
            InvalidInput: a field is wrong, or the name was used for another one.
            SpeechRunning: another one is being listened to.
            RoleMissing, NotLocal, EngineLost: it cannot be heard.
            Overloaded: too many are being heard.
        """
        checks.text(start.id, "id", longest=MAX_ID_CHARS)
        said = hashlib.sha256(repr(start).encode(errors="surrogatepass")).digest()
        if (known := self._known.get(start.id)) is not None:
            if known[0] != said:
                raise InvalidInput("id", f"{start.id!r} is the name of another speech of this session")
            there = self._open.get(start.id)
            self._asker.emit(known[1] if there is None else there.status)
            return
        self._known[start.id] = said, SpeechStatus(start.id, SpeechState.ENDED)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        speech = self._made(start, message_id)
        self.hands_free = start.ends_by_silence
        before = next(reversed(self._open.values()), None)
        self._open[start.id] = speech
        self._asker.emit(speech.status)
        if not start.ends_by_silence:
            self._hush(speech)
        speech.task = asyncio.create_task(self._listen(speech, before), name=f"listen {start.id}")

    def audio(self, audio: SpeechAudio) -> None:
        """Take a piece.

        Raises:
            NotFound: there is no such speech.
            InvalidInput: it leaves a gap, which `speech_status` shows.
        """
        if (speech := self._named(audio.id, "audio")) is None:
            return
        if speech.missing_before(audio.seq):
            self._asker.emit(speech.status)
            raise InvalidInput("audio.seq", f"{audio.seq} leaves a gap; {speech.status.next_seq} comes next")
        try:
            speech.take(audio)
        except Exception as error:
            self._fail(speech, error, "audio")

    def end(self, end: SpeechEnd) -> None:
        """The client has sent all of a speech.

        Raises:
            NotFound: there is no such speech.
            InvalidInput: not all of it came, which `speech_status` shows.
        """
        if (speech := self._named(end.id, "speech_end")) is not None:
            try:
                speech.end(end.parts)
            except InvalidInput as error:
                self._asker.emit(speech.status)
                raise InvalidInput(f"speech_end.{error.field}", error.description) from None

    def cancel(self, cause: Cause, by: str = "", *, only: str = "") -> int:
        """End all speeches, or the one of that name, but for the one that is called `by`; returns how many."""
        ended = [each for each in self._open.values() if each.id != by and only in ("", each.id)]
        for speech in ended:
            self._close(speech)
            self._asker.emit(Interrupted(speech.id, cause, by))
        return len(ended)

    def forget(self) -> int:
        """End all speeches, and forget their names; returns how many were ended."""
        count = self.cancel(Cause.CANCEL)
        self._known.clear()
        return count

    def stop(self) -> None:
        """End all speeches without telling anybody."""
        for speech in list(self._open.values()):
            self._close(speech)

    def linked(self) -> None:
        """There is a new link."""
        for speech in self._open.values():
            speech.linked()

    # What a speech tells: see `speech.SpeechListener`.

    @property
    def away(self) -> bool:
        """See `SpeechListener.away`."""
        return self._asker.away

    def pause(self, speech: Speech, *, pause: bool) -> None:
        """See `SpeechListener.pause`."""
        if not speech.over:
            state = SpeechState.PAUSE if pause else SpeechState.RESUME
            self._asker.emit(SpeechStatus(speech.id, state, speech.status.next_seq))

    def voice(self, speech: Speech) -> None:
        """See `SpeechListener.voice`."""
        if not speech.over:
            self._asker.emit(SpeechStatus(speech.id, SpeechState.VOICE, speech.examined))
            self._hush(speech)

    def partly(self, speech: Speech, transcript: Transcript) -> None:
        """See `SpeechListener.partly`."""
        text = heard(transcript.text)
        if text and not speech.over:
            self._asker.emit(SpeechTranscript(speech.id, text, False, transcript.language, transcript.probability))

    def ended(self, speech: Speech) -> None:
        """See `SpeechListener.ended`."""
        if not speech.over:
            self._asker.emit(speech.status)

    def _made(self, start: SpeechStart, message_id: int) -> Speech:
        hearing = needed(self._ears.hearing, "hearing", "a spoken question")
        if self._ears.elsewhere and self._asker.stays_here:
            raise NotLocal("hearing")
        for each in self._open.values():
            if each.end_seq is None:
                raise SpeechRunning(each.id)
        checks.text(start.language, "language", longest=_MAX_LANGUAGE_CHARS, required=False)
        self._asker.check(start)
        if not hearing.ready:
            raise EngineLost("what hears is not there now; ask in text, or try again later")
        place = self._ears.pool.places.take(self._asker.client)
        try:
            return Speech(start, message_id, hearing, self._ears.pool, place, self, self._played)
        except BaseException:
            place.release()
            raise

    def _named(self, name: str, message: str) -> Speech | None:
        """The speech of that name; None where it is over, and what comes of it is late."""
        if name not in self._known:
            raise NotFound(f"{message}.id: no speech of that name was started", field=f"{message}.id")
        return self._open.get(name)

    def _hush(self, speech: Speech) -> None:
        """The wearer speaks: whatever was before it ends, if it is to."""
        if speech.start.overlap in (Overlap.UNKNOWN, Overlap.INTERRUPT):
            self.cancel(Cause.SPEECH, speech.id)
            self._asker.hush(speech.id)

    async def _listen(self, speech: Speech, before: Speech | None) -> None:
        try:
            transcript = await speech.heard()
            if before is not None and before.task is not None:  # questions are asked in the order of their words
                await asyncio.wait({before.task})
        except Exception as error:
            self._fail(speech, error, "speech_start")
            return
        if not speech.over:
            self._close(speech)
            self._understood(speech, transcript)
            self._asker.settled()

    def _understood(self, speech: Speech, transcript: Transcript) -> None:
        text = heard(transcript.text)
        if speech.beside and is_echo(text, self._asker.answer_to(speech.beside)):
            text = ""
        wants = command(text)
        said = SpeechTranscript(speech.id, text, True, transcript.language, transcript.probability, wants)
        self._asker.emit(said)
        if wants is Command.STOP:
            self._asker.hush(speech.id)
        if said.asks:
            question = replace(speech.start.request or Question(""), question=text)
            try:
                ask = SessionAsk(speech.id, question, speech.start.overlap)
                self._asker.ask(ask, speech.message_id, speech.ledger, transcript.language)
            except Exception as error:
                self._asker.failed(speech.id, speech.message_id, error, "speech_start")

    def _fail(self, speech: Speech, error: Exception, message: str) -> None:
        """A speech is over without a turn."""
        if speech.over:
            return
        self._close(speech)
        if isinstance(error, InvalidInput):
            error = InvalidInput(f"{message}.{error.field}", error.description)
        self._asker.failed(speech.id, speech.message_id, error, message)
        self._asker.settled()

    def _close(self, speech: Speech) -> None:
        """Let a speech go: no more events follow, and its sound is gone."""
        speech.over = True
        self._open.pop(speech.id, None)
        if speech.id in self._known:
            seq = speech.status.next_seq
            self._known[speech.id] = self._known[speech.id][0], SpeechStatus(speech.id, SpeechState.ENDED, seq)
        speech.place.release()
        if speech.task is not None and speech.task is not asyncio.current_task():
            speech.task.cancel()
