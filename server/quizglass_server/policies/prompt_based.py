"""The prompt-based baseline: the answering model itself, not tuned for it, is asked for the letter of the plan."""

from __future__ import annotations

from quizglass_server.policies.planning_agent import follow
from quizglass_server.steps.generate import Draft
from quizglass_server.turn.toolbox import Toolbox


class PromptBased:
    """Looks up what the generator says is needed."""

    name = "prompt-based"
    needs = ("generator", "generator.prompts.plan", "image_encoder", "text_encoder", "reranker")

    async def answer(self, tools: Toolbox) -> Draft:
        """Ask, then follow the plan."""
        tools.look_ahead()
        return await follow(await tools.plan_by_prompt(), tools)
