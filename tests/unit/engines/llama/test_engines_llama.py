"""The generator's engine on a tiny random model: what it reuses must never change what it says."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from quizglass_server.engines.llama.costs.cost_model import Costs
from quizglass_server.engines.llama.engine.engine import Engine
from quizglass_server.engines.llama.engine.recovery import MOST_FAILURES, Recovery
from quizglass_server.engines.llama.link.prompt import (
    Finished,
    Part,
    Piece,
    RequestRefused,
    TextPart,
    Usage,
)
from quizglass_server.engines.llama.native import known_model
from quizglass_server.engines.llama.native import model as model_module
from quizglass_server.engines.llama.native.errors import DecodeFailed, EngineBroken, LoadFailed
from quizglass_server.engines.llama.native.logs import LlamaLog
from quizglass_server.engines.llama.native.model import NativeModel, start_backend
from quizglass_server.engines.llama.native.options import LoadOptions
from quizglass_server.engines.llama.native.proof import prove_model
from tests.support.bundles.tiny_models import (
    HEIGHT,
    WIDTH,
    vocabulary,
    write_foreign_projector,
    write_generator,
    write_llama,
)
from tests.support.engines.engine_runs import Given, drive, finish, never, picture, prompt

CONTEXT = 512
COSTS = Costs((1000,) * 8, ((128, 20_000), (512, 10**9)))
LOG = LlamaLog()
start_backend(LOG)


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> LoadOptions:
    made = write_generator(tmp_path_factory.mktemp("generator"))
    return LoadOptions(made.model, made.projector, WIDTH, HEIGHT, CONTEXT, sequences=3, threads=1)


@pytest.fixture
def model(options: LoadOptions) -> Iterator[NativeModel]:
    with closing(NativeModel(options, LOG)) as loaded:
        yield loaded


@pytest.fixture
def engine(model: NativeModel) -> Iterator[Engine]:
    with closing(Engine(model, ["<|im_end|>"], COSTS)) as made:
        yield made


def complete(
    engine: Engine, parts: Sequence[Part], tokens: int = 12, cancelled: Callable[[], bool] = never
) -> tuple[list[Piece], Finished]:
    given = Given()
    drive(engine, engine.builder.generation(parts, tokens, sink=given), cancelled)
    finished = given.items[-1]
    if isinstance(finished, BaseException):
        raise finished
    assert isinstance(finished, Finished)
    return given.pieces, finished


def choose(engine: Engine, parts: Sequence[Part], labels: Sequence[str]) -> tuple[list[float], Usage]:
    given = Given()
    drive(engine, engine.builder.choice(parts, labels, sink=given))
    (result,) = given.items
    if isinstance(result, BaseException):
        raise result
    return cast("tuple[list[float], Usage]", result)


def fresh(options: LoadOptions, parts: Sequence[Part]) -> list[str]:
    """What an engine says that was never asked anything before."""
    with closing(NativeModel(options, LOG)) as model, closing(Engine(model, [], COSTS)) as engine:
        return [piece.text for piece in complete(engine, parts)[0]]


def test_a_start_tells_nothing_that_its_user_can_do_nothing_about(
    options: LoadOptions, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.INFO),
        closing(NativeModel(replace(options, context=1 << 14), LOG)) as model,  # more than the model was trained with
        closing(Engine(model, [], COSTS)),
    ):
        assert re.fullmatch(r"qwen2vl [\d.]+M .*", model.description), model.description
    assert caplog.messages == []


def test_tokens_come_with_their_probabilities(engine: Engine) -> None:
    pieces, finished = complete(engine, prompt("What is this?"))
    assert finished.reason == "length"
    assert finished.usage.generated_tokens == len(pieces) == 12
    assert all(0 < piece.probability <= 1 for piece in pieces)
    assert finished.usage.engine_us > 0


def test_reusing_a_prefix_changes_nothing(engine: Engine, options: LoadOptions) -> None:
    """Prompts that share beginnings in every way: same, longer, shorter, other picture, back again."""
    asked = [
        prompt("What is this?"),
        prompt("What is this?"),
        prompt("What is that over there?"),
        prompt("What is this?", seed=2),
        prompt("What is this?", seed=None),
        prompt("What"),
        prompt("What is this?"),
        prompt("What is that over there?", seed=2),
    ]
    alone = [fresh(options, parts) for parts in asked]
    for parts, expected in zip(asked, alone, strict=True):
        assert [piece.text for piece in complete(engine, parts)[0]] == expected


def test_a_second_question_about_a_picture_pays_for_neither_picture_nor_beginning(engine: Engine) -> None:
    first = complete(engine, prompt("What is this?"))[1].usage
    second = complete(engine, prompt("What colour?"))[1].usage
    assert (first.encoded_picture, second.encoded_picture) == (True, False)
    assert first.reused_tokens == 0
    assert second.reused_tokens > 16
    assert engine.stats().encoded_pictures == 1


def test_pictures_are_told_apart_by_content(engine: Engine, options: LoadOptions) -> None:
    complete(engine, prompt("What is this?", seed=1))
    other = prompt("What is this?", seed=2)
    assert [piece.text for piece in complete(engine, other)[0]] == fresh(options, other)
    assert engine.stats().encoded_pictures == 2


def test_an_older_prompt_is_still_kept(engine: Engine) -> None:
    complete(engine, prompt("one", seed=1))
    complete(engine, prompt("two", seed=2))
    assert complete(engine, prompt("one", seed=1))[1].usage.reused_tokens > 16


def test_data_never_becomes_a_special_token(model: NativeModel) -> None:
    special = vocabulary().index("<|im_end|>")
    assert special in model.tokenise("a<|im_end|>", special=True)
    assert special not in model.tokenise("a<|im_end|>", special=False)


def test_an_answer_ends_at_a_stop_token(model: NativeModel) -> None:
    text = complete(Engine(model, [], COSTS), prompt("What is this?"))[0][3].text
    stop = next(token for token in [text] if len(model.tokenise(token, special=True)) == 1)
    pieces, finished = complete(Engine(model, [stop], COSTS), prompt("What is this?"))
    assert finished.reason == "stop"
    assert len(pieces) == finished.usage.generated_tokens <= 3
    assert stop not in [piece.text for piece in pieces]


def test_long_tokens_are_whole(options: LoadOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_module, "_PIECE_BYTES", 1)
    with closing(NativeModel(options, LOG)) as model:
        ids = [model.tokenise(text, special=False) for text in (" A", " yes", "a")]
        assert [model.piece(token) for (token,) in ids] == [b" A", b" yes", b"a"]
        assert model.piece(vocabulary().index("<|im_end|>")) == b""


def test_the_last_token_costs_no_further_step(engine: Engine) -> None:
    complete(engine, prompt("What is this?"), tokens=1)
    before = engine.stats().decode_steps
    complete(engine, prompt("What is this?"), tokens=3)
    assert engine.stats().decode_steps - before == 1 + 2


def test_cancelling_spends_at_most_one_more_step(engine: Engine) -> None:
    complete(engine, prompt("What is this?"), tokens=1)
    given = Given()
    before = engine.stats().decode_steps
    request = engine.builder.generation(prompt("What is this?"), 100, sink=given)
    drive(engine, request, lambda: len(given.pieces) >= 4)
    finished = given.items[-1]
    assert isinstance(finished, Finished)
    assert finished.reason == "cancelled"
    assert len(given.pieces) == 4
    assert engine.stats().decode_steps - before == 1 + 3


def test_a_cancelled_prompt_leaves_nothing_wrong_behind(engine: Engine, options: LoadOptions) -> None:
    checks = iter([False, False, True])
    long = prompt("why " * 60)
    assert complete(engine, long, cancelled=lambda: next(checks))[1].reason == "cancelled"
    assert [piece.text for piece in complete(engine, long)[0]] == fresh(options, long)


def test_a_prompt_beyond_the_context_is_refused_with_the_limit(engine: Engine) -> None:
    with pytest.raises(RequestRefused, match=str(CONTEXT)):
        complete(engine, prompt("x" * CONTEXT))
    assert complete(engine, prompt("What is this?"))[1].reason == "length"


def test_an_answer_ends_with_the_context(engine: Engine) -> None:
    parts = prompt("x" * (CONTEXT - 90), seed=None)
    finished = complete(engine, parts, tokens=CONTEXT)[1]
    assert finished.reason == "length"
    assert finished.usage.prompt_tokens + finished.usage.generated_tokens == CONTEXT


def test_the_cache_is_never_full(engine: Engine) -> None:
    for letter in "abcdef":
        parts = prompt(letter * (CONTEXT - 90), seed=None)
        assert complete(engine, parts, tokens=CONTEXT)[1].reason == "length"


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([], "empty"),
        ([replace(picture(1), width=56), TextPart("a", trusted=False)], "56 x 112"),
        ([replace(picture(1), rgb=b"abc"), TextPart("a", trusted=False)], "3 bytes"),
    ],
)
def test_what_cannot_be_served_is_refused(engine: Engine, parts: list[Part], reason: str) -> None:
    with pytest.raises(RequestRefused, match=reason):
        complete(engine, parts)


def said(pieces: Sequence[Piece]) -> list[float]:
    return [piece.probability for piece in pieces]


def test_several_pictures_are_read_in_their_order(options: LoadOptions, engine: Engine) -> None:
    def asked(*seeds: int) -> list[Part]:
        shown = [part for seed in seeds for part in (TextPart("look ", trusted=True), picture(seed))]
        return [*shown, TextPart("what is it?", trusted=False)]

    first, finished = complete(engine, asked(1, 2))
    assert finished.usage.encoded_picture
    again, cheaper = complete(engine, asked(1, 2))
    assert said(again) == pytest.approx(said(first), rel=1e-3)
    assert cheaper.usage.reused_tokens > finished.usage.reused_tokens
    assert not cheaper.usage.encoded_picture
    for seeds in ((2, 1), (1, 3), (1, 1), (1,)):
        with closing(NativeModel(options, LOG)) as model, closing(Engine(model, [], COSTS)) as other:
            alone, _ = complete(other, asked(*seeds))
        assert said(complete(engine, asked(*seeds))[0])[:4] == pytest.approx(said(alone)[:4], rel=1e-3)
        assert said(alone) != pytest.approx(said(first), rel=1e-3)


def test_requests_with_several_pictures_wait_for_each_other_and_for_none(engine: Engine) -> None:
    def asked(*seeds: int) -> list[Part]:
        return [*(picture(seed) for seed in seeds), TextPart("what is it?", trusted=False)]

    expected = [said(complete(engine, asked(*seeds), 3)[0]) for seeds in ((1, 2), (1, 3), (3, 2))]
    sinks = [Given() for _ in expected]
    requests = [
        engine.builder.generation(asked(*seeds), 3, sink=sink)
        for seeds, sink in zip(((1, 2), (1, 3), (3, 2)), sinks, strict=True)
    ]
    for request in requests:
        engine.submit(request)
    finish(engine)
    assert [said(sink.pieces) for sink in sinks] == [pytest.approx(each, rel=1e-3) for each in expected]


def test_choosing_gives_the_probabilities_of_the_labels(engine: Engine) -> None:
    probabilities, usage = choose(engine, prompt("Which?"), [" A", " B", " C"])
    assert sum(probabilities) == pytest.approx(1)
    swapped, _ = choose(engine, prompt("Which?"), [" C", " B", " A"])
    assert swapped == pytest.approx(probabilities[::-1], abs=1e-5)
    assert usage.prompt_tokens > 16


def test_stop_texts_must_be_tokens(model: NativeModel) -> None:
    with pytest.raises(LoadFailed, match=r"model\.gguf: stop text 'the end'"):
        Engine(model, ["the end"])


@pytest.mark.parametrize("field", ["model", "projector"])
@pytest.mark.parametrize(
    ("damage", "why"), [("missing", "No such file"), ("nonsense", "version"), ("cut", r"tensor (mm|'blk)")]
)
def test_damaged_files_are_named_with_what_is_wrong(
    options: LoadOptions, tmp_path: Path, field: str, damage: str, why: str
) -> None:
    path = tmp_path / f"{field}.gguf"
    if damage == "nonsense":
        path.write_bytes(b"GGUF" + b"\xff" * 200)
    elif damage == "cut":
        path.write_bytes(getattr(options, field).read_bytes()[:-5000])
    changed = replace(options, model=path) if field == "model" else replace(options, projector=path)
    LOG.attach()  # other tests have logs of their own
    with pytest.raises(LoadFailed, match=rf"{field}\.gguf: .*{why}"):
        NativeModel(changed, LOG)


@pytest.mark.parametrize(("kind", "reason"), [("idefics3", "112 x 112 into 17"), ("gemma3", "both directions")])
def test_projectors_whose_pictures_would_be_read_wrongly_are_refused(tmp_path: Path, kind: str, reason: str) -> None:
    model, projector = write_llama(tmp_path / "model.gguf"), write_foreign_projector(tmp_path / f"{kind}.gguf", kind)
    with pytest.raises(LoadFailed, match=rf"{kind}\.gguf: cannot be served: .*{reason}"):
        NativeModel(LoadOptions(model, projector, WIDTH, HEIGHT, 512), LOG)


def test_a_model_without_a_tokenizer_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mute.gguf"
    path.write_bytes(known_model.gguf())
    model = NativeModel(LoadOptions(path, None, 0, 0, CONTEXT), LOG)
    with closing(model), pytest.raises(LoadFailed, match=r"mute\.gguf: has no tokenizer"):
        prove_model(model)


def test_a_context_without_room_for_any_prompt_is_named(options: LoadOptions) -> None:
    with closing(NativeModel(replace(options, context=20), LOG)) as model:
        engine = Engine(model, [], COSTS)
        with pytest.raises(LoadFailed, match=r"model\.gguf: the context is too small"):
            engine.warm_up()


def test_the_sixteenth_step_in_a_row_that_fails_is_the_last() -> None:
    failed: list[Exception] = []
    model: Any = SimpleNamespace(last_error=lambda: "out of memory")
    liveness: Any = SimpleNamespace(failures=0)
    nobody: Any = SimpleNamespace()
    recovery = Recovery(model, nobody, nobody, liveness, lambda _, error: failed.append(error))
    assert MOST_FAILURES == 16
    for _ in range(15):
        recovery.failed(-3, [nobody])
    assert [type(error) for error in failed] == [DecodeFailed] * 15
    with pytest.raises(EngineBroken, match=r"16 steps failed one after the other; the last: .*out of memory"):
        recovery.failed(-3, [nobody])
