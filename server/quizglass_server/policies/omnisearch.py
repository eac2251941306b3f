"""OmniSearch, prompted: one model says round by round what to ask next and with which tool, until it can answer.

q, i ─► next ─┬─ image ─► ask ─ image search ─┬─► next ... at most five rounds
              ├─ text ──► ask ─ text search ──┘
              └─ answer ─► M(q, everything found)

What it asks for twice is looked up twice: only CogPlanner's paper keeps searches (`cogplanner.Searches`). Of a picture
that costs a search without an embedding, which the turn keeps, and what it finds again is in the state once. Under
`omnisearch+` a second look follows instead of "I don't know" (`second_look.py`).
"""

from __future__ import annotations

from enum import Enum

from quizglass_server.domain.state import Draft
from quizglass_server.policies.policy import liked
from quizglass_server.policies.second_look import answer_or_look_again
from quizglass_server.policies.tools import Tools

MOST_ROUNDS = 5


class Next(Enum):
    """What comes next."""

    ANSWER = "answer"
    IMAGE = "image"
    TEXT = "text"


class OmniSearch:
    """Asks itself sub-questions and answers them with a tool each.

    Args:
        name: what clients ask for it by.
        published: as in the paper; otherwise with a second look.
    """

    needs = ("generator", "image_encoder", "text_encoder", "reranker")
    likes = liked(needs)
    ending = ("generate",)

    def __init__(self, name: str = "omnisearch", *, published: bool = True) -> None:
        self.name = name
        self.published = published
        self.tasks = ("next", "ask", *(() if published else ("rewrite",)))

    async def answer(self, tools: Tools) -> Draft:
        """Rounds until the model answers."""
        state, looked_up, searched = tools.start(), False, False
        for _ in tools.rounds(MOST_ROUNDS, "next", "ask", "text_search"):
            tool = await tools.decide(Next, state, by="next", otherwise=Next.ANSWER)
            if tool is Next.ANSWER:
                break
            state = state.asking(await tools.queries("ask", state, tool=tool.value))
            search = tools.search_image() if tool is Next.IMAGE else tools.search_text(state.asked)
            state = state.having(await search)
            looked_up, searched = looked_up or tool is Next.IMAGE, tool is Next.TEXT
        if self.published:
            return await tools.answer(state)
        return await answer_or_look_again(state, tools, looked_up=looked_up, searched=searched)
