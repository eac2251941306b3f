"""The bundle's deciders by name, whatever role they fill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from quizglass_server.domain.turns import Picture, Turn
from quizglass_server.models.prompts import PromptValue
from quizglass_server.roles.interfaces import Answered, Planner, ToolRouter, Verifier
from quizglass_server.steps.decide import Decider
from quizglass_server.turn.resources import ModelSet

Values = Mapping[str, PromptValue]


def decider_of(models: ModelSet, name: str, turn: Turn) -> Decider | None:
    """The decider of that name; None where the bundle has none."""
    if name == "planner" and models.planner is not None:
        return _Planner(models.planner, turn)
    if name == "tool_router" and models.tool_router is not None:
        return _ToolRouter(models.tool_router, turn)
    if name == "verifier" and models.verifier is not None:
        return _Verifier(models.verifier, turn)
    return None


@dataclass(frozen=True, slots=True)
class _Planner:
    planner: Planner
    turn: Turn

    async def probabilities(self, picture: Picture | None, values: Values) -> Sequence[tuple[str, float]]:
        decision = await self.planner.plan(self.turn, str(values["words"]))
        return [(plan.value, probability) for plan, probability in decision.probabilities]

    async def look_at(self, picture: Picture) -> None:
        await self.planner.look_at(picture)


@dataclass(frozen=True, slots=True)
class _ToolRouter:
    router: ToolRouter
    turn: Turn

    async def probabilities(self, picture: Picture | None, values: Values) -> Sequence[tuple[str, float]]:
        decision = await self.router.route(self.turn, str(values["words"]), str(values["draft"]))
        return [(plan.value, probability) for plan, probability in decision.probabilities]


@dataclass(frozen=True, slots=True)
class _Verifier:
    verifier: Verifier
    turn: Turn

    async def probabilities(self, picture: Picture | None, values: Values) -> Sequence[tuple[str, float]]:
        evidence = cast(Sequence[str], values["evidence"])
        return await self.verifier.check(Answered(self.turn, str(values["words"]), evidence, str(values["answer"])))
