"""OmniSearch, prompted: one model says round by round what to ask next and with which tool, until it can answer.

q, i ─► next ─┬─ image ────► ask ─ image search ────┬─► next ... at most five rounds
              ├─ text ─────► ask ─ text search ─────┤
              ├─ pictures ─► ask ─ pictures by text ┘
              └─ answer ───► M(q, everything found)

The third tool, which finds pictures for a text, is offered where a prompt shows what it brings (`pictured`). No encoder
here has texts and pictures in one space, so pictures are found by the titles and texts of their entries.

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


class NextOrPictures(Enum):
    """The same with pictures that a text finds."""

    ANSWER = "answer"
    IMAGE = "image"
    TEXT = "text"
    PICTURES = "pictures"


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
        offered: type[Enum] = NextOrPictures if tools.finds_pictures else Next
        for _ in tools.rounds(MOST_ROUNDS, "next", "ask", "text_search"):
            tool = str((await tools.decide(offered, state, by="next", otherwise=offered("answer"))).value)
            if tool == "answer":
                break
            state = state.asking(await tools.queries("ask", state, tool=tool))
            if tool == "pictures":
                state = state.picturing(await tools.search_pictures(state.asked))
            else:
                search = tools.search_image() if tool == "image" else tools.search_text(state.asked)
                state = state.having(await search)
            looked_up, searched = looked_up or tool == "image", tool == "text"
        if self.published:
            return await tools.answer(state)
        return await answer_or_look_again(state, tools, looked_up=looked_up, searched=searched)
