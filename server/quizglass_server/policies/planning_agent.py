"""The planning agent of "Efficient Multimodal Planning Agent for VQA".

One decision per question, made by a fine-tuned vision-language model before anything else runs:

    A (c1)  nothing    ─────────────────────────────────────────────►  M(y | q)
    B (c3)  picture    ─ image search ─ k_i ────────────────────────►  M(y | q, k_i)
    C (c2)  text       ─ rewrite q ─ q_g ─ text search ─ k_t ───────►  M(y | q, k_t)
    D (c4)  both       ─ image search ─ k_i ─ rewrite q, k_i ─ q_g
                          ─ text search ─ k_t ──────────────────────►  M(y | q, k_i, k_t)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from quizglass_server.domain.state import Draft, State
from quizglass_server.domain.turns import Plan
from quizglass_server.policies.tools import Tools

SEARCHES = ("image_encoder", "text_encoder")

Answerer = Callable[[State, Tools], Awaitable[Draft]]
"""Answers from what was found."""


async def answered(state: State, tools: Tools) -> Draft:
    """M(y | q, k_i, k_t), streamed."""
    return await tools.answer(state)


class PlanningAgent:
    """Looks up what is said to be needed, and nothing else.

    Args:
        name: what clients ask for it by.
        by: who says what is needed: the fine-tuned planner, or in the prompt-based baseline the answering model itself,
            which is not tuned for it and asked for the letter of the plan.
        answerer: how it answers from what was found.
        tasks: what the answerer has the generator write besides answering.
    """

    def __init__(
        self,
        name: str = "planning-agent",
        by: str = "planner",
        answerer: Answerer = answered,
        tasks: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self._by = by
        self._answerer = answerer
        tuned = by == "planner"
        self.needs = (*(("planner",) if tuned else ()), "generator", *SEARCHES)
        self.tasks = (*(() if tuned else (by,)), "rewrite", *tasks)

    async def answer(self, tools: Tools) -> Draft:
        """Decide, then follow the plan."""
        state = tools.start()
        plan = await tools.decide(Plan, state, by=self._by, otherwise=Plan.NONE)
        return await follow(plan, state, tools, self._answerer, by_tags=True)


async def follow(
    plan: Plan, state: State, tools: Tools, answerer: Answerer = answered, *, by_tags: bool = False
) -> Draft:
    """The four paths of the figure.

    Args:
        plan: which of them.
        state: nothing found out yet.
        tools: what looks up.
        answerer: how it is answered from what was found.
        by_tags: go on from B to D where the picture shows no known thing and a classifier says what it may be: text
            tells of things that there is no picture of. The paper's image search always finds something.
    """
    searches_text = plan.searches_text
    if plan.searches_image:
        state = state.having(await tools.search_image())
        searches_text = searches_text or (by_tags and not state.seen and bool(await tools.tags()))
    if searches_text:
        queries = await tools.lines("rewrite", state)
        state = state.asking(queries).having(await tools.search_text(queries))
    return await answerer(state, tools)
