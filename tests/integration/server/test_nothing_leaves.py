"""Nothing leaves the machine, and nothing is written but where the user said: real processes, in an environment where
nothing is set, and not that of a continuous integration, where ONNX Runtime would be quiet by itself.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from quizglass_lab.pocketworld.dataset import build_world, write_entries
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.scenes import make_scene
from quizglass_server.offline import VARIABLES
from tests.support.processes import children
from tests.support.tracing import STRACE, Seen, clean_environment, files_in, read_trace, traced, watched

ROOT = Path(__file__).parents[3]
WORLD = build_world(4242, 6, core=False)
QUIET = ("/dev/null", "/dev/tty", "/dev/shm/", "/proc/self/")
PACKAGES = (
    "quizglass_server",
    "quizglass_server.engines.generator.process.started",
    "quizglass_server.engines.onnx.session",
    "quizglass_server.roles.reader",
    "quizglass_server.knowledge",
    "quizglass_export",
    "quizglass_export.parity",
    "bench",
    "bench.engine.scorers.memory",
)
SAID = b"What is this?\nHow much does it cost?\n"
"""To the one that asks what to ask."""
SHOW = f"import json, os; print(json.dumps({{name: os.environ[name] for name in {list(VARIABLES)}}}))"


@pytest.mark.parametrize("package", PACKAGES)
def test_whatever_is_imported_first_turns_off_what_would_call_home(package: str, tmp_path: Path) -> None:
    environment = clean_environment(tmp_path) | dict.fromkeys(VARIABLES, "0")  # also against the user's own setting
    command = [sys.executable, "-c", f"import {package}; {SHOW}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == VARIABLES


@pytest.mark.parametrize("module", ["quizglass_export.parity", "bench.engine.scorers.memory"])
def test_onnx_runtime_leaves_nothing_behind(module: str, starter_bundle: Path, tmp_path: Path) -> None:
    environment = clean_environment(tmp_path) | {"PYTHONPATH": str(ROOT)}  # benchmarks are no part of the package
    run = f"import {module}, onnxruntime; onnxruntime.InferenceSession({str(starter_bundle / 'planner/model.onnx')!r})"
    command = traced([sys.executable, "-c", run], tmp_path / "trace")
    subprocess.run(command, env=environment, cwd=tmp_path, check=True)
    assert not [path for path in files_in(tmp_path / "home", tmp_path / "tmpdir") if "torchinductor" not in path]
    if STRACE is not None:
        assert outside(read_trace(tmp_path / "trace")) == set()


def test_serving_importing_and_asking_reach_and_write_only_what_they_were_told(
    starter_bundle: Path, tmp_path: Path
) -> None:
    world, own = tmp_path / "world", tmp_path / "own"
    write_entries(WORLD, world, size=112)
    picture = world / "a.png"
    draw_scene(make_scene([WORLD.things[0]], random.Random(1), fault_share=0), 336).save(picture)
    own.mkdir()
    there = place(tmp_path)
    with serving(starter_bundle, own, tmp_path / "server.trace", there) as (target, polled):
        for number, asked in enumerate(
            (
                ["knowledge", "import", str(world / "entries.jsonl")],
                ["ask", str(picture), "What does this cost?", "--policy", "both", "--remember", "--budget", "60"],
                ["ask", str(picture), "What is printed on it?", "--budget", "60"],
                ["chat", str(picture), "--local-only"],
                ["capabilities"],
            )
        ):
            trace = tmp_path / f"client-{number}.trace"
            client = [sys.executable, "-m", "quizglass_client.cli", "--server", target, *asked]
            subprocess.run(traced(client, trace), **there, check=True, stdout=subprocess.DEVNULL, input=SAID)
            if STRACE is not None:
                seen = read_trace(trace)
                assert {f"{address}:{port}" for _, address, port in seen.reached if port} == {target}
                assert astray(seen, ()) == []
    if STRACE is not None:
        seen = read_trace(tmp_path / "server.trace")
        assert outside(seen) == {("bind", "127.0.0.1", 0)}
        assert astray(seen, (str(own),)) == []
    assert {port for _, address, port in polled.reached if port == 53 or not address.startswith("127.")} == set()
    assert files_in(*(tmp_path / name for name in ("work", "home", "tmpdir"))) == []
    assert (own / "k" / "knowledge.sqlite3").exists()


@contextmanager
def serving(bundle: Path, own: Path, trace: Path, there: dict[str, Any]) -> Iterator[tuple[str, Seen]]:
    """A server that keeps its own files in `own`: its address, and what it was seen to reach without strace.

    What strace sees is in `trace` once the server has ended.
    """
    flags = ["--port", "0", "--log-format", "json", "--bundle", str(bundle)]
    for flag, name in (("--knowledge", "k"), ("--memory-directory", "m"), ("--state-directory", "s")):
        flags += [flag, str(own / name)]
    command = traced([sys.executable, "-m", "quizglass_server.cli", *flags], trace)
    with subprocess.Popen(command, **there, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            with watched([server.pid]) if STRACE is None else nullcontext(Seen()) as polled:
                yield json.loads(server.stdout.readline())["address"], polled
                os.kill(the_server(server), signal.SIGTERM)
                assert server.wait(60) == 0
        finally:
            server.kill()


def place(folder: Path) -> dict[str, Any]:
    """Where a process runs, and its environment, without settings."""
    (work := folder / "work").mkdir()
    return {"cwd": work, "env": clean_environment(folder)}


def the_server(process: "subprocess.Popen[bytes]") -> int:
    """Its process id, which strace is the parent of."""
    if STRACE is None:
        return process.pid
    (child,) = children(process.pid)
    return child


def outside(seen: Seen) -> set[tuple[str, str, int]]:
    """What was tried over IP, urllib3's look whether there is IPv6 apart: it binds ::1 and closes it."""
    return {call for call in seen.reached if call != ("bind", "::1", 0)}


def astray(seen: Seen, allowed: tuple[str, ...]) -> list[str]:
    """Paths written to that were not named; not compiled Python, the folder of the generator's socket, or the file by
    which it tries whether TMPDIR can be written to, which are gone at the end.
    """
    fine = (*QUIET, *allowed)
    usual = re.compile(r"__pycache__|/tmpdir/(\w{8}$|quizglass-)")
    return sorted(path for path in seen.written if not path.startswith(fine) and not usual.search(path))
