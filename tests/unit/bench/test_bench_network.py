"""The benchmark of an open server: what a source adds to turns, and what grows, from figures written by hand."""

import asyncio
from collections import Counter

import grpc
import pytest

from bench.network.faults import Sample
from bench.network.guesses import ask_all, judged
from bench.network.soak import growth
from bench.network.sources import left_out, rows
from bench.network.tokens import right_code, right_status
from quizglass.values import Done, FinishReason, SkippedStep, StageTiming
from quizglass_client.errors import NotFound


def test_a_source_that_hangs_is_told_of_by_how_it_was_left_out() -> None:
    added = {"BUDGET": [400.0, 510.0, 520.0], "FAILED": [1.0] * 7, "not searched": [0.0]}
    told = {row.name: row for row in rows("hangs", added, [500.0, 501.0, 502.0])}
    every = told["a SearXNG that hangs: added to a turn, p50, 11 turns"]
    assert (every.value, every.ok) == (1.0, True)
    waited = told["a SearXNG that hangs: waited for until it is given up, p50, 3 turns"]
    assert (waited.value, waited.ok) == (501.0, True)
    assert told["a SearXNG that hangs: turns that name the step left out, of 10 that search by text"].ok
    silent = rows("hangs", {"asked": [700.0], "BUDGET": [600.0]}, [600.0])
    assert [row.ok for row in silent] == [False, False, False], "neither in time nor named"


def test_a_source_that_answers_is_told_of_as_a_whole() -> None:
    (every,) = rows("answers", {"asked": [3.0, 5.0, 4.0]}, [])
    assert (every.value, every.unit, every.ok) == (4.0, "ms", True)


def test_growth_is_that_of_the_server_that_lived_longest_once_it_is_warm() -> None:
    killed = [Sample(minute / 60, 1, 900.0 - minute, 0.0, 0.0) for minute in range(5)]
    warming = [Sample(minute / 60, 2, 100.0 + 20 * minute, 0.0, 50.0) for minute in range(5, 15)]
    warm = [Sample(minute / 60, 2, 500.0 + minute / 10 + minute, minute, 50.0) for minute in range(15, 60)]
    beyond, caches, generator = growth([*killed, *warming, *warm], 3600.0)
    assert (round(beyond.value or 0, 3), beyond.bar, beyond.ok) == (6.0, "<= 1", False)
    assert (round(caches.value or 0, 3), round(generator.value or 0, 3)) == (60.0, 0.0)
    short, _, _ = growth([*killed, *warming, *warm], 600.0)
    assert (round(short.value or 0, 3), short.bar, short.ok) == (6.0, "", None)


@pytest.mark.parametrize(
    ("skipped", "stages", "told"),
    [
        (["BUDGET"], ["text_search", "source.web"], ("BUDGET", 500.0)),
        (["FAILED"], ["text_search"], ("FAILED", None)),
        ([], ["text_search", "source.web"], ("asked", 500.0)),
        ([], ["text_search"], ("asked", None)),
        ([], ["image_search"], ("not searched", None)),
    ],
    ids=["too slow", "left alone", "asked", "silent", "no search"],
)
def test_a_turn_that_searches_by_text_and_is_silent_about_the_source_does_not_name_it(
    skipped: list[str], stages: list[str], told: tuple[str, float | None]
) -> None:
    timings = tuple(StageTiming(stage, 0.5) for stage in stages)
    steps = tuple(SkippedStep("source.web", reason) for reason in skipped)
    assert left_out(Done("", FinishReason.COMPLETE, timings=timings, skipped=steps)) == told


@pytest.mark.parametrize("kind", ["ask", "without", "revoked", "oversized"])
def test_a_call_that_takes_a_code_in_place_of_a_token_refuses_what_has_none(kind: str) -> None:
    path = "/quizglass.v1.PairingService/RedeemPairing"
    right = [code for code in grpc.StatusCode if right_code(kind, path, code)]
    assert right == [grpc.StatusCode.INVALID_ARGUMENT]
    assert [status for status in (200, 400, 401, 403, 500) if right_status(kind, path, status)] == [400]


async def _empty() -> list[str]:
    return []


async def _found() -> list[str]:
    return ["an entry"]


async def _refused() -> list[str]:
    raise NotFound("there is no such entry")


async def _broken() -> list[str]:
    raise RuntimeError("no answer of a server")


def test_a_request_of_another_tenant_that_returns_anything_breaks_the_bar() -> None:
    asked, given = Counter[str](), Counter[str]()
    closed = {"search": _empty, "entry": _refused}
    own = Counter({"search": 1, "entry": 1})
    for _ in range(3):
        asyncio.run(ask_all(closed, asked, given))
    assert asked == {"search": 3, "entry": 3}
    assert [(row.value, row.unit, row.ok) for row in judged(asked, given, own, 2)] == [
        (0, "of 6", True),
        (2, "of 2", True),
    ]
    asyncio.run(ask_all({**closed, "entry": _found}, asked, given))
    assert given["entry"] == 1
    assert [(row.value, row.unit, row.ok) for row in judged(asked, given, own, 2)] == [
        (1, "of 8", False),
        (2, "of 2", True),
    ]


def test_a_tenant_that_does_not_get_its_own_things_breaks_the_bar() -> None:
    """Nothing returned to others shows nothing where there was nothing to return."""
    asked, given, own = Counter[str](), Counter[str](), Counter[str]()
    asyncio.run(ask_all({"search": _found, "entry": _refused}, asked, own))
    assert [row.ok for row in judged(asked, given, own, 2)] == [True, False]
    assert [row.ok for row in judged(Counter(), given, Counter(), 0)] == [False, False]


def test_a_request_that_fails_otherwise_than_by_a_refusal_is_no_empty_answer() -> None:
    asked, given = Counter[str](), Counter[str]()
    with pytest.raises(RuntimeError):
        asyncio.run(ask_all({"entry": _broken}, asked, given))
