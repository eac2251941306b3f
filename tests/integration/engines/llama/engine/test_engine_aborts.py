"""Steps of the starter's generator that are stopped or fail: nobody else's answer changes."""

from __future__ import annotations

from itertools import count
from threading import Event, Thread
from typing import cast

import pytest

from quizglass_server.engines.llama.costs.cost_model import Costs, CostTracker
from quizglass_server.engines.llama.engine.engine import Engine
from quizglass_server.engines.llama.link.prompt import TextPart
from quizglass_server.engines.llama.native.batch import TokenBatch
from quizglass_server.engines.llama.native.errors import DecodeFailed, EngineBroken
from quizglass_server.engines.llama.native.model import ABORTED
from tests.support.engines.engine_runs import Given, answer, finish, prompt
from tests.support.engines.starter_engine import ASKED, LONG, Decode, ask, watched


def test_cancelled_requests_leave_their_neighbours_exact(endless: Engine, alone: list[list[str]]) -> None:
    """Cancelled in every stage: waiting, awaiting a picture, reading text, reading a picture, writing."""
    for steps in range(1, 24, 2):
        victims = [ask(endless, prompt(f"{steps} {LONG}", seed=steps % 3)) for _ in range(2)]
        kept = [ask(endless, ASKED[index])[0] for index in (2, 3)]
        for _ in range(steps):
            endless.step(wait=False)
        before = endless.stats().decode_steps
        for _, request in victims:
            endless.cancel(request)
        endless.step(wait=False)
        assert all(request.ended for _, request in victims)
        assert endless.stats().decode_steps - before <= 2
        finish(endless)
        assert [given.texts for given in kept] == [alone[2], alone[3]]


def test_an_aborted_step_is_as_if_it_had_never_been(
    endless: Engine, alone: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst case: all of the step is in memory, and nobody got logits."""
    numbers = count()

    def decode(real: Decode, batch: object) -> int:
        code = real(cast("TokenBatch", batch))
        return ABORTED if next(numbers) % 3 == 1 else code

    watched(endless, monkeypatch, decode)
    given = [ask(endless, parts)[0] for parts in ASKED]
    finish(endless)
    assert [each.texts for each in given] == alone


def test_cancelling_stops_a_long_step(endless: Engine, alone: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole prompt in one step is stopped inside llama.cpp, and reading it anew gives the right answer."""
    endless.scheduler.tracker = CostTracker(Costs((1000,), ((512, 300_000),)), fixed=True)
    codes: list[int] = []
    deciding = Event()

    def decode(real: Decode, batch: object) -> int:
        deciding.set()
        codes.append(real(cast("TokenBatch", batch)))
        return codes[-1]

    watched(endless, monkeypatch, decode)
    given, request = ask(endless, prompt(LONG * 3, seed=None))

    def cancel() -> None:
        deciding.wait()
        while not codes:
            endless.cancel(request)

    canceller = Thread(target=cancel)
    canceller.start()
    finish(endless)
    canceller.join()
    assert codes == [ABORTED]
    assert given.finished.reason == "cancelled"
    assert answer(endless, ASKED[4]) == alone[4]


def test_only_the_request_that_llama_cpp_fails_on_fails(
    endless: Engine, alone: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = endless.model.tokenise("zebra", special=False)[0]

    def decode(real: Decode, batch: object) -> int:
        if isinstance(batch, TokenBatch) and bad in batch._token[: batch.count]:
            return -3
        return real(cast("TokenBatch", batch))

    assert not any(bad in endless.builder.generation(parts, 1, sink=Given()).units.ids for parts in ASKED)
    given = [ask(endless, parts)[0] for parts in ASKED[:3]]
    failing = [ask(endless, [TextPart("zebra " * 3, trusted=False)])[0] for _ in range(2)]
    given += [ask(endless, parts)[0] for parts in ASKED[3:]]
    watched(endless, monkeypatch, decode)
    finish(endless)
    assert [each.texts for each in given] == alone
    for each in failing:
        assert isinstance(each.items[-1], DecodeFailed)


def test_an_engine_on_which_everything_fails_gives_up(endless: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    watched(endless, monkeypatch, lambda real, batch: -3)
    for number in range(30):
        ask(endless, prompt(f"{number}", seed=None))
    with pytest.raises(EngineBroken, match="-3"):
        finish(endless)
