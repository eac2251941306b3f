"""What a contained process can do, tried by one: sockets, files, programs. And the processes that are contained."""

import json
import os
import shlex
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from quizglass_server import containment
from quizglass_server.decoding.markup.converter import Converter
from quizglass_server.decoding.process import DecoderProcess
from quizglass_server.engines.generator.process.programs import find_program
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.engines.generator_process import PATIENCE_S
from tests.support.processes import children, generator_of
from tests.support.rpc_fakes import png

TRIES = """
import ctypes, json, os, socket, subprocess, sys, threading
from pathlib import Path
from quizglass_server.containment import contain

outside = Path(sys.argv[1])
open_before = os.fdopen(int(sys.argv[2]), "w")
SETUP

def tried(what):
    try:
        what()
    except OSError as error:
        return error.strerror
    return "done"

def thread():
    began = threading.Thread(target=lambda: None); began.start(); began.join()

def memory():
    libc, byte = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(b"x")
    span = (ctypes.c_size_t * 2)(ctypes.addressof(byte), 1)
    if libc.process_vm_readv(os.getpid(), span, 1, span, 1, 0) != 1:
        raise OSError(number := ctypes.get_errno(), os.strerror(number))

def unix():
    with socket.socket(socket.AF_UNIX) as own:
        own.bind("own"); own.listen()

print(json.dumps({
    "network": tried(lambda: socket.create_connection(("127.0.0.1", 9))),
    "datagram": tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)),
    "packet": tried(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)),
    "unix datagram": tried(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)),
    "peer": tried(lambda: socket.socket(socket.AF_UNIX).connect(str(outside / "peer"))),
    "own socket": tried(unix),
    "write": tried(lambda: (outside / "new").write_text("x")),
    "change": tried(lambda: (outside / "there").write_text("x")),
    "remove": tried(lambda: (outside / "there").unlink()),
    "rename": tried(lambda: (outside / "there").rename(outside / "gone")),
    "folder": tried(lambda: (outside / "folder").mkdir()),
    "here": tried(lambda: Path("here").write_text("x")),
    "start": tried(lambda: subprocess.run(["/bin/true"])),
    "fork": tried(lambda: os.fork() or os._exit(0)),
    "memory": tried(memory),
    "read": tried(Path(sys.argv[0]).read_text),
    "open before": tried(lambda: (open_before.write("x"), open_before.flush())),
    "thread": tried(thread),
}), flush=True)
print(tried(lambda: os.execv("/bin/echo", ["echo", "done"])))
"""
NOT_PERMITTED, DENIED = "Operation not permitted", "Permission denied"


@pytest.fixture
def tried(tmp_path):
    """What a process can do that contains itself, in words: `setup` is how."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "there").write_text("kept")
    (tmp_path / "inside").mkdir()

    def run(setup, *program, launcher=sys.executable):
        script = tmp_path / "tries.py"
        script.write_text(TRIES.replace("SETUP", setup))
        with socket.socket(socket.AF_UNIX) as peer, (tmp_path / "open").open("w") as before:
            peer.bind(str(tmp_path / "outside" / "peer"))
            peer.listen()
            command = [*program, str(launcher), str(script), str(tmp_path / "outside"), str(before.fileno())]
            how = {"cwd": tmp_path / "inside", "pass_fds": [before.fileno()], "timeout": 60, "check": True}
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, **how)
        found, executed = done.stdout.splitlines()
        return {**json.loads(found), "execute": executed}

    return run


@pytest.mark.skipif(len(containment.offered()) < 3, reason="this system does not offer all three parts")
def test_a_contained_process_reaches_no_network_writes_nothing_and_starts_nothing(tried, tmp_path):
    found = tried("contain()")
    allowed = {"read", "open before", "thread"}
    assert {name for name, came in found.items() if came == "done"} == allowed, found
    assert set(found.values()) == {"done", NOT_PERMITTED, DENIED}
    assert (tmp_path / "outside" / "there").read_text() == "kept"


def test_the_same_process_may_do_all_that_uncontained(tried):
    """Else the test above would show nothing."""
    refused = {name for name, came in tried("").items() if came != "done"}
    assert refused == {"network", "rename"}  # nothing listens there, and what was to be renamed is removed by then


@pytest.mark.skipif(len(containment.offered()) < 3, reason="this system does not offer all three parts")
def test_a_generator_has_its_own_socket_and_folder_alone(tried):
    """As llama-server is started: contained before it becomes the program."""
    started = (sys.executable, "-P", "-m", "quizglass_server.engines.generator.process.started", str(os.getpid()))
    found = tried("", *started, "unix")
    allowed = {"own socket", "here", "read", "open before", "thread"}
    assert {name for name, came in found.items() if came == "done"} == allowed, found


async def test_a_decoder_is_contained_and_decodes(tmp_path):
    decoder = DecoderProcess()
    try:
        pixels = await decoder.decode(png(), 64 << 20)
        assert len(pixels.mapped) == 3 * pixels.width * pixels.height
        state = status(decoder.pid)
    finally:
        decoder.end()
    assert state["NoNewPrivs"] == "1"
    if "seccomp" in containment.offered():
        assert state["Seccomp"] == "2"


async def test_the_converter_of_markup_is_contained_and_converts():
    converter = Converter()
    try:
        (block,) = await converter.blocks("# Aloe\n\nWater it.", "markdown")
        assert (block.headings, block.text) == (("Aloe",), "Water it.")
        (child,) = (each for each in children(os.getpid()) if "markup.child" in command(each))
        state = status(child)
    finally:
        converter.close()
    assert state["NoNewPrivs"] == "1"


@pytest.fixture
def script(tmp_path):
    """A llama-server behind a script."""
    path = tmp_path / "llama-server"
    path.write_text(f'#!/bin/sh\nexec {shlex.join(find_program().command)} "$@"\n')
    path.chmod(0o755)
    return path


@contextmanager
def announced(folder, *flags):
    """A server's ready line, and its generator's process."""
    command = [sys.executable, "-m", "quizglass_server", "--log-format", "json", "--port", "0"]
    where = ["--bundle", str(write_bundle(folder / "bundle")), "--knowledge", str(folder / "knowledge")]
    with subprocess.Popen([*command, *where, *flags], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        try:
            yield json.loads(server.stdout.readline()), generator_of(server.pid)
        finally:
            server.terminate()
            server.communicate(timeout=PATIENCE_S)


def test_the_ready_line_says_what_holds_the_generator_that_was_started(tmp_path):
    with announced(tmp_path) as (ready, generator):
        assert ready["contained"] == str(containment.in_force())
        assert ready["generator_contained"] == str(containment.in_force(Path(find_program().command[0]), "unix"))
        assert status(generator)["NoNewPrivs"] == "1"


@pytest.mark.skipif(len(containment.offered()) < 3, reason="this system does not offer all three parts")
def test_the_ready_line_says_what_a_generator_that_is_a_script_may_do(tmp_path, script):
    with announced(tmp_path, "--llama-server", str(script)) as (ready, generator):
        assert ready["contained"] == str(containment.in_force())
        assert ready["generator_contained"] == "no_new_privs, seccomp; may start programs, write files"
        assert (status(generator)["NoNewPrivs"], status(generator)["Seccomp"]) == ("1", "2")


@pytest.mark.skipif(len(containment.offered()) < 3, reason="this system does not offer all three parts")
def test_what_a_script_may_do_is_what_is_said_of_it(tried, tmp_path):
    """The parts that are said to be in force refuse, and what it is said to be allowed is done."""
    launcher = tmp_path / "launcher"
    launcher.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    launcher.chmod(0o755)
    started = (sys.executable, "-P", "-m", "quizglass_server.engines.generator.process.started", str(os.getpid()))
    found = tried("", *started, "unix", launcher=launcher)
    assert containment.in_force(launcher, "unix").may == ("start programs", "write files")
    assert {found[name] for name in ("start", "fork", "write", "change")} == {"done"}
    assert {found[name] for name in ("network", "datagram", "packet")} == {NOT_PERMITTED}
    assert containment.in_force(Path(sys.executable).resolve(), "unix").may == ()
    assert containment.in_force(Path(sys.executable).resolve(), "tcp").may == ("open sockets of the network",)


@pytest.mark.skipif(len(containment.offered()) < 3, reason="this system does not offer all three parts")
def test_the_doctor_says_what_holds_the_generator(tmp_path, script):
    where = ["--bundle", str(write_bundle(tmp_path / "bundle")), "--knowledge", str(tmp_path / "k"), "--port", "0"]
    found = []
    for flags in ([], ["--llama-server", str(script)]):
        command = [sys.executable, "-m", "quizglass_server", "doctor", "--json", *where, *flags]
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)
        findings = {each["name"]: each for each in json.loads(done.stdout)["findings"]}
        found.append(findings["generator's containment"])
        assert findings["containment"]["status"] == "ok"
    own, of_script = found
    assert (own["status"], own["values"]["may"]) == ("ok", [])
    assert of_script["values"] == {"parts": ["no_new_privs", "seccomp"], "may": ["start programs", "write files"]}
    assert (of_script["status"], "no script" in of_script["remedy"]) == ("slow", True)


def status(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def command(pid):
    return Path(f"/proc/{pid}/cmdline").read_text()
