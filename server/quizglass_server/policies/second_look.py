"""A second look: what an answer lacks is looked up before "I don't know" or a guess is told.

The published systems keep to what they decided to look up, since the model was expected to know the rest. Where it says
that it does not, or its least probable token does, a wearer is better off with a late answer than with none or a guess.
"""

from __future__ import annotations

from quizglass_server.domain.state import Draft, State
from quizglass_server.policies.tools import Tools

STEPS = ("image_search", "rewrite", "text_search")
"""What it takes."""


async def answer_or_look_again(state: State, tools: Tools, *, looked_up: bool, searched: bool) -> Draft:
    """Answers from what was found; where that is "I don't know" or unsure, looks up the rest and answers again.

    Args:
        state: what was found.
        tools: of the turn.
        looked_up: whether the picture was.
        searched: whether texts were searched for by what that showed.
    """
    draft, told = await tools.attempt(state)
    if told:
        return draft
    if not (looked_up and searched):
        with tools.extra_round(*STEPS) as fits:
            further = await _rest(state, tools, looked_up=looked_up, searched=searched) if fits else state
            if (further.seen, further.found) != (state.seen, state.found):
                again = await tools.answer(further)
                return again if again.text else tools.tell(draft)
    return tools.tell(draft)


async def by_text(state: State, tools: Tools) -> State:
    """The state with what texts say of the question, rewritten to stand alone."""
    queries = await tools.rewrite(state)
    return state.asking(queries).having(await tools.search_text(queries))


async def by_known_name(state: State, tools: Tools) -> State:
    """The same, with the picture looked up first where the rewritten question has a name that is a guess."""
    queries = await tools.rewrite(state)
    if tools.guessed(queries):
        with tools.extra_round(*STEPS) as fits:
            further = state.having(await tools.search_image()) if fits else state
            if further.seen != state.seen:
                return await by_text(further, tools)
    return state.asking(queries).having(await tools.search_text(queries))


async def _rest(state: State, tools: Tools, *, looked_up: bool, searched: bool) -> State:
    """The state with the picture looked up, and with text by what that showed."""
    further = state if looked_up else state.having(await tools.search_image())
    return further if searched and further.seen == state.seen else await by_text(further, tools)
