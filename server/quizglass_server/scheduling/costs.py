"""What each step usually costs, learnt from what it cost."""

from __future__ import annotations

_WEIGHT = 0.25
"""Of the newest sample: about the last eight turns decide."""
_FORGIVE = 0.9
"""A skipped step's estimate shrinks by this each time, so that one slow run never excludes it for good."""


class StepCosts:
    """Running estimate, per step, of the seconds it takes (exponentially weighted mean)."""

    def __init__(self) -> None:
        self._usual: dict[str, float] = {}

    def usual(self, step: str) -> float:
        """Seconds the step usually takes; 0 before its first run."""
        return self._usual.get(step, 0.0)

    def known(self, step: str) -> bool:
        """Whether the step has run before."""
        return step in self._usual

    def took(self, step: str, seconds: float) -> None:
        """Learn from a finished run."""
        before = self._usual.get(step)
        self._usual[step] = seconds if before is None else before + _WEIGHT * (seconds - before)

    def was_cut(self, step: str, seconds: float) -> None:
        """Learn from a run that was cut off after `seconds`: it takes at least that."""
        self._usual[step] = max(seconds, self._usual.get(step, 0.0))

    def was_skipped(self, step: str) -> None:
        """Let a step that did not fit come a little nearer to being tried again."""
        if step in self._usual:
            self._usual[step] *= _FORGIVE
