"""Every policy by its name, which of them can be served with what there is, and what the others lack.

A new policy is a module beside this one, and its line in `_ALL`.

A policy says itself what it needs (`Policy.needs`, `Policy.tasks`). The check of a turn, a server's start and
capabilities, and `quizglass-export inspect` all ask here; `has` is a bundle's or the loaded models'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

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
    CoReMmrag("core-mmrag-top-1", top=1),
    CoReMmrag("core-mmrag-top-2", top=2),
    CoReMmragPlus(),
    OneStage(),
    OneStage("core-one-stage-top-1", top=1),
    OneStage("core-one-stage-top-2", top=2),
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

Has = Callable[[str], bool]
"""Whether a role is filled or a decider there ("planner", "deciders.act"), or a part of one
("generator.prompts.plan")."""

QUOTE = "quote"
CHOICES = "generator.choices"
"""What a generator that tells no probabilities lacks."""
CHOSEN = frozenset(
    {"plan", "act", "next", "grade", "select", "select_by_text", "search_router", "tool_router", "subject", "entity"}
    | {"verifier"}
)
"""Tasks of policies that choose one of a closed set, by what the generator gives each, where no decider does."""
BY_PREFERENCE = ("adaptive", "planning-agent+", "draft-first", "both", "image", "text", "none", QUOTE)
"""Which policy a server takes when a request names none: the first of these that it can serve. One that was taught to
decide goes before one that always looks up, and looking up more before less. A published system is never taken unasked,
and `prompt-based+` neither: in the planning agent's paper an untuned model decides worse than looking up always is.
`quote` comes last, for bundles without a generator, and first where the bundle says that its answers are quotes."""

FOR_APPLICATIONS = ("adaptive", "planning-agent+", "both", "none", QUOTE)
"""Which policies an application chooses among; the others are published systems, what they are compared with, and what
is added to them."""


@dataclass(frozen=True, slots=True)
class PolicyStatus:
    """A policy, and what it needs or would use that is not there."""

    policy: str
    missing: tuple[str, ...]
    """What it needs."""
    without: tuple[str, ...] = ()
    """What it would use, and answers without."""

    @property
    def servable(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing

    def __str__(self) -> str:
        """For people: the name, and what is missing."""
        return self.policy if self.servable else f"{self.policy} (no {', '.join(self.missing)})"


def status_of(policy: Policy, has: Has) -> PolicyStatus:
    """What a policy lacks: roles, and prompts ("generator.prompts.plan") that no decider stands in for; and what of the
    roles that it likes is not there."""
    missing = [need for need in policy.needs if not has(need)]
    if "generator" not in missing:
        missing += [f"generator.prompts.{task}" for task in policy.tasks if not _done(task, has)]
        if not has(CHOICES) and any(task in CHOSEN and not _decided(task, has) for task in policy.tasks):
            missing.append(CHOICES)
    return PolicyStatus(policy.name, tuple(missing), tuple(role for role in policy.likes if not has(role)))


def _done(task: str, has: Has) -> bool:
    """Whether a prompt of the generator or a decider does a task."""
    return has(f"generator.prompts.{task}") or _decided(task, has)


def _decided(task: str, has: Has) -> bool:
    """Whether a decider does a task."""
    return has(task) or has(f"deciders.{task}")


def survey(has: Has) -> tuple[PolicyStatus, ...]:
    """What every policy lacks."""
    return tuple(status_of(policy, has) for policy in POLICIES.values())


def preferred(statuses: Iterable[PolicyStatus], *, quotes: bool = False) -> str | None:
    """The policy to take where none is named; None where none can be served.

    Args:
        statuses: every policy's.
        quotes: whether the bundle says that its answers are quotes.
    """
    servable = {each.policy for each in statuses if each.servable}
    order = (QUOTE, *BY_PREFERENCE) if quotes else BY_PREFERENCE
    return next((name for name in order if name in servable), None)
