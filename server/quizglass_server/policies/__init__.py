"""The systems that run a turn; `POLICIES` (`table.py`) has them by name.

A published system behaves as its paper says. Its name with a "+" is the same system with what this server adds.

Knows the state of a turn, the verbs of `tools.py` and the words of steps; no model, no engine, no budget, no wire.
"""

from __future__ import annotations

from quizglass_server.policies.policy import Policy
from quizglass_server.policies.table import POLICIES

__all__ = ["POLICIES", "Policy"]
