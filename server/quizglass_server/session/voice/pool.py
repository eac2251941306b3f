"""What all sessions together may take of the sound of their clients."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from quizglass_server.errors import Overloaded
from quizglass_server.scheduling.places import Places
from quizglass_server.session.voice.endpoint import MakeDetector, SileroDetector
from quizglass_server.session.voice.intake import LONGEST_PIECE_S

_TIMES_LIVE = 8.0
"""Seconds of sound that one address may send in a second, as of so many wearers behind it."""
_BURST_SPEECHES = 4
"""Longest speeches that it may send at once, as those of files."""
_MOST_ADDRESSES = 4096
_RETRY_S = 1.0


@dataclass(slots=True)
class _Allowance:
    seconds: float
    at: float


@dataclass(eq=False)
class SpeechPool:
    """Bounds spoken questions.

    Args:
        most: that are listened to at once; no address gets all.
        longest_s: seconds of one, from its first word on.
        detector: makes what finds voices in sound.
        now: monotonic clock in seconds.
    """

    most: int = 64
    longest_s: float = 30.0
    detector: MakeDetector = SileroDetector
    now: Callable[[], float] = monotonic
    places: Places = field(init=False)
    _allowances: OrderedDict[str, _Allowance] = field(default_factory=OrderedDict, init=False)

    def __post_init__(self) -> None:
        self.places = Places(self.most, "spoken questions")

    def take(self, address: str, seconds: float) -> None:
        """Take so many seconds of sound from an address, before anything is made of it.

        Raises:
            Overloaded: it has sent more than its wearers can have said.
        """
        allowance = _Allowance(self._allowed_s(address), self.now())
        self._allowances.pop(address, None)
        self._allowances[address] = allowance
        while len(self._allowances) > _MOST_ADDRESSES:
            self._allowances.popitem(last=False)
        if allowance.seconds < seconds:
            raise Overloaded("more sound came from your address than its wearers can have said", _RETRY_S)
        allowance.seconds -= seconds

    def wait_s(self, address: str) -> float:
        """Seconds after which a piece of any length may come from an address."""
        return max(0.0, (LONGEST_PIECE_S - self._allowed_s(address)) / _TIMES_LIVE)

    def _allowed_s(self, address: str) -> float:
        """Seconds of sound that may come from an address now."""
        burst = _BURST_SPEECHES * self.longest_s
        allowance = self._allowances.get(address)
        if allowance is None:
            return burst
        return min(burst, allowance.seconds + (self.now() - allowance.at) * _TIMES_LIVE)
