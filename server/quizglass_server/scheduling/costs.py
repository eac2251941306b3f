"""The usual cost of each step by its amount of work, learnt from its running times."""

from __future__ import annotations

_WEIGHT = 0.25
"""Weight of the newest sample: about the last eight turns decide."""
_FORGIVE = 0.9
"""A skipped step's estimate shrinks by this each time, so that one slow run never excludes it for good."""


class StepCosts:
    """Running estimate, per step, of the seconds it takes: a line over sizes through weighted means.

    A size is any positive number that the cost grows with, such as the passages to rerank; steps without one pass none.
    """

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    def usual(self, step: str, size: float | None = None) -> float:
        """Seconds the step usually takes, of this size or of its usual one; 0 before its first run."""
        line = self._lines.get(step)
        return 0.0 if line is None else line.at(line.size if size is None else size)

    def took(self, step: str, seconds: float, size: float = 1.0) -> None:
        """Learn from a finished run."""
        if (line := self._lines.get(step)) is None:
            self._lines[step] = _Line(seconds, size)
        else:
            line.learn(seconds, size)

    def was_cut(self, step: str, seconds: float, size: float = 1.0) -> None:
        """Learn from a run that was cut off after `seconds`: it takes at least that."""
        line = self._lines.setdefault(step, _Line(seconds, size))
        line.seconds += max(0.0, seconds - line.at(size))

    def was_skipped(self, step: str) -> None:
        """Let a step that did not fit come a little nearer to being tried again."""
        if (line := self._lines.get(step)) is not None:
            line.seconds *= _FORGIVE
            line.together *= _FORGIVE


class _Line:
    """Seconds over sizes; between a constant and a cost that is proportional to the size."""

    __slots__ = ("seconds", "size", "spread", "together")

    def __init__(self, seconds: float, size: float) -> None:
        self.seconds = seconds
        """Mean."""
        self.size = size
        """Mean."""
        self.spread = 0.0
        """Variance of the size."""
        self.together = 0.0
        """Covariance of size and seconds."""

    def at(self, size: float) -> float:
        share = self.seconds / self.size if self.size > 0 else 0.0
        # Of one size only nothing is known of others: it is taken to be proportional.
        slope = min(max(self.together / self.spread, 0.0), share) if self.spread > 0 else share
        return self.seconds + slope * (size - self.size)

    def learn(self, seconds: float, size: float) -> None:
        further, longer = size - self.size, seconds - self.seconds
        self.size += _WEIGHT * further
        self.seconds += _WEIGHT * longer
        self.spread = (1 - _WEIGHT) * (self.spread + _WEIGHT * further**2)
        self.together = (1 - _WEIGHT) * (self.together + _WEIGHT * further * longer)
