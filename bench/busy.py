"""Other jobs on the machine: processes of the benchmark's own that compute all the time.

`python busy.py NICENESS SESSION_NICENESS` is one of them. It says so with one line when it has begun, and
ends with its standard input.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from threading import Thread

_AUTOGROUP = Path("/proc/self/autogroup")


@asynccontextmanager
async def busy(count: int, niceness: int) -> AsyncIterator[None]:
    """So many processes compute beside what is done within; `niceness` is added to this process's own."""
    # As other jobs have: where the system shares cores among sessions, one of this process's would be shared with it.
    jobs = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, __file__, str(niceness), str(session_niceness() + niceness)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        for _ in range(count)
    ]
    try:
        for job in jobs:
            assert job.stdout is not None
            await job.stdout.readline()
        yield
    finally:
        for job in jobs:
            with suppress(ProcessLookupError):
                job.kill()
            await job.wait()


def session_niceness() -> int:
    """Of this process's session, where the system shares cores among sessions; else 0."""
    try:
        return int(_AUTOGROUP.read_text().split()[-1])
    except (OSError, ValueError, IndexError):
        return 0


def set_session_niceness(niceness: int, pid: int | str = "self") -> None:
    """Set it for the session of a process, where there is such a thing."""
    with suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(min(19, niceness)))


def _main() -> None:
    niceness, of_session = map(int, sys.argv[1:])
    os.nice(niceness)
    set_session_niceness(of_session)
    Thread(target=_end_with_parent, daemon=True).start()
    print("begun", flush=True)
    number = 1
    while True:
        number = number * 1_103_515_245 + 12_345 & 0xFFFF_FFFF


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(0)


if __name__ == "__main__":
    _main()
