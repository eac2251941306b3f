"""`python -m bench.network.soak [--minutes N]`: three tenants use one server while it is disturbed.

They ask and import. Meanwhile the generator's process is killed, the tenants' disk is full for a while, the system's
clock jumps, and tokens are rotated. Every turn has to be answered or to end with an error that says why; memory must
not grow. Faults that this machine does not permit (a disk of one's own takes `unshare`) are left out, and named.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import shutil
import signal
import ssl
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from urllib.request import Request, urlopen

import numpy as np

from bench.engine.server.serving import Stock
from bench.hostile.sections import Setup
from bench.hostile.stage import tree_mib
from bench.network.serving import Access, client_of, protected, serving
from bench.processes import children, ended_together, runs
from quizglass_client import AsyncClient, ClientError, Entry
from quizglass_client.local import LocalServer

MIB_AN_HOUR = 1.0
TENANTS = ("anna", "bert", "carl")
_DISK_MIB = 256
_LOST_S = 120.0
"""A turn that says nothing for so long is lost."""
_WARM = 0.25
"""Share of the time after which memory is expected not to grow: caches are full then."""
_INSIDE = "SOAK_INSIDE"
_CACHE = re.compile(r'^quizglass_cache_bytes\{cache="(\w+)"\} ([\d.e+]+)', re.MULTILINE)
_CLOCK = """import os, mmap, struct, time
with open(os.environ["SOAK_CLOCK"], "rb") as _file:
    _ahead = mmap.mmap(_file.fileno(), 8, access=mmap.ACCESS_READ)
_time = time.time
time.time = lambda: _time() + struct.unpack("d", _ahead[:8])[0]
"""
"""Has a server's Python see a clock that is ahead by what a file says."""


@dataclass
class Tally:
    """What happened."""

    turns: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    """Turns that were neither answered nor refused."""
    memory: list[tuple[float, float, float]] = field(default_factory=list)
    """Hours since the start, MiB of the server's processes, the generator's apart, and MiB that its caches hold."""


@dataclass
class Stage:
    """The server, and what may be done to it."""

    setup: Setup
    access: Access
    server: LocalServer
    stock: Stock
    tenants: Path
    clock: Path
    own_disk: bool
    tokens: dict[str, str]
    tally: Tally = field(default_factory=Tally)

    def client(self, tenant: str) -> AsyncClient:
        """A client with the token that its tenant has now."""
        return client_of(self.server, self.access, self.tokens[tenant])


def main(arguments: list[str] | None = None) -> int:
    """Returns 0, or 1 where a turn was lost or memory grew."""
    parser = argparse.ArgumentParser(prog="python -m bench.network.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, metavar="N")
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    parser.add_argument("--workdir", type=Path, default=Path("work/soak"))
    args = parser.parse_args(arguments)
    tenants = args.workdir.resolve() / "tenants"
    shutil.rmtree(tenants, ignore_errors=True)  # where it is a disk of its own, that is empty
    tenants.mkdir(parents=True, exist_ok=True)
    if _INSIDE not in os.environ and _mounts():
        mount = f'mount -t tmpfs -o size={_DISK_MIB}m none "$0" && exec "$@"'
        command = [sys.executable, "-m", "bench.network.soak", *(arguments or sys.argv[1:])]
        return subprocess.run(
            ["unshare", "-rm", "sh", "-c", mount, str(tenants), *command], env={**os.environ, _INSIDE: "1"}, check=False
        ).returncode
    with ended_together():
        return asyncio.run(_soak(args.minutes * 60, Setup(False, args.workdir.resolve(), args.bundle.resolve(), print)))


def _mounts() -> bool:
    """Whether file systems of one's own can be mounted here."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0


async def _soak(seconds: float, setup: Setup) -> int:
    tenants, clock = setup.folder / "tenants", setup.folder / "clock"
    hooks = setup.folder / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "sitecustomize.py").write_text(_CLOCK)
    clock.write_bytes(struct.pack("d", 0.0))
    os.environ |= {"SOAK_CLOCK": str(clock), "PYTHONPATH": str(hooks)}
    access = protected(setup)
    tokens = {name: access.add(name, "ask,read,write,memory", "--tenant", name) for name in TENANTS}
    memory = str(setup.folder / "memory")
    flags = [
        "--tenants",
        str(tenants),
        "--share-knowledge",
        "--memory-directory",
        memory,
        "--generator-crashes",
        "1000",
        "--operations-port",
        "0",
    ]
    async with serving(setup, "soak", flags, access) as (server, stock):
        stage = Stage(setup, access, server, stock, tenants, clock, _INSIDE in os.environ, tokens)
        ends = monotonic() + seconds
        work = [_turns(stage, name, ends) for name in TENANTS] + [_imports(stage, name, ends) for name in TENANTS]
        await asyncio.gather(*work, _faults(stage, ends), _watch(stage, ends))
    return _told(stage, seconds)


async def _turns(stage: Stage, tenant: str, ends: float) -> None:
    """Questions, each answered or refused."""
    while monotonic() < ends:
        question, picture = next(stage.stock)
        try:
            async with asyncio.timeout(_LOST_S), stage.client(tenant) as client:
                for number in range(4):
                    answer = await client.answer(question.text, picture, remember=number == 0, budget=20)
                    stage.tally.turns["answered" if answer.text else "empty"] += 1
                    if not answer.text:
                        stage.tally.lost.append(f"{tenant}: an empty answer")
        except ClientError as error:
            stage.tally.turns[type(error).__name__] += 1
            await asyncio.sleep(0.2)
        except Exception as error:
            stage.tally.lost.append(f"{tenant}: {type(error).__name__} {error}")


async def _imports(stage: Stage, tenant: str, ends: float) -> None:
    """Entries that come and go; what was acknowledged has to be there, and nothing of others."""
    kept: set[str] = set()
    for number in range(1 << 30):
        if monotonic() >= ends:
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
                    stage.tally.lost.append(f"{tenant}: {len(kept - there)} entries are lost")
                for id in ids[:5]:
                    await client.delete_entry(id)
                    kept.discard(id)
        except ClientError as error:
            stage.tally.turns[f"import {type(error).__name__}"] += 1
            kept -= set(ids)  # whether these are there is not known
        await asyncio.sleep(1.0)


async def _faults(stage: Stage, ends: float) -> None:
    """One after the other, in an order that is drawn."""
    drawn = random.Random(11)
    faults: list[Callable[[Stage], Awaitable[None]]] = [_kill, _fill, _jump, _rotate]
    while monotonic() < ends:
        await asyncio.sleep(min(10.0, max(0.0, ends - monotonic())))
        await drawn.choice(faults)(stage)


async def _kill(stage: Stage) -> None:
    for pid in _generators(stage.server.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        stage.tally.faults["generator killed"] += 1


async def _fill(stage: Stage) -> None:
    if not stage.own_disk:
        return
    file = stage.tenants / "filled"
    with suppress(OSError), file.open("wb", buffering=0) as filling:
        while True:
            filling.write(bytes(1 << 20))
    await asyncio.sleep(3)
    file.unlink()
    stage.tally.faults["disk full"] += 1


async def _jump(stage: Stage) -> None:
    ahead = random.Random(len(stage.tally.memory)).choice([0.0, 3600.0, -3600.0, 86_400.0 * 400])
    with stage.clock.open("r+b") as file:
        file.write(struct.pack("d", ahead))
    stage.tally.faults["clock jumped"] += 1


async def _rotate(stage: Stage) -> None:
    tenant = random.Random(stage.tally.faults.total()).choice(TENANTS)
    id = stage.tokens[tenant].split("_")[1]
    text = await asyncio.to_thread(stage.access.add, tenant, "ask,read,write,memory", "--tenant", tenant)
    await asyncio.sleep(3)
    stage.tokens[tenant] = text
    await asyncio.sleep(1)
    await asyncio.to_thread(stage.access.revoke, id)
    stage.tally.faults["token rotated"] += 1


async def _watch(stage: Stage, ends: float) -> None:
    began = minute = monotonic()
    while monotonic() < ends:
        generators = sum(tree_mib(pid) for pid in _generators(stage.server.pid))
        mib = tree_mib(stage.server.pid) - generators
        caches = await asyncio.to_thread(_caches, stage)
        stage.tally.memory.append(((monotonic() - began) / 3600, mib, sum(caches.values())))
        if monotonic() >= minute:
            held = ", ".join(f"{kind} {size:.0f}" for kind, size in caches.items())
            print(f"minute {(minute - began) / 60:.0f}: {mib:.0f} MiB, of which caches {held}", flush=True)
            minute += 60
        await asyncio.sleep(2)


def _caches(stage: Stage) -> dict[str, float]:
    """MiB that the server's caches hold, by kind."""
    headers = {"authorization": f"Bearer {stage.access.token}"}
    url = f"https://localhost:{stage.server.operations.rpartition(':')[2]}/metrics"
    context = ssl.create_default_context(cafile=stage.access.authority)
    with urlopen(Request(url, headers=headers), context=context, timeout=_LOST_S) as answer:
        return {kind: float(size) / 2**20 for kind, size in _CACHE.findall(answer.read().decode())}


def _generators(pid: int) -> list[int]:
    return [child for child in children(pid) if not runs(child, "quizglass_server")]


def _told(stage: Stage, seconds: float) -> int:
    """Say what happened; 1 where something was lost, or memory grew."""
    tally = stage.tally
    hours, mib, cached = np.array([each for each in tally.memory if each[0] * 3600 >= _WARM * seconds]).T
    grows, fills = (float(np.polyfit(hours, each, 1)[0]) for each in (mib - cached, cached))
    error = float(np.std(mib - cached)) / max(float(np.ptp(hours)), 1e-9)
    print(f"turns and imports: {dict(tally.turns)}")
    print(f"faults: {dict(tally.faults)}" + ("" if stage.own_disk else "; not tried here: disk full"))
    print(f"neither answered nor told: {len(tally.lost)} {tally.lost[:5]}")
    print(f"memory: {mib[0]:.0f} MiB, then {mib[-1]:.0f}; caches, which have bounds, {fills:+.2f} MiB an hour")
    print(f"memory beyond caches: {grows:+.2f} MiB an hour (spread of a sample {error:.1f})")
    told = seconds >= 1800
    if not told:
        print("growth an hour says little after so short a time, and counts for nothing here")
    return int(bool(tally.lost) or (told and grows > MIB_AN_HOUR))


if __name__ == "__main__":
    sys.exit(main())
