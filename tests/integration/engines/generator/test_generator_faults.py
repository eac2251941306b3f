"""The generator process under faults: hangs, crash loops, deadlines, storms of cancelled calls, false servers."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from quizglass_server.engines.generator.connection import HttpConnections
from quizglass_server.engines.generator.process.breaker import BreakerOptions, BreakerState
from quizglass_server.engines.generator.process.card import CardRoom, Device
from quizglass_server.engines.generator.process.options import ProcessOptions
from quizglass_server.engines.generator.process.programs import Origin, Program, find_program
from quizglass_server.engines.generator.process.supervisor import GeneratorProcess
from quizglass_server.engines.generator.process.watch import WatchOptions
from quizglass_server.engines.generator.prompt import Finished, Part, Piece, PromptRefused, TextPart, Urgency
from quizglass_server.errors import BudgetExceeded, BundleError, EngineFailed, EngineLost, Overloaded
from tests.support.bundles.tiny_models import write_generator
from tests.support.engines.generator_process import (
    CONTEXT,
    LONG,
    PATIENCE_S,
    PROMPT,
    complete,
    drain,
    fake_program,
    kill,
    started,
    texts,
    until,
)


async def opened(process: GeneratorProcess) -> None:
    """Wait until the breaker is open; the supervisor counts a death a moment after the callers get their errors."""
    changed = asyncio.Event()
    process.on_change = changed.set
    while process.breaker is not BreakerState.OPEN:
        await changed.wait()
        changed.clear()


async def test_a_stopped_process_is_replaced_and_its_callers_are_told(
    options: ProcessOptions, caplog: pytest.LogCaptureFixture
) -> None:
    quick = WatchOptions(interval_s=0.05, silent_s=5.0)
    async with started(options, watch=quick) as process, asyncio.timeout(PATIENCE_S):
        expected, pid = await texts(process), process.pid
        streams = [(await process.client()).generate(PROMPT, LONG) for _ in range(3)]
        for stream in streams:
            await anext(stream)
        kill(process, signal.SIGSTOP)
        ends = await asyncio.gather(*(drain(stream) for stream in streams), return_exceptions=True)
        assert all(isinstance(end, EngineLost) for end in ends)
        await until(process, True)
        assert process.pid != pid
        assert await texts(process) == expected
    assert "hang: no answer" in caplog.text


async def test_a_crash_loop_opens_the_breaker_which_closes_when_a_probe_lives(
    options: ProcessOptions, caplog: pytest.LogCaptureFixture
) -> None:
    patient = BreakerOptions(deaths=2, pause_s=1.0, window_s=3600, first_delay_s=0.0, steady_s=3600)
    async with started(options, breaker=patient) as process, asyncio.timeout(PATIENCE_S * 2):
        for _ in range(2):
            await until(process, True)
            kill(process)
            await until(process, False)
        await opened(process)
        with pytest.raises(EngineLost, match=r"died 2 times.*next attempt in") as refused:
            await complete(process)
        assert refused.value.retry_after_s is not None
        assert 0 < refused.value.retry_after_s <= 1
        await until(process, True)
        assert process.breaker is BreakerState.HALF_OPEN
        assert len(await complete(process)) > 1
        kill(process)
        await opened(process)
        with pytest.raises(EngineLost) as refused:
            await complete(process)
        assert refused.value.retry_after_s is not None
        assert 0 < refused.value.retry_after_s <= 2
    pauses = [record.args[-1] for record in caplog.records if "requests are refused" in record.msg]
    assert pauses == [1.0, 2.0], "the pause has doubled"


async def test_whoever_is_refused_is_never_told_to_come_back_at_once(
    options: ProcessOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    soon = BreakerOptions(deaths=1, pause_s=0.001, steady_s=3600)
    async with started(options, breaker=soon) as process, asyncio.timeout(PATIENCE_S * 3):
        launch, probing, allowed = process._launcher.launch, asyncio.Event(), asyncio.Event()

        async def late(*given: Any) -> Any:
            probing.set()
            await allowed.wait()
            return await launch(*given)

        monkeypatch.setattr(process._launcher, "launch", late)
        kill(process)
        await probing.wait()
        assert process.breaker is BreakerState.HALF_OPEN
        with pytest.raises(EngineLost, match="is being tried again") as refused:
            await complete(process)
        assert refused.value.retry_after_s is not None
        assert refused.value.retry_after_s >= 0.5
        assert " 0 s" not in refused.value.message
        allowed.set()
        await until(process, True)


async def test_whoever_waits_for_the_next_process_is_told_when_there_will_be_none(options: ProcessOptions) -> None:
    never = BreakerOptions(first_delay_s=3600)
    async with started(options, breaker=never, restart_wait_s=3600) as process, asyncio.timeout(PATIENCE_S):
        kill(process)
        await until(process, False)
        waiting = asyncio.create_task(process.client())
        await asyncio.sleep(0)
        await process.close()
        with pytest.raises(EngineLost, match="is not running"):
            await waiting


async def test_a_probe_that_stays_alive_closes_the_breaker(options: ProcessOptions) -> None:
    patient = BreakerOptions(deaths=1, pause_s=0.1, steady_s=0.1)
    async with started(options, breaker=patient) as process, asyncio.timeout(PATIENCE_S):
        kill(process)
        await until(process, False)
        await until(process, True)
        while process.breaker is not BreakerState.CLOSED:
            await complete(process)


async def test_a_storm_of_cancelled_calls_leaves_the_engine_whole(options: ProcessOptions) -> None:
    async def leave(after: int) -> None:
        async with aclosing((await process.client()).generate(PROMPT, LONG)) as stream:
            for _ in range(after):
                await anext(stream)

    async with started(options) as process, asyncio.timeout(PATIENCE_S * 2):
        expected, pid = await texts(process), process.pid
        for _ in range(10):
            leaving = [asyncio.create_task(leave(number % 3)) for number in range(20)]
            unread = [asyncio.create_task(drain((await process.client()).generate(PROMPT, LONG))) for _ in range(10)]
            await asyncio.gather(*leaving)
            for task in unread:
                task.cancel()
            ends = await asyncio.gather(*unread, return_exceptions=True)
            assert all(isinstance(end, asyncio.CancelledError) for end in ends)
        assert await texts(process) == expected
        assert process.pid == pid


async def test_a_deadline_in_the_middle_of_an_answer_ends_it_with_what_was_written(options: ProcessOptions) -> None:
    async with started(options) as process, asyncio.timeout(PATIENCE_S):
        until_s = monotonic() + 5
        answer = (await process.client()).generate(PROMPT, LONG, Urgency(deadline=until_s))
        pieces: list[Piece | Finished] = [await anext(answer)]
        kill(process, signal.SIGSTOP)  # or it might be done before
        await asyncio.sleep(until_s - monotonic())
        kill(process, signal.SIGCONT)
        *others, end = [item async for item in answer]
        pieces += others
        assert isinstance(end, Finished)
        assert end.reason == "deadline"
        assert 0 < len(pieces) <= end.usage.generated_tokens < LONG
        assert len(await complete(process)) > 1


async def test_a_deadline_before_its_turn_comes_spends_nothing(options: ProcessOptions) -> None:
    async with started(options, generator_batch=1) as process, asyncio.timeout(PATIENCE_S):
        first = (await process.client()).generate(PROMPT, LONG)
        await anext(first)
        late = Urgency(deadline=monotonic() + 0.1)
        items: list[Piece | Finished] = []
        with suppress(Overloaded, BudgetExceeded):
            items = [item async for item in (await process.client()).generate(PROMPT, LONG, late)]
        assert [item.reason for item in items if isinstance(item, Finished)] in (["deadline"], [])
        assert not any(isinstance(item, Piece) for item in items)
        with pytest.raises(BudgetExceeded):
            await (await process.client()).choose(PROMPT, ["a", "b"], Urgency(deadline=monotonic()))
        assert isinstance(await anext(first), Piece)
        await first.aclose()
        assert len(await complete(process)) > 1


async def test_more_requests_than_may_wait_are_refused_and_the_others_answered(options: ProcessOptions) -> None:
    async with started(options, generator_batch=1, generator_queue=2) as process, asyncio.timeout(PATIENCE_S):
        expected = await texts(process)
        first = (await process.client()).generate(PROMPT, LONG)
        await anext(first)
        waiting = [asyncio.create_task(texts(process)) for _ in range(12)]
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert all(isinstance(task.exception(), Overloaded) for task in done)
        await first.aclose()
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(end, Overloaded) or end == expected for end in ends)
        assert sum(end == expected for end in ends) >= 2


async def tokens(process: GeneratorProcess, most: int, prompt: Sequence[Part]) -> int:
    """How many tokens an answer has."""
    *_, end = [item async for item in (await process.client()).generate(prompt, most)]
    assert isinstance(end, Finished)
    return end.usage.generated_tokens


async def test_requests_that_need_more_memory_together_than_there_is_are_all_answered(options: ProcessOptions) -> None:
    prompts = [[PROMPT[0], TextPart(f"{number} " + "and more " * 40, trusted=False)] for number in range(8)]
    async with started(replace(options, context=512, generator_cells=512)) as process:
        for _ in range(3):
            assert await asyncio.gather(*(tokens(process, 1, prompt) for prompt in prompts)) == [1] * 8


async def test_an_answer_that_is_ended_for_want_of_memory_says_that_it_may_be_asked_again(
    options: ProcessOptions, caplog: pytest.LogCaptureFixture
) -> None:
    small = replace(options, generator_cells=CONTEXT)
    async with started(small) as process:
        first = (await process.client()).generate(PROMPT, LONG)
        for _ in range(200):
            await anext(first)
        other = [PROMPT[0], TextPart("and more " * (LONG // 9), trusted=False)]
        second = asyncio.create_task(tokens(process, 60, other))
        with pytest.raises(Overloaded, match="ask again") as ended:
            await drain(first)
        assert ended.value.retry_after_s is not None
        assert await second == 60
        assert await asyncio.gather(*(tokens(process, 60, other) for _ in range(3))) == [60] * 3
    assert "fewer of them run together" in caplog.text


def fake(options: ProcessOptions, mode: str, folder: Path, **changed: Any) -> ProcessOptions:
    """Options of a llama-server that misbehaves."""
    return replace(options, program=fake_program(mode, folder), **changed)


@pytest.mark.parametrize(
    ("mode", "error", "says"),
    [
        ("500", EngineFailed, "it went wrong"),
        ("garbage", EngineFailed, "no answer"),
        ("numbers", EngineFailed, "no answer"),
        ("half", EngineFailed, "ended in the middle"),
        ("leaves", EngineLost, "ask again"),
    ],
)
async def test_what_is_no_answer_has_a_name_and_the_process_serves_on(
    options: ProcessOptions, tmp_path: Path, mode: str, error: type[Exception], says: str
) -> None:
    often = BreakerOptions(deaths=1000, longest_delay_s=0.1)
    async with started(fake(options, mode, tmp_path, breaker=often)) as process, asyncio.timeout(PATIENCE_S):
        for _ in range(2):
            with pytest.raises(error, match=says):
                await drain((await process.client()).generate(PROMPT, 8))
            await until(process, True)


@pytest.mark.parametrize(
    ("mode", "error", "says"),
    [
        ("always 1", BundleError, "no such architecture"),
        ("old", EngineFailed, "does not know --kv-unified-per-slot"),
        ("silent", EngineFailed, "not loaded after 1 s"),
    ],
)
async def test_a_server_that_does_not_start_says_why(
    options: ProcessOptions, tmp_path: Path, mode: str, error: type[Exception], says: str
) -> None:
    patience_s = 1.0 if mode == "silent" else PATIENCE_S
    process = GeneratorProcess(fake(options, mode, tmp_path, load_timeout_s=patience_s))
    with pytest.raises(error, match=says):
        await process.start()
    assert not process.ready


async def test_a_program_that_cannot_be_executed_is_named(options: ProcessOptions, tmp_path: Path) -> None:
    file = tmp_path / "llama-server"
    file.write_text("not a program")
    file.chmod(0o755)
    with pytest.raises(EngineFailed, match="llama-server"):
        await GeneratorProcess(replace(options, program=Program(Origin.NAMED, (str(file),)))).start()


async def test_a_projector_of_another_model_is_named(
    options: ProcessOptions, tmp_path: Path, starter_bundle: Path
) -> None:
    other = write_generator(tmp_path, seed=1)
    with pytest.raises(BundleError, match=r"model\.gguf: is no projector"):
        await GeneratorProcess(replace(options, projector=other.model)).start()
    wide = starter_bundle / "generator" / "mmproj-f16.gguf"
    with pytest.raises(BundleError, match=r"mmproj-f16\.gguf: llama\.cpp cannot load this model: .*mismatch"):
        await GeneratorProcess(replace(options, projector=wide)).start()


async def test_a_model_that_llama_cpp_refuses_is_refused_in_its_words(options: ProcessOptions, tmp_path: Path) -> None:
    content = options.model.read_bytes()
    for made, says in (
        (content.replace(b"qwen2vl", b"newarch"), "unknown model architecture: 'newarch'"),
        (content[:-1000], "not within the file bounds"),
    ):
        (tmp_path / "odd.gguf").write_bytes(made)
        with pytest.raises(BundleError, match=rf"odd\.gguf: llama\.cpp cannot load this model: .*{says}"):
            await GeneratorProcess(replace(options, model=tmp_path / "odd.gguf", projector=None)).start()


async def test_over_loopback_others_are_refused_and_everything_else_is_the_same(options: ProcessOptions) -> None:
    port = replace(options, program=replace(find_program(), sockets=False))
    async with started(options) as one, started(port) as other:
        assert await texts(other) == await texts(one)
        address = (await other.client()).address
        assert (address.socket, address.host) == (None, "127.0.0.1")
        uninvited = HttpConnections(replace(address, headers={}))
        async with uninvited.request("POST", "/completion", b'{"prompt": "a"}') as response:
            assert response.status == 401


async def test_a_model_that_needs_more_memory_than_there_is_is_refused_with_the_number(options: ProcessOptions) -> None:
    with pytest.raises(BundleError, match=r"needs about \d+\.\d GiB .* this machine has \d+\.\d"):
        await GeneratorProcess(replace(options, generator_cells=1 << 40)).start()


async def test_what_a_card_holds_needs_no_memory_of_the_machine(options: ProcessOptions, tmp_path: Path) -> None:
    there = CardRoom((Device("CUDA0", 1 << 62, 1 << 62),), 1.0, 0)
    large = replace(fake(options, "sound", tmp_path), generator_cells=1 << 40, room=there)
    async with started(large) as process:
        assert process.on_card.startswith("3 of 3 layers on the card")
    with pytest.raises(BundleError, match="needs about"):
        await GeneratorProcess(replace(large, gpu_layers=1)).start()


async def test_what_no_engine_can_do_is_refused(options: ProcessOptions, tmp_path: Path) -> None:
    async with started(fake(options, "sound", tmp_path)) as process:
        client = await process.client()
        with pytest.raises(PromptRefused, match="max_tokens"):
            await drain(client.generate(PROMPT, 0))
        with pytest.raises(PromptRefused, match="0 labels"):
            await client.choose(PROMPT, [])
        with pytest.raises(PromptRefused, match="empty"):
            await drain(client.generate([], 8))
        assert [item.text async for item in client.generate(PROMPT, 8) if isinstance(item, Piece)] == ["a", "b"]
