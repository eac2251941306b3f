"""All sessions of a tenant: opened, found again, and ended together."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import replace

from quizglass.session import Open, Restored, SessionLimits
from quizglass_server.config.settings import LinkOptions
from quizglass_server.errors import (
    InvalidInput,
    Overloaded,
    QuizglassError,
    SessionUnknown,
    Stopping,
    Superseded,
    Unfinished,
)
from quizglass_server.observe import metrics
from quizglass_server.scheduling.clients import current_client
from quizglass_server.scheduling.places import Places
from quizglass_server.session.dialogue.following import Dialogue
from quizglass_server.session.frames import MAX_PART_BYTES
from quizglass_server.session.link import SessionLink
from quizglass_server.session.output import profile
from quizglass_server.session.session import Session, SessionResources

_HOLDER_BYTES = 16, 64
SWEEP_S = 60.0
SILENT_S = 30 * 60.0
"""A link whose client has said nothing for so long, not even a ping, ends, though there is room for it."""
PING_S = 6.0
"""Silence after which a client asks whether the link is alive, and takes it for dead after as long again."""
PROGRESS_S = 2.0


def session_limits(
    options: LinkOptions,
    max_frame_bytes: int,
    useful_picture_side: int = 0,
    *,
    hears: bool = False,
    speaks: bool = False,
) -> SessionLimits:
    """The limits that sessions tell their clients."""
    return SessionLimits(
        max_part_bytes=MAX_PART_BYTES,
        max_frame_bytes=min(max_frame_bytes, options.session_frames_bytes),
        max_frames_bytes=options.session_frames_bytes,
        max_frames=options.session_frames,
        max_pins=options.session_pins,
        max_queued_asks=options.session_queue,
        unacknowledged_bytes=options.session_unacknowledged_bytes,
        unacknowledged=options.session_unacknowledged_s,
        away=options.session_away_s,
        ping=PING_S,
        progress=PROGRESS_S,
        frame_wait=options.frame_wait_s,
        useful_picture_side=useful_picture_side,
        max_speech=options.session_speech_s if hears else 0.0,
        speaks=speaks,
    )


class SessionDirectory:
    """Sessions of one tenant, by their names.

    Args:
        resources: what they share.
        places: of sessions, for all directories of the server.
    """

    def __init__(self, resources: SessionResources, places: Places) -> None:
        self._resources = resources
        self._places = places
        self._sessions: dict[str, Session] = {}
        self._stopping = False
        self._sweeping: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, wish: Open) -> tuple[Session, SessionLink]:
        """Open a session and a link to it: resumed, or new with what can be restored of an earlier one.

        Raises:
            InvalidInput: a field is wrong.
            Overloaded: the client's address has too many, or there are too many, and none can make room.
            Stopping: nothing new is begun.
        """
        if self._stopping:
            raise Stopping
        _check(wish)
        there = self._sessions.get(wish.session_id)
        reason = "SESSION_UNKNOWN" if wish.session_id else ""
        dialogue: Dialogue = ()
        if there is not None and not there.belongs_to(wish.holder):
            there, reason = None, "SESSION_FOREIGN"
        if there is not None:
            reason = there.resumable_after(wish.last_seq)
            if not reason:
                with suppress(Overloaded):  # it stays where it was counted
                    there.place.move(current_client())
                there.privacy = there.privacy or wish.privacy
                metrics.OPENED.add(Restored.ALL)
                return there, there.attach(wish.last_seq, Restored.ALL, "")
            dialogue = there.dialogue
            wish = replace(wish, privacy=there.privacy or wish.privacy)  # it is what was said in that session
            there.end()
        elif wish.state:
            dialogue, refused = self._restored(wish)
            reason = refused or reason
        session = self._new(wish, dialogue)
        restored = Restored.DIALOGUE if dialogue else Restored.NONE if wish.session_id or wish.state else Restored.NEW
        metrics.OPENED.add(restored or "new")
        return session, session.attach(0, restored, reason)

    def of_holder(self, holder: bytes, session_id: str, stream: int) -> Session:
        """The session of that name, for the client that has its secret; `stream` as for `get`.

        Raises:
            InvalidInput: the secret is none.
            SessionUnknown: there is no such session, or it is another client's.
            Superseded: it has a newer link.
        """
        _check_holder(holder, "holder")
        session = self._sessions.get(session_id)
        if session is None or not session.belongs_to(holder):
            raise SessionUnknown
        return self.get(session_id, stream)

    def get(self, session_id: str, stream: int) -> Session:
        """The session of that name, of whose links `stream` (0: whichever) is the newest.

        Raises:
            SessionUnknown: there is none.
            Superseded: it has a newer link.
        """
        session = self._sessions.get(session_id)
        if session is None:
            raise SessionUnknown
        if stream and stream != session.stream:
            raise Superseded
        return session

    def stop(self, left_s: float) -> None:
        """Begin nothing new; links end as soon as no question runs on them, which may take `left_s` seconds."""
        self._stopping = True
        for session in list(self._sessions.values()):
            session.go_away(left_s)

    def end(self) -> None:
        """End all sessions."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        for session in list(self._sessions.values()):
            session.cut_short()

    def _restored(self, wish: Open) -> tuple[Dialogue, str]:
        """The dialogue that a client's state holds, or why it gives none."""
        try:
            return self._resources.sealer.open_state(wish.state, wish.holder), ""
        except QuizglassError as error:
            return (), error.code

    def _new(self, wish: Open, dialogue: Dialogue) -> Session:
        place = self._places.take(current_client())
        session = Session(self._resources, place, wish.holder, dialogue, wish.output, wish.privacy, self._forget)
        self._sessions[session.id] = session
        if self._sweeping is None:
            self._sweeping = asyncio.get_running_loop().call_later(SWEEP_S, self._sweep)
        return session

    def _forget(self, session: Session) -> None:
        self._sessions.pop(session.id, None)
        session.place.release()

    def _sweep(self) -> None:
        """End links over which nothing was said for long; their sessions may still be resumed."""
        self._sweeping = asyncio.get_running_loop().call_later(SWEEP_S, self._sweep) if self._sessions else None
        for session in self._sessions.values():
            since = session.place.idle_since
            if session.link is not None and since is not None and time.monotonic() - since > SILENT_S:
                session.link.end(Unfinished(SILENT_S, "ping to keep a link"))


def _check_holder(holder: bytes, field: str) -> None:
    least, most = _HOLDER_BYTES
    if not least <= len(holder) <= most:
        raise InvalidInput(field, f"{len(holder)} bytes; a holder's secret has {least} to {most}")


def _check(wish: Open) -> None:
    _check_holder(wish.holder, "open.holder")
    if wish.last_seq < 0:
        raise InvalidInput("open.last_seq", f"{wish.last_seq} is negative; give 0 where no message arrived")
    profile.check(wish.output, "open.output")
