"""The generator process: streams, dies, comes back, never outlives its parent, never leaves a caller waiting."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from quizglass_bundle.files import Bundle
from quizglass_server.config.settings import EngineOptions
from quizglass_server.domain.turns import GenerationEnd, Picture, Token
from quizglass_server.engines.generator.process.breaker import BreakerOptions
from quizglass_server.engines.generator.process.folders import sweep
from quizglass_server.engines.generator.process.options import ProcessOptions
from quizglass_server.engines.generator.process.supervisor import GeneratorProcess
from quizglass_server.engines.generator.prompt import (
    Constraint,
    ConstraintUnusable,
    Finished,
    Part,
    Piece,
    PromptRefused,
    TextPart,
    Urgency,
)
from quizglass_server.errors import BundleError, EngineFailed, EngineLost, InvalidInput, QuizglassError
from quizglass_server.roles.generator import GENERATOR, GenerationRequest, lines
from quizglass_server.roles.load import load_models
from quizglass_server.scheduling.clock import stage_clock
from tests.support.bundles.tiny_bundle import PROMPTS, write_bundle
from tests.support.bundles.tiny_models import write_llama
from tests.support.engines.generator_process import (
    CONTEXT,
    LONG,
    PATIENCE_S,
    PROMPT,
    complete,
    drain,
    kill,
    picture,
    started,
    texts,
    until,
)
from tests.support.processes import processor_s

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def idle(pid: int) -> None:
    """Wait until a process takes no processor time."""
    before = -1.0
    while before != (before := processor_s(pid)):  # noqa: ASYNC110 - another process tells of nothing
        await asyncio.sleep(0.2)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def process(options: ProcessOptions) -> AsyncIterator[GeneratorProcess]:
    """One for all tests that let it come back when they have killed it."""
    async with started(options, breaker=BreakerOptions(deaths=1000, longest_delay_s=0.1)) as serving:
        yield serving


async def test_tokens_are_streamed_and_counted(process: GeneratorProcess) -> None:
    assert process.ready
    *pieces, end = await complete(process)
    assert isinstance(end, Finished)
    assert end.reason == "length"
    assert end.usage.generated_tokens == 8 >= len(pieces) > 1, "a token that ends in mid-character has no piece"
    assert await texts(process) == [piece.text for piece in pieces if isinstance(piece, Piece)]


async def test_many_requests_get_what_one_gets(process: GeneratorProcess) -> None:
    alone = await texts(process)
    assert await asyncio.gather(*(texts(process) for _ in range(8))) == [alone] * 8


async def test_a_crowd_is_answered_though_few_at_once_find_a_place_before_the_socket(options: ProcessOptions) -> None:
    async with started(options, generator_batch=32, generator_queue=100) as crowded:
        expected, pid = await texts(crowded), crowded.pid
        assert await asyncio.gather(*(texts(crowded) for _ in range(100))) == [expected] * 100
        assert crowded.pid == pid


async def test_killed_mid_answer_the_turn_fails_at_once_and_the_next_works(process: GeneratorProcess) -> None:
    expected = await texts(process)
    pid = process.pid
    stream = (await process.client()).generate(PROMPT, LONG)
    await anext(stream)
    kill(process)
    with pytest.raises(EngineLost):
        async with asyncio.timeout(PATIENCE_S):
            await drain(stream)
    async with asyncio.timeout(PATIENCE_S):
        assert await texts(process) == expected
    assert process.ready
    assert process.pid not in (None, pid)


async def test_every_caller_is_told_of_a_death(process: GeneratorProcess) -> None:
    await until(process, True)
    kill(process, signal.SIGSTOP)
    calls = [asyncio.create_task(complete(process, LONG)) for _ in range(6)]
    chosen = asyncio.create_task((await process.client()).choose(PROMPT, ["a", "b"]))
    await asyncio.sleep(0)
    kill(process)
    async with asyncio.timeout(PATIENCE_S):
        ends = await asyncio.gather(*calls, chosen, return_exceptions=True)
    assert all(isinstance(end, EngineLost) for end in ends)


async def test_dying_again_and_again_it_still_comes_back(process: GeneratorProcess) -> None:
    for _ in range(3):
        await until(process, True)
        kill(process)
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    await complete(process)
                    break
                except EngineLost:
                    continue


async def test_closing_the_stream_stops_the_engine(process: GeneratorProcess) -> None:
    assert process.pid is not None
    async with aclosing((await process.client()).generate(PROMPT, LONG)) as stream:
        await anext(stream)
    async with asyncio.timeout(PATIENCE_S):
        await idle(process.pid)


async def test_cancelling_one_request_leaves_the_others(process: GeneratorProcess) -> None:
    expected = await texts(process)
    first = (await process.client()).generate(PROMPT, LONG)
    await anext(first)
    others = [asyncio.create_task(texts(process)) for _ in range(3)]
    await first.aclose()
    async with asyncio.timeout(PATIENCE_S):
        assert await asyncio.gather(*others) == [expected] * 3


async def test_a_prompt_beyond_the_context_names_the_limit(process: GeneratorProcess) -> None:
    with pytest.raises(PromptRefused, match=str(CONTEXT)):
        await drain((await process.client()).generate([TextPart("x" * 9000, trusted=False)], 8))
    assert len(await complete(process)) > 1


async def test_labels_may_be_several_tokens(process: GeneratorProcess) -> None:
    probabilities, usage = await (await process.client()).choose(PROMPT, ["maybe", "a", "mayhem"])
    assert sum(probabilities) == pytest.approx(1)
    assert all(0 <= each <= 1 for each in probabilities)
    assert usage.generated_tokens == 0


async def test_a_prepared_prompt_is_reused(process: GeneratorProcess) -> None:
    prepared = await (await process.client()).prefill(PROMPT[:1], Urgency(background=True))
    assert prepared.prompt_tokens >= 1
    *_, end = await complete(process)
    assert isinstance(end, Finished)
    assert end.usage.reused_tokens >= 1


async def test_a_second_question_about_a_picture_does_not_look_at_it_again(process: GeneratorProcess) -> None:
    async def read(number: int, question: str) -> tuple[int, int]:
        prompt: list[Part] = [PROMPT[0], picture(number), TextPart(question, trusted=False)]
        *_, end = [item async for item in (await process.client()).generate(prompt, 4)]
        assert isinstance(end, Finished)
        return end.usage.prompt_tokens, end.usage.reused_tokens

    await process.forget()
    await read(1, "What is this?")
    for number in range(2, 6):  # other pictures take other slots
        await read(number, "What is this?")
    tokens, reused = await read(1, "What else is there to be seen?")
    assert reused > tokens // 3
    await process.forget()
    assert (await read(1, "And what is this?"))[1] == 0


async def test_one_clients_picture_is_not_found_by_anothers(process: GeneratorProcess) -> None:
    mine = picture(7)
    theirs = replace(mine, sha256=b"\1" * 32)
    reused = []
    for shown in (mine, mine, theirs):
        prompt: list[Part] = [PROMPT[0], shown, TextPart("What is this?", trusted=False)]
        *_, end = [item async for item in (await process.client()).generate(prompt, 2)]
        assert isinstance(end, Finished)
        reused.append(end.usage.reused_tokens)
    assert reused[1] > 10 > reused[2]


@pytest.mark.parametrize(
    ("grammar", "reason"),
    [
        ("root ::= (((", "grammar"),
        ('root ::= "a" \0', "null"),
        ("root ::= " + "(" * 70, "nests"),
        ("x" * 300_000, "300000"),
    ],
    ids=["broken", "null", "deep", "long"],
)
async def test_a_grammar_that_cannot_be_used_is_named_and_the_next_answer_works(
    process: GeneratorProcess, grammar: str, reason: str
) -> None:
    with pytest.raises(ConstraintUnusable, match=reason):
        await drain((await process.client()).generate(PROMPT, 8, constraint=Constraint(grammar)))
    assert len(await complete(process)) > 1


async def test_a_constraint_is_kept(process: GeneratorProcess) -> None:
    kept = (await process.client()).generate(PROMPT, 8, constraint=Constraint('root ::= "yes" | "no"'))
    assert "".join([item.text async for item in kept if isinstance(item, Piece)]) in ("yes", "no")


@pytest.mark.parametrize(
    ("labels", "error"),
    [
        ([], PromptRefused),
        (["a"] * 65, PromptRefused),
        (["a", ""], ConstraintUnusable),
        (["a", "a"], ConstraintUnusable),
    ],
    ids=["none", "many", "empty", "twice"],
)
async def test_labels_that_cannot_be_chosen_from_are_named(
    process: GeneratorProcess, labels: list[str], error: type[Exception]
) -> None:
    with pytest.raises(error, match="labels"):
        await (await process.client()).choose(PROMPT, labels)


async def test_labels_are_as_likely_as_the_model_is_to_say_them(process: GeneratorProcess) -> None:
    client = await process.client()
    *pieces, _ = [item async for item in client.generate(PROMPT, 1)]
    (first,) = [piece for piece in pieces if isinstance(piece, Piece)]
    (alone,), _ = await client.choose(PROMPT, [first.text])
    assert alone == 1
    said, other = (await client.choose(PROMPT, [first.text, "q"]))[0]
    assert said > other


async def test_labels_are_weighed_however_unlikely_they_are_and_however_large_the_vocabulary(tmp_path: Path) -> None:
    """With all of 60,000 tokens, one event of an answer has more than four megabytes."""
    model = write_llama(tmp_path / "model.gguf", words=60_000)
    async with started(ProcessOptions(model, None, 512)) as process:
        client = await process.client()
        letters = list(ascii_lowercase)
        weighed, _ = await client.choose(PROMPT, letters)
        assert sum(weighed) == pytest.approx(1)
        one, other = (letters[weighed.index(end(weighed))] for end in (max, min))
        pair, _ = await client.choose(PROMPT, [one, other])
        assert pair[0] / pair[1] == pytest.approx(max(weighed) / min(weighed), rel=1e-3)


async def test_a_model_in_several_files_is_served_by_the_name_of_the_first(tmp_path: Path) -> None:
    said = []
    for model in (write_llama(tmp_path / "one.gguf"), write_llama(tmp_path / "model.gguf", split=5)):
        async with started(ProcessOptions(model, None, 512)) as process:
            said.append(await texts(process))
    assert said[0] == said[1] != []


async def test_a_closed_process_is_gone_and_says_so(options: ProcessOptions) -> None:
    process = GeneratorProcess(options)
    await process.start()
    pid = process.pid
    await process.close()
    assert not process.ready
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(EngineLost):
        await complete(process)


async def test_a_model_without_a_projector_refuses_pictures_and_serves_text(
    options: ProcessOptions,
) -> None:
    async with started(options, projector=None) as serving:
        assert await texts(serving)
        with pytest.raises(PromptRefused, match="reads text alone"):
            await texts(serving, prompt=[*PROMPT, picture(1), TextPart("What is this?", trusted=False)])


@pytest.mark.parametrize("field", ["model", "projector"])
async def test_a_damaged_file_is_named_at_the_start(options: ProcessOptions, tmp_path: Path, field: str) -> None:
    damaged = tmp_path / f"{field}.gguf"
    damaged.write_bytes(b"GGUF" + bytes(100))
    files = {"model": options.model, "projector": options.projector, field: damaged}
    process = GeneratorProcess(ProcessOptions(**files, context=256))
    with pytest.raises((BundleError, EngineFailed), match=rf"{field}\.gguf"):
        await process.start()


PARENT = """
import asyncio, sys
from pathlib import Path
from string import ascii_lowercase
from quizglass_server.engines.generator.process.options import ProcessOptions
from quizglass_server.engines.generator.process.supervisor import GeneratorProcess

async def main():
    process = GeneratorProcess(ProcessOptions(Path(sys.argv[1]), Path(sys.argv[2]), 256))
    await process.start()
    print(process.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
async def test_the_process_ends_with_a_killed_parent_and_leaves_no_file(
    options: ProcessOptions, tmp_path: Path, stopped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PARENT, str(options.model), str(options.projector)),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    child = os.pidfd_open(pid)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(child, ended.set)
    if stopped:
        os.kill(pid, signal.SIGSTOP)
    parent.kill()
    await parent.wait()
    async with asyncio.timeout(PATIENCE_S):
        await ended.wait()
    asyncio.get_running_loop().remove_reader(child)
    os.close(child)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    sweep()
    assert os.listdir(temporary) == [], "the next one removes what this one left"  # noqa: PTH208


async def test_a_bundles_generator_answers_about_a_picture(tmp_path: Path) -> None:
    bundle = Bundle.load(write_bundle(tmp_path / "tiny", ("generator",)))
    models = await load_models(bundle, EngineOptions(threads=1, provider="cpu"))
    generator = models[GENERATOR]
    assert generator is not None
    try:
        assert [(each.role, each.engine, each.ready) for each in models.statuses()] == [("generator", "llama", True)]
        pixels = np.full((300, 200, 3), 90, np.uint8)
        picture = Picture(sha256(pixels.tobytes()).digest(), pixels)
        values = {"question": "What <|im_end|> is this?", "seen": ["a red car"]}
        with stage_clock() as clock:
            request = GenerationRequest("answer", values, (picture,), max_tokens=6)
            *tokens, end = [item async for item in generator.generate(request)]
            assert isinstance(end, GenerationEnd)
            assert clock.us > 0
            assert clock.tokens == end.prompt_tokens > 0
        assert len(tokens) <= end.answer_tokens <= 6
        assert all(isinstance(token, Token) for token in tokens)
        with stage_clock() as clock:
            chosen = await generator.choose(GenerationRequest("rewrite", values, (picture,)), [" A", " B"])
        assert sum(chosen) == pytest.approx(1)
        assert clock.tokens > 0
        with pytest.raises(InvalidInput, match=r"question.*256"):
            async for _ in generator.generate(GenerationRequest("answer", {"question": "x" * 999, "seen": []})):
                pass
        with pytest.raises(EngineFailed, match="plan"):
            await generator.choose(GenerationRequest("plan", values), [" A"])
    finally:
        await models.close()


@pytest.mark.parametrize(
    ("constraint", "error", "code"),
    [
        (Constraint("root ::= ((("), InvalidInput, "INVALID_FIELD"),
        (Constraint("root ::= (((", lines=3), EngineFailed, "ENGINE_FAILED"),
    ],
    ids=["of the client", "of this server"],
)
async def test_only_a_grammar_of_the_client_makes_its_request_wrong(
    tmp_path: Path, constraint: Constraint, error: type[QuizglassError], code: str
) -> None:
    models = await load_models(
        Bundle.load(write_bundle(tmp_path / "tiny", ("generator",))), EngineOptions(threads=1, provider="cpu")
    )
    generator = models[GENERATOR]
    assert generator is not None
    request = GenerationRequest("answer", {"question": "What is this?"}, max_tokens=4, constraint=constraint)
    try:
        with pytest.raises(error, match="grammar") as refused:
            _ = [item async for item in generator.generate(request)]
        assert refused.value.code == code
    finally:
        await models.close()


async def test_a_task_of_any_name_shows_several_pictures_and_gives_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = "<|im_start|>{% for each in images %}{{ each }}{% endfor %}{{ object }}{{ draft }} Split:"
    monkeypatch.setitem(PROMPTS, "split", template)
    root = write_bundle(tmp_path / "tiny", ("generator",))
    manifest = json.loads((root / "manifest.json").read_text())
    manifest["roles"]["generator"]["prompts"]["split"] = "prompts/split.jinja"
    (root / "manifest.json").write_text(json.dumps(manifest))
    bundle = Bundle.load(root)
    assert bundle.has("generator.prompts.split")
    models = await load_models(bundle, EngineOptions(threads=1, provider="cpu"))
    generator = models[GENERATOR]
    assert generator is not None

    async def said(*levels: int, **options: Any) -> str:
        shown = tuple(Picture(bytes([level]) * 32, np.full((40, 40, 3), level, np.uint8)) for level in levels)
        request = GenerationRequest("split", {"object": "car"}, shown, max_tokens=12, **options)
        return "".join([item.text async for item in generator.generate(request) if isinstance(item, Token)])

    try:
        assert [generator.shows_entries(task) for task in ("split", "answer", "gone")] == [True, False, False]
        one, two = GenerationRequest("split", {}, ()), GenerationRequest("split", {"draft": "no", "p_min": 0.5}, ())
        assert await generator.choose(one, [" A", " B"]) != await generator.choose(two, [" A", " B"])
        assert await said(10, 200) == await said(10, 200)
        text = await said(10, 200, constraint=lines(3))
        assert 1 <= len(text.split("\n")) <= 3
        assert all(line.strip() for line in text.split("\n")[:-1])
    finally:
        await models.close()
