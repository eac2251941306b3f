"""What the generator's engine refuses and survives."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from threading import Event
from time import monotonic

import numpy as np
import pytest

from quizglass_server.engines.llama.costs.cost_model import Costs
from quizglass_server.engines.llama.engine import constraint as constraint_module
from quizglass_server.engines.llama.engine import engine as engine_module
from quizglass_server.engines.llama.engine import requests as requests_module
from quizglass_server.engines.llama.engine.engine import Engine
from quizglass_server.engines.llama.engine.requests import Request
from quizglass_server.engines.llama.link.prompt import (
    Busy,
    Constraint,
    Part,
    RequestRefused,
    TextPart,
    TooLate,
    Urgency,
)
from quizglass_server.engines.llama.native.batch import EmbeddingBatch, TokenBatch
from quizglass_server.engines.llama.native.errors import DecodeFailed, LoadFailed
from quizglass_server.engines.llama.native.model import NativeModel
from quizglass_server.engines.llama.native.options import LoadOptions
from tests.support.engines.engine_runs import SMALL_PIECES, Given, answer, drive, finish, prompt
from tests.support.engines.tiny_engine import CONTEXT, LOG, spoiled

SLOW = Costs((2_000_000,) * 8, ((16, 20_000_000), (512, 600_000_000)))
"""What a very slow machine would have measured: so slow that no pause of this one counts beside it."""


@pytest.fixture
def engine(model: NativeModel) -> Engine:
    return Engine(model, [], SMALL_PIECES)


def test_logits_that_are_not_numbers_fail_their_own_request_alone(options: LoadOptions, tmp_path: Path) -> None:
    """They spoil the memory of everybody: it is built anew, and nobody else notices."""
    asked = [prompt("What is this?"), prompt("Who? " * 30, seed=None), prompt("Why? " * 30, seed=2)]
    model = NativeModel(spoiled(options, "#", tmp_path), LOG)
    alone = [answer(Engine(model, [], SMALL_PIECES), parts, 40) for parts in asked]
    engine = Engine(model, [], SMALL_PIECES)
    given = [Given() for _ in range(5)]
    prompts = [asked[0], prompt("# is wrong", seed=None), asked[1], prompt("a" * 40 + "#", seed=2), asked[2]]
    for parts, each in zip(prompts, given, strict=True):
        engine.submit(engine.builder.generation(parts, 40, sink=each))
        engine.step(wait=False)
        engine.step(wait=False)
    finish(engine)
    assert [given[index].texts for index in (0, 2, 4)] == alone
    for index in (1, 3):
        assert isinstance(given[index].items[-1], DecodeFailed)
        assert "not numbers" in str(given[index].items[-1])
    assert answer(engine, asked[1], 40) == alone[1]


def test_a_picture_whose_embedding_is_not_numbers_fails_its_requests_alone(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    slot, width = engine.model.slot, engine.model.projector.embedding
    monkeypatch.setattr(engine.encoder, "_encode", lambda _: np.full((slot.tokens, width), np.nan, np.float32))
    spoilt, other = Given(), Given()
    engine.submit(engine.builder.generation(prompt("What?", seed=5), 4, sink=spoilt))
    engine.submit(engine.builder.generation(prompt("What?", seed=None), 4, sink=other))
    finish(engine)
    assert isinstance(spoilt.items[-1], DecodeFailed)
    assert len(other.texts) == 4


def test_one_request_more_than_may_wait_is_refused_at_once(engine: Engine) -> None:
    for number in range(3):
        engine.submit(engine.builder.generation(prompt(f"{number}"), 4, sink=Given()))
    with pytest.raises(Busy, match="3 requests wait") as refused:
        engine.submit(engine.builder.generation(prompt("one more"), 4, sink=Given()))
    assert refused.value.retry_after_s > 0
    finish(engine)
    assert len(answer(engine, prompt("again"), 4)) == 4


def test_a_deadline_that_cannot_be_met_is_refused_at_once(model: NativeModel) -> None:
    engine = Engine(model, [], SLOW)
    soon = Urgency(deadline=monotonic() + 20.0)
    with pytest.raises(TooLate, match="are left"):
        engine.submit(engine.builder.generation(prompt("x" * 100, seed=None), 4, soon, sink=Given()))
    assert engine.pending == 0
    engine.submit(engine.builder.generation(prompt("x" * 100, seed=None), 4, sink=Given()))
    # It fits by itself, but not behind the one before it.
    urgency = Urgency(background=True, deadline=monotonic() + 60.0)
    late = engine.builder.generation([TextPart("hi", trusted=False)], 4, urgency, sink=Given())
    with pytest.raises(Busy, match="behind others") as refused:
        engine.submit(late)
    assert 20 < refused.value.retry_after_s < 400
    finish(engine)


def test_what_an_engine_refuses_everybody_for_is_tried_again_at_times(model: NativeModel) -> None:
    """It may have learnt that when the machine was busy; if nothing ever ran, nothing would show that it is not so."""
    engine, given, refusals = Engine(model, [], SLOW), Given(), 0
    while not engine.pending:
        soon = Urgency(deadline=monotonic() + 60.0)
        try:
            engine.submit(engine.builder.generation(prompt("x" * 100, seed=None), 4, soon, sink=given))
        except TooLate:
            refusals += 1
            assert refusals < 100
    assert refusals
    finish(engine)
    assert len(given.texts) == 4
    with pytest.raises(TooLate):
        engine.submit(engine.builder.generation(prompt("y" * 100, seed=None), 4, soon, sink=Given()))


@pytest.mark.parametrize("left", ["cancelled", "late"])
def test_nobody_is_behind_requests_that_nobody_waits_for(model: NativeModel, left: str) -> None:
    """They leave with the next step: whoever comes before that is alone, and is told so where time does not suffice."""
    engine = Engine(model, [], SLOW)
    before = engine.builder.generation(prompt("x" * 100, seed=None), 4, sink=Given())
    engine.submit(before)
    if left == "cancelled":
        before.cancelled = True
    else:
        before.urgency = Urgency(deadline=monotonic())
    soon = Urgency(deadline=monotonic() + 20.0)
    with pytest.raises(TooLate):
        engine.submit(engine.builder.generation(prompt("x" * 100, seed=None), 4, soon, sink=Given()))
    urgency = Urgency(background=True, deadline=monotonic() + 60.0)
    given = Given()
    engine.submit(engine.builder.generation([TextPart("hi", trusted=False)], 4, urgency, sink=given))
    finish(engine)
    assert not isinstance(given.items[-1], Exception)


def test_a_deadline_that_passes_ends_the_answer(engine: Engine) -> None:
    given, chosen = Given(), Given()
    request = engine.builder.generation(prompt("What?"), 400, Urgency(deadline=monotonic() + 60), sink=given)
    engine.submit(request)
    while not given.pieces:
        engine.step()
    request.urgency = Urgency(deadline=monotonic())
    before = engine.stats().decode_steps
    engine.step()
    assert engine.stats().decode_steps == before
    assert given.finished.reason == "deadline"
    assert given.finished.usage.generated_tokens == len(given.pieces)
    for others, error in ((0, TooLate), (1, Busy)):
        choice = engine.builder.choice(prompt("Which?"), ["a", "b"], sink=chosen)
        engine.submit(choice)
        for number in range(others):
            engine.submit(engine.builder.generation(prompt(f"{number}"), 4, sink=Given()))
        choice.urgency = Urgency(deadline=monotonic())
        finish(engine)
        assert isinstance(chosen.items[-1], error), "without others it was not because of them"


def test_a_picture_that_is_never_done_shows_while_others_go_on(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = Event(), Event()
    real = engine.encoder._encode

    def blocked(rgb: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        begun.set()
        go_on.wait()
        return real(rgb)

    monkeypatch.setattr(engine.encoder, "_encode", blocked)
    assert engine.stats().encoding_us == 0
    stuck = Given()
    engine.submit(engine.builder.generation(prompt("What?", seed=77), 4, sink=stuck))
    engine.step()
    begun.wait()
    assert len(answer(engine, prompt("Who?", seed=None), 4)) == 4
    since = engine.stats().encoding_us
    while engine.stats().encoding_us <= since:
        engine.step(wait=False)
    go_on.set()
    finish(engine)
    assert len(stuck.texts) == 4
    assert engine.stats().encoding_us == 0
    # Its own picture is work for it, however little the engine's thread did meanwhile.
    assert stuck.finished.usage.engine_us > since


def test_waiting_for_others_is_not_engine_time(model: NativeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer after the other, where a step takes a millisecond and nothing else takes any time."""
    engine = Engine(model, [], Costs((1000, 10**6), ((512, 1000),)))
    now = [10**9]
    for module in (engine_module, requests_module):
        monkeypatch.setattr(module, "perf_counter_ns", lambda: now[0])
    decode = engine._runner._decode

    def timed(batch: TokenBatch | EmbeddingBatch) -> int:
        now[0] += 10**6
        return decode(batch)

    monkeypatch.setattr(engine._runner, "_decode", timed)
    first, second = Given(), Given()
    engine.submit(engine.builder.generation(prompt("Who?", seed=None), 100, sink=first))
    engine.submit(engine.builder.generation(prompt("Where?", seed=None), 4, sink=second))
    finish(engine)
    # Both prompts are read in one step, which was needed for either.
    assert [each.finished.usage.engine_us for each in (first, second)] == [100_000, 4_000]
    assert now[0] - 10**9 == 103 * 10**6
    engine.close()


def test_an_engine_that_sleeps_wakes_for_a_deadline(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The picture never comes; nothing else would wake it."""
    monkeypatch.setattr(engine.encoder, "provide", lambda request, picture: setattr(request, "awaited", picture.sha256))
    monkeypatch.setattr(engine.encoder, "leave", lambda request: None)
    given = Given()
    drive(engine, engine.builder.generation(prompt("What?"), 4, Urgency(deadline=monotonic() + 2.0), sink=given))
    assert given.finished.reason == "deadline"


@pytest.mark.parametrize(
    ("constraint", "reason"),
    [
        (Constraint('root ::= "a'), "grammar"),
        (Constraint("root ::= nothing"), "grammar"),
        (Constraint('other ::= "a"'), "grammar"),
        (Constraint("root ::= root"), "grammar"),
        (Constraint('root ::= "a\0"'), "grammar"),
        (Constraint("root ::= " + "(" * 9999), "nests"),
        (Constraint('root ::= "' + "a" * 300_000 + '"'), "characters"),
    ],
)
def test_constraints_that_cannot_be_understood_are_named(engine: Engine, constraint: Constraint, reason: str) -> None:
    with pytest.raises(RequestRefused, match=reason):
        engine.builder.generation(prompt("What?"), 4, constraint=constraint, sink=Given())


def test_an_answer_whose_constraint_takes_too_long_fails_alone(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = count()
    given, other = Given(), Given()
    engine.submit(engine.builder.generation(prompt("What?"), 4, constraint=Constraint("root ::= [a-z ]+"), sink=given))
    engine.submit(engine.builder.generation(prompt("Who?"), 4, sink=other))
    monkeypatch.setattr(constraint_module, "thread_time", lambda: 2 * next(seconds))
    finish(engine)
    assert isinstance(given.items[-1], RequestRefused)
    assert "too long to follow" in str(given.items[-1])
    assert len(other.texts) == 4
    assert engine.pending == 0


@pytest.mark.parametrize(("labels", "reason"), [([], "0 labels"), ([""], "empty"), (["a" * 600], "too long")])
def test_labels_that_cannot_be_chosen_from_are_named(engine: Engine, labels: list[str], reason: str) -> None:
    with pytest.raises(RequestRefused, match=reason):
        engine.builder.choice(prompt("What?"), labels, sink=Given())


def test_the_cache_holds_many_long_prompts_at_once(engine: Engine) -> None:
    """More than fit: they wait for cells, and none runs out of them in mid-answer."""
    given = [Given() for _ in range(3)]
    for round_ in range(3):
        for number, each in enumerate(given):
            parts = prompt(f"{round_}{number}" + "x" * 300, seed=None)
            engine.submit(engine.builder.generation(parts, 400, sink=each))
        finish(engine)
        assert [each.finished.reason for each in given] == ["length"] * 3
    stats = engine.stats()
    assert stats.cells_used <= stats.cells == 3 * CONTEXT


def some_request(random: Random, engine: Engine, parts: list[Part], given: Given) -> Request:
    """Of any kind."""
    builder, urgency = engine.builder, Urgency(background=random.random() < 0.3)
    kind = random.choice(["generation", "generation", "prefill", "choice"])
    if kind == "generation":
        return builder.generation(parts, 10, urgency, sink=given)
    if kind == "prefill":
        return builder.prefill(parts[: random.randint(1, 4)], urgency, sink=given)
    return builder.choice(parts, ["yes", "no", "not yet"], urgency, sink=given)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_comes_together_nobody_hears_another(
    options: LoadOptions, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every kind of request at random, in a small cache, cancelled at random, with steps that are lost."""
    random = Random(seed)
    questions = [
        prompt(text * times, picture)
        for text in ("Why? ", "Who is it? ")
        for times, picture in ((1, None), (1, 1), (9, 1), (30, 2), (35, None))
    ]
    model = NativeModel(replace(options, generator_cells=CONTEXT + 200, generator_batch=3, generator_queue=100), LOG)
    alone = [answer(Engine(model, [], SMALL_PIECES), parts, 10) for parts in questions]
    engine = Engine(model, [], SMALL_PIECES)
    real = model.decode
    monkeypatch.setattr(model, "decode", lambda batch: (real(batch), random.choices((0, 2), (9, 1))[0])[1])
    asked: list[tuple[int, Given, Request]] = []
    for _ in range(60):
        index, given = random.randrange(len(questions)), Given()
        request = some_request(random, engine, questions[index], given)
        engine.submit(request)
        asked.append((index, given, request))
        for _ in range(random.randrange(6)):
            engine.step(wait=False)
        if random.random() < 0.3:
            engine.cancel(random.choice(asked)[2])
    finish(engine)
    for index, given, request in asked:
        if request.cancelled:
            continue
        assert not isinstance(given.items[-1], BaseException)
        if given.pieces:
            # Rounding may tip the scales between two tokens, and all that follows; it makes none of them unlikely.
            pairs = zip(given.pieces, alone[index], strict=False)
            differing = next((piece for piece, text in pairs if piece.text != text), None)
            assert differing is None or differing.probability < 0.5
            assert all(piece.probability > 1 / model.vocabulary for piece in given.pieces)
    for lease in list(engine.prefixes.kept):
        engine.prefixes.evict(lease)
    assert engine.stats().cells_used == 0


def test_a_model_that_cannot_work_is_not_served(options: LoadOptions, tmp_path: Path) -> None:
    model = NativeModel(spoiled(options, "a", tmp_path), LOG)
    with pytest.raises(LoadFailed, match=r"spoiled\.gguf.*not numbers"):
        Engine(model, [], SMALL_PIECES).warm_up()
