"""What came of the questions, as rows with their bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench.engine.figures import percentile
from bench.everyday.setup import between
from bench.own.asking import Told
from bench.own.dataset import KINDS, OwnQuestion, OwnThing
from bench.own.judge import Judged, judge, plain
from bench.results import Row, at_least, at_most, ratio
from quizglass_lab.scoring.answers import refuses

DEFAULT = "default"
_LEAST_RIGHT, _ABOVE, _LEAST_WHOLE = 88.0, 10.0, 90.0
_BARS = {"identity": 95.0, "tell": 95.0}
"""On things that were recognised."""
_ABSENT = ("unsaid", "unstored")
_SHORTEST = 2
"""Words of an answer that are looked for in other notes: one word stands in many."""


@dataclass(frozen=True)
class Case:
    """A question with an answer."""

    question: OwnQuestion
    thing: OwnThing
    told: Told
    recognised: str
    """The thing that the picture was taken for; empty: none."""

    @property
    def judged(self) -> Judged:
        """Whether the answer is right."""
        return judge(self.question, self.told.text)

    @property
    def wrong_but_supported(self) -> bool:
        """What a user is misled by."""
        return self.judged is Judged.WRONG and self.told.supported

    def foreign(self, things: Sequence[OwnThing]) -> bool:
        """Whether the words are another thing's while this one was recognised."""
        said = plain(self.told.text)
        if self.recognised != self.thing.id or refuses(self.told.text) or len(said.split()) < _SHORTEST:
            return False
        return said not in _words(self.thing) and any(
            said in _words(other) for other in things if other.id != self.thing.id
        )


Cases = Mapping[str, Sequence[Case]]
"""By policy or rule, the server's default first."""


def answer_rows(cases: Cases, things: Sequence[OwnThing]) -> list[Row]:
    """The default beside everything else."""
    ours = cases[DEFAULT]
    rows = [row for policy, some in cases.items() for row in policy_rows(policy, some)]
    rows += _best_of_the_rest(cases)
    rows += [row for kind in KINDS if (row := _kind_row(kind, ours)) is not None]
    answerable = [case for case in ours if case.question.answerable]
    rows.append(_share_row("answerable: right and complete", answerable, _right, _LEAST_WHOLE))
    absent = [case for case in ours if case.question.kind in _ABSENT]
    rows.append(_share_row("thing or fact not in the store: refused", absent, _right, 90.0))
    supported = 100 * sum(case.wrong_but_supported for case in ours) / len(ours)
    rows.append(at_most("wrong and marked supported, of all", supported, "%", 2.0))
    foreign = sum(case.foreign(things) for case in ours)
    rows.append(at_most("answers in words of another thing's note, one recognised", foreign, "answers", 0))
    return [*rows, *_words_rows(ours), *_time_rows(cases)]


def recognition_rows(found: Sequence[tuple[OwnThing, str]]) -> list[Row]:
    """Whether pictures are taken for the right thing: (thing, what it was taken for)."""
    stored = [(thing, name) for thing, name in found if thing.stored]
    rows = [_recognised("recognised and accepted", stored, 90.0)]
    for way in sorted({thing.way for thing, _ in stored}):
        some = [(thing, name) for thing, name in stored if thing.way == way]
        rows.append(_recognised(f"recognised and accepted, {way}", some, 80.0 if way == "busy" else None))
    taken = sum(bool(name) and name != thing.id for thing, name in stored)
    rows.append(Row("taken for another thing", 100 * taken / max(1, len(stored)), "%"))
    unstored = [bool(name) for thing, name in found if not thing.stored]
    if not unstored:
        return rows
    title = f"in no note, but accepted ({between(sum(unstored), len(unstored))} things)"
    return [*rows, at_most(title, 100 * sum(unstored) / len(unstored), "%", 3.0)]


def by_kind(cases: Cases) -> dict[str, dict[str, dict[str, int]]]:
    """How many answers of each kind of question are right, incomplete, refused and wrong, under each policy."""
    return {
        policy: {
            kind: {
                **Counter(str(case.judged) for case in some if case.question.kind == kind),
                "wrong and supported": sum(case.wrong_but_supported for case in some if case.question.kind == kind),
            }
            for kind in KINDS
        }
        for policy, some in cases.items()
    }


def policy_rows(policy: str, some: Sequence[Case]) -> list[Row]:
    """How many answers of a policy or rule are right and wrong."""
    least = _LEAST_RIGHT if policy == DEFAULT else None
    wrong = sum(case.judged is Judged.WRONG for case in some)
    return [
        _share_row(f"{policy}: right", some, _right, least),
        Row(f"{policy}: wrong", 100 * wrong / len(some), "%"),
    ]


def _best_of_the_rest(cases: Cases) -> list[Row]:
    share = {policy: 100 * sum(map(_right, some)) / len(some) for policy, some in cases.items()}
    ours = share.pop(DEFAULT)
    if not share:
        return []
    best = max(share, key=lambda policy: share[policy])
    above = ours - share[best]
    return [Row("above the best of the rest", above, "points", best, share[best], None, f">= {_ABOVE:g}", above >= 10)]


def _kind_row(kind: str, some: Sequence[Case]) -> Row | None:
    bar = _BARS.get(kind)
    asked = [case for case in some if case.question.kind == kind]
    if bar is not None:
        asked = [case for case in asked if case.recognised == case.thing.id]
    if not asked:
        return None
    title = f"{KINDS[kind]}{', things that were recognised' if bar else ''}: right"
    return _share_row(title, asked, _right, bar)


def _words_rows(some: Sequence[Case]) -> list[Row]:
    words = [len(case.told.text.split()) for case in some if not refuses(case.told.text)] or [0]
    return [
        at_most("words of an answer, p50", median(words), "words", 14),
        at_most("words of an answer, p95", percentile([float(each) for each in words], 0.95), "words", 30),
    ]


def _time_rows(cases: Cases) -> list[Row]:
    ours = _times(cases[DEFAULT])
    if "both" not in cases:
        return [Row(name, value, "ms") for name, value in ours.items()]
    rows = []
    for name, peer in _times(cases["both"]).items():
        times = ratio(ours[name], peer)
        rows.append(
            Row(name, ours[name], "ms", "both", peer, times, "<= 1.1x peer", times is not None and times <= 1.1)
        )
    return rows


def _times(some: Sequence[Case]) -> dict[str, float]:
    return {
        "first words, p50": median(case.told.first_ms for case in some),
        "whole, p95": percentile([case.told.whole_ms for case in some], 0.95),
    }


def _recognised(title: str, some: Sequence[tuple[OwnThing, str]], bar: float | None) -> Row:
    if not some:
        return Row(title, None, "", "no such thing was asked about")
    hits = sum(name == thing.id for thing, name in some)
    return _row(f"{title} ({between(hits, len(some))} things)", 100 * hits / len(some), bar)


def _share_row(title: str, some: Sequence[Case], counts: Callable[[Case], bool], bar: float | None) -> Row:
    if not some:
        return Row(title, None, "", "no such question was asked")
    hits = sum(map(counts, some))
    return _row(f"{title} ({between(hits, len(some))} questions)", 100 * hits / len(some), bar)


def _row(title: str, value: float, bar: float | None) -> Row:
    return Row(title, value, "%") if bar is None else at_least(title, value, "%", bar)


def _right(case: Case) -> bool:
    return case.judged is Judged.RIGHT


def _words(thing: OwnThing) -> str:
    return plain(f"{thing.title} {thing.note}")
