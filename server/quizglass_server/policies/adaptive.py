"""The planning agent, and CogPlanner's rounds where what it looked up is not enough. No published system.

    plan ─► its path ─► k_i, k_t ─ act: more? ─┬─ no ──► M(y | q, k_i, k_t) ─┬─► told
                                               │                             └─ "I don't know" ─► second look ─┐
                                               └─ yes ─► rounds ─► M(Q_0, Q_T, D_T)      and, if still, rounds ◄┘

Most questions take one lookup or two, which a planner chooses in one pass; rounds find all that others take, and cost
a pass or two each. Here turns begin as the planning agent's. Once text was searched for, CogPlanner's decider says in
one pass whether anything is missing. Where it says so, or the answer is "I don't know", rounds follow, from what the
picture showed: a query that asks for three things at once has brought passages about all and none, and reformulating
is easier without them. Printed words are read as the planning agent has them read.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from quizglass.values import Plan
from quizglass_server.domain.state import Draft, State
from quizglass_server.policies.cogplanner import Action, CogPlanner, Searches, act
from quizglass_server.policies.planning_agent import PlanningAgentPlus, look_up
from quizglass_server.policies.policy import liked
from quizglass_server.policies.second_look import answer_or_look_again
from quizglass_server.policies.tools import Tools

_AGENT, _ROUNDS = PlanningAgentPlus(), CogPlanner("cogplanner-sequential+", parallel=False, published=False)


class Adaptive:
    """Looks up what is planned, and what is missing then."""

    name = "adaptive"
    needs = tuple(dict.fromkeys((*_AGENT.needs, *_ROUNDS.needs, "deciders.act")))
    likes = liked(needs, "tagger")
    tasks = ("rewrite", "reformulate")
    ending = ("generate",)
    words_later = True

    async def answer(self, tools: Tools) -> Draft:
        """Follow the plan, then go on in rounds while something is missing."""

        async def further(state: State, looked_up: bool) -> State:
            state, _ = await _in_rounds(state, tools, looked_up=looked_up)
            return state

        plan = await tools.decide(Plan, tools.start(), by="planner", otherwise=Plan.NONE)
        state = await look_up(plan, tools.start(), tools, further=True)
        looked_up = plan.searches_image or bool(state.seen) or tools.guessed(state.queries)
        searched = bool(state.queries)
        if searched:
            tools.expect_answer(state)  # most of the time nothing is missing
        missing = searched and await act(state, tools) is not Action.NONE
        if missing:
            state, searches = await _in_rounds(state, tools, looked_up=looked_up)
            looked_up, searched = searches.looked_up, searches.searched
        return await answer_or_look_again(
            state,
            tools,
            looked_up=looked_up,
            searched=searched,
            then=None if missing else further,
            anew=partial(self.answer, tools),
        )


async def _in_rounds(state: State, tools: Tools, *, looked_up: bool) -> tuple[State, Searches]:
    """What rounds find beyond a state that texts were searched for, and what is looked up by then."""
    searches = Searches(tools, looked_up=looked_up, searched=True)
    gathered = await _ROUNDS.gather(replace(state, queries=(), found=()), searches, tools)
    return gathered if gathered.found else replace(state, seen=gathered.seen), searches
