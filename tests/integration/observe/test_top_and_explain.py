"""`quizglass top` and `quizglass explain` against a server's operations port, and what becomes of wrong ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

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


def test_quantiles_are_those_since_the_look_before() -> None:
    def look(*counts: int) -> Samples:
        bounds = ("0.1", "1.0", "+Inf")
        return Samples("\n".join(f'x_bucket{{le="{le}"}} {n}' for le, n in zip(bounds, counts, strict=True)))

    assert look(0, 0, 0).quantile("x", 0.5) is None
    assert look(10, 10, 10).quantile("x", 0.5) == pytest.approx(0.05)
    assert look(10, 20, 20).quantile("x", 0.5, look(10, 10, 10)) == pytest.approx(0.55)
    assert look(0, 0, 4).quantile("x", 0.5) == 1.0
