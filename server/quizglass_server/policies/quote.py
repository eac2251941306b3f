"""Quotes: the sentence or two of a person's own notes that answer, word for word. No published system, no generator.

    picture ─ image search ─┬─ recognised ──► sentences of that entry ──┐
                            └─ not ─► text search ─► their sentences ───┴─ weighed ─┬─ one answers ─► told
                                                                                    └─ none ─► "I don't know"

A small generator rewords what it is shown and loses part of it. What it can do, or a cross-encoder can, is to say
whether a sentence answers the question; the words are the store's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from quizglass.values import AbstainReason, FinishReason, Plan
from quizglass_server.domain.state import Draft
from quizglass_server.domain.turns import Evidence
from quizglass_server.policies.policy import QUOTES, liked
from quizglass_server.policies.tools import Tools
from quizglass_server.steps.language.pronouns import may_point
from quizglass_server.steps.language.wording import shares_name


class Quote:
    """Quotes the recognised entry, or passages where nothing is recognised."""

    name = "quote"
    needs = ("image_encoder", "text_encoder")
    likes = liked(needs, "tagger")
    tasks = ()
    ending = (QUOTES,)

    async def answer(self, tools: Tools) -> Draft:
        """Look the picture up, then texts, and quote what answers."""
        question = tools.start().question
        tools.fixed(Plan.BOTH)
        seen = await tools.search_image()
        if seen:
            draft = await tools.quote(await tools.own_texts(seen))
            if draft.text:
                return tools.tell(draft)
        tags = () if seen else await tools.tags()
        query = " ".join((question, *tags[:1]))
        found = await tools.search_text([query])
        draft = await tools.quote([passage for passage in found if _is_meant(passage, question, tags, seen)])
        return tools.tell(draft) if draft.text else tools.refuse(_NOTHING, AbstainReason.NO_EVIDENCE)


_NOTHING = Draft(finish=FinishReason.COMPLETE)


def _is_meant(passage: Evidence, question: str, tags: Sequence[str], seen: Sequence[Evidence]) -> bool:
    """Whether a passage that was found by text may be quoted.

    A question that points asks about what the picture shows: where that is recognised, or not known at all, another
    entry answers only if the question names it, or a classifier says that the picture shows it.
    """
    if any(shares_name(text, passage.title) for text in (question, *tags)):
        return True
    return not seen and not may_point(question)
