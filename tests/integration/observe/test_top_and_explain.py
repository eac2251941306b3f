"""`quizglass top` and `quizglass explain` against a server's operations port, and what becomes of wrong ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

from quizglass_client import Client
from quizglass_client.cli.command import main
from quizglass_client.local import LocalServer
from quizglass_client.terminal.operations import Samples
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.rpc_fakes import png

pytest.importorskip("prometheus_client", reason="the extra web is not installed")
CANARY = "canary4821"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    folder = tmp_path_factory.mktemp("top")
    flags = ["--operations-port", "0"]
    with LocalServer(write_bundle(folder / "bundle"), folder / "knowledge", flags=flags) as running:
        with Client(running.target, timeout=60) as client:
            client.answer(f"What is {CANARY}?", png(), policy="none")
        yield running


def test_top_shows_the_server_at_a_glance(server: LocalServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--once", "--operations", server.operations]) == 0
    shown = capsys.readouterr().out
    assert "ready" in shown
    assert "0 of 8 run, 0 wait" in shown
    assert "1 in all" in shown


def test_explain_tells_of_a_turn_without_what_was_asked(
    server: LocalServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "--operations", server.operations, "--json"]) == 0
    told = capsys.readouterr().out
    turn = json.loads(told)
    assert (turn["policy"], turn["plan"], len(turn["id"])) == ("none", "none", 32)
    assert turn["outcome"] in ("answered", "abstained")
    assert "generate" in {stage for stage, *_ in turn["stages"]}
    assert CANARY not in told
    assert main(["explain", turn["id"][:6], "--operations", server.operations]) == 0
    shown = capsys.readouterr().out
    assert turn["id"] in shown
    assert "generate" in shown


def test_top_prints_an_object_a_look_for_programs(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looks: list[float] = []

    def slept(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("quizglass_client.cli.about.time.sleep", slept)
    main(["top", "--json", "--every", "5", "--operations", server.operations])
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(said) == 3
    assert all(each["not_ready"] == [] and each["turn_places"] >= 1 and each["memory_bytes"] > 0 for each in said)
    assert looks == [5.0] * 3


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["explain", "ffffffffffffffffffffffffffffffffff"], 2, "no turn whose id begins with"),
        (["top", "--once", "--operations", "http://127.0.0.1:1"], 3, "--operations-port"),
        (["top", "--once", "--operations", "ftp://nowhere"], 2, "is no http://HOST:PORT"),
        (["top", "--every", "0"], 2, "give seconds above 0"),
    ],
)
def test_what_cannot_be_shown_says_why(
    server: LocalServer, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, says: str
) -> None:
    given = [] if "--operations" in arguments else ["--operations", server.operations]
    assert main([*arguments, *given]) == status
    assert says in capsys.readouterr().err


def test_a_token_never_leaves_this_machine_in_clear(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = tmp_path / "token"
    token.write_text("qg_secret")
    where = ["--operations", "http://glasses.example:50063"]
    assert main(["--token-file", str(token), "top", "--once", *where]) == 2
    told = capsys.readouterr().err
    assert "in clear" in told
    assert "qg_secret" not in told


class _Elsewhere(BaseHTTPRequestHandler):
    """What is no operations port; `asked` has the paths and the tokens that came."""

    asked: ClassVar[list[tuple[str, str | None]]] = []
    answer: ClassVar[tuple[int, str, bytes]] = (200, "", b"")

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers["authorization"]))
        status, location, body = self.answer
        self.send_response(status)
        if location:
            self.send_header("location", location)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _answering(
    status: int, location: str = "", body: bytes = b""
) -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    handler = type("_Here", (_Elsewhere,), {"asked": [], "answer": (status, location, body)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as here:
        thread = Thread(target=here.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{here.server_port}", handler.asked
        finally:
            here.shutdown()
            thread.join()


def test_this_machine_is_asked_without_the_proxy_that_leads_to_others(server: LocalServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("qg_secret")
    command = [sys.executable, "-m", "quizglass_client.cli", "--token-file", str(token), "top", "--once"]
    with _answering(200) as (proxy, asked):
        environment = {**os.environ, "http_proxy": proxy, "no_proxy": "", "NO_PROXY": ""}
        run = subprocess.run(
            [*command, "--operations", server.operations], env=environment, capture_output=True, text=True, timeout=300
        )
    assert (run.returncode, run.stderr) == (0, "")
    assert "0 of 8 run" in run.stdout
    assert asked == []


def test_a_server_elsewhere_that_is_not_called_is_in_the_way_of_no_token(
    server: LocalServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text("qg_secret")
    monkeypatch.setenv("QUIZGLASS_SERVER", "glasses.example:50061")
    monkeypatch.setenv("QUIZGLASS_TOKEN_FILE", str(token))
    assert main(["top", "--once", "--operations", server.operations]) == 0
    assert "0 of 8 run" in capsys.readouterr().out


def test_a_token_is_not_sent_on_to_where_an_answer_points(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = tmp_path / "token"
    token.write_text("qg_secret")
    with _answering(200) as (other, asked), _answering(302, f"{other}/metrics") as (moved, _):
        assert main(["--token-file", str(token), "top", "--once", "--operations", moved]) == 3
    assert asked == []
    assert "answers with status 302" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["top", "--once"], ["explain"], ["explain", "--json"]])
@pytest.mark.parametrize("body", [b"<html>hello world</html>", b"hello world", b"[]", b'{"turns": [7]}', b"\xff"])
def test_what_answers_and_is_no_operations_port_is_named(
    capsys: pytest.CaptureFixture[str], command: list[str], body: bytes
) -> None:
    with _answering(200, body=body) as (url, _):
        assert main([*command, "--operations", url]) == 3
    told = capsys.readouterr()
    assert (told.out, told.err) == (
        "",
        f"quizglass: {url} is no operations port; name the server's with --operations\n",
    )


@pytest.mark.parametrize("url", ["http://[::1", "http://127.0.0.1:x", "http://127.0.0.1:99999"])
def test_an_address_that_is_none_is_wrong_usage(capsys: pytest.CaptureFixture[str], url: str) -> None:
    assert main(["top", "--once", "--operations", url]) == 2
    assert "is no http://HOST:PORT" in capsys.readouterr().err


def test_quantiles_are_those_since_the_look_before() -> None:
    def look(*counts: int) -> Samples:
        bounds = ("0.1", "1.0", "+Inf")
        return Samples("\n".join(f'x_bucket{{le="{le}"}} {n}' for le, n in zip(bounds, counts, strict=True)))

    assert look(0, 0, 0).quantile("x", 0.5) is None
    assert look(10, 10, 10).quantile("x", 0.5) == pytest.approx(0.05)
    assert look(10, 20, 20).quantile("x", 0.5, look(10, 10, 10)) == pytest.approx(0.55)
    assert look(0, 0, 4).quantile("x", 0.5) == 1.0
