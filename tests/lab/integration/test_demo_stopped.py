"""A demo that is stopped: its status, what it says, and that no server of its own is left."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quizglass_lab.demo import everyday
from quizglass_lab.pocketworld.dataset import build_world, files, write_entries
from quizglass_lab.pocketworld.world import World
from tests.support.processes import running


def test_the_demo_ends_quietly_and_takes_its_server_with_it(tmp_path: Path) -> None:
    command = [sys.executable, "lab/quizglass_lab/demo/world.py", "--workdir", str(tmp_path), "--bundle", str(tmp_path)]
    # A bundle that is not there is found out long after the server's process is.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as demo:
        while not (servers := running(demo.pid, "quizglass_server")):
            assert demo.poll() is None, demo.communicate()
        demo.send_signal(signal.SIGTERM)
        said, problem = demo.communicate()
    assert "Starting quizglass-server" in said
    assert (demo.returncode, problem) == (130, "")
    assert not [server for server in servers if Path(f"/proc/{server}").exists()]


def test_the_everyday_demo_ends_quietly_while_it_fetches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(everyday, "build_bundle", interrupted)
    assert everyday.main(["--workdir", str(tmp_path)]) == 130
    assert capsys.readouterr().err == ""


def test_a_world_that_was_half_written_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, entries = build_world(7, 12), files._entries

    def interrupted(world: World) -> Iterator[dict[str, Any]]:
        yield next(iter(entries(world)))
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "_entries", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_entries(world, tmp_path)
    assert not (tmp_path / "entries.jsonl").exists()


def test_the_demo_says_what_it_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    command = [sys.executable, "lab/quizglass_lab/demo/world.py", "--workdir", str(tmp_path / "file")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert "The demo failed: [Errno 20] Not a directory" in done.stdout
