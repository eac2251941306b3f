"""Answers kept as they come, so that a run that was interrupted goes on where it stopped."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

Record = dict[str, Any]
"""What was answered to one question; `id` names it."""


async def asked_all(
    log: Path, ids: Sequence[str], ask: Callable[[str], Awaitable[Record]], clients: int, tick: Callable[[], None]
) -> list[Record]:
    """Ask everything that the log does not have yet; the records in the order of `ids`.

    Args:
        log: JSONL file, one record a line, appended to as answers come.
        ids: of the questions.
        ask: gives the record of an id, with its `id`.
        clients: how many are under way at once.
        tick: called after each.
    """
    done = {record["id"]: record for record in kept(log)}
    waiting = iter([each for each in ids if each not in done])
    for each in ids:
        if each in done:
            tick()
    with log.open("a") as file:

        async def worker() -> None:
            for each in waiting:
                done[each] = record = await ask(each)
                file.write(json.dumps(record) + "\n")
                file.flush()
                tick()

        async with asyncio.TaskGroup() as group:
            for _ in range(clients):
                group.create_task(worker())
    return [done[each] for each in ids]


def kept(log: Path) -> Iterator[Record]:
    """What a run before has asked; a line that was not finished is removed, so that the next one is whole."""
    if not log.exists():
        return
    whole, end, cut_off = log.read_text().rpartition("\n")
    if cut_off:  # by a kill in the middle of a line
        log.write_text(whole + end)
    for line in whole.splitlines():
        yield json.loads(line)
