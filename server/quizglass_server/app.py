"""Builds a server from its settings, serves, and stops it gracefully.

Started in the order operations port, bundle, models, decoder, knowledge, memory, gRPC, HTTP; stopped in the opposite
one (`observe.draining`): health says NOT_SERVING, for `withdraw_s` calls are still taken, running turns finish, then
the memory and the knowledge store close, then the engines end. Whether the addresses can be listened on and the stores
be opened is looked at before the models are loaded, which takes longest.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from quizglass.hosts import host_and_port
from quizglass_bundle.files import Bundle
from quizglass_server import __version__, containment, descriptors
from quizglass_server.config.address import MilvusAddress
from quizglass_server.config.directories import check_directories
from quizglass_server.config.listening import check_can_listen
from quizglass_server.config.load import Settings
from quizglass_server.config.logs import set_level
from quizglass_server.config.settings import (
    OPERATIONS_PACKAGES,
    TRACING_PACKAGES,
    WEB_PACKAGES,
    BundleOptions,
    PictureLimits,
)
from quizglass_server.config.sources import suggestion
from quizglass_server.decoding.decoder import PictureDecoder
from quizglass_server.engines.generator.remote.group import RemoteGenerators
from quizglass_server.errors import EngineFailed, QuizglassError, SettingsError
from quizglass_server.knowledge.sources.table import open_sources
from quizglass_server.knowledge.survey import check_openable
from quizglass_server.network.exposure import check_exposure, check_local, parts_elsewhere
from quizglass_server.network.network import Network
from quizglass_server.observe import caches, tracing
from quizglass_server.observe.draining import Drain, DrainStep
from quizglass_server.policies import POLICIES
from quizglass_server.policies.table import Has, preferred, survey
from quizglass_server.roles.given import completed, given_files, given_servers
from quizglass_server.roles.load import load_models
from quizglass_server.scheduling.admission import Admission
from quizglass_server.scheduling.costs import StepCosts
from quizglass_server.scheduling.memory import WorkMemory, return_large_blocks
from quizglass_server.service_manager import ServiceManager
from quizglass_server.session.dialogue.keys import keys_of
from quizglass_server.session.dialogue.token import DialogueSealer
from quizglass_server.steps.language.detection import model as language_model

if TYPE_CHECKING:
    from quizglass_server.rpc.server import RpcServer, Services  # imported while models are loaded
    from quizglass_server.web.operations import Operations  # its packages are an extra

STOPPING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGXCPU", "SIGPWR") if hasattr(signal, name))
"""Signals that stop a server in order: from a person or a supervisor, at the end of its CPU time, of the power."""
_FEW_CONNECTIONS = 64
logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Stop:
    """How a server stops."""

    drain: Drain = field(default_factory=Drain)
    told: asyncio.Event = field(default_factory=asyncio.Event)
    now: bool = False
    """Whether nothing that runs is waited for."""

    def on_signal(self, serving: asyncio.Task[None]) -> None:
        """Stop in order, or now if that was under way."""
        if self.told.is_set():
            self.now = True
            serving.cancel()
        self.told.set()


@dataclass(frozen=True, slots=True)
class Running:
    """A server that serves."""

    services: Services
    rpc: RpcServer
    web_port: int | None = None
    """None: nothing is served over HTTP."""
    operations_port: int | None = None
    """None: no operations port."""
    stop: Stop = field(default_factory=Stop)

    @property
    def address(self) -> str:
        """What clients connect to."""
        return host_and_port(self.services.settings.host, self.port)

    @property
    def port(self) -> int:
        """Of gRPC."""
        return self.rpc.port

    @property
    def web(self) -> str:
        """What browsers open; empty where there is nothing for them."""
        return self._url(self.services.settings.web_host, self.web_port)

    @property
    def operations(self) -> str:
        """Where /metrics is; empty where it is not."""
        return self._url(self.services.settings.operations_host, self.operations_port)

    def _url(self, host: str, port: int | None) -> str:
        scheme = "http" if self.services.network.tls is None else "https"
        return "" if port is None else f"{scheme}://{host_and_port(host, port)}"


@asynccontextmanager
async def running(settings: Settings) -> AsyncGenerator[Running, None]:
    """Build and serve; leaving the context stops gracefully.

    Raises:
        SettingsError: an unknown default policy, an address that cannot be bound or lacks what it takes to be open to
            others, a certificate or tokens that cannot be used, or no package to serve HTTP with.
        BundleError, KnowledgeLocked, KnowledgeFailed, EngineFailed, EngineLost: that part cannot start.
    """
    _check_policy_name(settings.default_policy)
    check_directories(settings)
    check_exposure(settings)
    check_local(settings, parts_elsewhere(settings))
    _check_ports(settings)
    _check_collector(settings.traces_url)
    _warn_when_in_clear(settings.knowledge)
    network, stop = await asyncio.to_thread(Network, settings), Stop()
    async with AsyncExitStack() as stack:
        watching = asyncio.create_task(network.watch(), name="watch over certificate and tokens")
        stack.callback(watching.cancel)
        if settings.traces_url:
            tracing.begin(settings.traces_url)
            stack.push_async_callback(asyncio.to_thread, tracing.end)
        shown, operations_port = await _operations(settings, network, stack)
        services = replace(await _assembled(settings, stack, stop.drain), network=network)
        stack.callback(stop.drain.reach, DrainStep.SAVING)
        if shown is not None:
            stack.callback(shown.let_go)
        rpc = await _answering(services)
        listeners: list[Listener] = [rpc]
        stack.push_async_callback(_stop, listeners, settings.grace_s, stop)
        web_port = None
        if settings.web_port is not None:
            from quizglass_server.web.routes import open_listener  # its packages are an extra

            web = await open_listener(services, rpc, settings)
            listeners.append(web)
            web_port = web.port
        if shown is not None:
            shown.follow(services, rpc)
        stop.drain.reach(DrainStep.SERVING)
        # Not before: importing them would hold up all that a start does.
        loading = asyncio.create_task(services.models.load_rest(), name="models that read words")
        stack.callback(loading.cancel)
        yield Running(services, rpc, web_port, operations_port, stop)


async def _operations(
    settings: Settings, network: Network, stack: AsyncExitStack
) -> tuple[Operations | None, int | None]:
    """What the operations port shows, and its number; None where there is none."""
    if settings.operations_port is None:
        return None, None
    from quizglass_server.web.operations import Operations  # its packages are an extra

    shown = Operations(settings, network)
    port = await shown.open()
    stack.push_async_callback(port.stop, 0)
    return shown, port.port


async def _assembled(settings: Settings, stack: AsyncExitStack, drain: Drain) -> Services:
    """What requests are answered with; `stack` closes it, the last opened first."""
    elsewhere = await _elsewhere(settings, stack)
    given = given_servers(elsewhere.facts) if elsewhere is not None else await asyncio.to_thread(given_files, settings)
    bundle = completed(None if settings.bundle is None else await _whole(settings), given)
    logger.info("bundle is whole", extra={"bundle": f"{bundle.manifest.name} {bundle.manifest.version}"})
    sources = await asyncio.to_thread(open_sources, settings.sources, local_only=settings.local_only)
    stack.push_async_callback(sources.close)
    _check_policies(settings.default_policy, bundle, sources.beside(bundle.has))
    await _check_stores(settings)
    place = settings.knowledge if isinstance(settings.knowledge, Path) else None
    sealer = DialogueSealer(await asyncio.to_thread(keys_of, settings, place), settings.session_ttl_s)
    caches.limit(settings.search_cache_bytes)
    models = await load_models(bundle, settings, settings, elsewhere, settings, beside=_prepare)
    stack.push_async_callback(models.close)
    stack.callback(drain.reach, DrainStep.ENGINES)
    check_local(settings, models.elsewhere)
    from quizglass_server.stores import ServerParts, opened_stores, tenant_stores  # `_prepare` has imported it

    work = WorkMemory(settings.work_memory_bytes)
    decoder = PictureDecoder(PictureLimits.of(settings), work)
    stack.push_async_callback(decoder.close)
    admission = Admission(settings.max_turns, settings.queue, tenants=settings.tenants is not None)
    parts = ServerParts(models, bundle, decoder, work, admission, StepCosts(), sources)
    services = await opened_stores(parts, settings, sealer, stack)
    if settings.tenants is None:
        return services
    return replace(services, tenant=lambda name: tenant_stores(parts, services, name))


def _prepare() -> None:
    """Import what answers calls, a fifth of a second of Python, and read the model that tells languages apart."""
    import_module("quizglass_server.rpc.server")
    import_module("quizglass_server.stores")
    language_model.prepare()


async def _elsewhere(settings: Settings, stack: AsyncExitStack) -> RemoteGenerators | None:
    """The generators elsewhere that the settings name, found out about; None where they name none."""
    if not settings.generator_url:
        return None
    for address in settings.generator_url:
        if address.leaves_machine_in_clear:
            logger.warning("questions and pictures cross the network without encryption", extra={"to": str(address)})
    elsewhere = RemoteGenerators(settings)
    stack.push_async_callback(elsewhere.close)
    await elsewhere.start()
    return elsewhere


async def _whole(options: BundleOptions) -> Bundle:
    """Load a bundle and verify all of it.

    It is hashed on a daemon thread: a server that is stopped meanwhile does not wait for that.
    """
    future: Future[Bundle] = Future()
    future.set_running_or_notify_cancel()
    directory = options.bundle
    assert directory is not None

    def load() -> None:
        try:
            future.set_result(Bundle.load(directory, signers=options.require_signature))
        except BaseException as error:
            future.set_exception(error)

    Thread(target=load, name="bundle", daemon=True).start()
    return await asyncio.wrap_future(future)


async def serve(
    settings: Settings,
    announce: Callable[[dict[str, Any]], None],
    read_again: Callable[[], Settings] | None = None,
) -> None:
    """Serve until a signal of `STOPPING` arrives.

    Running turns may finish then, unless a second signal arrives. A signal before the server is ready ends it at once.

    Args:
        settings: what to serve.
        announce: called once with what clients need to know, when requests are welcome.
        read_again: the settings as their sources have them now, for SIGHUP; None: they cannot be read again.

    Raises:
        CancelledError: ended without waiting.
        QuizglassError: as `running`.
    """
    manager = ServiceManager()
    _count_descriptors()
    return_large_blocks()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    for number in STOPPING:
        loop.add_signal_handler(number, task.cancel)
    async with running(settings) as server:
        # What is loaded now stays loaded. Unfrozen, the collector would traverse all of it now and then, and stop
        # everything else for tens of milliseconds, as collecting first would do now: a start leaves little garbage.
        gc.freeze()
        gc.enable()
        stop = server.stop
        for number in STOPPING:
            loop.add_signal_handler(number, stop.on_signal, task)
        loop.add_signal_handler(signal.SIGHUP, lambda: _reload(server, read_again))
        _log_serving(server)
        announce(_about(server))
        manager.ready(f"serving {server.services.bundle.manifest.name} on {server.address}")
        await stop.told.wait()
        manager.stopping("running turns may finish")
        # Whoever asks for health learns that other servers are to be called, while this one still takes calls.
        stop.drain.reach(DrainStep.WITHDRAWN, withdraw_s=settings.withdraw_s)
        await server.rpc.withdraw()
        await asyncio.sleep(settings.withdraw_s)
    logger.info("stopped")


def _log_serving(server: Running) -> None:
    settings = server.services.settings
    protected = {"tls": settings.tls_cert is not None, "tokens": settings.tokens is not None}
    about = {"address": server.address, "web": server.web, "operations": server.operations}
    logger.info("serving", extra={"audit": True, **about, **protected})


def _reload(server: Running, read_again: Callable[[], Settings] | None) -> None:
    """Read again what may change while a server runs: certificate, tokens, and of the settings the log level."""
    server.services.network.reload()
    if read_again is None:
        return
    try:
        now = read_again()
    except QuizglassError as error:
        logger.error("the settings stay as they were", extra={"audit": True, "why": error.message})
        return
    before = server.services.settings
    set_level(now.log_level)
    changed = [name for name in Settings.model_fields if getattr(now, name) != getattr(before, name)]
    logger.info("log level in force", extra={"audit": True, "log_level": now.log_level})
    if waiting := [name for name in changed if name != "log_level"]:
        logger.warning("settings that have changed wait for a restart", extra={"settings": waiting})


async def _check_stores(settings: Settings) -> None:
    for place in (settings.knowledge, settings.memory_directory):
        if isinstance(place, Path):
            await asyncio.to_thread(check_openable, place)


async def _answering(services: Services) -> RpcServer:
    """Start the process that decodes pictures, then the server."""
    from quizglass_server.rpc.server import start_rpc  # `_prepare` has imported it

    _start(services.decoder)
    return await start_rpc(services)


def _start(decoder: PictureDecoder) -> None:
    try:
        decoder.start()
    except OSError as error:
        raise EngineFailed(f"the process that decodes pictures cannot be started: {error}") from error


class Listener(Protocol):
    """Takes requests, over gRPC or over HTTP."""

    async def stop(self, grace_s: float) -> None:
        """Take no more requests, let running ones finish for up to `grace_s` seconds, then close."""
        ...


async def _stop(listeners: Sequence[Listener], grace_s: float, stop: Stop) -> None:
    """Drain, then stop; when cancelled, stop at once: an open gRPC server would keep the process from ending."""
    stop.drain.reach(DrainStep.FINISHING, grace_s=0.0 if stop.now else grace_s)
    try:
        await _all_stopped(listeners, 0 if stop.now else grace_s)
    except asyncio.CancelledError:
        await _all_stopped(listeners, 0)
        raise


async def _all_stopped(listeners: Sequence[Listener], grace_s: float) -> None:
    """Stop every listener, even if one of them fails, and raise its error afterwards: what they use is closed next."""
    for outcome in await asyncio.gather(*(listener.stop(grace_s) for listener in listeners), return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


def _about(server: Running) -> dict[str, Any]:
    services = server.services
    return {
        "address": server.address,
        "port": server.port,
        "web": server.web,
        "operations": server.operations,
        "bundle": f"{services.bundle.manifest.name} {services.bundle.manifest.version}",
        "entries": services.knowledge.count(),
        "version": __version__,
        "contained": str(containment.in_force()),
        "generator_contained": _generator_contained(services),
        "on_card": services.models.process.on_card if services.models.process else "",
    }


def _generator_contained(services: Services) -> str:
    """What holds the generator's process; empty where this server has none."""
    generator = services.models.process
    held = None if generator is None else generator.contained
    return "" if held is None else str(held)


def _count_descriptors() -> None:
    allowed, room = descriptors.raise_limit(), descriptors.for_connections()
    if room < _FEW_CONNECTIONS:
        logger.warning(
            "few file descriptors: raise the limit (ulimit -n, LimitNOFILE) or clients cannot connect",
            extra={"limit": allowed, "connections": room},
        )


def _check_ports(settings: Settings) -> None:
    """Whether there is what it takes to serve on every port, before anything is loaded."""
    if settings.web_port is not None:
        _check_packages("web_port", WEB_PACKAGES)
        check_can_listen(settings.web_host, settings.web_port, "web_port")
    if settings.operations_port is not None:
        _check_packages("operations_port", OPERATIONS_PACKAGES)
        check_can_listen(settings.operations_host, settings.operations_port, "operations_port")
    check_can_listen(settings.host, settings.port)


def _check_collector(url: str) -> None:
    if not url:
        return
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise SettingsError(f"traces_url: {url!r} is no http://HOST:PORT or https://HOST:PORT")
    _check_packages("traces_url", TRACING_PACKAGES, "otel")


def _check_packages(setting: str, packages: Collection[str], extra: str = "web") -> None:
    for name in packages:
        if find_spec(name.partition(".")[0]) is None or find_spec(name) is None:
            raise SettingsError(f"{setting}: {name} is not installed; in the clone: pip install '.[{extra}]'")


def _check_policy_name(name: str | None) -> None:
    if name is not None and name not in POLICIES:
        near = suggestion(name, POLICIES)
        raise SettingsError(f"default_policy: there is no policy {name!r}{near}; choose one of {', '.join(POLICIES)}")


def _check_policies(default: str | None, bundle: Bundle, has: Has) -> None:
    """Say which policies can be served; refuse a default, named by the user, that cannot."""
    every = survey(has)
    able = [each.policy for each in every if each.servable]
    wanted = next((each for each in every if each.policy == default), None)
    if wanted is not None and not wanted.servable:
        others = f"it can serve {', '.join(able)}" if able else "it can serve no policy"
        raise SettingsError(
            f"default_policy: {default} needs {', '.join(wanted.missing)}, which the bundle {bundle.manifest.name} "
            f"does not have; {others}; without default_policy the best of these is taken"
        )
    lacking = "; ".join(str(each) for each in every if not each.servable)
    told = {
        "default": default or preferred(every, quotes=bundle.quotes),
        "served": ", ".join(able),
        "not_served": lacking,
    }
    if able:
        logger.info("policies that the bundle can serve", extra=told)
    else:
        logger.warning("the bundle can serve no policy: every question is refused, searches are answered", extra=told)


def _warn_when_in_clear(knowledge: Path | MilvusAddress) -> None:
    if isinstance(knowledge, MilvusAddress) and knowledge.leaves_machine_in_clear:
        logger.warning("knowledge crosses the network without encryption", extra={"milvus": str(knowledge)})
