"""The systems that run a turn; `POLICIES` has them by name.

A published system behaves as its paper says. Its name with a "+" is the same system with what this server adds.

Knows the state of a turn, the verbs of `tools.py` and the words of steps; no model, no engine, no budget, no wire.
"""

from __future__ import annotations

from quizglass_server.policies.adaptive import Adaptive
from quizglass_server.policies.cogplanner import Action, CogPlanner
from quizglass_server.policies.cogplanner_baselines import OneSearch, SelfReflective
from quizglass_server.policies.core_baselines import ChainOfThought, OneStage, TwoStage
from quizglass_server.policies.core_mmrag import RECONCILING, CoReMmrag, CoReMmragPlus, reconcile
from quizglass_server.policies.draft_first import DraftFirst
from quizglass_server.policies.omnisearch import OmniSearch
from quizglass_server.policies.planning_agent import FixedPlan, PlanningAgent, PlanningAgentPlus
from quizglass_server.policies.policy import Policy, by_name
from quizglass_server.policies.qa_dragon import DirectRag, QADragon, ThoughtAlone
from quizglass_server.policies.quote import Quote

__all__ = ["POLICIES", "Policy"]

_ALL: tuple[Policy, ...] = (
    Adaptive(),
    *FixedPlan.every(),
    Quote(),
    DraftFirst(),
    PlanningAgent(),
    PlanningAgentPlus(),
    PlanningAgent("prompt-based", by="plan"),
    PlanningAgentPlus("prompt-based+", by="plan"),
    PlanningAgentPlus("planning-agent-reconciled", answerer=reconcile, tasks=RECONCILING),
    CogPlanner("cogplanner-parallel", parallel=True),
    CogPlanner("cogplanner-parallel+", parallel=True, published=False),
    CogPlanner("cogplanner-sequential", parallel=False),
    CogPlanner("cogplanner-sequential+", parallel=False, published=False),
    OneSearch("fixed-text", Action.TEXT),
    OneSearch("fixed-text+", Action.TEXT, published=False),
    OneSearch("fixed-image", Action.IMAGE),
    OneSearch("fixed-image+", Action.IMAGE, published=False),
    SelfReflective(),
    SelfReflective("self-reflective+", published=False),
    OmniSearch(),
    OmniSearch("omnisearch+", published=False),
    CoReMmrag(),
    CoReMmragPlus(),
    OneStage(),
    OneStage("core-one-stage+", published=False),
    TwoStage(),
    TwoStage("core-two-stage+", published=False),
    ChainOfThought(),
    ChainOfThought("core-chain-of-thought+", published=False),
    *QADragon.every(),
    ThoughtAlone(),
    DirectRag(),
)
POLICIES: dict[str, Policy] = by_name(_ALL)
