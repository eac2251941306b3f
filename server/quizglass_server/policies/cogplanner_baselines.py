"""What CogPlanner is compared with: one search by the question as it was asked, and retrieval that grades itself.

    fixed text       q ─ text search for q ─────► M(q, D)
    fixed image      q, i ─ image search ───────► M(q, D)

    self-reflective  q, i ─ both searches ─► answer ─► grade ─┬─ enough ──► the answer
                           ▲                                  └─ not enough, at most N rounds ──┐
                           └─ text search ◄─ ask again ◄────────────────────────────────────────┘

The policies `text` and `image` differ from the first two: they rewrite the question, and show as much as the bundle
says.
"""

from __future__ import annotations

from enum import Enum

from quizglass_server.domain.state import Draft, State
from quizglass_server.policies.cogplanner import MOST_ROUNDS, Action, Searches
from quizglass_server.policies.policy import liked
from quizglass_server.policies.tools import Tools


class OneSearch:
    """Looks up the same for every question, by the question as it was asked.

    Args:
        name: what clients ask for it by.
        action: what it looks up.
        published: as in the paper; otherwise with what the server's verbs add.
    """

    tasks = ()
    ending = ("generate",)

    def __init__(self, name: str, action: Action, *, published: bool = True) -> None:
        self.name = name
        self.published = published
        self.needs: tuple[str, ...] = ("generator", "image_encoder")
        if action is Action.TEXT:
            self.needs = ("generator", "text_encoder", "reranker")
        self.likes = liked(self.needs)
        self._action = action

    async def answer(self, tools: Tools) -> Draft:
        """Search, then answer."""
        state, searches = tools.start(), Searches(tools)
        return await tools.answer(await (searches.image if self._action is Action.IMAGE else searches.text)(state))


class Grade(Enum):
    """What the model says of its own answer."""

    ENOUGH = "enough"
    NOT_ENOUGH = "not enough"


class SelfReflective:
    """Answers, grades that by its evidence, and searches again until the grade is good or nothing else is asked.

    Args:
        name: what clients ask for it by.
        published: at most as many rounds as the paper's planner has; otherwise as many as the bundle says.
    """

    needs = ("generator", "image_encoder", "text_encoder", "reranker")
    likes = liked(needs)
    tasks = ("grade", "again")
    ending = ("draft",)

    def __init__(self, name: str = "self-reflective", *, published: bool = True) -> None:
        self.name = name
        self.published = published

    async def answer(self, tools: Tools) -> Draft:
        """The first answer that is graded as enough, or the last one written."""
        draft, searches = Draft(), Searches(tools)
        state = await searches.image(tools.start())
        most = MOST_ROUNDS if self.published else tools.most_rounds or MOST_ROUNDS
        for turn in tools.rounds(most, "text_search", "draft", "grade"):
            if turn > 1:
                again = state.asking(await tools.queries("again", state, answer=draft.text))
                if again.asked == state.asked:  # the same evidence, and so the same answer with the same grade
                    break
                state = again
            state = await searches.text(state)
            written = await tools.write("answer", state)
            draft = written if written.text else draft
            if await self._grade(draft, state, tools) is Grade.ENOUGH:
                break
        return tools.tell(draft) if draft.text else await tools.answer(state)

    async def _grade(self, draft: Draft, state: State, tools: Tools) -> Grade:
        return await tools.decide(Grade, state, by="grade", otherwise=Grade.ENOUGH, answer=draft.text)
