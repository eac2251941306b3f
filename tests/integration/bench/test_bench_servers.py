"""A benchmark that is stopped takes its servers with it: real processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.processes import runs

ROOT = Path(__file__).parents[3]
BENCH = """
import asyncio, signal, sys
from pathlib import Path
from bench import processes, sections
from quizglass_client.local import LocalServer

how, bundle, folder = sys.argv[1:]

class Told(LocalServer):
    def _ready_address(self, process):
        if "loading" in how:
            print(process.pid, flush=True)
        return super()._ready_address(process)

def serving(server):
    print(server.pid, flush=True)
    signal.pause()

def plain(name):
    with Told(Path(bundle), Path(folder) / "knowledge") as server:
        serving(server)

def coroutine(name):
    async def run():
        async with processes.running_server(Told(Path(bundle), Path(folder) / "knowledge")) as server:
            print(server.pid, flush=True)
            await asyncio.Event().wait()
    asyncio.run(run())

args = sections.arguments("ended", None, ["one"]).parse_args(["--quick", "--workdir", folder])
runner = sections.Runner("ended", ["one"], args)
with runner.status() as say:
    runner.measure(coroutine if "coroutine" in how else plain)
"""


KILLS = """
import sys
from pathlib import Path
from types import SimpleNamespace
from bench import processes
from bench.knowledge import faults

with processes.ended_together():
    faults.kills(SimpleNamespace(kills=100_000, folder=Path(sys.argv[1])))
"""


@pytest.mark.parametrize("how", ["serving", "loading", "serving a coroutine", "loading for a coroutine"])
def test_told_to_end_a_benchmark_ends_its_server(how: str, starter_bundle: Path, tmp_path: Path) -> None:
    with started(how, str(starter_bundle), str(tmp_path)) as (bench, server):
        os.kill(bench.pid, signal.SIGTERM)
        bench.communicate(timeout=60)
        assert bench.returncode != 0
        assert not Path(f"/proc/{server}").exists()


def test_told_to_end_a_benchmark_leaves_no_store_of_a_program_that_it_ran(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLS, str(tmp_path)], cwd=ROOT, stderr=subprocess.DEVNULL) as bench:
        while not list(tmp_path.rglob("*sqlite*")):
            assert bench.poll() is None, "or this test is about nothing"
            time.sleep(0.02)
        os.kill(bench.pid, signal.SIGTERM)
        bench.wait(60)
    assert list(tmp_path.iterdir()) == []


@contextmanager
def started(*arguments: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A benchmark, and the process id of its server; whatever is left of them is killed afterwards."""
    command = [sys.executable, "-c", BENCH, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as bench:
        assert bench.stdout is not None
        server = next(int(line) for line in bench.stdout if line.strip().isdecimal())
        try:
            yield bench, server
        finally:
            bench.kill()
            if runs(server, "quizglass_server"):
                os.kill(server, signal.SIGKILL)
