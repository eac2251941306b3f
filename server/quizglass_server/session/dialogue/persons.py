"""Whom "he" and "she" mean: a person that the exchange before names, and otherwise what was spoken of, as "it" does.

After "Who painted this?", "Ole Berg.", "When was he born?" is "When was Ole Berg born?". English, by its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from quizglass_server.steps.language import english
from quizglass_server.steps.language.wording import Word, words

_HE, _SHE = frozenset(("he", "him", "his", "himself")), frozenset(("she", "her", "hers", "herself"))
_HAVING = frozenset(("his", "hers"))
_ITSELF = frozenset(("himself", "herself"))
_WHO = re.compile(
    r"\b(?:who|whom|whose)\b(?!(?:['\u2019]s|\s+(?:is|are|was|were)) (?:this|that|these|those|it|he|she|they|here)\b)"
    r"|\bname of\b",
    re.IGNORECASE,
)
"""What asks for a person that is not the one in the picture."""
_NAME_ASKED = re.compile(r"\b(?:his|her|hers)\W+name\b|\b(?:he|she) (?:called|named)\b", re.IGNORECASE)
"""What asks for the name of one who was not named: after "Who owns this dog?", "Petra.", "What is his name?"."""
_TOGETHER = re.compile(r",? (?:and|or|&) ")
_MEN = frozenset("mr uncle dad daddy father grandpa grandfather granddad opa onkel brother sir herr".split())  # noqa: SIM905
_WOMEN = frozenset("mrs ms miss aunt mum mom mother grandma grandmother granny oma tante sister frau".split())  # noqa: SIM905
_TITLES = _MEN | _WOMEN | frozenset(("dr", "prof", "professor"))
_PARTICLES = frozenset("da de del della den der di du la le ten ter van von zu".split())  # noqa: SIM905
_OF_THINGS = frozenset("a an at from in into my near of our that the this until your".split())  # noqa: SIM905
"""Words before the name of anything but a person."""
_NO_NAMES = frozenset(
    f"""{english.FUNCTION} {english.MONTHS} {english.WEEKDAYS} {english.ADVERBS} christmas easter i'm i've i'd i'll
    no not""".split()
)
_GOES_ON = _NO_NAMES - frozenset(f"{english.AUXILIARIES} and or also who".split())
"""Words behind the first one of a sentence that is no name: "Got it from", "Reproduction of"."""
_OBJECT_AHEAD = frozenset(
    f"""{english.FUNCTION} {english.ADVERBS} {english.WEEKDAYS} {english.ROLES} {english.BINDING} ago again alone
    anything""".split()
)
"""Words behind "her" that it does not own: "Who gave her the key?"."""


@dataclass(frozen=True, slots=True)
class _Name:
    """A run of words with capitals."""

    words: tuple[Word, ...]
    text: str
    before: str
    """The word before it; empty: it begins a sentence."""
    alone: bool
    """Whether its sentence ends with it, or goes on as behind a subject: "Lena walks him"."""


def with_person(question: str, asked: str, answer: str, titles: Sequence[str]) -> str:
    """A question whose "he" or "she" is a person that the exchange before names, with that name; else as it is.

    Args:
        question: as it is asked now.
        asked: the question before it.
        answer: of that.
        titles: of the entries that the answer is about: what is spoken of, be it a person or a dog.
    """
    said = words(question)
    if _NAME_ASKED.search(question):
        return question
    for forms, others in ((_HE, _WOMEN), (_SHE, _MEN)):
        pointers = [word for word in said if word.key in forms]
        if pointers and (name := _person(asked, answer, titles, forms, others)):
            return _put(question, said, pointers, name)
    return question


def _person(asked: str, answer: str, titles: Sequence[str], forms: frozenset[str], others: frozenset[str]) -> str:
    """The person that these pronouns mean; empty: none that is named."""
    if any(word.key in forms for word in words(asked)):
        return ""  # it is whoever that was
    subject = {word.key for title in titles for word in words(title)}

    def is_other(name: _Name) -> bool:
        keys = {word.key.removesuffix("'s").rstrip(".") for word in name.words}
        return keys.isdisjoint(subject) and keys.isdisjoint(others)

    if _WHO.search(asked):
        told = [name for name in _names(answer) if is_other(name)]
        meant = next((name for fits in _FITTING for name in told if fits(name)), None)
        return meant.text if meant is not None and not _is_one_of_two(meant, told, answer) else ""
    told = [name for name in _names(asked) if name.before and name.before not in _OF_THINGS and is_other(name)]
    return told[0].text if len({name.text for name in told}) == 1 else ""


def _is_one_of_two(meant: _Name, told: Sequence[_Name], answer: str) -> bool:
    """Whether a name stands beside another one that may be meant as well: "Anna and Ben"."""
    beside = ((one, other) for one, other in pairwise(told) if meant in (one, other))
    return any(_TOGETHER.fullmatch(answer, one.words[-1].end, other.words[0].start) for one, other in beside)


_FITTING: tuple[Callable[[_Name], bool], ...] = (
    lambda name: name.before == "by",
    lambda name: not _TITLES.isdisjoint(word.key for word in name.words),
    lambda name: name.before in ("is", "was"),
    lambda name: not name.before and name.alone,
    lambda name: name.before in ("from", "with"),
)
"""Which of the names of an answer is the person that was asked for, the likeliest first."""


def _names(text: str) -> list[_Name]:
    """The names in a text, in order."""
    found, said = list[_Name](), words(text)
    at = 0
    while at < len(said):
        if not _is_name(said[at]):
            at += 1
            continue
        end = at + 1
        while end < len(said) and _goes_on(text, said, end):
            end += 1
        while said[end - 1].key in _PARTICLES:
            end -= 1
        run = said[at:end]
        if not (len(run) == 1 and len(run[0].key) > 1 and text[run[0].start : run[0].end].isupper()):
            name = _bare(text[run[0].start : run[-1].end])
            found.append(_Name(run, name, _before(text, said, at), _alone(text, said, end)))
        at = end
    return found


def _is_name(word: Word) -> bool:
    plain = word.key.removesuffix("s")
    return word.named and word.key[0].isalpha() and not {word.key, plain} & _NO_NAMES


def _goes_on(text: str, said: Sequence[Word], at: int) -> bool:
    """Whether a word belongs to the name before it: "Ole | Berg", "Mr. | Okafor", "Vincent | van"."""
    between = text[said[at - 1].end : said[at].start]
    joined = between in (" ", "-") or (between == ". " and (said[at - 1].key in _TITLES or len(said[at - 1].key) == 1))
    return joined and (_is_name(said[at]) or said[at].key in _PARTICLES)


def _before(text: str, said: Sequence[Word], at: int) -> str:
    if at == 0 or re.search(r"[.!?;:\n]", text[said[at - 1].end : said[at].start]):
        return ""
    return said[at - 1].key


def _alone(text: str, said: Sequence[Word], end: int) -> bool:
    if end >= len(said):
        return True
    mark = text[said[end - 1].end : said[end].start].strip()
    return mark != ":" if mark else said[end].key not in _GOES_ON


def _bare(name: str) -> str:
    """A name without "'s", and without points that would be taken for the end of a sentence."""
    return re.sub(r"['\u2019]s?$", "", name).replace(". ", " ")


def _put(question: str, said: Sequence[Word], pointers: Sequence[Word], name: str) -> str:
    """The question with a name in place of these words."""
    following = {one: other.key for one, other in pairwise(said)}
    for word in reversed(pointers):
        if word.key in _ITSELF:
            continue
        owns = word.key in _HAVING or (word.key == "her" and following.get(word, "to") not in _OBJECT_AHEAD)
        question = question[: word.start] + name + ("'s" if owns else "") + question[word.end :]
    return question
