"""Where a client is in its session: which messages it has and has acknowledged, and what it can be continued with.

Knows no gRPC.
"""

from __future__ import annotations

import secrets

from quizglass.session import Ack, Open, Opened, Privacy, Restored
from quizglass_client.errors import InvalidRequest
from quizglass_client.session.liveness import LinkDead
from quizglass_client.session.values import SessionOptions

_HOLDER_BYTES = 32
_ACK_EVERY = 16
_ACK_BYTES = 16 * 1024


class SessionPosition:
    """Where a client is in its session.

    Args:
        state: that of an earlier session, whose dialogue goes on; empty: there is none.

    Raises:
        InvalidRequest: no session has such a state.
    """

    def __init__(self, state: bytes = b"") -> None:
        if state and len(state) <= _HOLDER_BYTES:
            raise InvalidRequest.of("state", f"{len(state)} bytes are no state of a session")
        self._holder = state[:_HOLDER_BYTES] or secrets.token_bytes(_HOLDER_BYTES)
        self._state = state[_HOLDER_BYTES:]
        self._session_id = ""
        self._seq = 0
        self._unacknowledged = 0
        self._unacknowledged_bytes = 0

    @property
    def state(self) -> bytes:
        """The secret of the session and what the server has signed for it; empty as long as nothing was said."""
        return self._holder + self._state if self._state else b""

    @property
    def begun(self) -> bool:
        """Whether a server has opened the session."""
        return bool(self._session_id)

    def signed(self, state: bytes) -> None:
        """The server has signed the dialogue so far; empty: nothing new."""
        self._state = state or self._state

    def forget(self) -> None:
        """There is no dialogue any more."""
        self._state = b""

    def open(self, options: SessionOptions) -> Open:
        """What a link begins with."""
        privacy = Privacy.LOCAL_ONLY if options.local_only else Privacy.ANYWHERE
        last_seq = self._seq if self.begun else 0
        return Open(self._holder, self._session_id, last_seq, self._state, options.output, privacy)

    def opened(self, opened: Opened) -> None:
        """The server has taken the session up again, or opened another one."""
        if opened.restored is not Restored.ALL:
            self._seq = 0
        self._session_id = opened.session_id
        self._unacknowledged = self._unacknowledged_bytes = 0

    def check(self, seq: int) -> None:
        """A message came that has no number of its own, and names the last one before it.

        Raises:
            LinkDead: that one has not come.
        """
        if seq != self._seq:
            raise LinkDead("messages have got lost")

    def has(self, seq: int) -> bool:
        """Whether the message of this number has come already."""
        return seq <= self._seq

    def advance(self, seq: int, size: int, *, ends: bool) -> Ack | None:
        """The next message came; what is to be acknowledged now.

        Args:
            seq: its number.
            size: its bytes.
            ends: whether it is the last one of a turn.

        Raises:
            LinkDead: one before it has not come.
        """
        self.check(seq - 1)
        self._seq = seq
        self._unacknowledged += 1
        self._unacknowledged_bytes += size
        if not ends and self._unacknowledged < _ACK_EVERY and self._unacknowledged_bytes < _ACK_BYTES:
            return None
        self._unacknowledged = self._unacknowledged_bytes = 0
        return Ack(seq)
