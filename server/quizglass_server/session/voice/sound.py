"""The sound of one session: what its wearer says is asked, and what is answered is said aloud."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from quizglass.session import (
    Cause,
    OutputProfile,
    Overlap,
    Progress,
    Question,
    ServerSaid,
    SessionAsk,
    SpeechAudio,
    SpeechEnd,
    SpeechStart,
)
from quizglass_server.domain.sound import Sound
from quizglass_server.errors import InvalidInput
from quizglass_server.scheduling.clients import Client
from quizglass_server.scheduling.ledger import ByteLedger
from quizglass_server.session.voice.aloud import Aloud, HeardOf, Mouth
from quizglass_server.session.voice.echo import PlayedSound
from quizglass_server.session.voice.speeches import Ears, Speeches

SpeechSaid = SpeechStart | SpeechAudio | SpeechEnd
"""What a client says of a spoken question."""


class SoundHost(Protocol):
    """The session that the sound is of."""

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

    def check_asked(self) -> None:
        """Raise why no question is taken now."""
        ...

    def ask(self, ask: SessionAsk, message_id: int, ledger: ByteLedger | None = None) -> None:
        """Ask a question."""
        ...

    def sound_room(self) -> Awaitable[None]:
        """Wait until the client has what was sent."""
        ...

    def emit(self, said: ServerSaid) -> None:
        """Send a message."""
        ...

    def failed(self, ask_id: str, message_id: int, error: Exception, message: str = "ask") -> None:
        """Tell that a question failed."""
        ...

    def settled(self) -> None:
        """Note that a question, or what is said of its answer, is over."""
        ...


class TurnsOfSession(Protocol):
    """The questions of the session."""

    def knows(self, ask_id: str) -> bool:
        """Whether a question of that name was asked."""
        ...

    def check(self, question: Question | None, overlap: Overlap) -> None:
        """Raise what asking it would, whatever its words are."""
        ...

    def interrupt(self, cause: Cause, *, by: str = "") -> None:
        """End all that run or wait."""
        ...


class SessionSound:
    """What a session hears and says.

    Args:
        ears: hear for all sessions.
        mouth: speaks for all sessions.
        host: the session.
        turns: its questions.
        heard_of: how much was heard of the answer to a question; None: it is not remembered.
        output: what its answers should look like.
    """

    def __init__(
        self,
        ears: Ears,
        mouth: Mouth,
        host: SoundHost,
        turns: TurnsOfSession,
        heard_of: Callable[[str], HeardOf | None],
        output: OutputProfile,
    ) -> None:
        self._host, self._turns = host, turns
        self._heard_of = heard_of
        self._played = PlayedSound()
        self._speeches = Speeches(ears, self, self._played)
        self._aloud: Aloud | None = None
        if output.aloud:
            stays_here = lambda: host.stays_here  # noqa: E731
            self._aloud = Aloud(mouth, host.emit, host.sound_room, heard_of, stays_here, self._sent, host.settled)

    # What the session does.

    @property
    def open(self) -> tuple[str, ...]:
        """Names of the questions that are listened to or being understood."""
        return self._speeches.open

    @property
    def wait_s(self) -> float:
        """Seconds for which nothing more is to be read from the client; 0: none."""
        return self._speeches.wait_s

    @property
    def speaking(self) -> bool:
        """Whether an answer is being said."""
        return self._aloud is not None and self._aloud.speaking

    def take(self, said: SpeechSaid, message_id: int) -> None:
        """Take a message of the client; raises what is wrong with it."""
        match said:
            case SpeechAudio():
                self._speeches.audio(said)
            case SpeechEnd():
                self._speeches.end(said)
            case SpeechStart():
                try:
                    if self._turns.knows(said.id) and not self._speeches.knows(said.id):
                        raise InvalidInput("id", f"{said.id!r} is the name of another question of this session")
                    self._speeches.start(said, message_id)
                except InvalidInput as error:
                    raise InvalidInput(f"speech_start.{error.field}", error.description) from None

    def linked(self) -> None:
        """There is a new link."""
        self._speeches.linked()

    def progress(self) -> Progress | None:
        """How long a spoken question is being understood; None: none is."""
        return self._speeches.progress()

    def before(self, said: ServerSaid) -> ServerSaid:
        """A message as it is to be sent."""
        return said if self._aloud is None else self._aloud.before(said)

    def after(self, said: ServerSaid) -> None:
        """A message was sent."""
        if self._aloud is not None:
            self._aloud.after(said)

    def silence(self, ask_id: str) -> None:
        """Say no more of an answer, which is about to be interrupted."""
        if self._aloud is not None:
            self._aloud.silence(ask_id)

    def asked(self, ask: SessionAsk) -> None:
        """Say no more of earlier answers, unless the new question waits for them."""
        if self._aloud is not None and ask.overlap in (Overlap.UNKNOWN, Overlap.INTERRUPT):
            self._aloud.cut(Cause.ASK, but=ask.id)

    def cancel(self, cause: Cause, *, only: str = "") -> None:
        """End what is listened to and what is said: all of it, or one question's."""
        self._speeches.cancel(cause, only=only)
        if self._aloud is not None:
            self._aloud.cut(cause, only=only)

    def forget(self) -> int:
        """End all of it, and forget the names; returns how many spoken questions were ended."""
        self._played.forget()
        if self._aloud is not None:
            self._aloud.cut(Cause.CANCEL)
        return self._speeches.forget()

    def stop(self) -> None:
        """End all of it without telling anybody."""
        self._played.forget()
        self._speeches.stop()
        if self._aloud is not None:
            self._aloud.stop()

    def keep_to(self, most_hz: int) -> None:
        """Say answers with at most so many samples a second from now on; 0: any number."""
        if self._aloud is not None:
            self._aloud.most_hz = most_hz

    # What its speeches do: see `speeches.Asker`.

    @property
    def client(self) -> Client:
        """See `Asker.client`."""
        return self._host.client

    @property
    def stays_here(self) -> bool:
        """See `Asker.stays_here`."""
        return self._host.stays_here

    @property
    def away(self) -> bool:
        """See `Asker.away`."""
        return self._host.away

    def check(self, start: SpeechStart) -> None:
        """See `Asker.check`."""
        self._host.check_asked()
        self._turns.check(start.request, start.overlap)

    def ask(self, ask: SessionAsk, message_id: int, ledger: ByteLedger, language: str) -> None:
        """See `Asker.ask`."""
        if self._aloud is not None:
            self._aloud.language = language
        self._host.ask(ask, message_id, ledger)

    def hush(self, by: str) -> None:
        """See `Asker.hush`."""
        self._turns.interrupt(Cause.SPEECH, by=by)
        if self._aloud is not None:
            self._aloud.cut(Cause.SPEECH)

    def emit(self, said: ServerSaid) -> None:
        """See `Asker.emit`."""
        self._host.emit(said)

    def failed(self, ask_id: str, message_id: int, error: Exception, message: str) -> None:
        """See `Asker.failed`."""
        self._host.failed(ask_id, message_id, error, message)

    def settled(self) -> None:
        """See `Asker.settled`."""
        self._host.settled()

    def answer_to(self, ask_id: str) -> str:
        """See `Asker.answer_to`."""
        said = self._heard_of(ask_id)
        return "" if said is None else f"{said.heard} {said.unheard}"

    def _sent(self, ask_id: str, sound: Sound) -> None:
        """Sound of an answer was sent, which an open microphone may hear."""
        self._played.add(ask_id, sound, keep=self._speeches.hands_free)
