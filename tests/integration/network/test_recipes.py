"""The recipes of docs/network.md: each command as it stands there, up to a server that answers."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from quizglass_client import Client, Unauthenticated
from quizglass_client.pairing import PairingLink
from tests.support.bundles.tiny_bundle import write_bundle

PAGE = (Path(__file__).parents[3] / "docs" / "network.md").read_text()
RECIPES = {
    title: block.strip().splitlines()
    for title, block in re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?```sh\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
}
SERVED = ["One person", "A household", "A workshop", "Tenants", "Behind a proxy"]
FREE = ["--port", "0", "--web-port", "0", "--log-format", "json"]
"""Behind the command as it stands: ports that no other test has."""


def run(line, folder):
    """A command of the server's to its end; what it printed."""
    words = shlex.split(line)
    assert words[0] == "quizglass-server"
    command = [sys.executable, "-m", "quizglass_server", *words[1:]]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=120).stdout


def test_every_recipe_is_run():
    assert [title for title in RECIPES if title in (*SERVED, "Pairing")] == [*SERVED, "Pairing"]


@pytest.mark.parametrize("title", SERVED)
def test_a_recipe_ends_with_a_server_that_answers_those_it_should(title, tmp_path):
    pytest.importorskip("cryptography", reason="the extra tls is not installed")
    write_bundle(tmp_path / "bundle")
    *before, last = RECIPES[title]
    printed = {line: run(line, tmp_path).strip() for line in before}
    tokens = [text for line, text in printed.items() if " token add " in line]
    command = [sys.executable, "-m", "quizglass_server", *shlex.split(last)[1:], *FREE]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        try:
            ready = json.loads(server.stdout.readline())
            target = f"localhost:{ready['port']}"
            access = {"ca": tmp_path / "tls" / "authority.pem"} if (tmp_path / "tls").exists() else {}
            if tokens:
                with Client(target, **access) as stranger, pytest.raises(Unauthenticated):
                    stranger.capabilities()
            for token in tokens or [None]:
                with Client(target, token=token, **access) as client:
                    assert client.capabilities().bundle
            assert ready["web"].startswith("https" if access else "http:")
        finally:
            os.kill(server.pid, signal.SIGTERM)
    assert server.returncode == 0


def test_a_device_is_paired_from_the_terminal_as_the_page_says(tmp_path):
    pytest.importorskip("cryptography", reason="the extra tls is not installed")
    run("quizglass-server tls init tls --name glasses.local", tmp_path)
    (line,) = RECIPES["Pairing"]
    link = PairingLink.of(run(line, tmp_path))
    assert (link.target, len(link.fingerprint), link.encrypted) == ("glasses.local:50061", 64, True)
