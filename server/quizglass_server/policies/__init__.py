"""The published systems that run a turn, one module each; `POLICIES` has them by name, the default first."""

from __future__ import annotations

from quizglass_server.policies.draft_first import DraftFirst
from quizglass_server.policies.fixed import FixedPlan
from quizglass_server.policies.planning_agent import PlanningAgent
from quizglass_server.policies.policy import Policy

__all__ = ["POLICIES", "Policy"]

_ALL: tuple[Policy, ...] = (
    PlanningAgent(),
    *FixedPlan.every(),
    PlanningAgent("prompt-based", by="plan"),
    DraftFirst(),
)
POLICIES: dict[str, Policy] = {policy.name: policy for policy in _ALL}
