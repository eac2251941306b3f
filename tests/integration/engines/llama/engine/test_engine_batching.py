"""The starter's generator under continuous batching: what shares a step or a prefix changes no answer."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from typing import cast

import llama_cpp.llama_cpp as llama
import llama_cpp.mtmd_cpp as mtmd
import numpy as np
import pytest

from quizglass_server.engines.llama.costs.cost_model import Costs, CostTracker
from quizglass_server.engines.llama.engine.engine import Engine
from quizglass_server.engines.llama.link.prompt import Constraint, TextPart, Urgency, Usage
from quizglass_server.engines.llama.native.batch import EmbeddingBatch, TokenBatch
from quizglass_server.engines.llama.native.model import NativeModel
from tests.support.engines.engine_runs import SMALL_PIECES, Given, drive, finish, picture, prompt
from tests.support.engines.starter_engine import ASKED, LONG, STOP, Decode, ask, watched


@pytest.fixture
def engine(starter_model: NativeModel) -> Iterator[Engine]:
    made = Engine(starter_model, STOP, SMALL_PIECES)
    yield made
    made.close()


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
    assert endless.stats().encoded_pictures == 2


def test_what_is_shared_is_read_once(engine: Engine) -> None:
    first, second = ask(engine, ASKED[4])[0], ask(engine, prompt(LONG + "Why?", seed=None))[0]
    finish(engine)
    whole = first.finished.usage.prompt_tokens
    assert second.finished.usage.reused_tokens > whole - 20
    assert engine.prefilled_tokens < whole + 30


def test_what_is_parked_outside_the_cache_is_neither_read_again_nor_different(
    endless: Engine, alone: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endless.prefixes, "_resident", 0)
    for parts in ASKED[:4]:
        ask(endless, parts)
        finish(endless)
    assert len(endless.prefixes.kept) == 1
    assert len(endless.prefixes.offloaded) >= 2
    encoded, (again, _) = endless.stats().encoded_pictures, ask(endless, ASKED[1])
    finish(endless)
    usage = again.finished.usage
    assert usage.reused_tokens >= usage.prompt_tokens - 1
    assert again.texts == alone[1]
    assert endless.stats().encoded_pictures == encoded


def test_a_thread_encodes_only_while_there_is_something_to_encode(engine: Engine) -> None:
    ask(engine, ASKED[0])
    finish(engine)
    for thread in threading.enumerate():
        if thread.name == "encoder":
            thread.join(60)
            assert not thread.is_alive()
    ask(engine, ASKED[2])
    finish(engine)
    assert engine.stats().encoded_pictures == 2


def test_first_tokens_come_one_after_the_other(engine: Engine) -> None:
    """First come, first served: the first prompt is answered while the last ones wait."""
    asked = [ask(engine, prompt(f"{number} " + LONG, seed=None), tokens=2) for number in range(4)]
    firsts: list[int] = []
    while engine.pending:
        engine.step()
        firsts += [index for index, (given, _) in enumerate(asked) if given.pieces and index not in firsts]
    assert firsts == [0, 1, 2, 3]


def test_turns_go_before_background_work_those_ahead_first_and_then_the_nearest_deadline(engine: Engine) -> None:
    far = 1e12
    urgency = [
        Urgency(background=True),
        Urgency(),
        Urgency(deadline=far),
        Urgency(deadline=far - 1),
        Urgency(ahead=True),
    ]
    asked = [ask(engine, prompt(f"{index} " + LONG, seed=None), 1, each) for index, each in enumerate(urgency)]
    ended: list[int] = []
    while engine.pending:
        engine.step()
        ended += [index for index, (_, request) in enumerate(asked) if request.ended and index not in ended]
    assert ended == [4, 3, 2, 1, 0]


def sizes_of_steps(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of each step from now on."""
    sizes: list[int] = []

    def decode(real: Decode, batch: object) -> int:
        sizes.append(cast("TokenBatch", batch).struct.n_tokens)
        return real(cast("TokenBatch", batch))

    watched(engine, monkeypatch, decode)
    return sizes


def test_prompts_are_read_before_answers_are_written_but_no_answer_waits_long(
    endless: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two pieces of 0.2 seconds fit into half a second; then both answers get a token."""
    endless.scheduler.tracker = CostTracker(Costs((1000,) * 4, ((16, 200_000), (512, 10**9))), fixed=True)
    long, given = Constraint("root ::= [a-z]{60}"), [Given(), Given()]
    # Without pictures: while one is encoded, the other answer might come to its end.
    for parts, each in zip((ASKED[3], prompt("Who made it?", seed=None)), given, strict=True):
        endless.submit(endless.builder.generation(parts, 60, constraint=long, sink=each))
    while not all(each.texts for each in given):
        endless.step()
    endless.step()
    sizes = sizes_of_steps(endless, monkeypatch)
    ask(endless, prompt(LONG, seed=None))
    for _ in range(9):
        endless.step()
    assert sizes == [16, 16, 2] * 3
    finish(endless)


def test_a_first_token_does_not_wait_for_the_next_prompt(endless: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of 32 tokens read as fast as longer ones, so a step ends with a prompt that is longer than that."""
    endless.scheduler.tracker = CostTracker(Costs((1000,) * 4, ((32, 4_000), (256, 32_000))), fixed=True)
    sizes = sizes_of_steps(endless, monkeypatch)
    first, second = Given(), Given()
    for word, each in (("Who?", first), ("Why?", second)):
        parts, constraint = prompt(f"{word} {LONG}", seed=None), Constraint("root ::= [a-z]{60}")
        endless.submit(endless.builder.generation(parts, 16, constraint=constraint, sink=each))
    endless.step()
    assert len(first.texts) == 1
    finish(endless)
    assert sizes[0] == first.finished.usage.prompt_tokens
    assert second.finished.usage.generated_tokens > 1


def test_short_prompts_share_a_step(endless: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    endless.scheduler.tracker = CostTracker(Costs((1000,) * 4, ((256, 32_000),)), fixed=True)
    sizes = sizes_of_steps(endless, monkeypatch)
    given = [ask(endless, prompt(f"{number}?", seed=None))[0] for number in range(3)]
    endless.step()
    assert [len(each.texts) for each in given] == [1, 1, 1]
    finish(endless)
    assert sizes[0] == sum(each.finished.usage.prompt_tokens - each.finished.usage.reused_tokens for each in given)


def test_a_piece_filled_up_to_a_tile_changes_no_answer_and_leaves_nothing(
    endless: Engine, alone: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    endless.scheduler.tracker = CostTracker(Costs((1000,), ((512, 4_000),), tile=64, seen_us=1e6), fixed=True)
    sizes = sizes_of_steps(endless, monkeypatch)
    sure = [0, 1, 2, 4, 5]  # of the others, two tokens are as likely as each other
    given = []
    for which in sure:
        given.append(ask(endless, ASKED[which])[0])
        finish(endless)
    assert [each.texts for each in given] == [alone[which] for which in sure]
    assert 64 in sizes
    assert all(size >= 64 or size in (1, endless.model.slot.tokens) for size in sizes)
    scratch = llama.llama_memory_seq_pos_max(llama.llama_get_memory(endless.model._context), endless.model.sequences)
    assert scratch == -1
    assert endless.prefilled_tokens < sum(sizes)


@pytest.mark.parametrize("rows", [16, 5, 1])
def test_a_picture_in_pieces_is_what_mtmd_makes_of_it(starter_model: NativeModel, rows: int) -> None:
    model = starter_model
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


def test_labels_read_on_do_not_touch_the_rows_of_others(engine: Engine) -> None:
    """The rest of the labels is a step of its own, which overwrites the logits of the one before."""
    engine.scheduler.tracker = CostTracker(Costs((1000,) * 4, ((512, 1000),)), fixed=True)
    alone, beside, chosen = Given(), Given(), Given()
    drive(engine, engine.builder.generation(ASKED[3], 1, sink=alone))
    engine.submit(engine.builder.choice([TextPart("Yes or no?", trusted=False)], ["a red car", "no"], sink=chosen))
    engine.submit(engine.builder.generation(ASKED[3], 1, sink=beside))
    finish(engine)
    assert chosen.items
    assert beside.texts == alone.texts
    assert beside.pieces[0].probability == pytest.approx(alone.pieces[0].probability, rel=1e-2)


def test_a_picture_read_ahead_is_not_read_again(engine: Engine) -> None:
    beginning = ASKED[0][:2]
    ready = Given()
    drive(engine, engine.builder.prefill(beginning, Urgency(background=True), sink=ready))
    assert ready.only(Usage).encoded_picture
    given, _ = ask(engine, ASKED[0])
    finish(engine)
    usage = given.finished.usage
    assert usage.reused_tokens >= ready.only(Usage).prompt_tokens
    assert not usage.encoded_picture


def test_a_question_goes_on_from_a_picture_that_is_half_read(endless: Engine, alone: list[list[str]]) -> None:
    endless.scheduler.tracker = CostTracker(Costs((1000,) * 4, ((4, 20_000), (512, 10**9))), fixed=True)
    ready = Given()
    endless.submit(prefill := endless.builder.prefill(ASKED[0][:2], Urgency(background=True), sink=ready))
    while not prefill.picture_rows:
        endless.step()
    given, _ = ask(endless, ASKED[0])
    finish(endless)
    assert given.texts == alone[0]
    slot = endless.model.slot.tokens
    assert endless.prefilled_tokens < given.finished.usage.prompt_tokens + slot // 2
    assert ready.only(Usage)
