"""Turns asked one at a time, of this server and of the peer in an order drawn for each question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median, quantiles
from typing import Any

from bench.latency.setup import OURS, PEER, Setup
from bench.latency.timed import PLANS, WARM_UP, Pair, TimedTurn, ask, frame_of
from bench.results import Row, against, at_most, ratio, spread
from bench.sections import Part
from bench.worlds import Trial, in_own_order
from quizglass_client import Client
from quizglass_server.steps.read import asks_to_read

_OWN_NONE_MS, _OWN_TEXT_MS = 8.0, 12.0
_NONE_TIMES, _P50_TIMES, _P95_TIMES, _FIRST_TIMES = 0.5, 0.85, 0.75, 0.85
_POINTS = 0.5
"""So many percentage points fewer may be right."""


def run(setup: Setup) -> Part:
    """Ask, and compare."""
    pairs = asked(setup, setup.trial())
    ours = [pair.of[OURS] for pair in pairs]
    rows = [*_compared(setup, pairs), *_own_rows(ours), *turn_rows(ours)]
    data: dict[str, Any] = {name: [_told(pair, name) for pair in pairs] for name in setup.names}
    return Part(rows, {"stages": stages(ours), **data})


def asked(setup: Setup, trial: Trial) -> list[Pair]:
    """Every question of a trial, of every server; without those that warm them up."""
    pairs: list[Pair] = []
    questions = trial.questions[: setup.count(len(trial.questions), 40)]
    with setup.servers() as servers:
        clients = {name: Client(server.target, timeout=120) for name, server in servers.items()}
        for number, question in enumerate(questions):
            setup.say(f"turns: question {number + 1} of {len(questions)}")
            frame = frame_of(question)
            order = in_own_order(question.id, setup.names)
            of = {name: ask(clients[name], question, frame)[0] for name in order}
            if number >= WARM_UP:
                pairs.append(Pair(question, of))
        for client in clients.values():
            client.close()
    return pairs


def _compared(setup: Setup, pairs: Sequence[Pair]) -> list[Row]:
    """This server's turns beside the peer's."""
    right = [100 * sum(pair.right(name) for pair in pairs) / len(pairs) for name in setup.names]
    if setup.peer is None:
        return [Row(f"answers right of {len(pairs)}", right[0], "%")]
    peer = setup.peer_name
    of = {name: [pair.of[name] for pair in pairs] for name in setup.names}

    def both(chosen: Callable[[TimedTurn], bool], value: Callable[[TimedTurn], float]) -> list[list[float]]:
        return [[value(turn) for turn in of[name] if chosen(turn)] for name in (OURS, PEER)]

    every = both(lambda _: True, lambda turn: turn.waited)
    none = both(lambda turn: turn.plan == "none", lambda turn: turn.waited)
    first = both(lambda turn: turn.first is not None, lambda turn: turn.first or 0.0)
    about = [pair for pair in pairs if asks_to_read(pair.question.text)]
    words = [[pair.of[name].waited for pair in about] for name in (OURS, PEER)]
    equal = sum(pair.of[OURS].text == pair.of[PEER].text for pair in pairs)
    return [
        against("turn planned none, p50", none[0], "ms", peer, none[1], _NONE_TIMES),
        against("turn, p50", every[0], "ms", peer, every[1], _P50_TIMES),
        _p95(every, peer),
        against("first words, p50", first[0], "ms", peer, first[1], _FIRST_TIMES),
        *([against("questions about words, p50", words[0], "ms", peer, words[1], 1.0)] if about else []),
        _right(f"answers right of {len(pairs)}", right[0], right[1], peer),
        Row("answers equal to the peer's", 100 * equal / len(pairs), "%"),
    ]


def _right(name: str, ours: float, theirs: float, peer: str) -> Row:
    ok = ours - theirs >= -_POINTS
    return Row(name, ours, "%", peer, theirs, ratio(ours, theirs), f"at most {_POINTS:g} points fewer", ok)


def _p95(every: Sequence[Sequence[float]], peer: str) -> Row:
    ours, theirs = (quantiles(values, n=20, method="inclusive")[-1] for values in every)
    times = ours / theirs
    return Row("turn, p95", ours, "ms", peer, theirs, times, f"<= {_P95_TIMES:g}x peer", times <= _P95_TIMES)


def _own_rows(turns: Sequence[TimedTurn]) -> list[Row]:
    """The server's own share."""
    rows = []
    for name, plans, bar in (("none", ("none",), _OWN_NONE_MS), ("text and both", ("text", "both"), _OWN_TEXT_MS)):
        own = [turn.own for turn in turns if turn.plan in plans]
        if own:
            title = f"server's own share of a turn planned {name}, p50 ({spread(own)})"
            rows.append(at_most(title, median(own), "ms", bar))
    return rows


def turn_rows(turns: Sequence[TimedTurn]) -> list[Row]:
    """Of each plan: median, tail, and first words."""
    rows = []
    for plan in PLANS:
        chosen = [turn for turn in turns if turn.plan == plan]
        if len(chosen) < 4:
            continue
        waited = [turn.waited for turn in chosen]
        rows.append(Row(f"turn planned {plan}, p50 ({spread(waited)})", median(waited), "ms"))
        rows.append(Row(f"turn planned {plan}, p95", quantiles(waited, n=20, method="inclusive")[-1], "ms"))
        rows.append(Row(f"first words, planned {plan}, p50", median(t.first for t in chosen if t.first), "ms"))
    return rows


def stages(turns: Sequence[TimedTurn]) -> dict[str, dict[str, float]]:
    """Of each stage: in how many turns it ran, and its median, over those."""
    names = list(dict.fromkeys(stage for turn in turns for stage in turn.stages))
    took = {name: [turn.stages[name] for turn in turns if name in turn.stages] for name in names}
    return {
        name: {
            "turns": len(values),
            "p50_ms": round(median(total for total, _ in values), 2),
            "engine_p50_ms": round(median(engine for _, engine in values), 2),
        }
        for name, values in took.items()
    }


def _told(pair: Pair, name: str) -> list[object]:
    """Of a turn: the question's family, the plan, milliseconds, those to the first words, whether it is right."""
    turn = pair.of[name]
    first = None if turn.first is None else round(turn.first, 2)
    return [pair.question.family, turn.plan, round(turn.waited, 2), first, pair.right(name)]
