"""The everyday bundle's reranker as a judge of answers, alone and beside the rules.

The pairs have no question, and a question would not do: the sentence that answers it is the same for a right answer and
for a wrong one. So the answer itself is put to the reranker, in three ways. Way and line are chosen for each judge on
the pairs that the rules were written with; the other sets are measured with them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter

from bench.results import Row, against, ratio
from bench.verdict.pairs import Pair, agreement, by_names, checked, gained
from quizglass_bundle.files import Bundle
from quizglass_lab.scoring.intervals import wilson_interval
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.roles.load import load_role
from quizglass_server.roles.reranker import Reranker
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.shared.loading import Loading
from quizglass_server.steps.quoting import sentences_of

THREADS = 2
RULES = "rules"
WAYS: Mapping[str, Callable[[str, str], tuple[str, str]]] = {
    "the answer as query": lambda answer, said: (answer, said),
    "the answer as question": lambda answer, said: (f"Is it true that {answer.rstrip('.')}?", said),
    "the answer as passage": lambda answer, said: (said, answer),
}
"""Query and passage, of an answer and of a text of the evidence."""


@dataclass(frozen=True)
class Weighed:
    """A set of pairs with all that the judges go by."""

    pairs: Sequence[Pair]
    rules: Sequence[bool]
    names: Sequence[bool]
    scores: Mapping[str, Sequence[float]]
    """By way: of each pair the best score of any sentence of its evidence, and of all of it."""
    seconds: Sequence[tuple[float, float]]
    """Of each pair: of the reranker, in the first way, and of the rules."""


@dataclass(frozen=True)
class Judge:
    """A way to judge by what the rules say, what the simplest rule says, and whether the score reaches a line."""

    name: str
    says: Callable[[bool, bool, bool], bool]

    def of(self, weighed: Weighed, way: str, line: float) -> list[bool]:
        """What it says of each pair."""
        reached = (score >= line for score in weighed.scores[way])
        return [self.says(*each) for each in zip(weighed.rules, weighed.names, reached, strict=True)]

    def chosen(self, weighed: Weighed) -> tuple[float, str, float]:
        """The best agreement, with the way and the line that have it; of equal ones the highest line."""
        lines = ((way, line) for way in WAYS for line in _lines(weighed.scores[way]))
        found = ((agreement(weighed.pairs, self.of(weighed, way, line)), line, way) for way, line in lines)
        best, line, way = max(found)
        return best, way, line


JUDGES = (
    Judge("reranker alone", lambda rules, names, reached: reached),
    Judge("rules and reranker", lambda rules, names, reached: rules and reached),
    Judge("rules or reranker", lambda rules, names, reached: rules or reached),
    Judge("names, numbers and reranker", lambda rules, names, reached: names and reached),
)


def measured(bundle: Path, sets: Mapping[str, Sequence[Pair]]) -> list[Row]:
    """Rows of every judge; one that says why where there is no bundle, or it has no reranker.

    Args:
        bundle: folder of the everyday bundle.
        sets: the pairs, by how the names of their rows begin; way and line are chosen on those of "".
    """
    if not bundle.is_dir():
        return [Row("reranker beside the rules", None, "", "there is no everyday bundle: `make everyday` makes it")]
    return asyncio.run(_measured(bundle, sets))


async def _measured(bundle: Path, sets: Mapping[str, Sequence[Pair]]) -> list[Row]:
    reranker = await _reranker(bundle)
    if reranker is None:
        return [Row("reranker beside the rules", None, "", "the everyday bundle has no reranker")]
    return rows({which: await weigh(reranker, pairs) for which, pairs in sets.items()})


async def _reranker(folder: Path) -> Reranker | None:
    bundle, pool = Bundle.load(folder, hashes=False), EnginePool(1)
    part = bundle.roles.reranker
    if part is None:
        return None
    loading = Loading(bundle, pool, PictureFitter(), OnnxOptions(THREADS, "cpu"))
    loaded: Reranker = await pool.run(lambda: load_role("reranker", part, loading))
    return loaded


async def weigh(reranker: Reranker, pairs: Sequence[Pair]) -> Weighed:
    """Judge every pair by the rules, and score it in every way."""
    rules: list[bool] = []
    seconds: list[tuple[float, float]] = []
    scores: dict[str, list[float]] = {way: [] for way in WAYS}
    for pair in pairs:
        began = perf_counter()
        rules.append(checked(pair))
        times = [perf_counter() - began]
        texts = [*(each.titled for each in sentences_of([pair.shown])), f"{pair.title}: {pair.evidence}"]
        for way, asked in WAYS.items():
            began = perf_counter()
            scores[way].append(max(await _scored(reranker, [asked(pair.answer, text) for text in texts])))
            times.append(perf_counter() - began)
        seconds.append((times[1], times[0]))
    return Weighed(pairs, rules, [by_names(each) for each in pairs], scores, seconds)


async def _scored(reranker: Reranker, asked: Sequence[tuple[str, str]]) -> list[float]:
    queries = {query for query, _ in asked}
    if len(queries) == 1:
        return await reranker.score(queries.pop(), [passage for _, passage in asked])
    return [score for query, passage in asked for score in await reranker.score(query, [passage])]


def rows(sets: Mapping[str, Weighed]) -> list[Row]:
    """What each judge is chosen to be, how often it agrees with the labels beside the rules, and what it costs."""
    made: list[Row] = []
    for judge in JUDGES:
        _, way, line = judge.chosen(sets[""])
        made.append(Row(f"{judge.name}: least score, {way} (1: none)", line, ""))
        for name, weighed in sets.items():
            made += _beside(name, judge.name, weighed, judge.of(weighed, way, line))
            if name:
                best, _, _ = judge.chosen(weighed)
                made.append(Row(f"{name}{judge.name}: agrees, if chosen on these pairs", best, "%"))
    ours, theirs = zip(*(each for weighed in sets.values() for each in weighed.seconds), strict=True)
    return [*made, against("reranker: one answer", [1e3 * s for s in ours], "ms", RULES, [1e3 * s for s in theirs])]


def _beside(which: str, judge: str, weighed: Weighed, said: Sequence[bool]) -> list[Row]:
    pairs = weighed.pairs
    ours, theirs = agreement(pairs, said), agreement(pairs, weighed.rules)
    more, interval = gained(pairs, said, weighed.rules)
    wrong = [(one, other) for pair, one, other in zip(pairs, said, weighed.rules, strict=True) if not pair.supported]
    passed, by_rules = sum(one for one, _ in wrong), sum(other for _, other in wrong)
    name = f"{which}{judge}: agrees ({_interval(round(ours * len(pairs) / 100), len(pairs))})"
    beyond = f"{which}{judge}: agrees more often than the rules ({interval})"
    through = f"{which}{judge}: not supported, passed ({len(wrong)})"
    return [
        Row(name, ours, "%", RULES, theirs, ratio(ours, theirs)),
        Row(beyond, more, "points"),
        Row(through, passed, "", RULES, by_rules),
    ]


def _interval(hits: int, count: int) -> str:
    low, high = wilson_interval(hits, count)
    return f"95 % interval {100 * low:.1f} to {100 * high:.1f}, {count}"


def _lines(scores: Sequence[float]) -> list[float]:
    """Lines between neighbouring scores, one that all reach, and one that none does."""
    return [0.0, *((low + high) / 2 for low, high in pairwise(sorted(set(scores)))), 1.0]
