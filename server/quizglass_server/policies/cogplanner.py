"""CogPlanner: round by round, how the question is put now and what is looked up next.

    S_t = (Q_t, D_t)        Q_0 the question, D_0 nothing

        S_t-1 ─┬─ reformulate: Q_t ─┬─ text ─► search for Q_t ──────┬─► S_t ─ at most N rounds ────┐
               └─ act: A_t ─────────┼─ image ─► look the picture up ┘                              │
                                    └─ none ──────────────────────────────────► M(Q_0, Q_T, D_T) ◄─┘

    parallel     Q_t = QR(Q_t-1, D_t)    A_t = IA(Q_t-1, D_t)    two inferences at the same time
    sequential   Q_t = QR(Q_t-1, D_t)    A_t = IA(Q_t,   D_t)    one after the other

A reformulation makes the question clearer, or splits it into queries that each stand alone. N is 3. The forms with a
"+" take as many rounds as the bundle says (`evidence.rounds`), and instead of "I don't know" a second look follows
(`second_look.py`).
"""

from __future__ import annotations

from enum import Enum

from quizglass_server.domain.state import Draft, State
from quizglass_server.policies.policy import liked
from quizglass_server.policies.second_look import answer_or_look_again
from quizglass_server.policies.tools import Tools

MOST_ROUNDS = 3
TOP_TEXTS = 5
"""Passages shown of a text search. A chunk of the knowledge store has at most 120 tokens, the paper's texts 800."""
TOP_PICTURES = 6
"""Entries shown of an image search, each with its caption; the paper shows three to six."""


class Action(Enum):
    """What is looked up next (A_t)."""

    NONE = "none"
    TEXT = "text"
    IMAGE = "image"


class Searches:
    """The searches of one turn, each done once: what it brought back stays in the state.

    Args:
        tools: of the turn.
        looked_up: whether the picture was before.
        searched: whether texts were searched for since.
    """

    def __init__(self, tools: Tools, *, looked_up: bool = False, searched: bool = False) -> None:
        self._tools = tools
        self._queries: set[str] = set()
        self.looked_up = looked_up
        """Whether the picture was."""
        self.searched = searched
        """Whether texts were searched for since."""

    async def image(self, state: State) -> State:
        """The state with what the picture brings back."""
        if self.looked_up:
            return state
        self.looked_up, self.searched = True, False
        return state.having(await self._tools.search_image(limit=TOP_PICTURES))

    async def text(self, state: State) -> State:
        """The state with what its queries bring back, or the question where it has none."""
        queries = [query for query in state.asked if query not in self._queries]
        if not queries:
            return state
        self._queries.update(queries)
        self.searched = True
        return state.having(await self._tools.search_text(queries, limit=TOP_TEXTS))


class CogPlanner:
    """Reformulates and searches until nothing more is needed.

    Args:
        name: what clients ask for it by.
        parallel: whether both decisions of a round are made at the same time.
        published: as in the paper; otherwise with the bundle's number of rounds and a second look.
    """

    needs = ("generator", "image_encoder", "text_encoder", "reranker")
    likes = liked(needs)
    ending = ("generate",)

    def __init__(self, name: str, *, parallel: bool, published: bool = True) -> None:
        self.name = name
        self.published = published
        self.tasks = ("reformulate", "act", *(() if published else ("rewrite",)))
        self._parallel = parallel

    async def answer(self, tools: Tools) -> Draft:
        """Rounds, then the answer from the question, the last queries and everything found."""
        searches = Searches(tools)
        state = await self.gather(tools.start(), searches, tools)
        if self.published:
            return await tools.answer(state)
        return await answer_or_look_again(state, tools, looked_up=searches.looked_up, searched=searches.searched)

    async def gather(self, state: State, searches: Searches, tools: Tools) -> State:
        """What the rounds find beyond a state, up to the answer."""
        most = MOST_ROUNDS if self.published else tools.most_rounds or MOST_ROUNDS
        for _ in tools.rounds(most, "reformulate", "act", "text_search"):
            before = state
            queries, action = await self._decide(state, tools)
            state = state.asking(queries)
            if action is Action.NONE:
                break
            state = await (searches.image(state) if action is Action.IMAGE else searches.text(state))
            if state == before:
                break  # the next round would be decided from the same
        return state

    async def _decide(self, state: State, tools: Tools) -> tuple[list[str], Action]:
        if self._parallel:
            return await tools.together(tools.queries("reformulate", state), act(state, tools))
        queries = await tools.queries("reformulate", state)
        return queries, await act(state.asking(queries), tools)


async def act(state: State, tools: Tools) -> Action:
    """What is looked up next (A_t): nothing where there is no time to decide."""
    return await tools.decide(Action, state, by="act", otherwise=Action.NONE)
