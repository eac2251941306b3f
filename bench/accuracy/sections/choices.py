"""What no policy does with a dispute, measured in this process on the served models and store.

*Choices*: which of the entries that the picture search found the model takes for the thing shown. By text alone they
are shown in an order that tells nothing of the picture: the order of the search is the picture's own choice.
*Oracle*: the answer from the right entry, which the world's record names; CoRe-MMRAG's upper bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from bench.accuracy.ground import Ground
from bench.accuracy.inside import Inside, Verbs, inside
from bench.accuracy.log import Record, asked_all
from bench.worlds import Trial
from quizglass_lab.pocketworld.disputes import PICTURE_KINDS
from quizglass_lab.pocketworld.questions import Question
from quizglass_server.domain.turns import Evidence
from quizglass_server.policies.core_mmrag import TOP_ENTRIES, reading, select

ORACLE = "oracle entry"
PICTURE, TEXT, JOINT = "by picture", "by text", "jointly"
TEXT_IN_ORDER, JOINT_MIXED = "by text, in the order of the search", "jointly, in an order that tells nothing"
DECISIONS: Mapping[str, tuple[str, bool]] = {
    TEXT: ("select_by_text", True),
    TEXT_IN_ORDER: ("select_by_text", False),
    JOINT: ("select", False),
    JOINT_MIXED: ("select", True),
}
"""Of each way to choose: the decision, and whether the entries stand in an order that tells nothing."""


async def ask(ground: Ground, trial: Trial, knowledge: Path, decisions: Sequence[str]) -> dict[str, Record]:
    """By the question's id: its oracle's answer, and what each way chooses; resumable.

    Args:
        ground: the run.
        trial: a world with disputes.
        knowledge: its store, which no server has open.
        decisions: those that the bundle can take.
    """
    questions = {question.id: question for question in trial.questions}
    tick = ground.ticker("choices and oracle", len(questions))
    async with inside(ground.bundle, knowledge) as stage:

        async def one(name: str) -> Record:
            return {"id": name, **await _one(questions[name], stage, decisions)}

        records = await asked_all(ground.log("choices", trial), list(questions), one, ground.clients, tick)
    return {record["id"]: record for record in records}


async def _one(question: Question, stage: Inside, decisions: Sequence[str]) -> Record:
    entry = question.gold_entries[-1] if question.gold_entries else ""
    record: Record = {"entry": entry, "answer": "", "abstained": "", "candidates": [], "chosen": {}}
    if entry:
        async with stage.verbs(question) as verbs:
            record |= await _oracle(question, entry, stage, verbs)
    if question.conflict is not None and question.conflict.kind in PICTURE_KINDS:
        async with stage.verbs(question) as verbs:
            record |= await _chosen(question, verbs, decisions)
    return record


async def _oracle(question: Question, entry: str, stage: Inside, verbs: Verbs) -> Record:
    """M(q, the right entry): its caption, and the passages of its text that fit the question rewritten."""
    tools = verbs.tools
    shown = await stage.shown(question.text, entry, verbs)
    draft = await tools.answer(await reading(shown, tools.start(), tools, rewritten=True))
    return {"answer": draft.text.strip(), "abstained": "model" if tools.abstains(draft) else ""}


async def _chosen(question: Question, verbs: Verbs, decisions: Sequence[str]) -> Record:
    tools = verbs.tools
    found = await tools.search_image(limit=TOP_ENTRIES, candidates=True)
    chosen: dict[str, str] = {PICTURE: found[0].entry_id if found else ""}
    for way, (by, mixed) in DECISIONS.items():
        if by in decisions:
            shown = without_order(question.id, found) if mixed else found
            taken = await select(shown, tools.start(), tools, by=by)
            chosen[way] = taken[0].entry_id if taken else ""
    return {"candidates": [item.entry_id for item in found], "chosen": chosen}


def without_order(question: str, found: Sequence[Evidence]) -> list[Evidence]:
    """The same in an order by question and entry alone, which tells nothing of how they were found."""
    return sorted(found, key=lambda item: sha256(f"{question} {item.entry_id}".encode()).digest())
