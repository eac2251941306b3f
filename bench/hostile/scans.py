"""Files that take long to decode or to parse: many scans, markers, chunks and fill bytes; and the end of the server."""

from __future__ import annotations

import asyncio
import os
import signal
from time import perf_counter

from bench.hostile.inputs import SIDE, long_to_parse, scan_bomb
from bench.hostile.pictures import Sent, stub
from bench.hostile.sections import Setup
from bench.hostile.stage import Victim, victim
from bench.results import Row, at_most
from bench.sections import Part

_AT_ONCE = 6
_GRACE_S, _CLOSE_S = 3.0, 7.0
"""What running turns get, and what the rest of a stop takes at most."""


async def run(setup: Setup) -> Part:
    """Every file in turn against one server, which is then told to stop beside the worst."""
    part = Part()
    files = {"JPEG of 20,000 scans": scan_bomb(2000, setup.count(20_000, 500))}
    files["JPEG of 117,925 scans"] = scan_bomb(SIDE, setup.count(117_925, 1000))
    files |= dict(long_to_parse())
    # As many scans as are let through: the dearest that a server decodes.
    files["JPEG of 100 scans"] = scan_bomb(SIDE, 100)
    async with victim(setup, ["--grace-s", f"{_GRACE_S}"]) as served:
        for name, encoded in files.items():
            setup.say(f"{_AT_ONCE} at once: {name}, {len(encoded)} bytes")
            sent = Sent()
            found = await served.under(f"{_AT_ONCE} at once, {name}", sent.attack([encoded], _AT_ONCE))
            part.rows += found.rows()
            part.data[name] = found.record() | {"bytes": len(encoded), "sent": dict(sent.became)}
        setup.say("told to stop while it decodes")
        part.rows.append(await _stopped(served, files["JPEG of 100 scans"]))
    return part


async def _stopped(served: Victim, encoded: bytes) -> Row:
    """Seconds from SIGTERM to the end of the process, while it decodes."""
    async with stub(served.target) as assistant:
        sent = Sent()
        asking = [asyncio.create_task(sent.one(assistant, encoded)) for _ in range(_AT_ONCE)]
        await asyncio.sleep(0.5)
        began = perf_counter()
        os.kill(served.pid, signal.SIGTERM)
        await asyncio.to_thread(_gone, served.pid)
        took = perf_counter() - began
        await asyncio.gather(*asking, return_exceptions=True)
    return at_most("told to stop while it decodes: until it has ended", took, "s", _GRACE_S + _CLOSE_S)


def _gone(pid: int) -> None:
    """Wait for the end of a child without taking its exit status from whoever waits for it."""
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
