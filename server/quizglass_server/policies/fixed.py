"""The baselines that look up the same for every question: none, image, text, both."""

from __future__ import annotations

from quizglass_server.domain.turns import Plan
from quizglass_server.policies.planning_agent import follow
from quizglass_server.steps.generate import Draft
from quizglass_server.turn.toolbox import Toolbox


class FixedPlan:
    """Follows one plan always; its name is the plan's."""

    def __init__(self, plan: Plan) -> None:
        self.name = plan.value
        self.needs: tuple[str, ...] = ("generator",)
        if plan.searches_image:
            self.needs += ("image_encoder",)
        if plan.searches_text:
            self.needs += ("text_encoder", "reranker")
        self._plan = plan

    @classmethod
    def every(cls) -> tuple[FixedPlan, ...]:
        """One for each plan."""
        return tuple(cls(plan) for plan in Plan)

    async def answer(self, tools: Toolbox) -> Draft:
        """Follow the plan."""
        return await follow(tools.fixed_plan(self._plan), tools)
