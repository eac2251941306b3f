"""A spoken question that is being sent, or can be sent again."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from quizglass.session import Codec, Playing, SpeechAudio, SpeechEnd, SpeechStart, SpeechState, SpeechStatus

_MOST_BYTES = 8 * 1024 * 1024
"""Most bytes of sound that are kept to be sent again; the oldest go first, as those of a microphone that stays open."""
_BEFORE_S, _BEFORE_PAUSED_S = 0.5, 2.0
"""Sound before the piece of the first word that a server hears with it; the same where answers are paused."""
_SAMPLE_BYTES = 2
_SILK_MS, _HYBRID_MS, _CELT_MS = (10.0, 20.0, 40.0, 60.0), (10.0, 20.0), (2.5, 5.0, 10.0, 20.0)


class SpeechUpload:
    """The sound of one spoken question.

    Args:
        start: what is announced.
        announced: whether it is announced already; else it waits until the speeches before it are.
    """

    def __init__(self, start: SpeechStart, *, announced: bool = True) -> None:
        self.start = start
        self.announced = announced
        """Whether the session of now has been told that it begins."""
        self.repeating = False
        """Whether another session had all of it, and that of now has not yet."""
        self.lost = False
        """Whether sound that the session of now needs is not kept any more."""
        self.finished = asyncio.Event()
        """Set when the server takes nothing more that is recorded."""
        self.left: list[bytes] = []
        """What came after its end, and belongs to what is spoken next."""
        self._pieces: deque[tuple[bytes, Playing | None]] = deque()
        self._bytes = 0
        self._first = 0
        self._next: int | None = 0
        """Number of the next piece to be sent; None: the server has to say, over a new link."""
        self._voice: int | None = None
        """Number of the piece before which the first word was heard; None: none was."""
        self._whole = False
        self._ended = False
        self._greeted = False
        self._forgotten = False

    @property
    def over(self) -> bool:
        """Whether nothing more of it is recorded."""
        return self.finished.is_set()

    def add(self, data: bytes, playing: Playing | None) -> None:
        """More was recorded; what comes after its end is left for the next one."""
        if self.over:
            self.left.append(data)
            return
        self._pieces.append((data, playing))
        self._bytes += len(data)
        while self._bytes > _MOST_BYTES:
            self._drop_oldest()
        self.lost = self.lost or (self._next is not None and self._next < self._first)

    def complete(self) -> None:
        """Nothing more is recorded."""
        self._whole = True

    def forget(self) -> None:
        """No other session is to have it."""
        self._forgotten = True
        if self.over:
            self._pieces.clear()

    def status(self, status: SpeechStatus) -> bool:
        """What the server has of it; returns whether that was not known from an earlier session."""
        known = self.over
        if status.state is SpeechState.ENDED:
            self.repeating = False
            if not self.over:
                self._end(status.next_seq)
        elif status.state is SpeechState.VOICE:
            known = known and self._voice is not None
            self._voice = status.next_seq if self._voice is None else self._voice
        elif status.state is SpeechState.LISTENING:
            if self._next is None or self._greeted:
                self._next, self._ended = status.next_seq, False
                self.lost = status.next_seq < self._first
            self._greeted = True
        return not known

    def again(self, *, resumed: bool, longest_s: float) -> None:
        """There is a new link, over which the server says what it has.

        Args:
            resumed: whether the session is the same. Another one needs the whole question.
            longest_s: seconds of sound that it takes at once.
        """
        if resumed and self.over and not self.repeating:
            return  # its transcript comes
        self._next, self._greeted = None, True
        if resumed:
            return
        self.announced, self._ended, self.repeating = False, False, self.over
        if self.start.ends_by_silence:
            self._trim(longest_s)
        if self.over:
            self._pieces = deque((data, None) for data, _ in self._pieces)  # no answer that this session knows
            self._whole = True
        if self.over and self._voice is not None:  # where it begins and ends is known
            self.start = replace(self.start, ends_by_silence=False, pauses=False)
        self.lost = self._forgotten or self._first > 0

    def next(self) -> SpeechAudio | SpeechEnd | None:
        """What is to be sent next; None: nothing now."""
        if (self.over and not self.repeating) or self._next is None or self.lost:
            return None
        at = self._next - self._first
        if at < len(self._pieces):
            data, playing = self._pieces[at]
            self._next += 1
            return SpeechAudio(self.start.id, self._next - 1, data, playing)
        if self._whole and not self._ended:
            self._ended = True
            return SpeechEnd(self.start.id, self._first + len(self._pieces))
        return None

    def _end(self, seq: int) -> None:
        """The server has heard enough; what came since is not of this question, which is kept until then."""
        pieces, count = list(self._pieces), max(0, seq - self._first)
        self._pieces, self.left = deque(pieces[:count]), [data for data, _ in pieces[count:]]
        self.finished.set()

    def _drop_oldest(self) -> None:
        data, _ = self._pieces.popleft()
        self._bytes -= len(data)
        self._first += 1

    def _trim(self, longest_s: float) -> None:
        """Keep what another session can use, numbered anew: the question from shortly before its first word on, or
        of an open microphone in which none was heard as much as a question may have."""
        if self._voice is not None and self._voice <= self._first:
            return  # its beginning is not kept
        seconds = [self._seconds(data) for data, _ in self._pieces]
        begin = 0
        if self._voice is not None:
            before_s = _BEFORE_PAUSED_S if self.start.pauses else _BEFORE_S
            begin = _from(seconds[: self._voice - 1 - self._first], more_than_s=before_s)
        if self.over or self._voice is None:
            begin = max(begin, _from(seconds, most_s=longest_s))
        for _ in range(begin):
            self._drop_oldest()
        self._voice = None if self._voice is None else self._voice - self._first
        self._first = 0

    def _seconds(self, data: bytes) -> float:
        if self.start.codec is Codec.OPUS:
            return _opus_seconds(data)
        return len(data) / (_SAMPLE_BYTES * self.start.channels * self.start.rate_hz)


def _from(seconds: Sequence[float], *, more_than_s: float = math.inf, most_s: float = math.inf) -> int:
    """Where the last pieces begin that have more than, and at most, so many seconds."""
    at, total = len(seconds), 0.0
    while at and total <= more_than_s and total + seconds[at - 1] <= most_s:
        at -= 1
        total += seconds[at]
    return at


def _opus_seconds(packet: bytes) -> float:
    """How long a packet's sound is, by its first bytes (RFC 6716, sections 3.1 and 3.2)."""
    if len(packet) < 2:
        return 0.0
    config, code = packet[0] >> 3, packet[0] & 3
    frame_ms = _SILK_MS[config % 4] if config < 12 else _HYBRID_MS[config % 2] if config < 16 else _CELT_MS[config % 4]
    return (1, 2, 2, packet[1] & 63)[code] * frame_ms / 1_000
