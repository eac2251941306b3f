"""Whether an answer leaves out what limits the fact that it repeats: how often, how much at most, unless what.

"Three weeks" is no whole answer where the note says "every three weeks"; the note's sentence is. English, by its words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from quizglass_server.steps.language.wording import Word, words
from quizglass_server.steps.quoting import LONGEST_ANSWER, NoteSentence

_QUALIFIERS = frozenset(
    """
    about after almost always and approximately around because before between but daily each every except half hourly if
    least less max maximum min minimum monthly more most nearly never no nor not only otherwise over per rarely roughly
    since than twice under unless until up weekly when whenever while with without within yearly
    """.split()  # noqa: SIM905, a list of words reads better
)
_RATE = re.compile(
    r"\b(?:an?|the) (?:minute|hour|day|night|week|month|season|year|person)\b|\d (?:to|or) \d", re.IGNORECASE
)
"""As in "three drops a day", "2 to 3"."""
_PART_END = re.compile(r"[;:]|\s[–—-]\s|,(?= (?:and|but|so|which|who)\b)")
"""What parts facts within a sentence."""


def whole_sentence(answer: str, question: str, found: Sequence[NoteSentence]) -> NoteSentence | None:
    """The sentence that an answer is a part of, where the answer leaves out a qualifier of it.

    Args:
        answer: as it was written, trimmed.
        question: what was asked; a qualifier that it says itself is not missing.
        found: the sentences that the answer rests on.

    Returns:
        None where no sentence has the answer, the answer has all that limits it, or the sentence is too long to be told
        in its place.
    """
    said, asked = [word.key for word in words(answer)], frozenset(word.key for word in words(question))
    short = (sentence for sentence in found if len(sentence.text.split()) <= LONGEST_ANSWER)
    return next((sentence for sentence in short if said and _left_out(said, asked, sentence.text)), None)


def _left_out(said: Sequence[str], asked: frozenset[str], sentence: str) -> bool:
    """Whether a sentence says this, and a qualifier of it that is in neither of the two."""
    spoken = words(sentence)
    keys = [word.key for word in spoken]
    begin = next((at for at in range(len(keys) - len(said) + 1) if keys[at : at + len(said)] == list(said)), None)
    if begin is None:
        return False
    parts = _around(sentence, spoken[begin], spoken[begin + len(said) - 1])
    limits = {word.key for part in parts for word in words(part)} & _QUALIFIERS
    rates = {word.key for part in parts for rate in _RATE.findall(part) for word in words(rate)}
    return not (limits | rates) <= asked


def _around(sentence: str, first: Word, last: Word) -> tuple[str, str]:
    """What stands before and after some words of a sentence, as far as it belongs to the same fact."""
    before, after = sentence[: first.start], sentence[last.end :]
    ends = [match.end() for match in _PART_END.finditer(before)]
    end = _PART_END.search(after)
    return before[ends[-1] if ends else 0 :], after[: end.start()] if end else after
