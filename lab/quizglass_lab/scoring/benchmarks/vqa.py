"""VQA accuracy (Antol et al., ICCV 2015): an answer beside those of ten people, with its own normalisation.

As visualqa.org's evaluation computes it since 2021 (GT-Vision-Lab/VQA, `vqaEval.py`), with its known oddities: a full
stop goes unless a digit follows, and answer and votes are normalised only where the ten do not agree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_MARKS = (*';/[]"{}()=+\\_-><@`,?!',)
_DIGIT_COMMA = re.compile(r"\d,\d")
_FULL_STOP = re.compile(r"\.(?!\d)")
_ARTICLES = ("a", "an", "the")
_NUMBERS = {
    word: str(number)
    for number, words in enumerate(
        ("none zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
    for word in words.split()
}
_APOSTROPHES = (
    "ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't he'd "
    "he'd've he's how'd how'll how's isn't it'd it'd've it'll ma'am mightn't mightn't've might've mustn't must've "
    "needn't not've o'clock oughtn't 'ow's'at shan't she'd've shouldn't shouldn't've should've somebody'd've "
    "somebody'll somebody's someone'd someone'd've someone'll someone's something'd something'd've something'll "
    "that's there'd there'd've there're there's they'd they'd've they'll they're they've 'twas wasn't we'd've we've "
    "weren't what'll what're what's what've when's where'd where's where've who'd who'd've who'll who's who've why'll "
    "why're why's won't would've wouldn't wouldn't've y'all y'all'll y'all'd've you'd you'd've you'll you're you've"
)
_CONTRACTIONS = {
    f"{word[:place]}{word[place + 1 :]}": word
    for word in _APOSTROPHES.split()
    for place, mark in enumerate(word)
    if mark == "'"
} | {"somebody'd": "somebodyd"}
"""Each without one of its apostrophes, and the one that the published table has the wrong way round."""


def vqa_accuracy(answer: str, votes: Sequence[str]) -> float:
    """Mean, over each person left out, of min(1, others who gave this answer / 3); 0 to 1.

    Raises:
        ValueError: no votes.
    """
    if not votes:
        raise ValueError("votes: VQA accuracy needs the answers of several people (VQAv2 has ten)")
    said, *people = (text.replace("\n", " ").replace("\t", " ").strip() for text in (answer, *votes))
    if len(set(people)) > 1:
        said, *people = map(vqa_normalised, (said, *people))
    same = people.count(said)
    scores = [min(1.0, (same - (vote == said)) / 3) for vote in people]
    return sum(scores) / len(scores)


def vqa_normalised(text: str) -> str:
    """An answer without marks and articles, numbers as digits, contractions with their apostrophes."""
    words = [_NUMBERS.get(word, word) for word in _without_marks(text).lower().split()]
    return " ".join(_CONTRACTIONS.get(word, word) for word in words if word not in _ARTICLES)


def _without_marks(text: str) -> str:
    plain, comma = text, _DIGIT_COMMA.search(text) is not None
    for mark in _MARKS:
        beside_space = f"{mark} " in text or f" {mark}" in text
        plain = plain.replace(mark, "" if beside_space or comma else " ")
    return _FULL_STOP.sub("", plain)
