"""The systems that run a turn, one module each, published ones and one of our own; `POLICIES` has them by name.

Knows the state of a turn, the verbs of `tools.py` and the words of steps; no model, no engine, no budget, no wire.
"""

from __future__ import annotations

from quizglass_server.policies.adaptive import Adaptive
from quizglass_server.policies.cogplanner import Action, CogPlanner
from quizglass_server.policies.cogplanner_baselines import OneSearch, SelfReflective
from quizglass_server.policies.core_baselines import ChainOfThought, OneStage, TwoStage
from quizglass_server.policies.core_mmrag import RECONCILING, CoReMmrag, reconcile
from quizglass_server.policies.draft_first import DraftFirst
from quizglass_server.policies.omnisearch import OmniSearch
from quizglass_server.policies.planning_agent import FixedPlan, PlanningAgent
from quizglass_server.policies.policy import Policy, by_name
from quizglass_server.policies.qa_dragon import QADragon
from quizglass_server.policies.quote import Quote

__all__ = ["POLICIES", "Policy"]

_ALL: tuple[Policy, ...] = (
    PlanningAgent(),
    Adaptive(),
    *FixedPlan.every(),
    Quote(),
    PlanningAgent("prompt-based", by="plan"),
    PlanningAgent("planning-agent-reconciled", answerer=reconcile, tasks=RECONCILING),
    DraftFirst(),
    CogPlanner("cogplanner-parallel", parallel=True),
    CogPlanner("cogplanner-sequential", parallel=False),
    OneSearch("fixed-text", Action.TEXT),
    OneSearch("fixed-image", Action.IMAGE),
    SelfReflective(),
    OmniSearch(),
    CoReMmrag(),
    OneStage(),
    TwoStage(),
    ChainOfThought(),
    *QADragon.every(),
)
POLICIES: dict[str, Policy] = by_name(_ALL)
