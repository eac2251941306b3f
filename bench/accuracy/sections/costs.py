"""What every policy costs for what it answers: searches, prompts and time, one turn after another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from bench.accuracy import plots
from bench.accuracy.ground import BUDGET_S, Ground, lacking
from bench.accuracy.log import Record, asked_all
from bench.accuracy.sections.pace import fresh
from bench.accuracy.sections.parts import parts
from bench.accuracy.several import Turns, accuracy, interval, share
from bench.accuracy.turns import ask_turn, spent_ms
from bench.results import Row
from bench.sections import Part
from bench.worlds import Trial, in_own_order
from quizglass_client import AsyncClient
from quizglass_lab.scoring.costs import TurnCost, cost_figures
from quizglass_server.policies import POLICIES

SHARE, HOPPING = 0.2, 0.1
"""Of the questions: balanced ones, and such as take one, two and more lookups."""
_SEARCHES = ("image_search", "text_search")
COMPARED = tuple(
    policy
    for policy, runs in POLICIES.items()
    if not getattr(runs, "published", False) and not policy.startswith(plots.PARTS)
)
"""The server's own and those with a plus. Section `published` has the published forms, `dragon` the ablations."""


def run(ground: Ground) -> Part:
    """Each of COMPARED that the bundle serves: balanced questions, a tenth more without an answer, and more lookups.

    The common table is of the balanced ones; the others give the parts of many lookups enough questions.
    """
    asked: list[Turns] = []
    hopping: list[Turns] = []
    missing: dict[str, str] = {}
    served: list[str] = []
    for seed in ground.seeds:
        trial = ground.trial(seed, share=SHARE)
        with ground.server(trial.folder) as target:
            missing = lacking(target, COMPARED)
            served = [policy for policy in COMPARED if policy not in missing]
            asked += asyncio.run(ask_apart(ground, "costs", trial, served, target))
            if ground.format > 1:
                more = ground.trial(seed, share=HOPPING, mix="cog")
                hopping += asyncio.run(ask_apart(ground, "costs-lookups", replace(more, unknowable=[]), served, target))
    costs = {policy: costs_of(asked, policy) for policy in served}
    answerable = sum(turns.question.group is not None for turns in asked)
    if ground.publish:
        plots.accuracy_by_cost(costs, answerable)
    absent = [Row(f"costs, {policy}", None, "", f"not measured: {why}") for policy, why in missing.items()]
    data = {"policies": costs, "answerable": answerable, "parts": parts(asked, hopping, served)}
    return Part([*(_row(asked, policy) for policy in served), *absent], data)


async def ask_apart(
    ground: Ground, section: str, trial: Trial, policies: Sequence[str], target: str, clients: int = 1
) -> list[Turns]:
    """The policies in another order for each question, so many questions at once; each turn sees a picture of its own.

    A pixel tells the pictures apart, so that none finds words, vectors or prefixes that the one before it left.
    """
    questions = {question.id: question for question in (*trial.questions, *trial.unknowable)}
    async with AsyncClient(target, timeout=BUDGET_S) as client:

        async def ask(name: str) -> Record:
            question = questions[name]
            one = partial(ask_turn, client, question.text, history=question.history)
            turns = {}
            for mark, policy in enumerate(in_own_order(name, policies)):
                turns[policy] = await one(await asyncio.to_thread(fresh, question, mark), policy)
            return {"id": name, "turns": turns}

        tick = ground.ticker(section, len(questions))
        records = await asked_all(ground.log(section, trial), list(questions), ask, clients, tick)
    return [
        Turns(questions[record["id"]], record["turns"], questions[record["id"]].target in trial.unseen)
        for record in records
    ]


def costs_of(asked: Sequence[Turns], policy: str) -> dict[str, float]:
    """The line of a policy in the common table, its columns by name."""
    answerable = [turns for turns in asked if turns.question.group is not None]
    records = [turns.of[policy] for turns in asked]
    mean = {figure.name: figure.value for figure in cost_figures([_cost(record) for record in records])}
    searching = sum(spent_ms(record, _SEARCHES) for record in records)
    return {
        "right, %": accuracy(answerable, policy),
        "refused, %": share(answerable, lambda turns: turns.abstained(policy)),
        "truthfulness": sum(turns.truthfulness(policy) for turns in asked) / len(asked),
        "rounds": sum(record["rounds"] for record in records) / len(records),
        "image searches": mean["image searches"],
        "text searches": mean["text searches"],
        "prompt tokens": mean["prompt tokens of all models"],
        "written tokens": sum(record["all_written_tokens"] for record in records) / len(records),
        "p50, ms": 1e3 * mean["latency p50"],
        "p95, ms": 1e3 * mean["latency p95"],
        "searching, ms": searching / len(records),
        "searching by the tariff, s": mean["search time at 6.4 s and 1.4 s"],
    }


def _cost(record: dict[str, Any]) -> TurnCost:
    image, text = (record["searches"][stage] for stage in _SEARCHES)
    return TurnCost(image, text, record["all_prompt_tokens"], seconds=record["total_ms"] / 1e3)


def _row(asked: Sequence[Turns], policy: str) -> Row:
    answerable = [turns for turns in asked if turns.question.group is not None]
    name = f"balanced questions, {policy} ({interval(answerable, policy)})"
    return Row(name, accuracy(answerable, policy), "%")
