"""Answers from memory first and looks up what that draft lacks: the tool router of QA-Dragon, on the generator's draft.

    q ─ draft M(y | q) ─ tool router ─┬─ nothing ──► the draft is the answer
                                      └─ picture, text or both ─ the planning agent's path

QA-Dragon's router reads a trace of reasoning; here it reads the draft alone, in one prefill pass.
"""

from __future__ import annotations

from quizglass.values import Plan
from quizglass_server.domain.state import Draft
from quizglass_server.policies.planning_agent import SEARCHES, follow
from quizglass_server.policies.policy import liked
from quizglass_server.policies.tools import Tools


class DraftFirst:
    """Looks up what the tool router finds missing in a draft."""

    name = "draft-first"
    needs = ("tool_router", "generator", *SEARCHES)
    likes = liked(needs)
    tasks = ("rewrite",)
    ending = ("generate",)

    async def answer(self, tools: Tools) -> Draft:
        """Draft, decide, then follow the plan."""
        state = tools.start()
        draft = await tools.write("answer", state)
        text = draft.text.strip()
        plan = await tools.decide(Plan, state, by="tool_router", otherwise=Plan.NONE, draft=text)
        if plan is Plan.NONE and text:
            if tools.remembers(draft):
                return tools.tell(draft)
            plan = Plan.BOTH
        answer = await follow(plan, state, tools)
        if text and not (answer.text or answer.refused):
            return tools.tell(draft)  # there was neither time nor room for another
        return answer
