"""Three tenants use one server while it is disturbed: `python -m bench.network --only soak [--minutes N]`.

They ask, talk in sessions, and import. Meanwhile the generator's process and the server are killed, the tenants' disk
is full for a while, the system's clock jumps, tokens and certificates are rotated. Every turn has to be answered or to
end with an error that says why; memory must not grow. Faults that this machine does not permit (a disk of one's own
takes `unshare`) are left out, and named.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from time import monotonic
from urllib.request import Request, urlopen

import numpy as np

from bench.engine.contenders.sse import free_port
from bench.hostile.sections import Setup
from bench.hostile.stage import tree_mib
from bench.network import SOAK
from bench.network.faults import MAY, TENANTS, Sample, SkewedClock, Stage, Tally, disturb, generators
from bench.network.serving import protected, serving
from bench.results import Row, at_most
from bench.sections import Part
from quizglass.session import Restored
from quizglass_client import AsyncSession, ClientError, Entry, ServerUnavailable, Unauthenticated
from quizglass_client.session.values import LinkRestored

MIB_AN_HOUR = 1.0
LEAST_S = 1800.0
"""In less, growth an hour says little and is only reported."""
_QUICK_MINUTES = 2.0
_DISK_MIB = 256
_SIGHTINGS = 100
"""Most that a tenant's memory keeps: it is full before growth is measured."""
_LOST_S = 120.0
"""A turn that says nothing for so long is lost."""
_WARM = 0.3
"""Share of a server's life after which memory is expected not to grow: stores and caches are full then."""
_INSIDE = "SOAK_INSIDE"
_CACHE = re.compile(r'^quizglass_cache_bytes\{cache="(\w+)"\} ([\d.e+]+)', re.MULTILINE)


def enter_own_disk(folder: Path, arguments: Sequence[str]) -> None:
    """Begin this command again where the tenants have a small disk of their own, if this machine permits that."""
    tenants = folder / "tenants"
    shutil.rmtree(tenants, ignore_errors=True)  # where it is a disk of its own, that is empty
    tenants.mkdir(parents=True, exist_ok=True)
    if _INSIDE in os.environ or not _mounts():
        return
    mount = f'mount -t tmpfs -o size={_DISK_MIB}m none "$0" && exec "$@"'
    again = [sys.executable, "-m", "bench.network", *arguments]
    os.execvpe("unshare", ["unshare", "-rm", "sh", "-c", mount, str(tenants), *again], {**os.environ, _INSIDE: "1"})


def _mounts() -> bool:
    """Whether file systems of one's own can be mounted here."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0


async def run(setup: Setup, minutes: float) -> Part:
    """Three tenants for so long, beside one fault after the other."""
    seconds = 60 * (min(minutes, _QUICK_MINUTES) if setup.quick else minutes)
    tenants, clock = setup.folder / "tenants", SkewedClock(setup.folder)
    os.environ |= clock.variables()
    access = protected(setup)
    tokens = {name: access.add(name, MAY, "--tenant", name) for name in TENANTS}
    places = {"--tenants": tenants, "--memory-directory": setup.folder / "memory"}
    numbers = {"--port": free_port(), "--operations-port": 0, "--generator-crashes": 1000}
    kept = {"--session-key-file": setup.folder / "session.key", "--memory-sightings": _SIGHTINGS}
    flags = [str(each) for pair in (places | numbers | kept).items() for each in pair]
    async with serving(setup, SOAK, [*flags, "--share-knowledge"], access) as (server, stock):
        own_disk = _INSIDE in os.environ
        stage = Stage(setup, access, server, stock, tenants, clock.file, own_disk, tokens, seconds)
        work = [each(stage, name) for each in (_turns, _talk, _imports) for name in TENANTS]
        await asyncio.gather(*work, disturb(stage), _watch(stage))
    return Part(_rows(stage), {"memory": [(s.hours, s.mib, s.caches_mib, s.generator_mib) for s in stage.tally.memory]})


async def _turns(stage: Stage, tenant: str) -> None:
    """Questions over clients, each answered or refused."""
    while not stage.over:
        question, picture = next(stage.stock)
        try:
            async with asyncio.timeout(_LOST_S), stage.client(tenant) as client:
                for number in range(4):
                    answer = await client.answer(question.text, picture, remember=number == 0, budget=20)
                    _answered(stage.tally, answer.text, f"{tenant}: a client's answer")
        except ClientError as error:
            stage.tally.turns[type(error).__name__] += 1
            await asyncio.sleep(0.2)
        except Exception as error:
            stage.tally.lost.append(f"{tenant}: {type(error).__name__} {error}")


async def _talk(stage: Stage, tenant: str) -> None:
    """Questions in sessions, one after the other; each goes on with the dialogue of the one before."""
    state = b""
    while not stage.over:
        try:
            async with stage.session(tenant, state) as session:
                watching = asyncio.create_task(_watched(session, stage.tally))
                try:
                    state = await _asked(stage, session, tenant)
                finally:
                    watching.cancel()
        except ClientError as error:
            stage.tally.turns[f"session {type(error).__name__}"] += 1
            await asyncio.sleep(0.2)
        except Exception as error:
            stage.tally.lost.append(f"{tenant}: a session: {type(error).__name__} {error}")


async def _asked(stage: Stage, session: AsyncSession, tenant: str) -> bytes:
    """Some questions of a session; its state. Raises ClientError: it takes no more."""
    for _ in range(20):
        question, picture = next(stage.stock)
        try:
            async with asyncio.timeout(_LOST_S):
                answer = await session.answer(question.text, picture, budget=20)
            _answered(stage.tally, answer.text, f"{tenant}: a session's answer")
        except (ServerUnavailable, Unauthenticated):
            raise
        except ClientError as error:
            stage.tally.turns[f"session {type(error).__name__}"] += 1
        if stage.over:
            break
        await asyncio.sleep(0.5)
    return session.state


async def _watched(session: AsyncSession, tally: Tally) -> None:
    async for news in session.news():
        if isinstance(news, LinkRestored):
            tally.restored[str(news.restored)] += 1


def _answered(tally: Tally, text: str, what: str) -> None:
    tally.turns["answered" if text else "empty"] += 1
    if not text:
        tally.lost.append(f"{what} is empty")


async def _imports(stage: Stage, tenant: str) -> None:
    """Entries that come and go; what was acknowledged has to be there, and nothing of others."""
    kept: set[str] = set()
    for number in count():
        if stage.over:
            return
        ids = [f"{tenant}-{number % 20}-{each}" for each in range(20)]
        try:
            async with asyncio.timeout(_LOST_S), stage.client(tenant) as client:
                report = await client.add_entries(
                    Entry(id, f"Thing {id}", text=f"It is of {tenant}, {id}.") for id in ids
                )
                kept |= set(ids) if report.added == len(ids) else set()
                there = {entry.id async for entry in client.list_entries()}
                if not kept <= there or not all(id.startswith(tenant) for id in there):
                    stage.tally.missing.append(f"{tenant}: {len(kept - there)} entries are lost")
                    kept &= there
                for id in ids[:5]:
                    kept.discard(id)
                    await client.delete_entry(id)
        except ClientError as error:
            stage.tally.turns[f"import {type(error).__name__}"] += 1
            kept -= set(ids)  # whether these are there is not known
        except TimeoutError:
            stage.tally.lost.append(f"{tenant}: an import")
        await asyncio.sleep(1.0)


async def _watch(stage: Stage) -> None:
    minute = 0.0
    while not stage.over:
        with suppress(ClientError, OSError):  # it is being started anew
            pid = stage.server.pid
            generator = sum(tree_mib(child) for child in generators(pid))
            caches = await asyncio.to_thread(_caches, stage)
            passed = monotonic() - stage.began
            mib = tree_mib(pid) - generator
            stage.tally.memory.append(Sample(passed / 3600, pid, mib, sum(caches.values()), generator))
            if passed >= minute:
                held = ", ".join(f"{kind} {size:.0f}" for kind, size in caches.items())
                print(
                    f"minute {passed / 60:.0f}: {mib:.0f} MiB, of which caches {held}; generator {generator:.0f}",
                    flush=True,
                )
                minute = passed + 60
        await asyncio.sleep(2)


def _caches(stage: Stage) -> dict[str, float]:
    """MiB that the server's caches hold, by kind."""
    headers = {"authorization": f"Bearer {stage.access.token}"}
    url = f"https://localhost:{stage.server.operations.rpartition(':')[2]}/metrics"
    context = ssl.create_default_context(cafile=stage.access.authority)
    with urlopen(Request(url, headers=headers), context=context, timeout=_LOST_S) as answer:
        return {kind: float(size) / 2**20 for kind, size in _CACHE.findall(answer.read().decode())}


def _rows(stage: Stage) -> list[Row]:
    tally, minutes = stage.tally, stage.seconds / 60
    print(f"turns and imports: {dict(tally.turns)}; lost: {tally.lost[:5]}; missing: {tally.missing[:5]}")
    refused = tally.turns.total() - tally.turns["answered"] - tally.turns["empty"]
    lost, missing = len(tally.lost), len(tally.missing)
    faults = ", ".join(f"{name} {times}" for name, times in sorted(tally.faults.items()))
    untried = "" if stage.own_disk else "; not permitted here: disk full"
    none = tally.restored[Restored.NONE]
    return [
        Row(
            f"neither answered nor told why, in {minutes:.0f} min",
            lost,
            "turns",
            "answered",
            tally.turns["answered"],
            None,
            "0",
            lost == 0,
        ),
        Row("told why", refused, "turns and imports"),
        Row("acknowledged entries and certificates missing", missing, "", bar="0", ok=missing == 0),
        Row("links of sessions made anew", tally.restored.total(), "links", "without their dialogue", none),
        Row("faults", tally.faults.total(), "faults", f"{faults}{untried}"),
        *growth(tally.memory, stage.seconds),
    ]


def growth(memory: Sequence[Sample], seconds: float) -> list[Row]:
    """What grows in the server that lived longest, after the first part of its life.

    Args:
        memory: samples of all servers, in their order.
        seconds: how long the soak took.
    """
    pids = [each.pid for each in memory]
    life = [each for each in memory if each.pid == max(set(pids), key=pids.count)]
    warm = life[0].hours + _WARM * (life[-1].hours - life[0].hours)
    after = [each for each in life if each.hours >= warm]
    hours = np.array([each.hours for each in after])
    caches, generator = (np.array([getattr(each, name) for each in after]) for name in ("caches_mib", "generator_mib"))
    beyond = np.array([each.mib for each in after]) - caches
    (slope, start), covariance = np.polyfit(hours, beyond, 1, cov=True)
    first, error = start + slope * hours[0], 2 * covariance[0, 0] ** 0.5
    name = f"memory beyond caches, growth an hour ({first:.0f} MiB first; ± {error:.1f})"
    grows = float(slope)
    return [
        at_most(name, grows, "MiB", MIB_AN_HOUR) if seconds >= LEAST_S else Row(name, grows, "MiB"),
        Row("caches, which have bounds, growth an hour", float(np.polyfit(hours, caches, 1)[0]), "MiB"),
        Row("the generator's process, growth an hour", float(np.polyfit(hours, generator, 1)[0]), "MiB"),
    ]
