"""Several policies on the same questions: asked, kept, and told as shares."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.accuracy.ground import BUDGET_S, Ground
from bench.accuracy.log import Record, asked_all
from bench.accuracy.turns import ask_turn
from bench.results import Row, at_least
from bench.worlds import Trial, in_own_order, picture
from quizglass_client import AsyncClient
from quizglass_lab.pocketworld.questions import Question
from quizglass_lab.scoring.answers import exact_match, truthfulness
from quizglass_lab.scoring.costs import IMAGE_SEARCH_S, TEXT_SEARCH_S
from quizglass_lab.scoring.intervals import wilson_interval

OMNI = "omnisearch+"
ALWAYS_BOTH = "always-both"


@dataclass(frozen=True)
class Turns:
    """A question, and what each policy made of it."""

    question: Question
    of: dict[str, Record]
    unseen: bool = False

    def right(self, policy: str) -> bool:
        """Whether its answer is exactly right after normalisation."""
        return exact_match(self.of[policy]["answer"], self.question.answer, self.question.aliases)

    def abstained(self, policy: str) -> bool:
        """Whether it said that it does not know."""
        return bool(self.of[policy]["abstained"])

    def truthfulness(self, policy: str) -> int:
        """1 for a right answer, 0 for a refusal, -1 for a wrong one."""
        return truthfulness(right=self.right(policy), refused=self.abstained(policy))


def ask_policies(
    ground: Ground,
    section: str,
    trial: Trial,
    questions: Sequence[Question],
    policies: Sequence[str],
    target: str,
    *,
    explain: bool = False,
) -> list[Turns]:
    """Every policy on every question, with the gold history; resumable."""
    log = ground.log(section, trial)
    asking = _ask_all(target, questions, policies, log, ground.clients, ground.ticker(section, len(questions)), explain)
    records = asyncio.run(asking)
    return [
        Turns(question, record["turns"], question.target in trial.unseen)
        for question, record in zip(questions, records, strict=True)
    ]


async def _ask_all(
    target: str,
    questions: Sequence[Question],
    policies: Sequence[str],
    log: Path,
    clients: int,
    tick: Callable[[], None],
    explain: bool,
) -> list[Record]:
    by_id = {question.id: question for question in questions}
    async with AsyncClient(target, timeout=BUDGET_S) as client:

        async def ask(name: str) -> Record:
            question = by_id[name]
            frame = await asyncio.to_thread(picture, question)
            one = partial(ask_turn, client, question.text, frame, history=question.history, explain=explain)
            # What one policy leaves in caches is found sooner by those after it.
            return {"id": name, "turns": {policy: await one(policy) for policy in in_own_order(name, policies)}}

        return await asked_all(log, list(by_id), ask, clients, tick)


def barred_unseen(rows: Callable[..., Sequence[Row]], *asked: Sequence[Turns]) -> list[dict[str, Any]]:
    """Of a section's rows those with a bar, over the questions about things that no model was trained on alone."""
    alone = [[turns for turns in each if turns.unseen] for each in asked]
    return [asdict(row) for row in rows(*alone) if row.bar] if all(alone) else []


def search_s(turn: Record) -> float:
    """Seconds that all searches of a turn would take on the open web, at the paper's tariff."""
    searches = turn["searches"]
    return float(searches["image_search"] * IMAGE_SEARCH_S + searches["text_search"] * TEXT_SEARCH_S)


def searching_saved(ours_s: float, planner_s: float, peers_s: Mapping[str, float], of: str = "") -> list[Row]:
    """What the planning agent saves of others' search time, and what is left once its planner has worked.

    The bars are the paper's, of OmniSearch, which searches in every turn there; ours answers some questions without a
    search. Always-both is the system that always looks everything up, and stands beside it without a bar.

    Args:
        ours_s: seconds that its searches of a turn would take on the open web, at the paper's tariff.
        planner_s: seconds that the planner works in a turn.
        peers_s: those of the searches of OMNI and of others, by name; who never searches is left out.
        of: which questions, where not all.
    """
    table = []
    for peer, theirs in peers_s.items():
        name = f"search time saved by the planning agent against {peer}{of and f', {of}'}"
        less = f"{name}, less the planner's own time"
        for title, ours, bar in ((name, ours_s, 60), (less, ours_s + planner_s, 50)):
            if theirs:
                saved = 100 * (1 - ours / theirs)
                table.append(at_least(title, saved, "%", bar) if peer == OMNI else Row(title, saved, "%"))
    return table


def share(turns: Sequence[Turns], judge: Callable[[Turns], bool]) -> float:
    """Of the turns for which something holds, in percent; NaN over none."""
    return 100 * sum(map(judge, turns)) / len(turns) if turns else float("nan")


def accuracy(turns: Sequence[Turns], policy: str) -> float:
    """Right answers, in percent."""
    return share(turns, lambda each: each.right(policy))


def interval(turns: Sequence[Turns], policy: str) -> str:
    """Wilson's interval of the accuracy, and the number of questions, for a row's name."""
    if not turns:
        return "no questions"
    low, high = wilson_interval(sum(each.right(policy) for each in turns), len(turns))
    return f"95 % interval {100 * low:.1f} to {100 * high:.1f}, {len(turns)} questions"
