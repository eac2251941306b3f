"""What a soak does to a server: one fault after the other, while three tenants use it."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import ssl
import struct
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from bench.engine.server.serving import Stock
from bench.hostile.sections import Setup
from bench.network.serving import Access, client_of
from bench.processes import children, runs
from quizglass_client import AsyncClient, AsyncSession
from quizglass_client.local import LocalServer

TENANTS = ("anna", "bert", "carl")
MAY = "ask,read,write,memory"
CRASHES = (0.04, 0.08, 0.97)
"""Shares of the time after which the server is killed: memory is followed in the process that lives between."""
_REST_S = 10.0
_FULL_S = 3.0
"""How long the disk stays full, and how long both tokens of a tenant are valid."""
_TAKEN_S = 60.0
"""Within which a renewed certificate has to be shown."""
_CLOCK = """import os, mmap, struct, time
with open(os.environ["SOAK_CLOCK"], "rb") as _file:
    _ahead = mmap.mmap(_file.fileno(), 8, access=mmap.ACCESS_READ)
_time = time.time
time.time = lambda: _time() + struct.unpack("d", _ahead[:8])[0]
"""
"""Has a server's Python see a clock that is ahead by what a file says."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Memory of the server's processes, at one moment."""

    hours: float
    pid: int
    """Of the server, which is another after it was killed."""
    mib: float
    """Of its processes but the generator's."""
    caches_mib: float
    """What its caches hold of that."""
    generator_mib: float


@dataclass
class Tally:
    """What happened."""

    turns: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    restored: Counter[str] = field(default_factory=Counter)
    """Links of sessions after their first, by the part of the session that was still there."""
    lost: list[str] = field(default_factory=list)
    """Turns that were neither answered nor refused."""
    missing: list[str] = field(default_factory=list)
    """Entries that were acknowledged and are not there, and certificates that were not taken up."""
    memory: list[Sample] = field(default_factory=list)


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
    seconds: float
    began: float = field(default_factory=monotonic)
    tally: Tally = field(default_factory=Tally)

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return monotonic() >= self.began + self.seconds

    def client(self, tenant: str) -> AsyncClient:
        """A client with the token that its tenant has now."""
        return client_of(self.server, self.access, self.tokens[tenant])

    def session(self, tenant: str, state: bytes) -> AsyncSession:
        """A session with that token, which goes on with the dialogue of an earlier one."""
        port = self.server.target.rpartition(":")[2]
        return AsyncSession(f"localhost:{port}", ca=self.access.authority, token=self.tokens[tenant], state=state)


@dataclass(frozen=True)
class SkewedClock:
    """A clock of the servers that are started with `variables`, which a file moves."""

    folder: Path

    @property
    def file(self) -> Path:
        """Has the seconds that the clock is ahead."""
        return self.folder / "clock"

    def variables(self) -> Mapping[str, str]:
        """Of the environment; makes the files."""
        hooks = self.folder / "hooks"
        hooks.mkdir(exist_ok=True)
        (hooks / "sitecustomize.py").write_text(_CLOCK)
        self.file.write_bytes(struct.pack("d", 0.0))
        return {"SOAK_CLOCK": str(self.file), "PYTHONPATH": str(hooks)}


async def disturb(stage: Stage) -> None:
    """One fault after the other, in an order that is drawn, and the server's death when it is due."""
    drawn = random.Random(11)
    crashes = iter(CRASHES)
    due = next(crashes)
    faults: list[Callable[[Stage], Awaitable[None]]] = [_kill_generator, _fill, _jump, _rotate_token, _renew]
    while not stage.over:
        await asyncio.sleep(min(_REST_S, max(0.0, stage.began + stage.seconds - monotonic())))
        if monotonic() - stage.began >= due * stage.seconds:
            due = next(crashes, 2.0)
            await _crash(stage)
        else:
            await drawn.choice(faults)(stage)


def generators(pid: int) -> Iterator[int]:
    """Processes of a server's generator."""
    return (child for child in children(pid) if not runs(child, "quizglass_server"))


async def _crash(stage: Stage) -> None:
    """Kill the server and start another at its address, over what it left on the disk."""
    os.kill(stage.server.pid, signal.SIGKILL)
    await asyncio.to_thread(stage.server.__exit__, None, None, None)
    await asyncio.to_thread(stage.server.__enter__)
    stage.tally.faults["server killed"] += 1


async def _kill_generator(stage: Stage) -> None:
    for pid in generators(stage.server.pid):
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
    await asyncio.sleep(_FULL_S)
    file.unlink()
    stage.tally.faults["disk full"] += 1


async def _jump(stage: Stage) -> None:
    ahead = random.Random(len(stage.tally.memory)).choice([0.0, 3600.0, -3600.0, 86_400.0 * 400])
    with stage.clock.open("r+b") as file:
        file.write(struct.pack("d", ahead))
    stage.tally.faults["clock moved"] += 1


async def _rotate_token(stage: Stage) -> None:
    tenant = random.Random(stage.tally.faults.total()).choice(TENANTS)
    id = stage.tokens[tenant].split("_")[1]
    text = await asyncio.to_thread(stage.access.add, tenant, MAY, "--tenant", tenant)
    await asyncio.sleep(_FULL_S)
    stage.tokens[tenant] = text
    await asyncio.sleep(1)
    await asyncio.to_thread(stage.access.revoke, id)
    stage.tally.faults["token rotated"] += 1


async def _renew(stage: Stage) -> None:
    """Have another certificate issued, which new connections have to be shown soon."""
    await asyncio.to_thread(stage.access.renew)
    issued = (stage.access.folder / "server.pem").read_text()
    port = int(stage.server.operations.rpartition(":")[2])
    until = monotonic() + _TAKEN_S
    while await asyncio.to_thread(ssl.get_server_certificate, ("localhost", port)) not in issued:
        if monotonic() >= until:
            stage.tally.missing.append("a renewed certificate was not taken up")
            return
        await asyncio.sleep(0.5)
    stage.tally.faults["certificate renewed"] += 1
