"""Starting and stopping: the whole server over a real socket, on dummy models."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import openai
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from quizglass.v1 import assistant_pb2, assistant_pb2_grpc
from quizglass_bundle.tuning import EvidenceLimits, Thresholds
from quizglass_server import app, stores
from quizglass_server.config.load import Settings
from quizglass_server.errors import EngineFailed, KnowledgeFailed, KnowledgeLocked, SettingsError
from quizglass_server.knowledge.database.lock import lock_directory
from quizglass_server.knowledge.database.schema import FILE
from quizglass_server.web.http.server import WebServer
from tests.support.gate import Gate
from tests.support.turn_fakes import Knowledge, Models

SERVING = health_pb2.HealthCheckResponse


class Parts:
    """The dummies a server is built from, and the order in which they were closed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.closed: list[str] = []
        self.refusal: Exception | None = None
        self.loading: Exception | None = None
        self.models, self.knowledge = Models(), Knowledge()
        self.models.answer = [" 45", " crowns"]
        self.models.close = lambda: self._close("models")  # type: ignore[attr-defined]
        self.models.statuses = lambda: ()  # type: ignore[attr-defined]
        self.models.elsewhere = ()  # type: ignore[attr-defined]
        self.models.process = None  # type: ignore[attr-defined]
        self.models.on_change = lambda _: None  # type: ignore[attr-defined]
        self.knowledge.backend, self.knowledge.ready, self.knowledge.writable = "local", True, True  # type: ignore[attr-defined]
        self.knowledge.on_change = lambda _: None  # type: ignore[attr-defined]
        self.knowledge.close = lambda: self._close("knowledge")  # type: ignore[attr-defined]
        manifest = SimpleNamespace(
            name="dummy",
            version="1",
            abstain="I don't know",
            thresholds=Thresholds(),
            evidence=EvidenceLimits(),
            languages=("en",),
        )
        self.lacking: set[str] = set()
        bundle = SimpleNamespace(
            manifest=manifest, name="dummy", version="1", has=self._has, quotes=False, answers="write"
        )
        monkeypatch.setattr(app.Bundle, "load", lambda *_, **__: bundle)
        monkeypatch.setattr(app, "load_models", self._load)
        monkeypatch.setattr(stores, "open_knowledge", self._open)

    def _has(self, part: str) -> bool:
        return part not in self.lacking

    async def _close(self, what: str) -> None:
        self.closed.append(what)

    async def _load(self, *_: Any, **__: Any) -> Models:
        if self.loading is not None:
            raise self.loading
        return self.models

    async def _open(self, *_: Any, **__: Any) -> Knowledge:
        if self.refusal is not None:
            raise self.refusal
        return self.knowledge


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    return Parts(monkeypatch)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(bundle=tmp_path / "bundle", knowledge=tmp_path / "knowledge", port=0, grace_s=20.0)


def ask(channel: grpc.aio.Channel, policy: str = "none") -> Any:
    stub = assistant_pb2_grpc.AssistantServiceStub(channel)
    return stub.Ask(assistant_pb2.AskRequest(question="What does this cost?", policy=policy), timeout=30)


async def test_a_turn_runs_through_the_whole_stack(parts: Parts, settings: Settings) -> None:
    async with app.running(settings) as server, grpc.aio.insecure_channel(server.address) as channel:
        events = [event async for event in ask(channel)]
    assert events[0].WhichOneof("event") == "accepted"
    assert events[-1].done.answer == "45 crowns"
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert parts.closed == ["knowledge", "models"]


async def test_stopping_drains_running_turns_before_anything_closes(parts: Parts, settings: Settings) -> None:
    gate = parts.models.before["token 1"] = Gate()
    told: list[dict[str, Any]] = []
    ready = asyncio.Event()
    server = asyncio.create_task(app.serve(settings, lambda about: (told.append(about), ready.set())))
    await ready.wait()
    async with grpc.aio.insecure_channel(told[0]["address"]) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        states = health.Watch(health_pb2.HealthCheckRequest())
        assert (await states.read()).status == SERVING.SERVING
        running = asyncio.create_task(collect(ask(channel)))
        await gate.reached.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        assert (await states.read()).status == SERVING.NOT_SERVING
        states.cancel()
        assert parts.closed == []
        gate.open.set()
        assert (await running)[-1].done.answer == "45 crowns"
    await server
    assert parts.closed == ["knowledge", "models"]


async def test_garbage_is_looked_for_from_the_moment_a_server_serves(parts: Parts, settings: Settings) -> None:
    gc.disable()  # as the command does, before it imports
    looking: list[bool] = []
    try:
        server = asyncio.create_task(app.serve(settings, lambda _: looking.append(gc.isenabled())))
        while not looking:
            await asyncio.wait({server}, timeout=0.01)
        os.kill(os.getpid(), signal.SIGTERM)
        await server
    finally:
        gc.enable()
    assert looking == [True]


def test_what_answers_calls_is_imported_while_models_are_loaded_and_not_before() -> None:
    look = "import sys, quizglass_server.app; print('grpc' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", look], text=True, timeout=60) == "False\n"


async def test_a_second_signal_does_not_wait_and_still_closes_everything(parts: Parts, settings: Settings) -> None:
    gate = parts.models.before["token 1"] = Gate()
    told: list[dict[str, Any]] = []
    ready = asyncio.Event()
    server = asyncio.create_task(app.serve(settings, lambda about: (told.append(about), ready.set())))
    await ready.wait()
    async with grpc.aio.insecure_channel(told[0]["address"]) as channel:
        running = asyncio.create_task(collect(ask(channel)))
        await gate.reached.wait()
        states = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        assert (await states.read()).status == SERVING.SERVING
        os.kill(os.getpid(), signal.SIGTERM)
        assert (await states.read()).status == SERVING.NOT_SERVING
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(asyncio.CancelledError):
            await server
        assert parts.closed == ["knowledge", "models"]
        running.cancel()
        await asyncio.wait({running})


async def collect(events: Any) -> list[Any]:
    return [event async for event in events]


async def test_a_part_that_cannot_start_closes_those_that_did(parts: Parts, settings: Settings) -> None:
    parts.refusal = KnowledgeLocked("another server owns it")
    with pytest.raises(KnowledgeLocked):
        async with app.running(settings):
            pass
    assert parts.closed == ["models"]


@pytest.mark.parametrize("setting", ["knowledge", "memory_directory"])
async def test_a_store_that_cannot_be_opened_is_refused_before_models_are_loaded(
    parts: Parts, settings: Settings, tmp_path: Path, setting: str
) -> None:
    parts.loading = EngineFailed("models were loaded")
    given = settings.model_copy(update={setting: tmp_path / "store"})
    with closing(lock_directory(tmp_path / "store")), pytest.raises(KnowledgeLocked, match=f"{tmp_path / 'store'} is"):
        async with app.running(given):
            pass
    (tmp_path / "store" / FILE).write_bytes(b"of something else")
    with pytest.raises(KnowledgeFailed, match=f"{tmp_path / 'store'}: {FILE}: it is not a knowledge store"):
        async with app.running(given):
            pass


async def test_a_memory_in_the_directory_of_the_knowledge_is_refused_before_anything_starts(
    parts: Parts, settings: Settings
) -> None:
    parts.loading = EngineFailed("models were loaded")
    with pytest.raises(SettingsError, match=r"memory_directory: .* is the knowledge directory"):
        async with app.running(settings.model_copy(update={"memory_directory": settings.knowledge})):
            pass


@pytest.mark.parametrize("name", ["knowledge", "memory_directory", "state_directory", "session_key_file"])
async def test_what_would_be_written_into_the_bundle_is_refused_before_anything_is(
    parts: Parts, settings: Settings, name: str
) -> None:
    settings.bundle.mkdir()
    for place in (settings.bundle, settings.bundle / "below"):
        with pytest.raises(SettingsError, match=f"^{name}: {place} is in the bundle, which holds listed files only; "):
            async with app.running(settings.model_copy(update={name: place})):
                pass
    assert not list(settings.bundle.iterdir())


async def test_a_file_of_keys_that_cannot_be_used_is_refused_before_models_are_loaded(
    parts: Parts, settings: Settings, tmp_path: Path
) -> None:
    parts.loading = EngineFailed("models were loaded")
    given = settings.model_copy(update={"session_key_file": tmp_path / "none" / "key"})
    with pytest.raises(SettingsError, match="none/key: No such file or directory; name a file that this user may"):
        async with app.running(given):
            pass


async def test_the_port_for_http_opens_and_drains_with_the_server(parts: Parts, settings: Settings) -> None:
    gate = parts.models.before["token 1"] = Gate()
    told: list[dict[str, Any]] = []
    ready = asyncio.Event()
    with_web = settings.model_copy(update={"web_port": 0})
    server = asyncio.create_task(app.serve(with_web, lambda about: (told.append(about), ready.set())))
    await ready.wait()
    async with asyncio.timeout(60), openai.AsyncOpenAI(base_url=f"{told[0]['web']}/v1", api_key="none") as client:
        asking = client.chat.completions.create(model="none", messages=[{"role": "user", "content": "What is it?"}])
        running = asyncio.create_task(asking)
        await gate.reached.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        assert parts.closed == []
        gate.open.set()
        assert (await running).choices[0].message.content == "45 crowns"
        await server
    assert parts.closed == ["knowledge", "models"]


async def test_a_port_that_fails_to_close_does_not_cut_turns_of_the_other_short(
    parts: Parts, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, failed = WebServer.stop, asyncio.Event()

    async def fail(web: WebServer, _: float) -> None:
        await stop(web, 0)
        failed.set()
        raise RuntimeError("the port is stuck")

    monkeypatch.setattr(WebServer, "stop", fail)
    gate = parts.models.before["token 1"] = Gate()
    told: list[dict[str, Any]] = []
    ready = asyncio.Event()
    with_web = settings.model_copy(update={"web_port": 0})
    server = asyncio.create_task(app.serve(with_web, lambda about: (told.append(about), ready.set())))
    await ready.wait()
    async with grpc.aio.insecure_channel(told[0]["address"]) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        running = asyncio.create_task(collect(ask(channel)))
        await gate.reached.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        await failed.wait()
        assert (await health.Check(health_pb2.HealthCheckRequest())).status == SERVING.NOT_SERVING
        assert parts.closed == []
        gate.open.set()
        assert (await running)[-1].done.answer == "45 crowns"
    with pytest.raises(RuntimeError, match="stuck"):
        await server
    assert parts.closed == ["knowledge", "models"]


@pytest.mark.parametrize("name", ["port", "web_port"])
async def test_a_port_in_use_is_refused_before_models_are_loaded(parts: Parts, settings: Settings, name: str) -> None:
    async with app.running(settings.model_copy(update={"web_port": 0})) as first:
        parts.loading = EngineFailed("loaded too soon")
        taken = settings.model_copy(update={name: getattr(first, name)})
        with pytest.raises(SettingsError, match=f"^{name}: cannot listen on 127.0.0.1:{getattr(first, name)} "):
            async with app.running(taken):
                pass
        assert parts.closed == []


async def test_a_port_for_http_that_is_taken_during_the_start_closes_what_was_opened(
    parts: Parts, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "check_can_listen", lambda *_: None)
    async with app.running(settings.model_copy(update={"web_port": 0})) as first:
        taken = settings.model_copy(update={"web_port": first.web_port})
        with pytest.raises(SettingsError, match=f"web_port: cannot listen on 127.0.0.1:{first.web_port}"):
            async with app.running(taken):
                pass
        assert parts.closed == ["knowledge", "models"]


async def test_without_its_packages_the_port_for_http_is_refused_before_anything_starts(
    parts: Parts, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"uvicorn is not installed; in the clone: pip install '\.\[web\]'"):
        async with app.running(settings.model_copy(update={"web_port": 0})):
            pass
    assert parts.closed == []


async def test_an_address_in_use_is_a_wrong_setting(parts: Parts, settings: Settings) -> None:
    async with app.running(settings) as first:
        taken = settings.model_copy(update={"port": first.port})
        with pytest.raises(SettingsError, match=str(first.port)):
            async with app.running(taken):
                pass


async def test_an_unknown_default_policy_is_refused_before_anything_starts(parts: Parts, settings: Settings) -> None:
    wrong = settings.model_copy(update={"default_policy": "planing-agent"})
    with pytest.raises(SettingsError, match="did you mean planning-agent"):
        async with app.running(wrong):
            pass
    assert parts.closed == []


async def test_a_default_policy_that_the_bundle_cannot_serve_is_refused_before_anything_starts(
    parts: Parts, settings: Settings
) -> None:
    parts.lacking = {"planner", "reranker"}
    named = settings.model_copy(update={"default_policy": "planning-agent+"})
    wanted = r"planning-agent\+ needs planner, which the bundle dummy does not have; it can serve none, image,"
    with pytest.raises(SettingsError, match=wanted):
        async with app.running(named):
            pass
    parts.lacking = {"generator", "text_encoder"}
    with pytest.raises(SettingsError, match=r"needs generator, .*it can serve no policy"):
        async with app.running(named):
            pass
    assert parts.closed == []


@pytest.mark.parametrize(
    ("lacking", "default"),
    [
        ((), "adaptive"),
        (("deciders.act",), "planning-agent+"),
        (("planner",), "draft-first"),
        (("planner", "tool_router"), "both"),
        (("planner", "tool_router", "reranker"), "both"),
        (("planner", "tool_router", "text_encoder"), "image"),
        (("planner", "tool_router", "image_encoder"), "text"),
        (("planner", "tool_router", "image_encoder", "text_encoder"), "none"),
    ],
)
async def test_without_a_default_policy_the_best_that_can_be_served_is_taken(
    parts: Parts, settings: Settings, lacking: tuple[str, ...], default: str, caplog: pytest.LogCaptureFixture
) -> None:
    parts.lacking = set(lacking)
    with caplog.at_level(logging.INFO, "quizglass_server.app"):
        async with app.running(settings) as running, grpc.aio.insecure_channel(running.address) as channel:
            asked = assistant_pb2.GetCapabilitiesRequest()
            found = await assistant_pb2_grpc.AssistantServiceStub(channel).GetCapabilities(asked)
            accepted = await ask(channel, "").read()
    assert accepted.accepted.policy == found.policies[0] == default
    for each in found.policy_capabilities:
        assert (each.name in found.policies) == each.servable == (not each.missing)
        assert set(each.missing) <= set(lacking)
    (told,) = (record for record in caplog.records if record.message.startswith("policies"))
    assert told.default == default


async def test_a_bundle_without_generator_serves_searches_and_says_so(
    parts: Parts, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    parts.lacking = {"generator", "text_encoder"}
    async with app.running(settings) as running, grpc.aio.insecure_channel(running.address) as channel:
        asked = assistant_pb2.GetCapabilitiesRequest()
        found = await assistant_pb2_grpc.AssistantServiceStub(channel).GetCapabilities(asked)
        assert not found.policies
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await collect(ask(channel))
    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert any("can serve no policy" in record.message for record in caplog.records)


@pytest.mark.parametrize(("host", "warned"), [("127.0.0.1", False), ("localhost", False), ("0.0.0.0", True)])
async def test_listening_beyond_this_machine_is_warned_about(
    parts: Parts, settings: Settings, host: str, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with app.running(settings.model_copy(update={"host": host, "insecure": True})):
            pass
    assert any("beyond this machine" in record.message for record in caplog.records) is warned
