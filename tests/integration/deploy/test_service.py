"""The server as a service: what it tells the manager, over a real datagram socket, and the unit that starts it."""

import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from quizglass_client.local import LocalServer
from quizglass_server.config.settings import TurnOptions
from quizglass_server.engines.generator.process.threads import kept_in
from tests.support.bundles.tiny_bundle import write_bundle

UNIT = Path(__file__).parents[3] / "deploy" / "systemd" / "quizglass.service"
WATCHDOG_US = 300_000


@pytest.fixture
def manager(tmp_path, monkeypatch):
    """A service manager's socket, which the servers of the test are started with."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(60)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", str(WATCHDOG_US))
        yield listening


def told(manager):
    return manager.recv(4096).decode().splitlines()


def all_told(manager):
    while told(manager):
        pass


def test_the_manager_hears_when_it_is_ready_that_it_lives_and_when_it_stops(manager, tmp_path):
    with LocalServer(write_bundle(tmp_path / "bundle"), tmp_path / "knowledge") as server:
        ready = told(manager)
        assert ready[0] == "READY=1"
        assert server.target in ready[1]
        assert [told(manager) for _ in range(3)] == [["WATCHDOG=1"]] * 3
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        for child in children:
            assert b"NOTIFY_SOCKET" not in Path(f"/proc/{child}/environ").read_bytes()
        os.kill(server.pid, signal.SIGTERM)
        said = told(manager)
        while said == ["WATCHDOG=1"]:
            said = told(manager)
        assert said[0] == "STOPPING=1"


def test_a_server_that_hangs_is_not_heard_of(manager, tmp_path):
    with LocalServer(write_bundle(tmp_path / "bundle"), tmp_path / "knowledge") as server:
        assert told(manager)[0] == "READY=1"
        os.kill(server.pid, signal.SIGSTOP)
        try:
            manager.settimeout(WATCHDOG_US / 1e6)
            with pytest.raises(TimeoutError):
                all_told(manager)
        finally:
            os.kill(server.pid, signal.SIGCONT)


@pytest.mark.parametrize("address", ["/nothing/there", "@quizglass-nothing-there", "x" * 200])
def test_a_manager_that_cannot_be_told_keeps_nothing_from_serving(address, tmp_path, monkeypatch):
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    log = tmp_path / "log"
    with LocalServer(write_bundle(tmp_path / "bundle"), tmp_path / "knowledge", log=log) as server:
        assert server.target
    assert "the service manager cannot be told" in log.read_text()


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The unit as the system has it, with a program that is there."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: apt install systemd")
    unit = tmp_path_factory.mktemp("units") / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/quizglass/venv/bin/quizglass-server", "/bin/true"))
    return unit


def test_systemd_finds_nothing_wrong_with_the_unit(installed):
    done = subprocess.run(["systemd-analyze", "verify", installed], capture_output=True, text=True, check=False)
    about = [line for line in (done.stdout + done.stderr).splitlines() if UNIT.name in line]
    assert (done.returncode, about) == (0, [])


def test_the_unit_exposes_little(installed):
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", installed]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze judges no files")
    level = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
    assert level is not None, done.stdout + done.stderr
    assert float(level[1]) <= 2.0, done.stdout


def test_a_stop_leaves_running_turns_the_engines_that_they_need():
    """By default systemd sends the signal to the generator and the decoders too, which end at once."""
    given = dict(re.findall(r"^(KillMode|TimeoutStopSec)=(\w+)$", UNIT.read_text(), re.MULTILINE))
    assert given["KillMode"] == "mixed"
    assert int(given["TimeoutStopSec"]) > TurnOptions().withdraw_s + TurnOptions().grace_s


def test_what_was_found_out_about_the_machine_outlives_a_restart(monkeypatch):
    """Its home cannot be written to: each start would compare numbers of threads again."""
    given = dict(re.findall(r"^(CacheDirectory|Environment)=(\S+)$", UNIT.read_text(), re.MULTILINE))
    name, _, value = given["Environment"].partition("=")
    monkeypatch.setenv(name, value.replace("%C", "/var/cache"))
    assert kept_in() == Path("/var/cache") / given["CacheDirectory"]
