"""Answers in words that stand in the picture: which lines of a sign, label or screen answer the question.

A line alone says little ("Mondays closed"), so each is weighed with a heading, and so are two and three lines that
follow each other: with all of the words where they are few, for then they are quoted together; with the first line
where the right piece has to be chosen. The reranker learned from signs as well as from notes, and still puts lines
lower than sentences. The odds here make up for it. They were chosen on the questions of `bench/own/signs.toml` and
`bench/own/signs-dev.toml` and on signs that it did not learn from; docs/benchmarks/own.md has what they do to others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from quizglass.values import Origin
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.language.asked_kind import says_asked
from quizglass_server.steps.language.intents import Intent, intent_of
from quizglass_server.steps.lookup.listed import list_after
from quizglass_server.steps.quoting import LONGEST_ANSWER, MOST_SENTENCES, NoteSentence, likelier
from quizglass_server.steps.read import are_few, may_ask_for_words

MOST_TOGETHER = 3
"""Lines that are weighed as one piece."""
_SEVERAL = 2
_LIKELIER, _IF_ASKED, _IF_WHICH = 2.0, 8.0, 30.0
"""Odds of a piece; the second where the question seems to be about printed words, the third where it asks which of a
kind something is: "Which tea is this?"."""
_HAS_ASKED = 2.0
"""Further odds of one with a name, time or place where that is asked for."""
_CONDITION = re.compile(
    r"\d|(?:except|unless|from|until|till|between|during|after|before|on|at|daily|weekdays?|weekends?"
    r"|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*)\b",
    re.IGNORECASE,
)
_FORBIDS = re.compile(r"(?:no|not|never|don['\u2019]?t|do not|keep (?:out|off))\b", re.IGNORECASE)
_OPEN_END = re.compile(
    r"(?:[,&/]|\b(?:an?|the|of|to|for|from|with|without|and|or|by|in|on|at|press|call|only|your|is|are|not|no))$",
    re.IGNORECASE,
)


def pieces_of(read: Evidence, lines: Sequence[str]) -> list[NoteSentence]:
    """What may answer: each line, and lines that follow each other; shorter pieces first, at most `MOST_SENTENCES`.

    Args:
        read: the words as evidence.
        lines: the same, line by line.
    """
    few = are_few(read.text)
    return [
        NoteSentence(
            read,
            " ".join(lines[part.start : part.stop]),
            part.start,
            heading=read.text if few else lines[0] if part.start else "",
        )
        for part in parts_of(lines)
    ]


def parts_of(lines: Sequence[str]) -> list[range]:
    """Which lines each piece has, in the order of `pieces_of`."""
    sizes = range(1, MOST_TOGETHER + 1)
    drawn = [(begin, begin + size) for size in sizes for begin in range(len(lines) - size + 1)][:MOST_SENTENCES]
    return list(dict.fromkeys(range(_forbidden_from(lines, begin), _finished_at(lines, end)) for begin, end in drawn))


def _forbidden_from(lines: Sequence[str], begin: int) -> int:
    """Where a piece begins that says when or for whom something is forbidden: at the line that forbids it.

    Without that line it would say the contrary.
    """
    at = begin
    while at > 0 and _CONDITION.match(lines[at]):
        at -= 1
    return at if _FORBIDS.match(lines[at]) else begin


def _finished_at(lines: Sequence[str], end: int) -> int:
    """Where a piece ends whose last line goes on in the next: "In case of emergency press the"."""
    while end < len(lines) and _OPEN_END.search(lines[end - 1]):
        end += 1
    return end


def best_piece(question: str, pieces: Sequence[NoteSentence], scores: Sequence[float]) -> NoteSentence | None:
    """The piece that answers likeliest, with its score as it is held against the bundle's `quote_accept`.

    Args:
        question: as asked.
        pieces: what was weighed.
        scores: of each, by the reranker.

    Returns:
        None where there are none. Of equal ones the first, which is the shortest.
    """
    which = intent_of(question) in (Intent.KIND, Intent.WHICH)
    odds = _IF_WHICH if which else _IF_ASKED if may_ask_for_words(question) else _LIKELIER
    raised = [
        replace(piece, score=likelier(score, odds * (_HAS_ASKED if says_asked(question, piece.text) else 1)))
        for piece, score in zip(pieces, scores, strict=True)
    ]
    return max(raised, key=lambda piece: piece.score, default=None)


def quoted_piece(piece: NoteSentence, lines: Sequence[str] = ()) -> list[NoteSentence]:
    """A piece as it is quoted: all of the words where they are few, and with its list where it ends in a heading.

    Args:
        piece: one of `pieces_of`.
        lines: those that it is of; none: it is quoted as it stands.
    """
    if are_few(piece.evidence.text):
        return [NoteSentence(piece.evidence, piece.evidence.text, 0)]
    stops = range(piece.place + 1, len(lines) + 1)
    stop = next((at for at in stops if " ".join(lines[piece.place : at]) == piece.text), 0)
    if stop and (below := list_after(lines, stop - 1)):
        return [replace(piece, text=_opening(piece.text)), *lines_of(piece.evidence, lines, below)]
    return [piece]


def list_of(read: Evidence, lines: Sequence[str], part: range) -> list[NoteSentence]:
    """Lines as sentences, the first of which names the others."""
    first, *items = lines_of(read, lines, part)
    return [replace(first, text=_opening(first.text)), *items] if items else [first]


def lines_of(read: Evidence, lines: Sequence[str], part: range) -> list[NoteSentence]:
    """Neighbouring lines as sentences, so that the items of a list are heard apart; those that go on in the next line
    as one with that."""
    said = list[NoteSentence]()
    begin = part.start
    for at in part:
        goes_on = at + 1 < part.stop and (_OPEN_END.search(lines[at]) or lines[at + 1][:1].islower())
        if not goes_on:
            said.append(NoteSentence(read, " ".join(lines[begin : at + 1]), begin))
            begin = at + 1
    return said


def _opening(text: str) -> str:
    """A heading as it is read out: "Saturday:"."""
    return text if text.endswith((":", ".", ",")) else f"{text}:"


def as_one_piece(quoted: Sequence[NoteSentence]) -> list[NoteSentence]:
    """Sentences, with pieces of the same words as one: from the first to the last of their lines, as it stands there.

    Two pieces may share lines, and two that are put together stand nowhere. Pieces that are long together stay apart.
    """
    pieces = [each for each in quoted if each.evidence.origin is Origin.READ_TEXT]
    if len(pieces) < len(quoted) or len(pieces) < _SEVERAL:
        return list(quoted)
    whole = pieces[0].evidence.text
    begin = min(whole.index(piece.text) for piece in pieces)
    end = max(whole.index(piece.text) + len(piece.text) for piece in pieces)
    one = replace(pieces[0], text=whole[begin:end], place=min(piece.place for piece in pieces))
    return [one] if len(one.text.split()) <= LONGEST_ANSWER else list(quoted)
