"""Entries whose pictures match the wearer's equally well, told apart by what the generator says that it sees.

A store may have one picture at two entries, or have it at the wrong one. No search by picture tells those apart; what
the entries say of how their thing looks does, beside a few words about the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.language.lexemes import meaning
from quizglass_server.steps.language.wording import words
from quizglass_server.steps.prompt_values import line

_ALIKE = 0.005
"""Cosine. By less the pictures of one thing differ that were sent anew; those of another thing are rarely so near."""


def match_alike(entries: Sequence[Evidence]) -> list[Evidence]:
    """The first entries of a search, as many as match about as well as the very first."""
    return list(takewhile(lambda entry: abs(entry.search_score - entries[0].search_score) <= _ALIKE, entries))


def rerank_by_appearance(entries: Sequence[Evidence], look: str) -> list[Evidence]:
    """Entries, but of the first that match alike the ones before others whose texts match the picture best.

    Args:
        entries: what an image search brought back, the best first.
        look: the generator's description of the subject, a few words: "blue building".
    """
    seen = {meaning(word.key) for word in words(look)}
    alike = match_alike(entries)
    ranked = sorted(alike, key=lambda entry: -len(seen & {meaning(word.key) for word in words(line(entry))}))
    return [*ranked, *entries[len(alike) :]]
