"""A spoken question that is being sent, or can be sent again."""

from __future__ import annotations

import asyncio
from collections import deque

from quizglass.session import Playing, SpeechAudio, SpeechEnd, SpeechStart, SpeechState, SpeechStatus

_MOST_BYTES = 8 * 1024 * 1024
"""Most bytes of sound that are kept to be sent again; the oldest go first, as those of a microphone that stays open."""


class SpeechUpload:
    """The sound of one spoken question.

    Args:
        start: what was announced.
    """

    def __init__(self, start: SpeechStart) -> None:
        self.start = start
        self.finished = asyncio.Event()
        """Set when the server takes nothing more of it."""
        self.left: list[bytes] = []
        """What came after its end, and belongs to what is spoken next."""
        self._pieces: deque[SpeechAudio] = deque()
        self._bytes = 0
        self._first = 0
        self._next: int | None = 0
        """Number of the next piece to be sent; None: the server has to say, over a new link."""
        self._whole = False
        self._ended = False
        self._greeted = False

    @property
    def over(self) -> bool:
        """Whether the server takes nothing more of it."""
        return self.finished.is_set()

    def add(self, data: bytes, playing: Playing | None) -> None:
        """More was recorded; what comes after its end is left for the next one."""
        if self.over:
            self.left.append(data)
            return
        self._pieces.append(SpeechAudio(self.start.id, self._first + len(self._pieces), data, playing))
        self._bytes += len(data)
        while self._bytes > _MOST_BYTES:
            self._bytes -= len(self._pieces.popleft().data)
            self._first += 1

    def complete(self) -> None:
        """Nothing more is recorded."""
        self._whole = True

    def status(self, status: SpeechStatus) -> None:
        """What the server has of it."""
        if status.state is SpeechState.ENDED:
            self.finished.set()
            self.left = [piece.data for piece in self._pieces if piece.seq >= status.next_seq]
            self._pieces.clear()
        elif status.state is SpeechState.LISTENING:
            if self._next is None or self._greeted:
                self._next, self._ended = status.next_seq, False
            self._greeted = True

    def again(self) -> None:
        """There is a new link, over which the server says what it has."""
        self._next, self._greeted = None, True

    def next(self) -> SpeechAudio | SpeechEnd | None:
        """What is to be sent next; None: nothing now."""
        if self.over or self._next is None:
            return None
        at = max(0, self._next - self._first)  # what is not kept any more leaves a gap, which the server refuses
        if at < len(self._pieces):
            self._next = self._first + at + 1
            return self._pieces[at]
        if self._whole and not self._ended:
            self._ended = True
            return SpeechEnd(self.start.id, self._first + len(self._pieces))
        return None
