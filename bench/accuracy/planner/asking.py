"""Asks every question under every policy, over real gRPC, and keeps what came back; resumable."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.accuracy.ground import BUDGET_S
from bench.accuracy.log import Record, asked_all
from bench.accuracy.turns import ask_turn
from bench.worlds import Trial, picture
from quizglass_client import AsyncClient
from quizglass_lab.pocketworld.questions import Question

POLICIES = ("planning-agent+", "none", "image", "text", "both", "prompt-based+", "omnisearch+", "adaptive")
BLIND = "blind"
"""The first policy without the picture."""
UNLINKED = "both, names not followed"
"""Always-both where text searches bring only what is nearest to the query."""
_CANDIDATES = 8


@dataclass
class Asked:
    """One question and everything that was answered to it."""

    id: str
    turns: dict[str, Record] = field(default_factory=dict)
    """By policy, BLIND, UNLINKED, and the probes of the annotation: "q_i" and "q_g"."""
    text_entries: list[str] = field(default_factory=list)
    """Entries that a text search with the gold query brings back, best first, each once."""
    linked_entries: list[str] = field(default_factory=list)
    """The same of a turn that looks the gold query up, names followed and passages reranked."""
    served: list[list[str]] = field(default_factory=list)
    """(entry, text) of the passages that always-both's own query brings back, in the order before reranking."""
    without_bonus: list[str] = field(default_factory=list)
    """Entries of an image search to which the kind that the question names counts nothing, best first."""


@dataclass(frozen=True)
class Targets:
    """Addresses of the servers that are asked."""

    server: str
    plain: str
    """The same bundle and world with a `kind_bonus` of 0 and no `links`."""


async def ask_all(
    targets: Targets, trial: Trial, policies: tuple[str, ...], log: Path, clients: int, tick: Callable[[], None]
) -> list[Asked]:
    """Ask everything that the log does not have yet.

    Args:
        targets: addresses of the servers.
        trial: the world and its questions.
        policies: names of the policies.
        log: JSONL file, one question a line, appended as answers come.
        clients: questions under way at once.
        tick: called after each question.
    """
    questions = {question.id: question for question in trial.questions + trial.unknowable}
    async with (
        AsyncClient(targets.server, timeout=BUDGET_S) as client,
        AsyncClient(targets.plain, timeout=BUDGET_S) as plain,
    ):

        async def ask(name: str) -> Record:
            return asdict(await _ask(client, plain, questions[name], policies))

        return [Asked(**record) for record in await asked_all(log, list(questions), ask, clients, tick)]


async def _ask(client: AsyncClient, plain: AsyncClient, question: Question, policies: tuple[str, ...]) -> Asked:
    frame = await asyncio.to_thread(picture, question)
    asked = Asked(question.id)

    async def turn(text: str, shown: bytes | None, policy: str, of: AsyncClient = client) -> Record:
        return await ask_turn(of, text, shown, policy, history=question.history)

    for policy in policies:
        asked.turns[policy] = await turn(question.text, frame, policy)
    asked.turns[UNLINKED] = await turn(question.text, frame, "both", plain)
    asked.turns[BLIND] = await turn(question.text, None, policies[0])
    # The annotation's probes (papers: "visual query decomposition"): what is it, and the question standing alone.
    asked.turns["q_i"] = await turn(question.image_query, frame, "none")
    asked.turns["q_g"] = await ask_turn(client, question.gold_query, None, "none")
    hits = await client.search(text=question.gold_query, limit=4 * _CANDIDATES)
    asked.text_entries = list(dict.fromkeys(item.entry_id for item in hits))
    looked_up = await ask_turn(client, question.gold_query, None, "text")
    asked.linked_entries = _entries_of(looked_up, "text_search")
    if query := asked.turns["both"]["query"]:
        passages = await client.search(text=query, limit=_CANDIDATES)
        asked.served = [[item.entry_id, item.text] for item in passages]
    if question.group in ("image", "both"):
        looked_up = await turn(question.text, frame, "image", plain)
        asked.without_bonus = _entries_of(looked_up, "image_search")
    return asked


def _entries_of(looked_up: Record, search: str) -> list[str]:
    """What a search of a turn brought, in order, each entry once."""
    return list(dict.fromkeys(entry for origin, entry, *_ in looked_up["evidence"] if origin == search))
