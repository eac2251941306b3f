"""The server as a whole: health, reflection, its port, and how it stops."""

import asyncio

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc
from quizglass_server.decoding.decoder import PictureDecoder
from quizglass_server.errors import EngineFailed, SettingsError
from quizglass_server.rpc.server import start_rpc
from tests.support.gate import Gate
from tests.support.rpc_fakes import EVENTS, Stage, serving, serving_on_a_thread

HEALTH = health_pb2.HealthCheckResponse
ASK = assistant_pb2.AskRequest(question="What is this?")


@pytest.fixture
async def channel(stage):
    async with grpc.aio.insecure_channel(stage.target) as made:
        yield made


@pytest.mark.parametrize("service", ["", "quizglass.v1.AssistantService", "quizglass.v1.KnowledgeService"])
async def test_each_service_is_healthy(channel, service):
    stub = health_pb2_grpc.HealthStub(channel)
    assert (await stub.Check(health_pb2.HealthCheckRequest(service=service))).status == HEALTH.SERVING


async def test_the_health_of_the_knowledge_follows_its_store(stage, channel):
    watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service="quizglass.knowledge"))
    assert (await watch.read()).status == HEALTH.SERVING
    for ready, status in ((False, HEALTH.NOT_SERVING), (True, HEALTH.SERVING)):
        stage.knowledge.ready = ready
        stage.knowledge.told()
        assert (await watch.read()).status == status
        asked = assistant_pb2_grpc.AssistantServiceStub(channel).GetCapabilities(assistant_pb2.GetCapabilitiesRequest())
        assert (await asked).knowledge == assistant_pb2.KnowledgeCapability(backend="local", ready=ready)
    watch.cancel()


async def test_a_store_that_cannot_be_written_says_so_under_a_name_of_its_own(stage, channel):
    check, request = health_pb2_grpc.HealthStub(channel).Check, health_pb2.HealthCheckRequest
    assert (await check(request(service="quizglass.knowledge.writes"))).status == HEALTH.SERVING
    watch = health_pb2_grpc.HealthStub(channel).Watch(request(service="quizglass.knowledge.writes"))
    assert (await watch.read()).status == HEALTH.SERVING
    stage.knowledge.writable = False
    stage.knowledge.told()
    assert (await watch.read()).status == HEALTH.NOT_SERVING
    assert (await check(request(service="quizglass.knowledge"))).status == HEALTH.SERVING
    watch.cancel()


async def test_reflection_lists_the_services(channel):
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    call = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
    listed = {service.name for service in (await call.read()).list_services_response.service}
    assert {"quizglass.v1.AssistantService", "quizglass.v1.KnowledgeService", "grpc.health.v1.Health"} <= listed


async def test_reflection_describes_what_is_served_and_nothing_else(channel):
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)

    async def answered(**asked):
        call = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(**asked)]))
        return (await call.read()).WhichOneof("message_response") == "file_descriptor_response"

    for symbol in ("quizglass.v1.MemoryService", "quizglass.v1.Evidence", "grpc.health.v1.Health"):
        assert await answered(file_containing_symbol=symbol), symbol
    assert await answered(file_containing_symbol="google.rpc.ErrorInfo")  # of the details of errors
    assert await answered(file_by_filename="quizglass/v1/types.proto")
    assert not await answered(file_by_filename="google/protobuf/unittest.proto")


async def test_the_log_has_the_cause_of_a_failed_engine(stage, channel, caplog):
    async def breaks(turn, policy, budget):
        yield EVENTS[0]
        raise EngineFailed("the planner failed; see the server's log") from ValueError("shape [3, 7]")

    stage.assistant.script = breaks
    with pytest.raises(grpc.aio.AioRpcError, match="see the server's log"):
        async for _ in assistant_pb2_grpc.AssistantServiceStub(channel).Ask(ASK):
            pass
    assert "shape [3, 7]" in caplog.text


async def test_a_port_in_use_is_an_error_of_the_settings(stage, tmp_path):
    second = Stage(tmp_path)
    settings = second.services.settings.model_copy(update={"port": stage.rpc.port})
    object.__setattr__(second.services, "settings", settings)
    told = rf"^port: cannot listen on 127\.0\.0\.1:{stage.rpc.port} \(Address already in use\); stop what listens there"
    with pytest.raises(SettingsError, match=told):
        await start_rpc(second.services)


async def test_an_address_of_another_machine_is_not_taken_for_one_in_use(tmp_path):
    stage = Stage(tmp_path)
    settings = stage.services.settings.model_copy(update={"host": "192.0.2.1"})  # for documents alone: RFC 5737
    object.__setattr__(stage.services, "settings", settings)
    with pytest.raises(SettingsError, match=r"\(Cannot assign requested address\); take another --host: an address of"):
        await start_rpc(stage.services)


async def test_an_address_that_is_none_is_not_taken_for_one_in_use(tmp_path):
    stage = Stage(tmp_path)
    settings = stage.services.settings.model_copy(update={"host": "no.such.host.invalid"})
    object.__setattr__(stage.services, "settings", settings)
    with pytest.raises(SettingsError, match=r"^host: there is no address no\.such.*; take another --host"):
        await start_rpc(stage.services)


async def test_imports_beyond_the_limit_are_told_to_come_back(tmp_path):
    async with serving(tmp_path, max_turns=2) as stage, grpc.aio.insecure_channel(stage.target) as channel:
        begun, end = asyncio.Semaphore(0), asyncio.Event()

        async def waits():
            begun.release()
            await end.wait()

        stage.knowledge.before = waits
        stub = knowledge_pb2_grpc.KnowledgeServiceStub(channel)
        entry = knowledge_pb2.AddEntriesRequest(entry=knowledge_pb2.Entry(id="a", title="A"))
        running = [stub.AddEntries(iter([entry])) for _ in range(2)]
        for _ in running:
            await begun.acquire()
        with pytest.raises(grpc.aio.AioRpcError) as refusal:
            await stub.AddEntries(iter([entry]))
        assert refusal.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "AddEntries" in refusal.value.details()
        end.set()
        assert [(await call).added for call in running] == [1, 1]
        assert (await stub.AddEntries(iter([entry]))).added == 1


async def test_stopping_drains_a_running_turn_and_refuses_new_ones(stage, channel):
    gate = Gate()

    async def waits(turn, policy, budget):
        yield EVENTS[0]
        await gate()
        yield EVENTS[-1]

    stage.assistant.script = waits
    asker = assistant_pb2_grpc.AssistantServiceStub(channel)
    health = health_pb2_grpc.HealthStub(channel)
    watch = health.Watch(health_pb2.HealthCheckRequest())
    assert (await watch.read()).status == HEALTH.SERVING
    running = aiter(asker.Ask(ASK))
    assert (await anext(running)).HasField("accepted")
    await gate.reached.wait()
    stopping = asyncio.create_task(stage.rpc.stop(60))
    assert (await watch.read()).status == HEALTH.NOT_SERVING
    assert (await health.Check(health_pb2.HealthCheckRequest())).status == HEALTH.NOT_SERVING
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asker.Ask(ASK).read()
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert not stopping.done()
    gate.open.set()
    events = [event async for event in running]
    assert events[-1].done.answer == "45 crowns"
    await stopping


async def test_a_health_watcher_does_not_hold_up_the_stop(stage, channel):
    watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
    assert (await watch.read()).status == HEALTH.SERVING
    async with asyncio.timeout(30):
        await stage.rpc.stop(300)


async def test_a_turn_that_outlasts_the_grace_is_cut_off(stage, channel):
    gate, closed = Gate(), asyncio.Event()

    async def waits(turn, policy, budget):
        try:
            await gate()
            yield EVENTS[-1]
        finally:
            closed.set()

    stage.assistant.script = waits
    running = assistant_pb2_grpc.AssistantServiceStub(channel).Ask(ASK)
    await gate.reached.wait()
    await stage.rpc.stop(0)
    with pytest.raises(grpc.aio.AioRpcError):
        _ = [event async for event in running]
    async with asyncio.timeout(60):
        await closed.wait()


def test_a_scripted_server_on_a_thread_fails_its_test_as_it_fails(tmp_path, monkeypatch):
    with pytest.raises(SettingsError, match="no address"), serving_on_a_thread(tmp_path, host="no.such.host.invalid"):
        pass

    async def broken(_):
        raise RuntimeError("it does not close")

    monkeypatch.setattr(PictureDecoder, "close", broken)
    with pytest.raises(RuntimeError, match="it does not close"), serving_on_a_thread(tmp_path):
        pass
