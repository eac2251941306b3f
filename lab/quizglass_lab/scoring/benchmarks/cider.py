"""CIDEr-D (Vedantam et al., CVPR 2015): captions beside those of several people, by n-grams that few pictures have.

As the published code computes it (tylin/coco-caption, `cider`): raw counts, one to four words, lengths by a Gaussian,
times 10. That code has its words from Stanford's tokenizer, a Java program; here a pattern cuts them in its manner.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

_WORD = re.compile(r"n't\b|'(?:s|m|d|re|ve|ll)\b|\w+?(?=n't\b)|\w+(?:[-.]\w+)*")
_LONGEST = 4
_SPREAD = 6.0
"""Standard deviation of the Gaussian, in words."""
_FULL = 10.0
Gram = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _CaptionVector:
    """A text: its words' count, and by length of n-grams how much each weighs, and all of them."""

    length: int
    weights: tuple[Mapping[Gram, float], ...]
    norms: tuple[float, ...]


def cider_d(captions: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """A score of each caption, 0 to 10, by how it is like the references of its picture.

    What weighs is what the references of few of these pictures have, so scores are of all of them together, and that of
    one picture alone is 0.

    Raises:
        ValueError: a picture without references, or another number of captions than of pictures.
    """
    if len(captions) != len(references) or not all(references):
        raise ValueError("references: expected those of each caption's picture, one at least")
    pictures = [[_grams(caption_words(text)) for text in of_one] for of_one in references]
    having = Counter(gram for of_one in pictures for gram in {gram for counts in of_one for gram in counts})
    scores = []
    for caption, of_one in zip(captions, pictures, strict=True):
        said = _weighed(_grams(caption_words(caption)), having, len(pictures))
        scores.append(fmean(_alike(said, _weighed(each, having, len(pictures))) for each in of_one))
    return scores


def caption_words(text: str) -> list[str]:
    """Lower-case words without punctuation, clitics apart ("isn't" is "is n't"), compounds whole ("t-shirt")."""
    return _WORD.findall(text.lower().replace("\u2019", "'"))


def _grams(words: Sequence[str]) -> Counter[Gram]:
    """How often a text has each n-gram, of all lengths."""
    starts = ((size, at) for size in range(1, _LONGEST + 1) for at in range(len(words) - size + 1))
    return Counter(tuple(words[at : at + size]) for size, at in starts)


def _weighed(counts: Counter[Gram], having: Mapping[Gram, int], pictures: int) -> _CaptionVector:
    weights: list[dict[Gram, float]] = [{} for _ in range(_LONGEST)]
    for gram, count in counts.items():
        weights[len(gram) - 1][gram] = count * math.log(pictures / max(1, having.get(gram, 0)))
    length = sum(count for gram, count in counts.items() if len(gram) == 1)
    return _CaptionVector(length, tuple(weights), tuple(math.hypot(*each.values()) for each in weights))


def _alike(said: _CaptionVector, reference: _CaptionVector) -> float:
    """0 to 10; what a caption repeats more often than the reference counts as often as there."""
    cosines = []
    for size in range(_LONGEST):
        ours, theirs = said.weights[size], reference.weights[size]
        shared = sum(min(ours[gram], weight) * weight for gram, weight in theirs.items() if gram in ours)
        both = said.norms[size] * reference.norms[size]
        cosines.append(shared / both if both else 0.0)
    apart = said.length - reference.length
    return _FULL * fmean(cosines) * math.exp(-(apart**2) / (2 * _SPREAD**2))
