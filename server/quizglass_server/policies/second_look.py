"""A second look: what an answer lacks is looked up before "I don't know" or a guess is sent.

The published systems keep to what they decided to look up, since the model was expected to know the rest. Where it says
that it does not, or its least probable token does, a wearer is better off with a late answer than with none or a guess.
Printed words that were left unread come first: they cost less than a search.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from quizglass_server.domain.state import Draft, State
from quizglass_server.policies.tools import Tools
from quizglass_server.steps.language.phrases import asks_by_name
from quizglass_server.steps.language.wording import mentions

STEPS = ("image_search", "rewrite", "text_search")
"""What it takes."""

Look = Callable[[State, bool], Awaitable[State]]
"""Finds more than a state has; its argument says whether the picture was looked up."""


async def answer_or_look_again(
    state: State,
    tools: Tools,
    *,
    looked_up: bool,
    searched: bool,
    then: Look | None = None,
    anew: Callable[[], Awaitable[Draft]] | None = None,
) -> Draft:
    """Answers from what was found; where that is "I don't know" or unsure, looks up the rest and answers again.

    Args:
        state: what was found.
        tools: of the turn.
        looked_up: whether the picture was.
        searched: whether texts were searched for by what that showed.
        then: looks further still where the rest does not tell either.
        anew: answers by printed words, where they were left unread so far and there are any.
    """

    draft, told = await tools.attempt(state)
    if told:
        return draft
    if anew is not None and await tools.read_words():
        return await anew()
    if not (looked_up and searched):
        with tools.extra_round(*STEPS) as fits:
            further = await _rest(state, tools, looked_up=looked_up, searched=searched) if fits else state
            looked_up = looked_up or fits
            if _has_more(further, state):
                if then is None:
                    return await _last(further, draft, tools)
                state, (again, told) = further, await tools.attempt(further)
                draft = again if again.text else draft
                if told:
                    return draft
    further = state if then is None else await then(state, looked_up)
    return await _last(further, draft, tools) if _has_more(further, state) else tools.tell(draft)


async def _last(state: State, before: Draft, tools: Tools) -> Draft:
    """Answers whatever comes of it; the draft before where nothing is written."""
    draft = await tools.answer(state)
    return draft if draft.text else tools.tell(before)


def _has_more(further: State, state: State) -> bool:
    return (further.seen, further.found) != (state.seen, state.found)


async def by_text(state: State, tools: Tools) -> State:
    """The state with what texts say of the question, rewritten to stand alone."""
    queries = await tools.rewrite(state)
    return _asked_about(state.asking(queries).having(await tools.search_text(queries)))


def _asked_about(state: State) -> State:
    """The state without what the picture shows, where the question asks by name of other things that texts tell of."""
    if not state.seen or not asks_by_name(state.question, {passage.title for passage in state.found}):
        return state
    return replace(state, seen=tuple(entry for entry in state.seen if mentions(state.question, entry.title)))


async def by_known_name(state: State, tools: Tools) -> State:
    """The same, with the picture looked up first where the rewritten question has a name that is a guess."""
    queries = await tools.rewrite(state)
    if tools.guessed(queries):
        if await tools.read_words():
            return await by_known_name(state, tools)
        with tools.extra_round(*STEPS) as fits:
            further = state.having(await tools.search_image()) if fits else state
            if further.seen != state.seen:
                return await by_text(further, tools)
    return state.asking(queries).having(await tools.search_text(queries))


async def _rest(state: State, tools: Tools, *, looked_up: bool, searched: bool) -> State:
    """The state with the picture looked up, and with text by what that showed."""
    further = state if looked_up else state.having(await tools.search_image())
    return further if searched and further.seen == state.seen else await by_text(further, tools)
