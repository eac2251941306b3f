"""The starter's generator under continuous batching: what shares a step, a prefix or a failure changes no answer."""

from __future__ import annotations

import ctypes
import json
import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import cast

import llama_cpp.llama_cpp as llama
import llama_cpp.mtmd_cpp as mtmd
import numpy as np
import pytest

from quizglass_server.engines.llama.batch import EmbeddingBatch, TokenBatch
from quizglass_server.engines.llama.costs import Costs
from quizglass_server.engines.llama.engine import Engine
from quizglass_server.engines.llama.errors import DecodeFailed, EngineBroken
from quizglass_server.engines.llama.gauge import Gauge
from quizglass_server.engines.llama.logs import LlamaLog
from quizglass_server.engines.llama.native import ABORTED, N_BATCH, LoadOptions, NativeModel, start_backend
from quizglass_server.engines.llama.prompt import Constraint, Part, Scored, Terms, TextPart, Usage
from quizglass_server.engines.llama.requests import Request
from tests.support.engine_runs import SMALL_PIECES, Given, answer, drive, finish, picture, prompt

BUNDLE = Path(__file__).parents[2] / "models/starter/bundle/generator"
STOP = ["<|im_end|>"]
LONG = "The red car stands before the old mill near the river and nobody knows why. " * 8
LOG = LlamaLog()
start_backend(LOG)
Decode = Callable[[TokenBatch | EmbeddingBatch], int]


@pytest.fixture(scope="module")
def model() -> NativeModel:
    options = LoadOptions(
        BUNDLE / "model-q8_0.gguf", BUNDLE / "mmproj-f16.gguf", 112, 112, 1024, sequences=4, threads=1, batch=4
    )
    return NativeModel(options, LOG)


@pytest.fixture
def engine(model: NativeModel) -> Iterator[Engine]:
    made = Engine(model, STOP, SMALL_PIECES)
    yield made
    made.close()


ASKED: list[list[Part]] = [
    prompt("What is this?", seed=1),
    prompt("What is this called?", seed=1),
    prompt("Who made it?", seed=2),
    prompt("Which colour has it?", seed=None),
    prompt(LONG + "What stands there?", seed=None),
    # No question whose two likeliest tokens are a hundredth apart: where in memory a prompt lies moves logits by more.
    prompt(LONG + "What is it called?", seed=1),
    prompt("What is this?", seed=1),
]


@pytest.fixture(scope="module")
def alone(model: NativeModel) -> list[list[str]]:
    """What is said to each prompt by an engine that knows no other."""
    said: list[list[str]] = []
    for parts in ASKED:
        engine = Engine(model, [], SMALL_PIECES)
        said.append(answer(engine, parts))
        engine.close()
    return said


@pytest.fixture
def endless(model: NativeModel) -> Iterator[Engine]:
    """An engine whose answers end by length alone."""
    made = Engine(model, [], SMALL_PIECES)
    yield made
    made.close()


def ask(engine: Engine, parts: list[Part], tokens: int = 16, terms: Terms | None = None) -> tuple[Given, Request]:
    given = Given()
    request = engine.intake.generation(parts, tokens, terms or Terms(), sink=given)
    engine.submit(request)
    return given, request


def watched(engine: Engine, monkeypatch: pytest.MonkeyPatch, decode: Callable[[Decode, object], int]) -> None:
    """Put `decode` between the engine and its model."""
    real = engine.model.decode
    monkeypatch.setattr(engine.model, "decode", lambda batch: decode(real, batch))


@pytest.mark.parametrize("apart", [0, 1, 3])
def test_answers_in_a_batch_are_those_given_alone(endless: Engine, alone: list[list[str]], apart: int) -> None:
    """Arriving together or `apart` steps apart; sharing pictures and beginnings; in pieces beside other answers."""
    given = []
    for parts in ASKED:
        given.append(ask(endless, parts)[0])
        for _ in range(apart):
            endless.step(wait=False)
    finish(endless)
    assert [each.texts for each in given] == alone
    assert endless.encoded_pictures == 2


def test_what_is_shared_is_read_once(engine: Engine) -> None:
    first, second = ask(engine, ASKED[4])[0], ask(engine, prompt(LONG + "Why?", seed=None))[0]
    finish(engine)
    whole = first.finished.usage.prompt_tokens
    assert second.finished.usage.reused_tokens > whole - 20
    assert engine.prefilled_tokens < whole + 30


def test_first_tokens_come_one_after_the_other(engine: Engine) -> None:
    """First come, first served: the first prompt is answered while the last ones wait."""
    asked = [ask(engine, prompt(f"{number} " + LONG, seed=None), tokens=2) for number in range(4)]
    firsts: list[int] = []
    while engine.pending:
        engine.step()
        firsts += [index for index, (given, _) in enumerate(asked) if given.pieces and index not in firsts]
    assert firsts == [0, 1, 2, 3]


def test_urgent_requests_go_first_then_those_with_a_deadline(engine: Engine) -> None:
    far = 1e12
    terms = [Terms(2), Terms(1), Terms(1, far), Terms(1, far - 1), Terms(0)]
    asked = [ask(engine, prompt(f"{index} " + LONG, seed=None), 1, each) for index, each in enumerate(terms)]
    ended: list[int] = []
    while engine.pending:
        engine.step()
        ended += [index for index, (_, request) in enumerate(asked) if request.ended and index not in ended]
    assert ended == [4, 3, 2, 1, 0]


@pytest.mark.parametrize("rows", [16, 5, 1])
def test_a_picture_in_pieces_is_what_mtmd_makes_of_it(model: NativeModel, rows: int) -> None:
    model.clear()
    embedding = model.projector.encode(picture(1).rgb)
    before, after = model.tokenise("<|im_start|>user\n", special=True), model.tokenise("What?", special=False)
    tokens = TokenBatch(64)
    logits = []
    for sequence in range(2):
        tokens.clear()
        tokens.add(before, 0, sequence)
        assert model.decode(tokens) == 0
        if sequence:
            _decode_with_mtmd(model, embedding, len(before), sequence)
        else:
            positions = model.projector.positions(len(before))
            for start in range(0, len(embedding), rows):
                piece = slice(start, start + rows)
                assert model.decode(EmbeddingBatch(embedding[piece], positions[:, piece], sequence)) == 0
        tokens.clear()
        tokens.add(after, len(before) + model.slot.positions, sequence, len(after) - 1)
        assert model.decode(tokens) == 0
        logits.append(model.logits(1).copy())
    np.testing.assert_array_equal(logits[0], logits[1])


def _decode_with_mtmd(model: NativeModel, embedding: np.ndarray, position: int, sequence: int) -> None:
    chunks, image = model.projector._chunks(picture(1).rgb)
    after = llama.llama_pos(0)
    code = mtmd.mtmd_helper_decode_image_chunk(
        model.projector._context,
        model._context,
        image,
        embedding.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
        position,
        sequence,
        512,
        ctypes.byref(after),
        mtmd.mtmd_helper_post_decode_callback(),
        None,
    )
    mtmd.mtmd_input_chunks_free(chunks)
    assert code == 0


def test_cancelled_requests_leave_their_neighbours_exact(endless: Engine, alone: list[list[str]]) -> None:
    """Cancelled in every stage: waiting, parked, reading text, reading a picture, writing."""
    for steps in range(1, 24, 2):
        victims = [ask(endless, prompt(f"{steps} {LONG}", seed=steps % 3)) for _ in range(2)]
        kept = [ask(endless, ASKED[index])[0] for index in (2, 3)]
        for _ in range(steps):
            endless.step(wait=False)
        before = endless.decode_steps
        for _, request in victims:
            endless.cancel(request)
        endless.step(wait=False)
        assert all(request.ended for _, request in victims)
        assert endless.decode_steps - before <= 2
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
    endless.scheduler.gauge = Gauge(Costs((1000,), ((512, 300_000),)), fixed=True)
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

    assert not any(bad in endless.intake.generation(parts, 1, sink=Given()).atoms.ids for parts in ASKED)
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


def test_a_score_is_what_the_model_would_have_said(engine: Engine) -> None:
    given, _ = ask(engine, ASKED[0])
    finish(engine)
    scored, chosen = Given(), Given()
    said = "".join(given.texts)
    drive(engine, engine.intake.scoring(ASKED[0], said, sink=scored))
    logs = scored.only(Scored).log_probabilities
    assert len(logs) == len(given.pieces)
    np.testing.assert_allclose(np.exp(logs), [piece.probability for piece in given.pieces], rtol=2e-2)
    labels = [said, LONG[:40], "a"]
    drive(engine, engine.intake.choice(ASKED[0], labels, sink=chosen))
    scores = []
    for label in labels:
        drive(engine, engine.intake.scoring(ASKED[0], label, sink=scored))
        scores.append(sum(scored.only(Scored).log_probabilities))
    weights = np.exp(np.array(scores) - max(scores))
    probabilities, usage = cast("tuple[list[float], Usage]", chosen.items[-1])
    np.testing.assert_allclose(probabilities, weights / weights.sum(), atol=1e-3)
    assert usage.generated_tokens == 0


def test_a_score_longer_than_a_step_gives(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, pieces = Given(), Given()
    drive(engine, engine.intake.scoring(prompt("Say it."), LONG, sink=whole))
    engine.scheduler._rows = engine.model.options.batch + 3
    drive(engine, engine.intake.scoring(prompt("Say it!"), LONG, sink=pieces))
    drive(engine, engine.intake.scoring(prompt("Say it."), LONG, sink=pieces))
    np.testing.assert_allclose(
        pieces.only(Scored).log_probabilities, whole.only(Scored).log_probabilities, rtol=1e-2, atol=1e-2
    )


def test_a_piece_leaves_room_for_the_answers_written_beside_it(
    endless: Engine, alone: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full piece and a token for everybody else are more than llama.cpp takes in one batch."""
    endless.scheduler.gauge = Gauge(Costs((1000,) * 4, ((N_BATCH, 1000),)), fixed=True)
    sizes: list[int] = []

    def decode(real: Decode, batch: object) -> int:
        sizes.append(cast("TokenBatch", batch).struct.n_tokens)
        return real(cast("TokenBatch", batch))

    watched(endless, monkeypatch, decode)
    given = [ask(endless, parts)[0] for parts in ASKED[:3]]
    while not all(each.texts for each in given):
        endless.step()
    long, _ = ask(endless, prompt(LONG * 4, seed=None))
    finish(endless)
    assert max(sizes) == N_BATCH
    assert [each.texts for each in given] == alone[:3]
    assert long.finished.usage.prompt_tokens > N_BATCH


def test_answers_and_the_piece_beside_them_are_as_many_rows_as_were_measured(
    endless: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def decode(real: Decode, batch: object) -> int:
        sizes.append(cast("TokenBatch", batch).struct.n_tokens)
        return real(cast("TokenBatch", batch))

    given = [ask(endless, parts)[0] for parts in (ASKED[0], ASKED[3])]
    while not all(each.texts for each in given):
        endless.step()
    watched(endless, monkeypatch, decode)
    ask(endless, prompt(LONG, seed=None))
    for _ in range(5):
        endless.step()
    assert sizes == [16] * 5
    finish(endless)


def test_labels_read_on_do_not_touch_the_rows_of_others(engine: Engine) -> None:
    """The rest of the labels is a step of its own, which overwrites the logits of the one before."""
    engine.scheduler.gauge = Gauge(Costs((1000,) * 4, ((512, 1000),)), fixed=True)
    alone, beside, chosen = Given(), Given(), Given()
    drive(engine, engine.intake.generation(ASKED[3], 1, sink=alone))
    engine.submit(engine.intake.choice([TextPart("Yes or no?", trusted=False)], ["a red car", "no"], sink=chosen))
    engine.submit(engine.intake.generation(ASKED[3], 1, sink=beside))
    finish(engine)
    assert chosen.items
    assert beside.texts == alone.texts
    assert beside.pieces[0].probability == pytest.approx(alone.pieces[0].probability, rel=1e-2)


@pytest.mark.parametrize(
    ("constraint", "matches"),
    [
        (Constraint("labels", ("a red car", "a red bus", "a blue bird")), "a (red car|red bus|blue bird)"),
        (Constraint("labels", ("yes", "yes please")), "yes( please)?"),
        (Constraint("grammar", 'root ::= ("ab" | "cd") [0-9] [0-9]'), "(ab|cd)[0-9]{2}"),
    ],
)
def test_a_constraint_is_kept(engine: Engine, constraint: Constraint, matches: str) -> None:
    given, beside = Given(), ask(engine, ASKED[0])[0]
    drive(engine, engine.intake.generation(ASKED[1], 20, constraint=constraint, sink=given))
    finish(engine)
    assert given.finished.reason == "stop"
    assert re.fullmatch(matches, "".join(given.texts))
    assert beside.finished


def test_a_schema_is_kept(engine: Engine) -> None:
    schema = {
        "type": "object",
        "properties": {"plan": {"enum": ["none", "both"]}, "sure": {"type": "boolean"}},
        "required": ["plan", "sure"],
    }
    given = Given()
    constraint = Constraint("json_schema", json.dumps(schema))
    drive(engine, engine.intake.generation(ASKED[3], 100, constraint=constraint, sink=given))
    value = json.loads("".join(given.texts))
    assert value["plan"] in ("none", "both")
    assert isinstance(value["sure"], bool)


def test_a_picture_read_ahead_is_not_read_again(engine: Engine) -> None:
    beginning = ASKED[0][:2]
    ready = Given()
    drive(engine, engine.intake.warm_up(beginning, Terms(2), sink=ready))
    assert ready.only(Usage).encoded_picture
    usage = drive_usage(engine, ASKED[0])
    assert usage.reused_tokens >= ready.only(Usage).prompt_tokens
    assert not usage.encoded_picture


def test_a_question_goes_on_from_a_picture_that_is_half_read(endless: Engine, alone: list[list[str]]) -> None:
    endless.scheduler.gauge = Gauge(Costs((1000,) * 4, ((4, 20_000), (512, 10**9))), fixed=True)
    ready = Given()
    endless.submit(warm := endless.intake.warm_up(ASKED[0][:2], Terms(2), sink=ready))
    while not warm.picture_rows:
        endless.step()
    given, _ = ask(endless, ASKED[0])
    finish(endless)
    assert given.texts == alone[0]
    slot = endless.model.slot.tokens
    assert endless.prefilled_tokens < given.finished.usage.prompt_tokens + slot // 2
    assert ready.only(Usage)


def drive_usage(engine: Engine, parts: list[Part]) -> Usage:
    given = Given()
    drive(engine, engine.intake.generation(parts, 4, sink=given))
    return given.finished.usage
