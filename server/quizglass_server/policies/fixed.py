"""The baselines that look up the same for every question: none, image, text, both."""

from __future__ import annotations

from quizglass.values import Plan
from quizglass_server.domain.state import Draft
from quizglass_server.policies.planning_agent import follow
from quizglass_server.policies.policy import liked
from quizglass_server.policies.tools import Tools


class FixedPlan:
    """Follows one plan always; its name is the plan's."""

    ending = ("generate",)

    def __init__(self, plan: Plan) -> None:
        image, text = ("image_encoder",), ("text_encoder",)
        self.name = plan.value
        self.needs = ("generator", *(image if plan.searches_image else ()), *(text if plan.searches_text else ()))
        self.likes = liked(self.needs)
        self.tasks = ("rewrite",) if plan.searches_text else ()
        self._plan = plan

    @classmethod
    def every(cls) -> tuple[FixedPlan, ...]:
        """One for each plan."""
        return tuple(cls(plan) for plan in Plan)

    async def answer(self, tools: Tools) -> Draft:
        """Follow the plan."""
        return await follow(tools.fixed(self._plan), tools.start(), tools)
