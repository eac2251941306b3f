"""The planning agent of "Efficient Multimodal Planning Agent for VQA".

One decision per question, made by a fine-tuned vision-language model before anything else runs:

    A (c1)  nothing    ─────────────────────────────────────────────►  M(y | q)
    B (c3)  picture    ─ image search ─ k_i ────────────────────────►  M(y | q, k_i)
    C (c2)  text       ─ rewrite q ─ q_g ─ text search ─ k_t ───────►  M(y | q, k_t)
    D (c4)  both       ─ image search ─ k_i ─ rewrite q, k_i ─ q_g
                          ─ text search ─ k_t ──────────────────────►  M(y | q, k_i, k_t)

That is `planning-agent`, and nothing else. `planning-agent+` adds what helps a wearer:

Printed words are read first only where the question may be about them. For any other they are read where nothing was
recognised, or a name or the answer is a guess; where there are any, it goes on, or begins anew, with them.

Under A, B and C "I don't know" is not told: what the plan left out is looked up first, and the question answered again.
So it is under A and B where the answer is less sure than the bundle asks of answers from memory. And C becomes D
where the name in q_g, which is from memory then, is less sure than that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from quizglass.values import Plan
from quizglass_server.domain.state import Draft, State
from quizglass_server.policies.policy import liked
from quizglass_server.policies.second_look import answer_or_look_again, by_known_name, by_text
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
    """

    ending = ("generate",)
    published = True

    def __init__(self, name: str = "planning-agent", by: str = "planner") -> None:
        self.name = name
        self._by = by
        self.needs, self.tasks = _asking(by)
        self.likes = liked(self.needs)

    async def answer(self, tools: Tools) -> Draft:
        """Decide, then follow the plan."""
        plan = await tools.decide(Plan, tools.start(), by=self._by, otherwise=Plan.NONE)
        return await follow_figure(plan, tools)


class PlanningAgentPlus:
    """The same, and what an answer lacks.

    Args:
        name: what clients ask for it by.
        by: who says what is needed.
        answerer: how it answers from what was found; None: at once, or after a second look.
        tasks: what the answerer has the generator write besides answering.
    """

    ending = ("generate",)

    def __init__(
        self,
        name: str = "planning-agent+",
        by: str = "planner",
        answerer: Answerer | None = None,
        tasks: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self._by = by
        self._answerer = answerer
        self.needs, asked = _asking(by)
        self.likes = liked(self.needs, "tagger")
        self.tasks = (*asked, *tasks)
        self.words_later = answerer is None

    async def answer(self, tools: Tools) -> Draft:
        """Decide, then follow the plan and go on from there."""
        plan = await tools.decide(Plan, tools.start(), by=self._by, otherwise=Plan.NONE)
        state = await look_up(plan, tools.start(), tools, further=True)
        if self._answerer is not None:
            return await self._answerer(state, tools)
        if plan is Plan.BOTH:
            return await tools.answer(state)
        searched = bool(state.queries)
        looked_up = plan.searches_image or bool(state.seen) or tools.guessed(state.queries)
        return await answer_or_look_again(
            state, tools, looked_up=looked_up, searched=searched, anew=partial(self.answer, tools)
        )


def _asking(by: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a planning agent needs, and its tasks, by who plans."""
    tuned = by == "planner"
    return (*(("planner",) if tuned else ()), "generator", *SEARCHES), (*(() if tuned else (by,)), "rewrite")


async def follow_figure(plan: Plan, tools: Tools) -> Draft:
    """One of the four paths of the figure, to its end."""
    state = tools.start()
    if plan.searches_image:
        state = state.having(await tools.search_image())
    if plan.searches_text:
        queries = await tools.rewrite(state)
        state = state.asking(queries).having(await tools.search_text(queries))
    return await tools.answer(state)


async def look_up(plan: Plan, state: State, tools: Tools, *, further: bool = False) -> State:
    """What the four paths find before they answer, in the forms that are ours.

    Args:
        plan: which of them.
        state: what was found already.
        tools: what looks up.
        further: go on from B to D where the picture shows no known thing and a classifier says what it may be: text
            tells of things that there is no picture of, and the paper's image search always finds something. And from
            C to D where the rewritten question has a name that is a guess.
    """
    searches_text = plan.searches_text
    if plan.searches_image:
        state = state.having(await tools.search_image())
        if not state.seen:
            await tools.read_words()
        searches_text = searches_text or (further and not state.seen and bool(await tools.tags()))
    elif searches_text and further:
        return await by_known_name(state, tools)
    return await by_text(state, tools) if searches_text else state


async def follow(plan: Plan, state: State, tools: Tools) -> Draft:
    """One of the four paths to its end."""
    return await tools.answer(await look_up(plan, state, tools))


class FixedPlan:
    """Follows one plan always.

    Args:
        plan: which.
        name: what clients ask for it by; without one it is the server's own pipeline, called as the plan is. With one
            it is the baseline that the paper compares its agent with.
    """

    ending = ("generate",)

    def __init__(self, plan: Plan, name: str = "") -> None:
        image, text = ("image_encoder",), ("text_encoder",)
        self.name = name or plan.value
        self.published = bool(name)
        self.needs = ("generator", *(image if plan.searches_image else ()), *(text if plan.searches_text else ()))
        self.likes = liked(self.needs)
        self.tasks = ("rewrite",) if plan.searches_text else ()
        self._plan = plan

    @classmethod
    def every(cls) -> tuple[FixedPlan, ...]:
        """One for each plan, and one for each baseline."""
        baselines = {
            Plan.NONE: "no-search",
            Plan.IMAGE: "always-image",
            Plan.TEXT: "always-text",
            Plan.BOTH: "always-both",
        }
        return (*(cls(plan) for plan in Plan), *(cls(plan, name) for plan, name in baselines.items()))

    async def answer(self, tools: Tools) -> Draft:
        """Follow the plan."""
        plan = tools.fixed(self._plan)
        return await (follow_figure(plan, tools) if self.published else follow(plan, tools.start(), tools))
