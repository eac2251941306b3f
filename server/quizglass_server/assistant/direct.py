"""Questions that the store answers by itself, whatever the policy: what a thing is called, and what is known of it.

The name of a recognised entry is its title, and an overview its own first sentences. No model writes either.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from quizglass.values import AbstainReason, AnswerKind, FinishReason, Plan
from quizglass_server.domain.state import Draft
from quizglass_server.domain.turns import Evidence
from quizglass_server.policies.tools import Tools
from quizglass_server.steps.language.intents import Intent, asks_own_name
from quizglass_server.steps.language.wording import shares_name, shares_part, starts_with, words
from quizglass_server.steps.quoting import LONGEST_ANSWER, beginning_of
from quizglass_server.steps.read import asks_for_gist, asks_to_read_out

REPLIES = {
    Intent.GREETING: "Hello! Ask me about what you see.",
    Intent.THANKS: "You're welcome.",
    Intent.FAREWELL: "Goodbye.",
    Intent.REMARK: "All right. Ask me about what you see.",
    Intent.ABOUT_ASSISTANT: "I'm quizglass. I answer questions about what you see, from your own notes.",
}
"""To small talk, in the language of the rules that recognise it."""
_SEEN = (Intent.SCENE, Intent.KIND)
"""What a generator that sees the picture says better than its entry's title."""
_FROM_ENTRY = (Intent.IDENTITY, Intent.WHICH, Intent.OVERVIEW, Intent.OWNER, *_SEEN)
_TEXT_TOO = (Intent.KIND, Intent.WHICH, Intent.OVERVIEW)
"""What an entry's text may say, too."""
_OF_A_KIND = (Intent.KIND, Intent.WHICH)
"""Which may be said by words in the picture, too: "Which tea is this?" of a packet in front of something else."""
_BEGINS_WITH_VOWEL = re.compile(r"(?!uni(?!n|m)|us[ae]|eu|one\b|ukulele|ewer)[aeiou]|hour|heir|honou?r|honest")
"""As it is spoken: "a unicycle", "an hourglass"."""
_ARTICLES = ("a", "an", "the")
_POSSESSIVE = re.compile(r"\w(?:['\u2019]s|s['\u2019])(?:\s|$)", re.IGNORECASE)


def small_talk(intent: Intent) -> Draft | None:
    """The reply to small talk; None where something is asked."""
    reply = REPLIES.get(intent)
    return None if reply is None else Draft(reply, finish=FinishReason.COMPLETE, kind=AnswerKind.FIXED)


async def answer_by_entry(intent: Intent, tools: Tools) -> Draft | None:
    """The name of the thing in the picture, or the beginning of its entry; without a picture, of the entry it names.

    Returns:
        None where the question asks for a fact that no title says, or nothing is recognised and a generator may say
        what it sees.
    """
    if intent not in _FROM_ENTRY or (intent in _SEEN and tools.sees_pictures):
        return None
    question = tools.start().question
    if not tools.sees_pictures and (draft := await _of_words(question, tools)).text:
        return tools.tell(draft)
    by_name = intent is Intent.OVERVIEW and not tools.pictured
    tools.fixed(Plan.TEXT if by_name else Plan.IMAGE)
    seen = await (_named(tools) if by_name else tools.search_image())
    if seen:
        return await _of_entry(intent, seen, tools)
    if tools.sees_pictures or intent is Intent.OWNER:
        return None
    if intent in _OF_A_KIND and (draft := await tools.quote((), printed=True)).text:
        return tools.tell(draft)
    if intent is not Intent.OVERVIEW and not asks_own_name(question) and (tags := await tools.tags()):
        return tools.tell(
            Draft(f"It may be {_with_article(tags[0])}.", finish=FinishReason.COMPLETE, kind=AnswerKind.GUESSED)
        )
    return tools.refuse(Draft(finish=FinishReason.COMPLETE), AbstainReason.NO_EVIDENCE)


async def _of_words(question: str, tools: Tools) -> Draft:
    """What is printed in the picture, where that is asked for ("What's on the screen?", "Summarise the letter"); empty
    where it is not, or nothing is printed."""
    if not (tools.pictured and (asks_to_read_out(question) or asks_for_gist(question))):
        return Draft()
    tools.fixed(Plan.NONE)
    return await tools.read_out()


async def _named(tools: Tools) -> list[Evidence]:
    """A passage of the entry that the question names, as "Tell me about the fox" does."""
    question = tools.start().question
    return [item for item in await tools.search_text([question]) if shares_name(question, item.title)][:1]


async def _of_entry(intent: Intent, seen: Sequence[Evidence], tools: Tools) -> Draft | None:
    """What the first entry says of itself: what is asked of its kind, how its text begins, else its title.

    Returns:
        None where the question is whose it is, and its title does not say it.
    """
    entry = seen[0]
    if intent is Intent.OWNER and not _POSSESSIVE.search(entry.title):
        return None
    own = await tools.own_texts(seen[:1]) if intent in _TEXT_TOO else []
    another = intent in _OF_A_KIND and not _is_of_kind(entry, own, tools.start().question)
    if another and (draft := await tools.quote((), printed=True)).text:
        return tools.tell(draft)
    if intent in _OF_A_KIND and (draft := await tools.quote(own)).text:
        named = intent is Intent.KIND or shares_name(draft.text, entry.title)
        return tools.tell(draft if named else replace(draft, text=f"{entry.title}: {draft.text}"))
    if own and (text := _beginning(intent, own[0], tools.start().question)):
        (first,) = tools.show(own[:1])
        return tools.tell(Draft(text, finish=FinishReason.COMPLETE, shown=(first.id,), kind=AnswerKind.QUOTED))
    title = " ".join(entry.title.split())
    return tools.tell(Draft(title, finish=FinishReason.COMPLETE, shown=(entry.id,), kind=AnswerKind.NAMED))


def _is_of_kind(entry: Evidence, own: Sequence[Evidence], question: str) -> bool:
    """Whether an entry has a word of the question, so that it may be of the kind that is asked for."""
    return shares_part(question, " ".join((entry.title, *(item.text for item in own))))


def _beginning(intent: Intent, own: Evidence, question: str) -> str:
    """How an entry's text begins; where a kind is asked for that its title does not name, with the title in front."""
    if intent is Intent.OVERVIEW:
        return beginning_of(own)
    if intent is Intent.WHICH and {word.key for word in words(question)} & {word.key for word in words(own.title)}:
        return ""
    first = beginning_of(own, 0)
    if not first or len(first.split()) >= LONGEST_ANSWER:
        return ""
    return first if _begins_with(first, own.title) else f"{own.title}: {first}"


def _begins_with(text: str, title: str) -> bool:
    """Whether a text begins with a title, with or without an article: in front of it the title would be a double."""
    said = words(text)
    return any(starts_with(said[left_out:], words(title)) for left_out in range(1 + (said[0].key in _ARTICLES)))


def _with_article(noun: str) -> str:
    """As in "a cup", "an espresso"; a name keeps standing alone."""
    if noun[:1].isupper():
        return noun
    return f"{'an' if _BEGINS_WITH_VOWEL.match(noun) else 'a'} {noun}"
