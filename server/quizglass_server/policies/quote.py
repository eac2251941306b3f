"""Quotes: what a person's own notes or words in the picture say, word for word. No published system, no generator.

    picture ─ image search ─┬─ recognised ──► sentences of that entry ─ one answers ─► told
                            └─ not, or none answers ─► text search ─► sentences ─┬─ weighed ─┬─ one answers ─► told
                                            words in the picture ─► their lines ─┘           └─ none ─► "I don't know"

A small generator rewords what it is shown and loses part of it. What it can do, or a cross-encoder can, is to say
whether a sentence answers the question; the words are the store's own, or stand in the picture. These are read where
the question may be about them, and then weighed beside the recognised entry's; else where no note answers. Where such
a question has no other answer, a few words are repeated: "It says: SALE 30 % off".
"""

from __future__ import annotations

from dataclasses import replace

from quizglass.values import AbstainReason, AnswerKind, FinishReason, Plan
from quizglass_server.domain.state import Draft
from quizglass_server.policies.policy import QUOTES, liked
from quizglass_server.policies.tools import Tools
from quizglass_server.steps.quoting import quotable
from quizglass_server.steps.read import asks_to_read_out, may_ask_for_words, may_be_meant, words_may_tell


class Quote:
    """Quotes the recognised entry, else passages that a text search finds, or lines of words in the picture."""

    name = "quote"
    needs = ("image_encoder", "text_encoder")
    likes = liked(needs, "tagger")
    tasks = ()
    ending = (QUOTES,)
    words_later = True

    async def answer(self, tools: Tools) -> Draft:
        """Look the picture up, then texts, and quote what answers."""
        question = tools.start().question
        if tools.pictured and asks_to_read_out(question):
            tools.fixed(Plan.NONE)
            draft = await tools.read_out()
            if draft.text:
                return tools.tell(draft)
        tools.fixed(Plan.BOTH)
        asked = tools.pictured and may_ask_for_words(question)
        seen = await tools.search_image()
        if seen:
            draft = await tools.quote(await tools.own_texts(seen), printed=asked)
            if draft.text:
                return tools.tell(draft)
        tags = () if seen else await tools.tags()
        query = " ".join((question, *tags[:1]))
        found = await tools.search_text([query])
        may = quotable(found, question, tags, pictured=tools.pictured, recognised=bool(seen))
        printed = not seen if asked else tools.pictured and words_may_tell(question)
        draft = await tools.quote(may, printed=printed)
        if asked and not draft.text:
            said = await tools.read_out()
            draft = _repeated(said) if may_be_meant(question, said.text) else draft
        return tools.tell(draft) if draft.text else tools.refuse(_NOTHING, AbstainReason.NO_EVIDENCE)


def _repeated(said: Draft) -> Draft:
    """Words that may be meant, as no more than what stands there: they were weighed, and do not answer."""
    return replace(said, text=f"It says: {said.text}", supported=False, notes={**said.notes, "off_question": said.text})


_NOTHING = Draft(finish=FinishReason.COMPLETE, kind=AnswerKind.QUOTED)
"""Nothing that may be quoted answers: no quote is looked for once more in place of a refusal."""
