"""What bounds on hostile input cost honest clients: a turn, a large frame sent up, an import, and the same again."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from PIL import Image

from bench.latency.setup import OURS, PEER, Setup
from bench.latency.timed import WARM_UP, frame_of
from bench.results import Row, against, measured, ratio
from bench.sections import Part
from bench.worlds import in_own_order
from quizglass_client import Client, Entry
from quizglass_client.cli.imports.entries import GoodLine, read_entries
from quizglass_lab.pocketworld.questions import Question

_TIMES = 1.03
_FRAME_BYTES, _SIDES = 8 << 20, (2048, 1366)
_ENTRIES = 1000
_QUESTION = "What colour is it?"
_BUDGET_S = 60

Times = dict[str, list[float]]
"""Milliseconds of each server, round by round."""


def run(setup: Setup) -> Part:
    """Each of the four by both servers, in an order drawn for each round."""
    questions = setup.trial().questions[: setup.count(400, 20)]
    found: dict[str, Times] = {}
    with clients_of(setup) as clients:
        turns = partial(_turns, clients, questions)
        found["turn"] = timed(setup, "turn", len(questions), WARM_UP, turns)
        large = partial(_large_frame, clients)
        found["turn with a frame of 8 MiB"] = timed(setup, "large frame", setup.count(60, 4), 2, large)
    lines = read_entries(setup.world / "entries.jsonl")
    entries = [line.entry for line in lines if isinstance(line, GoodLine)][:_ENTRIES]
    with clients_of(setup, empty=True) as clients:
        rounds = setup.count(12, 2)
        importing = partial(_import, clients, entries)
        found[f"import of {len(entries):,} entries"] = timed(setup, "import", rounds, 1, importing)
        again = partial(_import_again, clients, entries)
        found[f"import of {len(entries):,} entries that are there just so"] = timed(setup, "again", rounds, 1, again)
    return Part([_row(setup, what, times) for what, times in found.items()], found)


def timed(setup: Setup, what: str, rounds: int, warm_up: int, work: Callable[[int], Callable[[str], object]]) -> Times:
    """How long each server takes for the same work.

    Args:
        setup: of the run.
        what: is done.
        rounds: how often.
        warm_up: how many of these are not counted.
        work: of a round, made before it is timed; given a server's name, does it.
    """
    found: Times = defaultdict(list)
    for number in range(rounds):
        setup.say(f"honest clients: {what} {number + 1} of {rounds}")
        do = work(number)
        for name in in_own_order(f"{what} {number}", setup.names):
            began = perf_counter()
            do(name)
            if number >= warm_up:
                found[name].append((perf_counter() - began) * 1e3)
    return dict(found)


@contextmanager
def clients_of(setup: Setup, *, empty: bool = False) -> Iterator[dict[str, Client]]:
    """A client of each server; `empty`: servers that know nothing."""
    with ExitStack() as stack:
        servers = stack.enter_context(setup.servers(empty=empty))
        yield {name: stack.enter_context(Client(server.target, timeout=600)) for name, server in servers.items()}


def _turns(clients: dict[str, Client], questions: Sequence[Question], number: int) -> Callable[[str], object]:
    question = questions[number]
    frame = frame_of(question)
    return lambda name: clients[name].answer(question.text, frame, history=question.history, budget=_BUDGET_S)


def _large_frame(clients: dict[str, Client], number: int) -> Callable[[str], object]:
    """A frame that no server has seen; noise, so that no format makes it smaller."""
    pixels = np.random.default_rng(number).integers(0, 256, (_SIDES[1], _SIDES[0], 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG", compress_level=0)
    frame = out.getvalue()
    return lambda name: clients[name].answer(_QUESTION, frame, budget=_BUDGET_S)


def _import(clients: dict[str, Client], entries: Sequence[Entry], _: int) -> Callable[[str], Any]:
    """Into a store that has nothing of them: those of the round before are deleted first."""
    for client in clients.values():
        for entry in list(client.list_entries()):
            client.delete_entry(entry.id)
    return _import_again(clients, entries, 0)


def _import_again(clients: dict[str, Client], entries: Sequence[Entry], _: int) -> Callable[[str], Any]:
    return lambda name: clients[name].add_entries(entries)


def _row(setup: Setup, what: str, times: Times) -> Row:
    """The median of the ratios, round by round: both did the same work at nearly the same time."""
    if PEER not in times:
        return measured(what, times[OURS], "ms")
    row = against(what, times[OURS], "ms", setup.peer_name, times[PEER], _TIMES)
    pairs = [ratio(ours, theirs) or 1.0 for ours, theirs in zip(times[OURS], times[PEER], strict=True)]
    of = median(pairs)
    return Row(row.name, row.value, row.unit, row.peer, row.peer_value, of, row.bar, of <= _TIMES)
