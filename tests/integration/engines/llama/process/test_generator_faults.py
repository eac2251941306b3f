"""The generator process under faults: hangs, crash loops, deadlines, storms of cancelled calls, damaged state."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import replace
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest

from quizglass_server.engines.llama.child.service import GeneratorService
from quizglass_server.engines.llama.link.prompt import (
    Busy,
    EngineStats,
    Finished,
    PicturePart,
    Piece,
    TooLate,
    Urgency,
    Usage,
)
from quizglass_server.engines.llama.process.breaker import BreakerOptions, BreakerState
from quizglass_server.engines.llama.process.client import GeneratorClient, PromptRefused
from quizglass_server.engines.llama.process.heartbeat import HeartbeatOptions, hang
from quizglass_server.engines.llama.process.launcher import ProcessOptions
from quizglass_server.engines.llama.process.supervisor import GeneratorProcess
from quizglass_server.errors import BudgetExceeded, EngineLost, Overloaded
from tests.support.bundles.tiny_models import HEIGHT, WIDTH
from tests.support.engines.generator_process import (
    LONG,
    PATIENCE_S,
    PROMPT,
    complete,
    drain,
    kill,
    started,
    texts,
    until,
)


async def opened(process: GeneratorProcess) -> None:
    """Wait until the breaker is open; the supervisor counts a death a moment after the callers are told."""
    changed = asyncio.Event()
    process.on_change = changed.set
    while process.breaker is not BreakerState.OPEN:
        await changed.wait()
        changed.clear()


async def test_a_stopped_process_is_replaced_and_its_callers_are_told(
    options: ProcessOptions, caplog: pytest.LogCaptureFixture
) -> None:
    quick = HeartbeatOptions(interval_s=0.05, silent_s=5.0)
    async with started(options, heartbeat=quick) as process, asyncio.timeout(PATIENCE_S):
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
    assert "hang: no heartbeat" in caplog.text


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
        assert len(await complete(process)) == 9
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
        while (await (await process.client()).stats()).pending:
            pass
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
        assert 0 < len(pieces) == end.usage.generated_tokens < LONG
        assert len(await complete(process)) == 9


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
        assert len(await complete(process)) == 9


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


async def test_pixels_that_the_process_lost_are_sent_again(options: ProcessOptions) -> None:

    picture = PicturePart(b"p" * 32, WIDTH, HEIGHT, bytes(WIDTH * HEIGHT * 3))
    seen = [*PROMPT[:1], picture, *PROMPT[1:]]
    async with started(options) as process:
        expected = await texts(process, prompt=seen)
        client = await process.client()
        client._sent.without_known([replace(picture, sha256=b"q" * 32)])
        assert await texts(process, prompt=[*PROMPT[:1], replace(picture, sha256=b"q" * 32), *PROMPT[1:]]) == expected
        first = await client.choose(seen, ["a", "b"])
        client._sent.without_known([replace(picture, sha256=b"r" * 32)])
        again = await client.choose([*PROMPT[:1], replace(picture, sha256=b"r" * 32), *PROMPT[1:]], ["a", "b"])
        assert again[0] == pytest.approx(first[0], rel=1e-3)


class Worker:
    """An engine worker that does what the test says, behind the real servicer."""

    def __init__(self) -> None:
        self.said = EngineStats()
        self.failure: Exception | None = None
        self.urgency: list[Urgency] = []
        self.prefilling, self.dropped = asyncio.Event(), asyncio.Event()
        self.engine = self

    def stats(self) -> EngineStats:
        return self.said

    async def generate(self, prompt: Any, tokens: int, urgency: Urgency, constraint: Any) -> AsyncIterator[list[Any]]:
        self.urgency.append(urgency)
        if self.failure is not None:
            raise self.failure
        yield [Piece("a", 0.5)]
        yield [Piece("b", 0.25), Finished("deadline", Usage(2))]

    async def prefill(self, prompt: Any, urgency: Urgency) -> Usage:
        self.prefilling.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.dropped.set()
        return Usage(1)


@pytest.fixture
async def scripted() -> AsyncIterator[SimpleNamespace]:
    worker, lost = Worker(), asyncio.Event()
    service = GeneratorService(worker)  # type: ignore[arg-type]
    ours, theirs = socket.socketpair()
    await asyncio.get_running_loop().create_unix_connection(service.connection, sock=theirs)
    client = GeneratorClient(lost.set)
    await client.connect(ours)
    yield SimpleNamespace(worker=worker, client=client, lost=lost)
    client.lose()


async def test_an_engine_stuck_in_one_call_is_seen_though_its_process_sends_heartbeats(scripted) -> None:
    scripted.worker.said = EngineStats(beat=monotonic() - 60, busy=True)
    async with aclosing(scripted.client.watch(0.01)) as heartbeats:
        assert "one call" in await hang(heartbeats, HeartbeatOptions(interval_s=0.01, silent_s=0.1))


async def test_a_picture_stuck_in_the_encoder_is_seen_though_the_engine_goes_on(scripted) -> None:
    scripted.worker.said = EngineStats(beat=monotonic(), encoding_us=50_000_000, encode_us=10_000)
    async with aclosing(scripted.client.watch(0.01)) as heartbeats:
        assert "encoded for 0.2 s, more than 0.2 s" in await hang(heartbeats, HeartbeatOptions(0.01, silent_s=0.1))


async def test_a_refusal_for_lack_of_room_brings_its_delay(scripted) -> None:
    scripted.worker.failure = Busy("8 requests wait", 0.25)
    with pytest.raises(Overloaded, match="8 requests wait") as refused:
        await drain(scripted.client.generate(PROMPT, 8))
    assert refused.value.retry_after_s == 0.25
    assert not scripted.lost.is_set()


async def test_a_refusal_for_lack_of_time_is_no_lack_of_room(scripted) -> None:
    scripted.worker.failure = TooLate("the answer would take 9 s and 1 s are left")
    with pytest.raises(BudgetExceeded, match="9 s and 1 s"):
        await drain(scripted.client.generate(PROMPT, 8))


async def test_a_deadline_reaches_the_engine_and_its_end_the_caller(scripted) -> None:
    until_s = monotonic() + 30
    items = [item async for item in scripted.client.generate(PROMPT, 8, Urgency(background=True, deadline=until_s))]
    assert items == [Piece("a", 0.5), Piece("b", 0.25), Finished("deadline", Usage(2))]
    (urgency,) = scripted.worker.urgency
    assert urgency.background
    assert urgency.deadline == pytest.approx(until_s, abs=1)


async def test_cancelling_a_prefill_drops_it(scripted) -> None:
    preparing = asyncio.create_task(scripted.client.prefill(PROMPT, Urgency(background=True)))
    async with asyncio.timeout(PATIENCE_S):
        await scripted.worker.prefilling.wait()
        preparing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await preparing
        await scripted.worker.dropped.wait()


async def test_what_no_engine_can_do_is_refused(scripted) -> None:
    with pytest.raises(PromptRefused, match="max_tokens"):
        await drain(scripted.client.generate(PROMPT, 0))
    with pytest.raises(PromptRefused, match="0 labels"):
        await scripted.client.choose(PROMPT, [])


async def test_a_bug_in_the_process_is_logged_there_and_not_told(scripted, caplog: pytest.LogCaptureFixture) -> None:
    scripted.worker.failure = ValueError("a secret")
    with caplog.at_level(logging.ERROR), pytest.raises(Exception, match="see the server's log") as failed:
        await drain(scripted.client.generate(PROMPT, 8))
    assert "secret" not in str(failed.value)
    assert "a secret" in caplog.text
