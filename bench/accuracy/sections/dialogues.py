"""Sessions of two to six turns, each asked with the system's own answers before it, by the session's token."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from bench.accuracy.ground import BUDGET_S, Ground
from bench.accuracy.log import Record, asked_all
from bench.results import Row, at_least
from bench.sections import Part
from bench.worlds import UNSEEN_SHARE, picture
from quizglass_client import AsyncClient, AsyncDialogue
from quizglass_lab.pocketworld.questions import Question, make_sessions
from quizglass_lab.scoring.answers import conversation_truthfulness, exact_match
from quizglass_lab.scoring.intervals import confidence_interval

SHARE = 0.2
Session = tuple[Question, ...]
Answered = tuple[int, Question, bool, bool]
"""Number of the turn from 1, its question, whether the answer is right, whether it is "I don't know"."""


def run(ground: Ground) -> Part:
    """By the server's default policy."""
    asked: list[list[Answered]] = []
    unseen: list[list[Answered]] = []
    for seed in ground.seeds:
        trial = ground.trial(seed, share=SHARE)
        turns = make_sessions(trial.world, ground.count(SHARE), seed, unseen_share=UNSEEN_SHARE)
        sessions = {name: tuple(group) for name, group in groupby(turns, lambda question: question.session)}
        log = ground.log("dialogues", trial)
        tick = ground.ticker("dialogues", len(sessions))
        with ground.server(trial.folder) as target:
            records = asyncio.run(_ask_all(target, sessions, log, ground.clients, tick))
        answered = [_answered(sessions[record["id"]], record) for record in records]
        asked += answered
        unseen += [turns for turns in answered if all(question.target in trial.unseen for _, question, *_ in turns)]
    barred = [asdict(row) for row in rows(unseen) if row.bar] if unseen else []
    return Part(rows(asked), {"sessions": len(asked), "by_turn": by_turn(asked), "unseen": barred})


async def _ask_all(
    target: str, sessions: dict[str, Session], log: Path, clients: int, tick: Callable[[], None]
) -> list[Record]:
    async with AsyncClient(target, timeout=BUDGET_S) as client:

        async def ask(name: str) -> Record:
            return {"id": name, "turns": await _one(client, sessions[name])}

        return await asked_all(log, list(sessions), ask, clients, tick)


async def _one(client: AsyncClient, session: Session) -> list[list[object]]:
    """(answer, whether it is a refusal) of each turn; a picture is sent when it is another one than before."""
    dialogue = AsyncDialogue(client)
    shown = None
    said: list[list[object]] = []
    for question in session:
        frame = None if question.scene == shown else await asyncio.to_thread(picture, question)
        shown = question.scene
        answer = await dialogue.answer(question.text, frame, budget=BUDGET_S)
        said.append([answer.text, answer.abstained])
    return said


def _answered(session: Session, record: Record) -> list[Answered]:
    return [
        (number, question, exact_match(text, question.answer, question.aliases), bool(refused))
        for number, (question, (text, refused)) in enumerate(zip(session, record["turns"], strict=True), 1)
    ]


def rows(asked: Sequence[Sequence[Answered]]) -> list[Row]:
    """Later turns beside first turns of the same families, and conversations as wholes."""
    first = [turn for session in asked for turn in session if turn[0] == 1]
    families = {question.family for _, question, *_ in first}
    later = [turn for session in asked for turn in session if turn[0] > 1 and turn[1].family in families]
    scores = [conversation_truthfulness((right, refused) for _, _, right, refused in session) for session in asked]
    low, high = confidence_interval(scores)
    whole = Row(
        f"truthfulness of sessions, own answers (95 % interval {low:.2f} to {high:.2f}, {len(asked)} sessions)",
        sum(scores) / len(scores),
        "",
    )
    if not later:
        return [whole, Row("turns 2 to 6 beside turn 1", None, "", "no later turn is of a first turn's family")]
    ours, peer = _accuracy(later), _weighted(first, later)
    name = f"turns 2 to 6 minus turn 1 of the same families, own answers ({len(later)} turns)"
    bar = at_least(name, ours - peer, "points", -5)
    return [whole, Row(name, ours - peer, "points", "turn 1", peer, bar=bar.bar, ok=bar.ok)]


def _weighted(first: Sequence[Answered], later: Sequence[Answered]) -> float:
    """Accuracy of first turns, each family as often as among later ones."""
    counts = Counter(question.family for _, question, *_ in later)
    shares = {family: _accuracy([turn for turn in first if turn[1].family == family]) for family in counts}
    return sum(count * shares[family] for family, count in counts.items()) / counts.total()


def _accuracy(turns: Sequence[Answered]) -> float:
    return 100 * sum(right for _, _, right, _ in turns) / len(turns) if turns else float("nan")


def by_turn(asked: Sequence[Sequence[Answered]]) -> dict[str, dict[str, float]]:
    """Accuracy by the number of the turn, in percent."""
    turns = [turn for session in asked for turn in session]
    return {
        str(number): {
            "questions": sum(turn[0] == number for turn in turns),
            "right": round(_accuracy([turn for turn in turns if turn[0] == number]), 1),
        }
        for number in sorted({turn[0] for turn in turns})
    }
