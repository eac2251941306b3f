"""Which question of a dialogue says what is meant: of "How much does it weigh?" and "And when?" an earlier one.

English, by its words, like the names of places (`crop.place_of`) and of things (`phrases.phrases_of`).
"""

from __future__ import annotations

from collections.abc import Sequence

from quizglass.values import Exchange
from quizglass_server.steps.language.intents import SMALL_TALK, intent_of
from quizglass_server.steps.language.phrases import named_at
from quizglass_server.steps.language.pronouns import leaves_out, says_this, speaks_of
from quizglass_server.steps.lookup.parts.crop import place_of


def pointing(question: str, history: Sequence[Exchange]) -> str:
    """The question, or where it says "it", or leaves that out, the latest one before it that says what that is.

    Args:
        question: as it is asked now.
        history: what was said before, oldest first.
    """
    said = (question, *(exchange.question for exchange in reversed(history)))
    return next((each for each in said if not _says_no_thing(each)), question)


def with_earlier(question: str, history: Sequence[Exchange]) -> str:
    """The question; one that leaves out its subject ("And when?") behind the latest one that does not.

    For what is shown no history: of "Who painted this? And when?" it finds what it would of a whole question.
    """
    if not leaves_out(question):
        return question
    said = (exchange.question for exchange in reversed(history))
    before = next((each for each in said if not leaves_out(each) and intent_of(each) not in SMALL_TALK), "")
    return f"{before} {question}".strip()


def each_meant(question: str) -> list[str]:
    """The parts of a question that name one thing by sight each, where it names several; none where it does not.

    Of "Which is older, the boat at the top or the car on the left?" those are "the boat at the top or the " and "the
    car on the left?". Two that name the same are one.
    """
    seen = [each for each in named_at(question) if not each.by_name]
    ends = [each.start for each in seen[1:]] + [len(question)]
    parts: dict[tuple[str, str | None], str] = {}
    for each, end in zip(seen, ends, strict=False):
        part = f"the {question[each.start : end]}"
        parts.setdefault((each.phrase, place_of(part)), part)
    return list(parts.values()) if len(parts) > 1 else []


def _says_no_thing(question: str) -> bool:
    shown = place_of(question) is not None or says_this(question)
    return not shown and (speaks_of(question) or leaves_out(question))
