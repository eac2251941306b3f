"""Dialogues as opaque tokens: compressed, dated and signed (HMAC-SHA256), at most `LONGEST` bytes.

    version (1) | id of the key (4) | end in seconds since 1970 (8) | JSON, deflated | signature of all that (32)

The state of a wearable's session is one too, signed for another purpose and with the hash of its holder's secret.

A token is signed, not encrypted: it holds what its client has said and been told. It grants no right that a request
without one could not.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
import zlib
from bisect import bisect_left
from collections.abc import Callable, Sequence

from quizglass_server.errors import InvalidInput, SessionExpired, SessionForeign, SessionForged, SessionUnknownKey
from quizglass_server.session.dialogue.following import MOST_EXCHANGES, Dialogue, Spoken
from quizglass_server.steady_clock import SteadyClock

LONGEST = 8192
"""Bytes of a token."""
_VERSION = 1
_HEADER = struct.Struct(">B4sQ")
_SIGNATURE = 32
_PURPOSE = b"quizglass session\0"
_STATE = b"quizglass session state\0"
_TENANT = b"quizglass tenant\0"
_HOLDER = 16
"""Bytes of the hash of a holder's secret."""


class DialogueSealer:
    """Makes tokens of dialogues, and dialogues of tokens.

    Args:
        keys: the first one signs; tokens of all are taken.
        ttl_s: seconds that a token can be used.
        now: the time, in seconds since 1970; None: it begins as the system's clock, and does not jump.
    """

    def __init__(self, keys: Sequence[bytes], ttl_s: int, now: Callable[[], float] | None = None) -> None:
        self._every = tuple(keys)
        self._keys = {_id(key): key for key in keys}
        self._signing = keys[0]
        self._ttl_s = ttl_s
        self._now = now or SteadyClock()

    def of_tenant(self, name: str) -> DialogueSealer:
        """The same with keys of a tenant's own, made of these: no other tenant's tokens are taken."""
        keys = [hmac.digest(key, _TENANT + name.encode(), "sha256") for key in self._every]
        return DialogueSealer(keys, self._ttl_s, self._now)

    def seal(self, dialogue: Dialogue) -> bytes:
        """A token of a dialogue that is not empty.

        What does not fit is left out, oldest turns first; of the last turn the texts are cut.
        """
        return self._sealed(dialogue, _PURPOSE, b"")

    def seal_state(self, dialogue: Dialogue, holder: bytes) -> bytes:
        """The state of a session with this dialogue, for who knows the holder's secret; empty without a dialogue."""
        return self._sealed(dialogue, _STATE, _hashed(holder)) if dialogue else b""

    def open(self, token: bytes) -> Dialogue:
        """The dialogue of a token.

        Raises:
            InvalidInput: it is longer than any token.
            SessionUnknownKey, SessionForged, SessionExpired: it is not to be used.
        """
        return _read(self._opened(token, _PURPOSE))

    def open_state(self, state: bytes, holder: bytes) -> Dialogue:
        """The dialogue of a session's state.

        Raises:
            InvalidInput, SessionUnknownKey, SessionForged, SessionExpired: as `open`.
            SessionForeign: it was made for another holder.
        """
        body = self._opened(state, _STATE)
        if not hmac.compare_digest(body[:_HOLDER], _hashed(holder)):
            raise SessionForeign
        return _read(body[_HOLDER:])

    def _sealed(self, dialogue: Dialogue, purpose: bytes, head: bytes) -> bytes:
        end = int(self._now()) + self._ttl_s

        def signed(turns: Dialogue) -> bytes:
            return self._signed(turns, end, purpose, head)

        latest = dialogue[-MOST_EXCHANGES:]
        if len(token := signed(latest)) <= LONGEST:
            return token
        # By halving: each try writes and compresses anew.
        fitting = bisect_left(range(1, len(latest)), True, key=lambda count: len(signed(latest[-count:])) > LONGEST)
        if fitting:
            return signed(latest[-fitting:])
        last = latest[-1]
        while len(token := signed((last,))) > LONGEST:
            last = _halved(last)
        return token

    def _opened(self, token: bytes, purpose: bytes) -> bytes:
        if len(token) > LONGEST:
            raise InvalidInput("session", f"{len(token)} bytes is more than the {LONGEST} that a session has")
        if len(token) < _HEADER.size + _SIGNATURE:
            raise SessionForged
        version, key_id, end = _HEADER.unpack_from(token)
        if version != _VERSION:
            raise SessionForged
        if (key := self._keys.get(key_id)) is None:
            raise SessionUnknownKey
        signed, signature = token[:-_SIGNATURE], token[-_SIGNATURE:]
        if not hmac.compare_digest(_signature(key, signed, purpose), signature):
            raise SessionForged
        if self._now() >= end:
            raise SessionExpired
        return signed[_HEADER.size :]

    def _signed(self, dialogue: Dialogue, end: int, purpose: bytes, head: bytes) -> bytes:
        said = [_written(each) for each in dialogue]
        body = head + zlib.compress(json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode())
        signed = _HEADER.pack(_VERSION, _id(self._signing), end) + body
        return signed + _signature(self._signing, signed, purpose)


def _written(spoken: Spoken) -> list[object]:
    written: list[object] = [spoken.question, spoken.answer, spoken.frame.hex(), spoken.entities]
    return [*written, spoken.unheard] if spoken.unheard else written


def _read(body: bytes) -> Dialogue:
    said = json.loads(zlib.decompress(body))
    return tuple(
        Spoken(question, answer, bytes.fromhex(frame), tuple(entities), *unheard)
        for question, answer, frame, entities, *unheard in said
    )


def _halved(spoken: Spoken) -> Spoken:
    question, answer, unheard = (text[: len(text) // 2] for text in (spoken.question, spoken.answer, spoken.unheard))
    return Spoken(question, answer, spoken.frame, spoken.entities, unheard)


def _hashed(holder: bytes) -> bytes:
    return hashlib.sha256(_STATE + holder).digest()[:_HOLDER]


def _signature(key: bytes, signed: bytes, purpose: bytes) -> bytes:
    return hmac.digest(key, purpose + signed, "sha256")


def _id(key: bytes) -> bytes:
    return hashlib.sha256(_PURPOSE + key).digest()[:4]
