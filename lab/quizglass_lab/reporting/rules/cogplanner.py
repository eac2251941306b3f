"""CogPlanner: answers by claims and words, by number of hops; reformulations beside people's; the cost of planning.

The paper averages claim precision, claim recall and token F1. Its reformulations stand beside those that people wrote;
it does not say whether BLEU and ROUGE are of sentences or of the corpus, nor which ROUGE: here BLEU is sacrebleu's of a
sentence, ROUGE is ROUGE-L, and all queries of a question count together, in the order in which they were asked. Its
tokens are those that planning writes, an action one token; *parallel tokens* are the longer of a round's two threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean

from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.reporting.answers.answered import Stage
from quizglass_lab.reporting.answers.judged import Runs, ScoredAnswer
from quizglass_lab.reporting.answers.measured import Measured, mean
from quizglass_lab.scoring.answers import token_f1
from quizglass_lab.scoring.texts import rouge_l, sentence_bleu

PLANNING = ("plan", "reformulate", "act")
"""The planning agent's step, and the two of a round."""
_ACTIONS = ("none", "text", "image")
_ANSWERED = ("claim precision", "claim recall", "f1")
AVERAGE = "average of claim precision, claim recall and f1"
_STEPS = "decisions `act` and reformulated `queries` of each answer"
NEEDS = {
    **dict.fromkeys((*_ANSWERED, AVERAGE), "gold answers, and claims: CogBench's questions, or a model (--claims)"),
    **dict.fromkeys(
        ("reformulation BLEU", "reformulation ROUGE-L", "reformulation f1"),
        "questions with a human reformulation, and `queries` of each answer",
    ),
    "action share": _STEPS,
    "planning time": "`stages` of each answer, with `started`",
    "planning tokens": f"{_STEPS}, with `written_tokens` and `answer_tokens`",
    "parallel tokens": f"{_STEPS}, with `written_tokens` and `answer_tokens`",
}


def figures(runs: Runs) -> list[Measured]:
    """The paper's measures of every system that the answers allow."""
    return [
        figure
        for row, judged in runs.items()
        for figure in (
            *_answers(row, judged),
            *_reformulations(row, judged),
            *_actions(row, judged),
            *_cost(row, judged),
        )
    ]


def _answers(row: str, judged: Sequence[ScoredAnswer]) -> Iterator[Measured]:
    scored = [each for each in judged if all(name in each.scores for name in _ANSWERED)]
    if scored:
        averages = [fmean(each.scores[name] for name in _ANSWERED) for each in scored]
        yield mean(row, AVERAGE, averages, note=scored[0].notes.get("claim precision", ""))
    by_hops: dict[str, list[ScoredAnswer]] = {}
    for each in sorted(judged, key=lambda each: each.sample.hops_needed or 0):
        if each.sample.hops_needed:
            by_hops.setdefault(_hops(each.sample.hops_needed), []).append(each)
    for part, of_part in by_hops.items() if len(by_hops) > 1 else ():
        for metric in _ANSWERED:
            values = [each.scores[metric] for each in of_part if metric in each.scores]
            if values:
                yield mean(row, metric, values, part=part, note=of_part[0].notes.get(metric, ""))


def _hops(count: int) -> str:
    return {1: "1 hop", 2: "2 hops"}.get(count, "more than 2 hops")


def human_queries(sample: Sample) -> list[str]:
    """The reformulated queries that a benchmark records, in order: those of its rounds, or its gold query."""
    queries = [hop.query for hop in sample.hops if hop.query] if sample.dataset == "cogbench" else []
    return list(dict.fromkeys(queries)) or [sample.gold_query] * bool(sample.gold_query)


def _reformulations(row: str, judged: Sequence[ScoredAnswer]) -> Iterator[Measured]:
    pairs = [
        (" ".join(dict.fromkeys(query for of_round in each.answered.trace.queries for query in of_round)), gold)
        for each in judged
        if each.answered.trace.queries and (gold := " ".join(human_queries(each.sample)))
    ]
    if pairs:
        yield mean(row, "reformulation BLEU", [sentence_bleu(said, [gold]) for said, gold in pairs])
        yield mean(row, "reformulation ROUGE-L", [rouge_l(said, [gold]) for said, gold in pairs])
        yield mean(row, "reformulation f1", [token_f1(said, gold) for said, gold in pairs])


def _actions(row: str, judged: Sequence[ScoredAnswer]) -> Iterator[Measured]:
    """The share of each action among all rounds of all questions; rounds of one question are no sample of their own,
    so there is no interval."""
    counts = Counter(label for each in judged for label in each.answered.trace.decided("act"))
    total = counts.total()
    for label in _ACTIONS if total else ():
        yield Measured(row, "action share", 100 * counts[label] / total, total, part=label)


def _cost(row: str, judged: Sequence[ScoredAnswer]) -> Iterator[Measured]:
    seconds = [value for each in judged if (value := planning_seconds(each.answered.trace.stages)) is not None]
    if seconds:
        yield mean(row, "planning time", seconds, unit="s")
    planned = [tokens for each in judged if (tokens := planning_tokens(each)) is not None]
    if planned:
        yield mean(row, "planning tokens", [float(every) for every, _ in planned], unit="a turn")
        yield mean(row, "parallel tokens", [float(longer) for _, longer in planned], unit="a turn")


def planning_seconds(stages: Sequence[Stage]) -> float | None:
    """Seconds in which a planning step was under way, those of two at the same time once; None: unknown, or no plan."""
    spans = sorted(
        (stage.started, stage.started + stage.seconds)
        for stage in stages
        if stage.name in PLANNING and stage.started is not None
    )
    if not spans:
        return None
    total, until = 0.0, float("-inf")
    for start, end in spans:
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def planning_tokens(judged: ScoredAnswer) -> tuple[int, int] | None:
    """Tokens that planning wrote in one turn: of both threads, and of the longer one; None: unknown, or no plan.

    The reformulations are all that CogPlanner writes beside the answer. An action is one token, which is read off a
    prefill here, and a round's reformulation has one at least, so it is the longer thread.
    """
    cost, acts = judged.answered.cost, judged.answered.trace.decided("act")
    if not acts or cost.written_tokens is None or cost.answer_tokens is None:
        return None
    reformulated = max(0, cost.written_tokens - cost.answer_tokens)
    return reformulated + len(acts), max(reformulated, len(acts))
