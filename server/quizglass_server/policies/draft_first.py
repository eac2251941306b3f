"""Answers from memory first and looks up what that draft lacks: the tool router of QA-Dragon, on the generator's draft.

    q ─ draft M(y | q) ─ tool router ─┬─ nothing ──► the draft is the answer
                                      └─ picture, text or both ─ the planning agent's path

QA-Dragon's router reads a trace of reasoning; here it reads the draft alone, in one prefill pass.
"""

from __future__ import annotations

from quizglass_server.domain.turns import Plan
from quizglass_server.policies.planning_agent import follow
from quizglass_server.steps.generate import Draft
from quizglass_server.turn.toolbox import Toolbox


class DraftFirst:
    """Looks up what the tool router finds missing in a draft."""

    name = "draft-first"
    needs = ("tool_router", "generator", "image_encoder", "text_encoder", "reranker")

    async def answer(self, tools: Toolbox) -> Draft:
        """Draft, decide, then follow the plan."""
        tools.look_ahead()
        draft = await tools.draft()
        plan = await tools.plan_by_tool_router(draft)
        if plan is Plan.NONE and draft.text.strip():
            return tools.tell(draft)
        return await follow(plan, tools)
