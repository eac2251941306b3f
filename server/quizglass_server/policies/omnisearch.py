"""OmniSearch, prompted: one model says round by round what to ask next and with which tool, until it can answer.

q, i ─► next ─┬─ image ─► ask ─ image search ─┬─► next ... at most five rounds
              ├─ text ──► ask ─ text search ──┘
              └─ answer ─► M(q, everything found)

What it asks for twice is looked up twice: only CogPlanner's paper keeps searches (`cogplanner.Searches`). Of a picture
that costs a search without an embedding, which the turn keeps, and what it finds again is in the state once.
"""

from __future__ import annotations

from enum import Enum

from quizglass_server.domain.state import Draft
from quizglass_server.policies.policy import liked
from quizglass_server.policies.tools import Tools

MOST_ROUNDS = 5


class Next(Enum):
    """What comes next."""

    ANSWER = "answer"
    IMAGE = "image"
    TEXT = "text"


class OmniSearch:
    """Asks itself sub-questions and answers them with a tool each."""

    name = "omnisearch"
    needs = ("generator", "image_encoder", "text_encoder", "reranker")
    likes = liked(needs)
    tasks = ("next", "ask")

    async def answer(self, tools: Tools) -> Draft:
        """Rounds until the model answers."""
        state = tools.start()
        for _ in tools.rounds(MOST_ROUNDS, "next", "ask", "text_search"):
            tool = await tools.decide(Next, state, by="next", otherwise=Next.ANSWER)
            if tool is Next.ANSWER:
                break
            state = state.asking(await tools.queries("ask", state, tool=tool.value))
            search = tools.search_image() if tool is Next.IMAGE else tools.search_text(state.asked)
            state = state.having(await search)
        return await tools.answer(state)
