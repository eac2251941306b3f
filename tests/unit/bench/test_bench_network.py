"""The benchmark of an open server: what a source adds to turns, from times written by hand."""

from bench.network.sources import rows


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
