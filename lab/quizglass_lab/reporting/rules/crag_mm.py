"""CRAG-MM: the contest's measures, single-turn and multi-turn apart, and by every label that the benchmark has.

As the contest's own evaluator counts: once two answers of a conversation in a row are not right, the wearer gives up,
and every turn behind them counts as missing. Then accuracy is the share of right turns, missing that of refusals,
hallucination that of wrong answers, truthfulness accuracy less hallucination, and a conversation's score its own
truthfulness. An answer that says "I don't know" anywhere is a refusal. Where nothing answers a question, a refusal is
right here; that evaluator counts it as right and missing at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from quizglass_lab.reporting.answers.judged import Runs, ScoredAnswer
from quizglass_lab.reporting.answers.measured import Measured, mean
from quizglass_lab.scoring.answers import conversation_outcomes, conversation_truthfulness, truthfulness
from quizglass_lab.scoring.costs import cost_figures

SINGLE, MULTI = "single-turn", "multi-turn"
_LABELS = {"dynamism": "dynamism", "query_category": "category", "domain": "domain", "image_quality": "image quality"}
_BY_WORDS = "right is what equals the gold answer; the contest has a model judge others too (--judge)"
_EGO = "ego"
"""Pictures of the wearers' own glasses, which the contest's evaluator scores apart too."""
_OUTCOMES = ("accuracy", "missing", "hallucination", "truthfulness")
_ANSWERS = "CRAG-MM's answers, which its private splits keep back"
NEEDS = {
    **dict.fromkeys(_OUTCOMES, _ANSWERS),
    "truthfulness of conversations": f"conversations, with {_ANSWERS}",
    "overlap": _ANSWERS,
    "latency": "`seconds` of each answer",
}
Turn = tuple[ScoredAnswer, bool, bool]
"""A turn, whether it counts as right, and whether as a refusal."""


def figures(runs: Runs) -> list[Measured]:
    """Of every system the conversations of any benchmark, and CRAG-MM's measures by part."""
    return [figure for row, judged in runs.items() for figure in (*_conversations(row, judged), *_parts(row, judged))]


def _conversations(row: str, judged: Sequence[ScoredAnswer]) -> Iterator[Measured]:
    scores = [
        conversation_truthfulness([(each.right, each.answered.refuses) for each in turns])
        for turns in sessions(each for each in judged if each.sample.session)
        if all(each.decided for each in turns)
    ]
    if scores:
        yield mean(row, "truthfulness of conversations", scores)


def sessions(judged: Iterable[ScoredAnswer]) -> list[list[ScoredAnswer]]:
    """The turns of each conversation, in order; a question of none is one of its own."""
    by_name: dict[str, list[ScoredAnswer]] = {}
    for each in judged:
        by_name.setdefault(_session(each), []).append(each)
    return list(by_name.values())


def _session(judged: ScoredAnswer) -> str:
    return judged.sample.session or f"question {judged.sample.id}"


def _parts(row: str, judged: Sequence[ScoredAnswer]) -> Iterator[Measured]:
    kinds: dict[str, list[Turn]] = {}
    for turns in sessions(each for each in judged if each.sample.dataset == "crag-mm"):
        if all(each.decided for each in turns):
            kinds.setdefault(_kind(turns), []).extend(_stopped(turns))
    for kind, counted in kinds.items():
        yield from _outcomes(row, kind, counted)
        yield _of_conversations(row, kind, counted)
        for figure in cost_figures([each.answered.cost for each, *_ in counted]):
            yield Measured(row, figure.name, figure.value, figure.count, unit=figure.unit, part=kind)
        for part, of_part in _by_part(kind, counted).items():
            yield from _outcomes(row, part, of_part)
            if part.endswith(f", {_EGO}"):
                yield _of_conversations(row, part, of_part)
    branches: dict[str, list[Turn]] = {}
    for turn in (turn for counted in kinds.values() for turn in counted):
        for branch in turn[0].answered.trace.decided("search_router")[:1]:
            branches.setdefault(f"branch: {branch}", []).append(turn)
    for part, of_part in sorted(branches.items()):
        yield from _outcomes(row, part, of_part)


def _kind(turns: Sequence[ScoredAnswer]) -> str:
    """Whether a conversation is of the multi-turn set; one cut to its first turn still is."""
    return MULTI if len(turns) > 1 or int(turns[0].sample.source.get("turns") or 1) > 1 else SINGLE


def _stopped(turns: Sequence[ScoredAnswer]) -> Iterator[Turn]:
    outcomes = conversation_outcomes(map(_outcome, turns))
    for each, (right, refused) in zip(turns, outcomes, strict=True):
        yield each, right, refused


def _outcome(judged: ScoredAnswer) -> tuple[bool, bool]:
    """Whether a turn is right, and whether it is a refusal."""
    refused = judged.answered.refuses or "i don't know" in judged.answered.answer.lower().replace("\u2019", "'")
    return (judged.right and not refused if judged.sample.answerable else refused), refused


def _by_part(kind: str, turns: Sequence[Turn]) -> dict[str, list[Turn]]:
    """Turns by each label of theirs, by their place in the conversation, and those of egocentric pictures."""
    parts: dict[str, list[Turn]] = {}
    places: dict[str, int] = {}
    for turn in turns:
        sample = turn[0].sample
        session = _session(turn[0])
        place = places[session] = places.get(session, 0) + 1
        named = [f"turn {place}"] if kind == MULTI else []
        named += [_EGO] if sample.source.get("ego") else []
        for field, label in _LABELS.items():
            value = str(sample.source.get(field) or "")
            named += [f"{label}: {value}"] if value else []
        for name in named:
            parts.setdefault(f"{kind}, {name}", []).append(turn)
    return dict(sorted(parts.items()))


def _outcomes(row: str, part: str, turns: Sequence[Turn]) -> Iterator[Measured]:
    flags = {
        "accuracy": [right for _, right, _ in turns],
        "missing": [refused and not right for _, right, refused in turns],
        "hallucination": [not right and not refused for _, right, refused in turns],
    }
    note = "" if any("judge" in each.scores for each, *_ in turns) else _BY_WORDS
    for metric, values in flags.items():
        yield mean(row, metric, [float(value) for value in values], part=part, note=note)
    scores = [float(truthfulness(right=right, refused=refused)) for _, right, refused in turns]
    yield mean(row, "truthfulness", scores, part=part, note=note)
    overlaps = [each.scores["overlap"] for each, *_ in turns if "overlap" in each.scores]
    if overlaps:
        yield mean(row, "overlap", overlaps, part=part)


def _of_conversations(row: str, part: str, turns: Sequence[Turn]) -> Measured:
    scores = [
        fmean(truthfulness(right=right, refused=refused) for _, right, refused in of_one) for of_one in _grouped(turns)
    ]
    return mean(row, "truthfulness of conversations", scores, part=part)


def _grouped(turns: Sequence[Turn]) -> list[list[Turn]]:
    by_name: dict[str, list[Turn]] = {}
    for turn in turns:
        by_name.setdefault(_session(turn[0]), []).append(turn)
    return list(by_name.values())
