"""The planning agent of "Efficient Multimodal Planning Agent for VQA".

One decision per question, made by a fine-tuned vision-language model before anything else runs:

    A (c1)  nothing    ─────────────────────────────────────────────►  M(y | q)
    B (c3)  picture    ─ image search ─ k_i ────────────────────────►  M(y | q, k_i)
    C (c2)  text       ─ rewrite q ─ q_g ─ text search ─ k_t ───────►  M(y | q, k_t)
    D (c4)  both       ─ image search ─ k_i ─ rewrite q, k_i ─ q_g
                          ─ text search ─ k_t ──────────────────────►  M(y | q, k_i, k_t)

Under A, B and C "I don't know" is not told: what the plan left out is looked up first, and the question answered again.
So it is under A and B where the answer is less sure than the bundle asks of what is told from memory.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from quizglass.values import Plan
from quizglass_server.domain.state import Draft, State
from quizglass_server.policies.policy import liked
from quizglass_server.policies.tools import Tools

SEARCHES = ("image_encoder", "text_encoder")

Answerer = Callable[[State, Tools], Awaitable[Draft]]
"""Answers from what was found."""


class PlanningAgent:
    """Looks up what is said to be needed, and nothing else.

    Args:
        name: what clients ask for it by.
        by: who says what is needed: the fine-tuned planner, or in the prompt-based baseline the answering model itself,
            which is not tuned for it and asked for the letter of the plan.
        answerer: how it answers from what was found; None: at once, or after a second look.
        tasks: what the answerer has the generator write besides answering.
    """

    def __init__(
        self,
        name: str = "planning-agent",
        by: str = "planner",
        answerer: Answerer | None = None,
        tasks: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self._by = by
        self._answerer = answerer
        tuned = by == "planner"
        self.needs = (*(("planner",) if tuned else ()), "generator", *SEARCHES)
        self.likes = liked(self.needs, "tagger")
        self.tasks = (*(() if tuned else (by,)), "rewrite", *tasks)

    async def answer(self, tools: Tools) -> Draft:
        """Decide, then follow the plan."""
        plan = await tools.decide(Plan, tools.start(), by=self._by, otherwise=Plan.NONE)
        state = await look_up(plan, tools.start(), tools, by_tags=True)
        if self._answerer is not None:
            return await self._answerer(state, tools)
        return await tools.answer(state) if plan is Plan.BOTH else await second_look(plan, state, tools)


async def second_look(plan: Plan, state: State, tools: Tools) -> Draft:
    """Answers from what was found; where that is "I don't know" or unsure, looks up what the plan left out and answers
    again.

    The paper's agent keeps to its plan, which was made because the model was expected to know the rest. Where it says
    that it does not, or its least probable token does, a wearer is better off with a late answer than with none or a
    guess.
    """
    draft, told = await tools.attempt(state)
    if told:
        return draft
    with tools.extra_round("image_search", "rewrite", "text_search") as fits:
        further = await _what_was_left_out(plan, state, tools) if fits else state
        if (further.seen, further.found) != (state.seen, state.found):
            again = await tools.answer(further)
            return again if again.text else tools.tell(draft)
    return tools.tell(draft)


async def _what_was_left_out(plan: Plan, state: State, tools: Tools) -> State:
    """The state with the picture looked up, and with text by what that showed."""
    further = state if plan.searches_image else state.having(await tools.search_image())
    if state.queries and further.seen == state.seen:
        return further
    return await _by_text(further, tools)


async def look_up(plan: Plan, state: State, tools: Tools, *, by_tags: bool = False) -> State:
    """What the four paths of the figure find before they answer.

    Args:
        plan: which of them.
        state: what was found already.
        tools: what looks up.
        by_tags: go on from B to D where the picture shows no known thing and a classifier says what it may be: text
            tells of things that there is no picture of. The paper's image search always finds something.
    """
    searches_text = plan.searches_text
    if plan.searches_image:
        state = state.having(await tools.search_image())
        searches_text = searches_text or (by_tags and not state.seen and bool(await tools.tags()))
    return await _by_text(state, tools) if searches_text else state


async def _by_text(state: State, tools: Tools) -> State:
    queries = await tools.rewrite(state)
    return state.asking(queries).having(await tools.search_text(queries))


async def follow(plan: Plan, state: State, tools: Tools) -> Draft:
    """One of the four paths to its end."""
    return await tools.answer(await look_up(plan, state, tools))
