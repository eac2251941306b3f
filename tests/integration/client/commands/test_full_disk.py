"""A server whose knowledge is on a full disk: what commands say and end with, and what the log has."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image

from quizglass_client import Client
from quizglass_client.errors import Overloaded
from tests.support.knowledge.stores import on_small_disk


@contextmanager
def served(bundle: Path, folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """A server with a disk of 4 MiB for its knowledge; its address, that disk as it is seen from here, and its log."""
    disk, log = folder / "disk", folder / "server.log"
    disk.mkdir()
    words = ("--bundle", bundle, "--knowledge", disk / "knowledge", "--port", "0", "--log-format", "json")
    serve = [*on_small_disk(disk, 4), sys.executable, "-m", "quizglass_server", *map(str, words)]
    with log.open("w") as errors, subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=errors, text=True) as server:
        assert server.stdout is not None
        try:
            ready = json.loads(server.stdout.readline())
            yield ready["address"], Path(f"/proc/{server.pid}/root{disk}"), log
        finally:
            server.terminate()


def ran(target: str, *words: object) -> tuple[int, str]:
    """A command's status and errors."""
    command = [sys.executable, "-m", "quizglass_client.cli", "--server", target, "knowledge", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stderr.replace("\n", " ")


def fill(disk: Path) -> None:
    """Leave no byte on a disk."""
    with (disk / "room").open("wb", buffering=0) as file:
        for size in (1 << 16, 512):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue


def test_a_full_disk_is_a_failure_with_one_advice_and_no_stack(starter_bundle: Path, tmp_path: Path) -> None:
    noise = tmp_path / "noise"
    noise.mkdir()
    for number in range(2):
        Image.frombytes("RGB", (256, 256), os.urandom(3 * 256 * 256)).save(noise / f"thing {number}.png")
    with served(starter_bundle, tmp_path) as (target, disk, log):
        assert ran(target, "import", noise / "thing 0.png", "--no-compare")[0] == 0
        assert ran(target, "delete", "thing 0.png")[0] == 0
        fill(disk)
        status, err = ran(target, "import", noise / "thing 1.png", "--no-compare")
        assert status == 1
        assert err == "quizglass: knowledge.sqlite3: the disk is full; free some space and try again "
        with Client(target) as client, pytest.raises(Overloaded, match="the disk is full") as caught:
            client.add_note("It is a text. " * 4000)
        assert (caught.value.reason, caught.value.retry_after) == ("DISK_FULL", None)
        assert ran(target, "compact") == (1, err)
        (disk / "room").unlink()
        assert ran(target, "import", noise / "thing 1.png", "--no-compare")[0] == 0
        assert ran(target, "compact") == (0, "")
    records = [json.loads(line) for line in log.read_text().splitlines()]
    told = [record for record in records if record.get("code") == "DISK_FULL" and record["message"] == "request failed"]
    assert len(told) >= 2
    assert "the disk is full" in told[0]["reason"]
    assert "Traceback" not in log.read_text()
