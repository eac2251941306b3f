"""Puts the services on a port, with standard health and reflection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from quizglass.convert import to_message
from quizglass.hosts import host_and_port
from quizglass.v1 import (
    assistant_pb2,
    assistant_pb2_grpc,
    knowledge_pb2,
    knowledge_pb2_grpc,
    memory_pb2,
    memory_pb2_grpc,
    pairing_pb2,
    pairing_pb2_grpc,
    session_pb2,
    session_pb2_grpc,
)
from quizglass_bundle.files import Bundle
from quizglass_server import __version__
from quizglass_server.assistant.asking import MAX_ANSWER_TOKENS, Asking
from quizglass_server.assistant.assistant import Assistant
from quizglass_server.assistant.look_ahead import LookAhead
from quizglass_server.config.listening import cannot_listen, refusal
from quizglass_server.config.load import Settings
from quizglass_server.config.settings import NetworkOptions
from quizglass_server.decoding.decoder import PictureDecoder
from quizglass_server.decoding.filtering import FrameFilter
from quizglass_server.descriptors import ConnectionRoom, connection_room
from quizglass_server.domain.sound import SPEECH_ROLES
from quizglass_server.knowledge.database.disk import bytes_in
from quizglass_server.knowledge.interface import FoundKnowledge, KnowledgeStore
from quizglass_server.knowledge.memory import SightingMemory
from quizglass_server.knowledge.sources.guarded import KnowledgeSources
from quizglass_server.network.exposure import parts_elsewhere
from quizglass_server.network.login import current_login
from quizglass_server.network.network import Network
from quizglass_server.network.pairing import PublicAddress
from quizglass_server.roles.speech import HEARING, VOICE
from quizglass_server.rpc.assistant import AssistantServicer
from quizglass_server.rpc.frames import FrameStore
from quizglass_server.rpc.health import Health
from quizglass_server.rpc.knowledge import KnowledgeServicer
from quizglass_server.rpc.limits import MAX_MESSAGE_BYTES, request_limits
from quizglass_server.rpc.memory import MemoryServicer
from quizglass_server.rpc.pairing import PairingServicer
from quizglass_server.rpc.requests.reader import Limits
from quizglass_server.rpc.session import WIRE, SessionServicer
from quizglass_server.rpc.tenants import Answering, by_tenant
from quizglass_server.rpc.transport.callers import Callers
from quizglass_server.rpc.transport.calls import Calls
from quizglass_server.rpc.transport.connections import Connections
from quizglass_server.rpc.transport.credentials import server_credentials
from quizglass_server.rpc.transport.described import described
from quizglass_server.rpc.transport.guard import Guard
from quizglass_server.rpc.transport.incoming import UNASKED_BYTES, Incoming
from quizglass_server.rpc.transport.listeners import Listeners
from quizglass_server.rpc.transport.outgoing import Outgoing
from quizglass_server.rpc.transport.proxies import Proxies
from quizglass_server.rpc.transport.sockets import Sockets
from quizglass_server.scheduling.memory import WorkMemory
from quizglass_server.scheduling.places import Places
from quizglass_server.session.coaching.closer import CloseUpAdvisor
from quizglass_server.session.coaching.coach import FAULTS, SURE, CaptureCoach
from quizglass_server.session.dialogue.token import DialogueSealer
from quizglass_server.session.directory import SessionDirectory, session_limits
from quizglass_server.session.frames import FramePool
from quizglass_server.session.session import SessionResources
from quizglass_server.session.voice.aloud import Mouth
from quizglass_server.session.voice.endpoint import MakeDetector, SileroDetector
from quizglass_server.session.voice.pool import SpeechPool
from quizglass_server.session.voice.speeches import Ears
from quizglass_server.tenants import Tenants

if TYPE_CHECKING:
    from quizglass_server.roles.load import LoadedModels  # would load every engine

# A client library splits further calls over further connections, or lets them wait.
_MAX_STREAMS = 100
# An idle connection gives its descriptor back; clients open another one by themselves.
_IDLE_MS = 10 * 60 * 1000
_HELLO_MS = 10 * 1000
_UNREAD_S = 30.0
# Larger pictures take longer to send, and small print is read no better in them. Models may take more pixels.
USEFUL_PICTURE_SIDE = 672
# Time for the last bytes of drained requests to leave; health watchers, which never end, are cut off after it.
_FLUSH_S = 0.5


@dataclass(frozen=True)
class Services:
    """What the services need to answer calls."""

    assistant: Assistant
    knowledge: KnowledgeStore
    models: LoadedModels
    bundle: Bundle
    settings: Settings
    decoder: PictureDecoder
    work: WorkMemory
    """Admits the memory that messages and pictures in flight take."""
    sealer: DialogueSealer
    memory: SightingMemory | None = None
    """None: nothing is remembered."""
    detector: MakeDetector = SileroDetector
    """Makes what finds voices in sound."""
    network: Network = field(default_factory=lambda: Network(NetworkOptions()))
    """Who may connect, and how; by default anyone, in clear."""
    sources: KnowledgeSources = field(default_factory=KnowledgeSources)
    """What is asked beside the knowledge."""
    shared: FoundKnowledge | None = None
    """The knowledge with what others share with it. None: nothing is shared."""
    tenant: Callable[[str], AbstractAsyncContextManager[Services]] | None = None
    """Opens the stores of a tenant: the same services over them. None: there are no tenants."""

    def stored(self) -> int:
        """Bytes of the directories of knowledge and memory; one elsewhere counts nothing. Blocks."""
        places = (self.settings.knowledge, self.settings.memory_directory)
        return sum(bytes_in(place) for place in places if isinstance(place, Path))

    @property
    def found(self) -> FoundKnowledge:
        """What turns and searches find."""
        return self.shared or self.knowledge


@dataclass(frozen=True, slots=True)
class Served:
    """A service and its servicer, whether calls come over gRPC, Connect or gRPC-Web."""

    service: ServiceDescriptor
    servicer: Any


@dataclass(frozen=True, slots=True)
class RpcServer:
    """A started server."""

    port: int
    guard: Guard
    """Counts what runs, for whatever else answers requests beside gRPC."""
    tenants: Tenants[Answering]
    served: tuple[Served, ...]
    limits: Limits
    proxies: Proxies
    web_connections: int
    """How many of the descriptors HTTP may have."""
    _server: grpc.aio.Server
    _health: Health
    _look_ahead: LookAhead | None
    _watching: asyncio.Task[None]

    @property
    def asking(self) -> Asking:
        """Of the server's own tenant."""
        return self.tenants.own.asking

    @property
    def sessions(self) -> SessionDirectory:
        """Of the server's own tenant."""
        return self.tenants.own.sessions

    @asynccontextmanager
    async def asking_for_caller(self) -> AsyncIterator[Asking]:
        """What answers questions of the current caller's tenant. Raises Overloaded, KnowledgeFailed, Stopping."""
        async with self.tenants.entered() as answering:
            yield answering.asking

    def ready(self) -> dict[str, bool]:
        """Whether requests are welcome, and whether the knowledge and each role that turns need answer right now."""
        needed = {name: ready for name, ready in self._health.ready().items() if name not in SPEECH_ROLES}
        return {"server": not self.guard.withdrawn, **needed}

    async def set_serving(self, serving: bool) -> None:
        """Say in the health service whether requests are welcome."""
        await self._health.set_serving(serving)

    async def withdraw(self) -> None:
        """Say NOT_SERVING, and go on answering."""
        self.guard.withdrawn = True
        await self._health.withdraw()

    async def stop(self, grace_s: float) -> None:
        """Withdraw, refuse new requests, let running ones finish for up to `grace_s` seconds, then close.

        Health checks are answered until the last of them has finished.
        """
        await self.withdraw()
        for each in self.tenants.every():
            each.sessions.stop(grace_s)
        await self.guard.drain(grace_s)
        for each in self.tenants.every():
            each.sessions.end()
        await self._server.stop(_FLUSH_S)
        self._watching.cancel()
        if self._look_ahead is not None:
            await self._look_ahead.close()
        await self.tenants.close()


async def start_rpc(services: Services) -> RpcServer:
    """Bind and serve.

    Raises:
        SettingsError: the address cannot be bound, or there is no such frame filter.
    """
    settings = services.settings
    limits = request_limits(settings, services.assistant.admission.check_room, services.work)
    room = connection_room(settings.max_connections, web=settings.web_port is not None)
    sockets, proxies = Sockets(), Proxies(settings.trusted_proxies)
    listeners = Listeners()
    connections = Connections(room.rpc, room.rpc_open - room.rpc, sockets, listeners)
    calls = _calls(services, limits, sockets, Callers(proxies, connections))
    server = grpc.aio.server(options=_options(settings, room), interceptors=[calls])
    # A stream of entries holds up to a commit of them in memory, for as long as its client likes.
    frame_filter = FrameFilter.named(settings.frame_filter)
    decoded = settings.picture_cache_bytes * 2 // 3
    frames = FrameStore(services.decoder, services.work, decoded, frame_filter)
    guard = Guard({"AddEntries": settings.max_turns})
    look_ahead = LookAhead(services.assistant) if settings.look_ahead else None
    tenants = _tenants(services, _Shared(frames, guard, look_ahead, services))
    served = _served(server, services, tenants, guard)
    status = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(status, server)
    names = (*(each.service.full_name for each in served), health.SERVICE_NAME, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(names, server, described(names))
    told = Health(status, [each.service.full_name for each in served], services.models, services.knowledge)
    port = sockets.port = listeners.port = _bind(server, settings.host, settings.port, services.network)
    services.network.place = PublicAddress(settings.host, port)
    watching = asyncio.create_task(connections.watch(), name="watch over connections")
    shown = (port, guard, tenants, served, limits, proxies, room.web)
    rpc = RpcServer(*shown, server, told, look_ahead, watching)
    await server.start()
    await told.start()
    await rpc.set_serving(True)
    return rpc


class _Shared:
    """What answers all tenants, and how much they may take of it together."""

    def __init__(self, frames: FrameStore, guard: Guard, look_ahead: LookAhead | None, services: Services) -> None:
        settings = services.settings
        self.frames, self.guard, self.look_ahead = frames, guard, look_ahead
        self.sessions = Places(settings.max_sessions, "sessions")
        self.session_frames = FramePool(settings.all_frames_bytes)
        self.speeches = SpeechPool(settings.max_speeches, settings.session_speech_s, services.detector)


def _tenants(services: Services, shared: _Shared) -> Tenants[Answering]:
    """What answers each tenant's calls; with the sessions of one its stores stay open."""
    opening = services.tenant
    if opening is None:
        return Tenants(_answering(services, shared))

    @asynccontextmanager
    async def opened(name: str) -> AsyncIterator[Answering]:
        async with opening(name) as its:
            answering = _answering(its, shared)
            try:
                yield answering
            finally:
                answering.sessions.end()

    most = services.settings.max_tenants
    return Tenants(_answering(services, shared), opened, most, lambda each: len(each.sessions) > 0)


def _answering(services: Services, shared: _Shared) -> Answering:
    """What answers the calls of the tenant whose stores the services have."""
    frames, guard = shared.frames, shared.guard
    asking = _asking(services, frames, shared.look_ahead)
    sessions = _sessions(services, asking, shared)
    servicers = (
        (assistant_pb2, AssistantServicer(asking, frames, services.sealer, guard, lambda: _capabilities(services))),
        (
            knowledge_pb2,
            KnowledgeServicer(services.knowledge, services.found, services.assistant, frames, guard, services.stored),
        ),
        (memory_pb2, MemoryServicer(services.memory, services.assistant, frames, guard)),
        (session_pb2, SessionServicer(sessions, guard)),
    )
    return Answering(asking, sessions, {_service(messages).full_name: servicer for messages, servicer in servicers})


def _served(
    server: grpc.aio.Server, services: Services, tenants: Tenants[Answering], guard: Guard
) -> tuple[Served, ...]:
    """Every service, over gRPC by this server and over HTTP."""

    def servicer(messages: ModuleType) -> object:
        service = _service(messages)
        return tenants.own.servicers[service.full_name] if services.tenant is None else by_tenant(service, tenants)

    return (
        _put(server, assistant_pb2, assistant_pb2_grpc, servicer(assistant_pb2)),
        _put(server, knowledge_pb2, knowledge_pb2_grpc, servicer(knowledge_pb2)),
        _put(server, memory_pb2, memory_pb2_grpc, servicer(memory_pb2)),
        _put(server, session_pb2, session_pb2_grpc, servicer(session_pb2)),
        _put(server, pairing_pb2, pairing_pb2_grpc, PairingServicer(services.network, guard)),
    )


def _service(messages: ModuleType) -> ServiceDescriptor:
    """The one service of a .proto file, whose generated module is given."""
    (service,) = messages.DESCRIPTOR.services_by_name.values()
    assert isinstance(service, ServiceDescriptor)
    return service


def _put(server: grpc.aio.Server, messages: ModuleType, stubs: ModuleType, servicer: object) -> Served:
    """Have a server answer the one service of a .proto file, whose generated modules are given."""
    service = _service(messages)
    getattr(stubs, f"add_{service.name}Servicer_to_server")(servicer, server)
    return Served(service, servicer)


def _asking(services: Services, frames: FrameStore, look_ahead: LookAhead | None) -> Asking:
    settings = services.settings
    memory_s = settings.memory_ttl_s if services.memory is not None else 0
    speech = SPEECH_ROLES.intersection(services.models.elsewhere)
    elsewhere = tuple({*parts_elsewhere(settings), *speech, *services.sources.remote})
    return Asking(services.assistant, frames, settings, settings.default_budget_s, look_ahead, memory_s, elsewhere)


def _sessions(services: Services, asking: Asking, shared: _Shared) -> SessionDirectory:
    settings = services.settings
    hearing, voice = services.models[HEARING], services.models[VOICE]
    limits = session_limits(
        settings, settings.max_frame_bytes, _useful_side(services), hears=hearing is not None, speaks=voice is not None
    )
    looks, pool = shared.look_ahead, shared.session_frames
    coach = None if settings.coaching == "off" else CaptureCoach(FAULTS if settings.coaching == "all" else SURE)
    closer = CloseUpAdvisor(services.assistant, limits.useful_picture_side)
    away = services.models.elsewhere
    ears = Ears(hearing, shared.speeches, HEARING.name in away)
    mouth = Mouth(voice, VOICE.name in away)
    resources = SessionResources(asking, looks, pool, services.sealer, WIRE, limits, coach, closer, ears, mouth)
    return SessionDirectory(resources, shared.sessions)


def _options(settings: Settings, room: ConnectionRoom) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_allowed_incoming_connections", room.rpc_open),
        ("grpc.max_concurrent_streams", _MAX_STREAMS),
        ("grpc.max_connection_idle_ms", _IDLE_MS),
        ("grpc.server_handshake_timeout_ms", _HELLO_MS),
        # A client that is gone without a word, or reads nothing at all, is noticed while it has calls under way.
        ("grpc.keepalive_time_ms", round(settings.keepalive_s * 1000)),
        ("grpc.keepalive_timeout_ms", round(settings.keepalive_timeout_s * 1000)),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", round(settings.least_keepalive_s * 1000)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.so_reuseport", 0),
        ("grpc.http2.lookahead_bytes", UNASKED_BYTES),
        # Compressed messages are unpacked where it is known how much may come out.
        ("grpc.per_message_decompression", 0),
        # It would let clients send megabytes of an unexpected message.
        ("grpc.http2.bdp_probe", 0),
    ]


def _calls(services: Services, limits: Limits, sockets: Sockets, callers: Callers) -> Calls:
    """What every call passes first."""
    settings = services.settings
    return Calls(
        limits,
        Incoming(settings.message_bytes, MAX_MESSAGE_BYTES, settings.message_s, sockets),
        Outgoing(settings.message_bytes, _UNREAD_S),
        sockets,
        callers,
        services.network.logins,
    )


def _bind(server: grpc.aio.Server, host: str, port: int, network: Network) -> int:
    address = host_and_port(host, port)
    try:
        if network.tls is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, server_credentials(network.tls))
    except RuntimeError as error:  # which does not say why
        raise cannot_listen(refusal(host, port), host, port) from error


def _useful_side(services: Services) -> int:
    return max([USEFUL_PICTURE_SIDE, *(status.picture_side for status in services.models.statuses())])


def _capabilities(services: Services) -> assistant_pb2.GetCapabilitiesResponse:
    settings, statuses = services.settings, services.models.statuses()
    policies = services.assistant.policy_statuses
    return assistant_pb2.GetCapabilitiesResponse(
        server_version=__version__,
        bundle=f"{services.bundle.manifest.name} {services.bundle.manifest.version}",
        policies=[each.policy for each in policies if each.servable],
        policy_capabilities=[
            assistant_pb2.PolicyCapability(
                name=each.policy, servable=each.servable, missing=each.missing, without=each.without
            )
            for each in policies
        ],
        roles=[to_message(status, assistant_pb2.RoleCapability) for status in statuses],
        limits=assistant_pb2.Limits(
            max_frame_bytes=settings.max_frame_bytes,
            max_frame_pixels=settings.max_frame_pixels,
            max_question_chars=settings.max_question_chars,
            max_history=settings.max_history,
            max_answer_tokens=MAX_ANSWER_TOKENS,
            max_frame_aspect=settings.max_frame_aspect,
        ),
        entries=services.found.count(),
        useful_picture_side=_useful_side(services),
        memory=services.memory is not None,
        languages=services.bundle.manifest.languages,
        answers=services.bundle.answers,
        may=sorted(current_login().may),
        knowledge=assistant_pb2.KnowledgeCapability(backend=services.knowledge.backend, ready=services.knowledge.ready),
        sources=[to_message(each.status, assistant_pb2.SourceCapability) for each in services.sources.each],
    )
