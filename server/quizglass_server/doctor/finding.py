"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """How good a finding is."""

    OK = "ok"
    SLOW = "slow"
    """It works, and could work better."""
    WRONG = "wrong"
    """A server would not start, or would fail."""
    UNKNOWN = "unknown"
    """It could not be checked."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: what was looked at, a word or two.
        status: how good it is.
        text: what was found, one sentence.
        remedy: what to do about it; empty where nothing has to be done.
        values: the same for machines; what can be written as JSON.
    """

    name: str
    status: Status
    text: str
    remedy: str = ""
    values: dict[str, Any] = field(default_factory=dict)
