"""Answers beside gold answers, by their words: equal after normalisation, shared words, truthfulness."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = re.compile(r"[^\w\s]")
_JOINING = re.compile(r"['’]|(?<=\d),(?=\d{3}(?!\d))")
"""Marks that part no words: apostrophes, and the commas of 1,234,567."""
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
"""Han and kana: no spaces part the words of Chinese and Japanese."""
_REFUSALS = ("i don't know", "i do not know", "i don’t know", "i dont know")


def normalise(text: str) -> str:
    """Lower case, without punctuation, articles and surplus space: extractive QA's rule, but a mark leaves a space.

    A text of articles alone, such as the blood group "A", stays as it is: else it would equal an empty answer.
    """
    plain = _PUNCTUATION.sub(" ", _JOINING.sub("", text.lower()))
    return " ".join((_ARTICLES.sub(" ", plain).split()) or plain.split())


def words_of(text: str) -> list[str]:
    """The words of a text after normalisation; of Chinese and Japanese each character."""
    return _UNSPACED.sub(r" \g<0> ", normalise(text)).split()


def exact_match(answer: str, gold: str, aliases: Sequence[str] = ()) -> bool:
    """Whether an answer equals the gold answer or an alias after normalisation."""
    plain = normalise(answer)
    return any(plain == normalise(right) for right in (gold, *aliases))


def token_f1(answer: str, gold: str, aliases: Sequence[str] = ()) -> float:
    """Best F1 of word overlap with the gold answer or an alias, 0 to 1; two empty texts agree."""
    return max(_f1(words_of(answer), words_of(right)) for right in (gold, *aliases))


def _f1(given: Sequence[str], right: Sequence[str]) -> float:
    if not given or not right:
        return float(given == right)
    shared = sum((Counter(given) & Counter(right)).values())
    return 2 * shared / (len(given) + len(right))


def token_accuracy(answer: str, gold: str, aliases: Sequence[str] = ()) -> float:
    """Best share of a gold answer's words that the answer has too, 0 to 1.

    The static metric of the planning agent and of Dyn-VQA, whose evaluation script calls it F1-recall (and cuts Chinese
    into words by a dictionary). It does not mind what else an answer says.
    """
    words = Counter(words_of(answer))
    return max(_recall(words, Counter(words_of(right))) for right in (gold, *aliases))


def _recall(given: Counter[str], right: Counter[str]) -> float:
    return (given & right).total() / right.total() if right else float(not given)


def overlap(answer: str, gold: str, aliases: Sequence[str] = ()) -> float:
    """Best share of distinct words that an answer and a gold answer have in common, of all that either has.

    QA-Dragon's second metric, as far as it can be told: the paper names "knowledge overlap" and gives no formula, and
    its published code does not compute it.
    """
    words = set(words_of(answer))
    shares = []
    for right in (set(words_of(text)) for text in (gold, *aliases)):
        either = words | right
        shares.append(len(words & right) / len(either) if either else 1.0)
    return max(shares)


def refuses(answer: str) -> bool:
    """Whether an answer says that it does not know, or says nothing."""
    plain = answer.strip().lower()
    return not plain or plain.startswith(_REFUSALS)


def truthfulness(*, right: bool, refused: bool) -> int:
    """1 for a right answer, 0 for a refusal, -1 for a wrong one: the rule of the CRAG-MM contest."""
    return 1 if right else 0 if refused else -1


def conversation_outcomes(turns: Iterable[tuple[bool, bool]]) -> list[tuple[bool, bool]]:
    """Each turn of a conversation as (right, refused) as it counts, given the same as it was, in their order.

    After two turns in a row that are not right a wearer gives up: the turns behind them count as refused (the rule of
    the CRAG-MM contest).
    """
    outcomes: list[tuple[bool, bool]] = []
    failures = 0
    for right, refused in turns:
        outcomes.append((False, True) if failures >= 2 else (right, refused))
        if failures < 2:
            failures = 0 if right else failures + 1
    return outcomes


def conversation_truthfulness(turns: Iterable[tuple[bool, bool]]) -> float:
    """Mean truthfulness of a conversation's turns, given as (right, refused), as `conversation_outcomes` counts them.

    Raises:
        ValueError: no turns.
    """
    scores = [truthfulness(right=right, refused=refused) for right, refused in conversation_outcomes(turns)]
    if not scores:
        raise ValueError("turns: a conversation has at least one")
    return sum(scores) / len(scores)
