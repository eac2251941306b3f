"""Whether a server with these settings would come up: its address, its bundle, its directories, its models."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from time import monotonic

from quizglass_bundle.files import Bundle
from quizglass_server import descriptors
from quizglass_server.config.directories import check_directories
from quizglass_server.config.listening import refusal, what_to_do
from quizglass_server.config.load import Settings
from quizglass_server.config.settings import WEB_PACKAGES
from quizglass_server.containment import DEVICES
from quizglass_server.decoding.filtering import FrameFilter
from quizglass_server.doctor import machine, stores
from quizglass_server.doctor.engines import executors
from quizglass_server.doctor.finding import Finding, Status
from quizglass_server.doctor.sources import sources
from quizglass_server.domain.sound import SPEECH_ROLES
from quizglass_server.engines.generator.checks.gguf_file import files_of
from quizglass_server.engines.generator.remote.group import RemoteGenerators
from quizglass_server.engines.onnx.session import available_providers
from quizglass_server.errors import BundleError, QuizglassError, SettingsError
from quizglass_server.network.exposure import check_exposure
from quizglass_server.network.network import Network
from quizglass_server.policies.table import Has, preferred, survey
from quizglass_server.roles.given import completed, given_files, given_servers
from quizglass_server.roles.load import LoadedModels, RoleStatus, load_models
from quizglass_server.roles.reader import READER
from quizglass_server.roles.text_encoder import TEXT_ENCODER
from quizglass_server.session.dialogue.keys import load_keys

_MOST_NAMED = 6
_GGUF = ".gguf"
SPEECH_S = 60.0
"""Seconds that a speech server may take to load its models."""
_EVERY = {"0.0.0.0", "::"}  # noqa: S104  # compared with, not bound


def address(host: str, port: int, name: str = "address", setting: str = "port") -> Finding:
    """Whether an address can be listened on."""
    values = {"host": host, "port": port}
    why = refusal(host, port)
    if why is not None:
        text = f"{host}:{port}: {getattr(why, 'strerror', None) or why}"
        return Finding(name, Status.WRONG, text, what_to_do(why, setting), values)
    return Finding(name, Status.OK, f"{host}:{port} is free", "", values)


def web(settings: Settings) -> Iterator[Finding]:
    """Whether HTTP can be served, if it is to be."""
    name, host, port = "HTTP", settings.web_host, settings.web_port
    missing = [package for package in WEB_PACKAGES if find_spec(package) is None]
    if port is None:
        return
    if missing:
        yield Finding(name, Status.WRONG, f"{missing[0]} is not installed", "in the clone: pip install '.[web]'")
    elif port == settings.port != 0 and (host == settings.host or {host, settings.host} & _EVERY):
        yield Finding(name, Status.WRONG, f"{host}:{port}: gRPC is to listen there", "take another --web-port")
    else:
        yield address(host, port, name, "web_port")


def network(settings: Settings) -> Iterator[Finding]:
    """Whether others may connect, and whether certificate and tokens can be used."""
    name = "network"
    try:
        check_exposure(settings)
        there = Network(settings)
    except SettingsError as error:
        text, _, remedy = error.message.partition("; ")
        yield Finding(name, Status.WRONG, text, remedy)
        return
    if there.tls is not None:
        expires = there.tls.current.expires
        yield Finding("certificate", Status.OK, f"valid until {expires:%Y-%m-%d}", "", {"expires": expires.isoformat()})
    if there.logins.tokens is not None:
        valid = sum(not each.is_over() for each in there.logins.tokens.every)
        none = "" if valid else "quizglass-server token add"
        yield Finding("tokens", Status.OK if valid else Status.WRONG, f"{valid} are valid", none, {"valid": valid})


def directories(settings: Settings) -> Iterator[Finding]:
    """Whether what is written can be."""
    memory, knowledge = settings.memory_directory, settings.knowledge
    if isinstance(knowledge, Path):
        yield stores.store(knowledge, "knowledge")
    else:
        yield Finding("knowledge", Status.UNKNOWN, f"{knowledge} was not asked: a server asks it when it starts")
    if memory is not None:
        yield stores.store(memory, "visual memory")
    for name, place in {"generator's state": settings.state_directory, "engine cache": settings.engine_cache}.items():
        if place is not None:
            yield machine.disk(place, name)
    try:
        check_directories(settings)
    except SettingsError as error:
        text, _, remedy = error.message.partition("; ")
        yield Finding("directories", Status.WRONG, text, remedy)
    if settings.session_key_file is not None:
        yield _key_file(settings.session_key_file)


def _key_file(path: Path) -> Finding:
    name, values = "session keys", {"file": str(path)}
    if not machine.exists(path):
        folder = machine.disk(path.parent, name)
        if machine.exists(path.parent) or folder.status is Status.WRONG:
            return folder
        return Finding(name, Status.WRONG, f"{path.parent} does not exist", f"mkdir {path.parent}", values)
    try:
        keys = load_keys(path)
    except SettingsError as error:
        text, _, remedy = error.message.partition("; ")
        return Finding(name, Status.WRONG, text, remedy or "name a file of keys, or of none yet", values)
    return Finding(name, Status.OK, f"{path} has {len(keys)}", "", values)


def connections(wanted: int) -> Finding:
    """Whether there are descriptors for the connections that are to be allowed."""
    descriptors.raise_limit()
    try:
        allowed = descriptors.connections_allowed(wanted)
    except SettingsError as error:
        remedy = "raise the limit (LimitNOFILE= of systemd, --ulimit nofile= of Docker), or lower --max-connections"
        return Finding("connections", Status.WRONG, error.message, remedy)
    return Finding("connections", Status.OK, f"up to {allowed}", "", {"allowed": allowed})


def frame_filter(name: str) -> Iterator[Finding]:
    """Whether the operator's filter of frames can be loaded, if there is to be one."""
    if not name:
        return
    try:
        FrameFilter.named(name)
    except SettingsError as error:
        text, _, remedy = error.message.rpartition("; ")
        yield Finding("frame filter", Status.WRONG, text, remedy)
    else:
        yield Finding("frame filter", Status.OK, f"{name} can be loaded")


async def elsewhere(settings: Settings) -> tuple[list[Finding], RemoteGenerators | None]:
    """Whether generators elsewhere answer, if there are to be any; whoever gets them closes them."""
    if not settings.generator_url:
        return [], None
    made = RemoteGenerators(settings)
    try:
        await made.start()
    except QuizglassError as error:
        await made.close()
        return [Finding("generator", Status.WRONG, error.message, "have one of them serve, or name another")], None
    text = f"{', '.join(map(str, settings.generator_url))}: {made.facts.model}"
    status = Status.SLOW if made.notice else Status.OK
    return [Finding("generator", status, f"{text}; {made.notice}" if made.notice else text)], made


def bundle_of(settings: Settings, elsewhere: RemoteGenerators | None = None) -> tuple[Finding, Bundle | None]:
    """The bundle, every file compared with its hash, with the generator that the settings give."""
    try:
        given = given_files(settings) if elsewhere is None else given_servers(elsewhere.facts)
        if given is None and settings.bundle is None:
            return Finding("bundle", Status.UNKNOWN, "there is none, and no generator was found"), None
        bundle = completed(
            None if settings.bundle is None else Bundle.load(settings.bundle, signers=settings.require_signature), given
        )
    except (BundleError, SettingsError) as error:
        text, _, remedy = error.message.partition("; ")
        return Finding("bundle", Status.WRONG, text, remedy or "copy or build it again"), None
    roles = list(bundle.roles.names())
    text = f"{bundle.manifest.name} {bundle.manifest.version} is whole; roles {', '.join(roles)}"
    return Finding("bundle", Status.OK, text, "", {"digest": bundle.digest, "roles": roles}), bundle


def policies(bundle: Bundle, default: str | None, has: Has | None = None) -> Finding:
    """Which policies the bundle can serve, and whether the default one, if it is named, is among them."""
    statuses = survey(has or bundle.has)
    able = [each.policy for each in statuses if each.servable]
    lacking = {each.policy: list(each.missing) for each in statuses if not each.servable}
    without = {each.policy: list(each.without) for each in statuses if each.servable and each.without}
    values = {
        "served": able,
        "not_served": lacking,
        "works_without": without,
        "default": default or preferred(statuses, quotes=bundle.quotes),
        "answers": str(bundle.answers),
    }
    if not able:
        remedy = "add the role to the bundle (quizglass-export add-role)"
        least = min(lacking.values(), key=len)
        return Finding("policies", Status.WRONG, f"none can be served without {', '.join(least)}", remedy, values)
    if default is not None and default not in able:
        why = f"needs {', '.join(lacking[default])}" if default in lacking else "is no policy"
        remedy = f"take one of {', '.join(able)}, or name none"
        return Finding("policies", Status.WRONG, f"default_policy {default} {why}", remedy, values)
    text = f"{len(able)} of {len(statuses)} can be served; where none is named {values['default']}"
    text += f"; answers: {bundle.answers}"
    if lacking:
        text += f". The others lack {_named(lacking.values())}"
    if without:
        text += f". Some work without {_named(without.values())}"
    return Finding("policies", Status.OK, f"{text} (--json names all)", "", values)


def _named(parts: Iterable[Iterable[str]]) -> str:
    """Every part once, of many the first few."""
    names = list(dict.fromkeys(chain.from_iterable(parts)))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def model_bytes(bundle: Bundle) -> int:
    """Bytes of all files of a bundle: about what its models take in memory, without caches. A generator that the
    settings give counts in place of the bundle's own."""
    given = [each for name, path in bundle.given.items() if name.endswith(_GGUF) for each in files_of(path)]
    own = (entry.bytes for name, entry in bundle.manifest.files.items() if not (bundle.given and name.endswith(_GGUF)))
    return sum(own) + sum(file.stat().st_size for file in given)


async def models(bundle: Bundle, settings: Settings, elsewhere: RemoteGenerators | None = None) -> list[Finding]:
    """Load every model as a server would, compare the stores with the encoders, and end them again."""
    begun = monotonic()
    forgetful = settings.model_copy(update={"state_directory": None})
    loaded: LoadedModels | None = None
    try:
        loaded = await load_models(bundle, forgetful, forgetful, elsewhere, forgetful)
        if (reader := loaded[READER]) is not None:
            await reader.loaded()
    except QuizglassError as error:
        if loaded is not None:
            await asyncio.shield(loaded.close())
        remedy = "mend the bundle, into whose files quizglass-export verify looks, or the installation"
        return [Finding("models", Status.WRONG, error.message, remedy)]
    try:
        took = monotonic() - begun
        others = [*await speech(loaded), *await sources(settings, loaded[TEXT_ENCODER])]
        ran = executors(loaded.statuses(), available_providers(), settings.provider)
        return [_loaded(loaded, took), *_generator_held(loaded), *ran, *stores.vectors(settings, loaded), *others]
    finally:
        await asyncio.shield(loaded.close())


def _generator_held(models: LoadedModels) -> Iterator[Finding]:
    """What holds the generator's process that was started, if one was."""
    held = None if models.process is None else models.process.contained
    if held is None:
        return
    values = {"parts": list(held.parts), "may": list(held.may)}
    if set(held.may) <= {DEVICES}:
        yield Finding("generator's containment", Status.OK, f"by {held}", "", values)
        return
    remedy = "with --llama-server name the file of a current llama-server itself, no script (docs/threats.md)"
    yield Finding("generator's containment", Status.SLOW, f"in part, by {held}", remedy, values)


async def speech(models: LoadedModels) -> list[Finding]:
    """Whether what recognises speech and what speaks answer, if there is any."""
    changed = asyncio.Event()
    models.on_change(changed.set)
    with suppress(TimeoutError):
        async with asyncio.timeout(SPEECH_S):
            while any(not each.ready for each in _of_speech(models)):
                changed.clear()
                await changed.wait()
    findings = []
    for each in _of_speech(models):
        if each.ready:
            findings.append(Finding(each.role, Status.OK, f"answers ({each.engine}, {each.executor})"))
        else:
            remedy = f"start it, or name another: --{each.role}; without it, turns are in text"
            findings.append(Finding(each.role, Status.WRONG, each.notice, remedy))
    return findings


def _of_speech(models: LoadedModels) -> list[RoleStatus]:
    return [each for each in models.statuses() if each.role in SPEECH_ROLES]


def _loaded(models: LoadedModels, seconds: float) -> Finding:
    roles = {status.role: f"{status.engine}, {status.executor}" for status in models.statuses()}
    engines = ", ".join(f"{count} by {how.replace(', ', ' on ')}" for how, count in Counter(roles.values()).items())
    text = f"all {len(roles)} loaded in {seconds:.1f} s: {engines}"
    values = {"roles": roles, "seconds": round(seconds, 1)}
    if models.process is not None and models.process.on_card:
        values["on_card"] = models.process.on_card
        text += f"; of the generator {models.process.on_card}"
    if notices := [
        f"{status.role} {status.notice}"
        for status in models.statuses()
        if status.notice and status.role not in SPEECH_ROLES
    ]:
        remedy = "see docs/operations.md, When the generator does not suit the CPU"
        return Finding("models", Status.SLOW, f"{text}. {'; '.join(notices)}", remedy, values)
    return Finding("models", Status.OK, text, "", values)
