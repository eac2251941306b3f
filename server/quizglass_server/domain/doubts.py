"""How an answer's doubt is put for people who read or hear nothing but its words."""

from __future__ import annotations

from quizglass.values import Verdict, VerdictOutcome

_UNCONFIRMED = "But nothing I found confirms that."
_DISPUTED = "But other sources say otherwise."
DOUBTS = (_UNCONFIRMED, _DISPUTED)
"""All that may be said."""


def doubt_of(verdict: Verdict | None) -> str:
    """The sentence that follows an answer that the evidence does not support, or that other evidence disputes; empty:
    none does."""
    if verdict is None:
        return ""
    if verdict.outcome is VerdictOutcome.UNSUPPORTED:
        return _UNCONFIRMED
    return _DISPUTED if verdict.notes.get("disputed") else ""
