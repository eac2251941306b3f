"""What `make everyday` starts and prints; nothing is built, served or asked here."""

import argparse
import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from quizglass import values
from quizglass_client import Event
from quizglass_export.errors import ExportError
from quizglass_lab.demo import everyday
from quizglass_lab.everyday.knowledge import EIGHT


class Served:
    """In the place of a server of one's own."""

    flags: list[str]

    def __init__(self, *_: object, flags: list[str], log: Path) -> None:
        Served.flags = flags
        self.log, self.target, self.web = log, "127.0.0.1:1", "http://127.0.0.1:40404"

    def __enter__(self) -> "Served":
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What the demo says; every answer is right."""
    ran: Any = lambda *_, **__: None  # noqa: E731
    monkeypatch.setattr(everyday, "LocalServer", Served)
    monkeypatch.setattr(everyday, "Client", type("Asked", (Served,), {"__init__": lambda *_, **__: None}))
    monkeypatch.setattr(everyday, "_ask", lambda *_: True)
    monkeypatch.setattr(everyday.subprocess, "run", ran)
    return io.StringIO()


def serve(adapters: Path, printed: io.StringIO) -> int:
    args = argparse.Namespace(workdir=Path("work"), adapters=adapters, end=True)
    return everyday._serve_and_ask(Path("bundle"), args, Console(file=printed, width=200), 0.0)


def test_the_everyday_demo_serves_its_page_and_says_where(printed: io.StringIO, tmp_path: Path) -> None:
    assert serve(tmp_path, printed) == len(EIGHT)
    assert Served.flags == ["--web-port", "0", "--default-policy", "image"]
    said = printed.getvalue()
    assert "any picture: http://127.0.0.1:40404" in said
    assert "--default-policy image --web-port 50062" in said
    assert "http://127.0.0.1:50062" in said
    assert 'make bench-own OWN="--bundle bundle"' in said, "what was built can be measured"


def test_with_a_trained_planner_the_policy_is_the_servers_own(printed: io.StringIO, tmp_path: Path) -> None:
    (tmp_path / "planner").mkdir()
    (tmp_path / "planner" / "adapter_config.json").write_text("{}")
    serve(tmp_path, printed)
    assert Served.flags == ["--web-port", "0"]


@pytest.mark.parametrize(
    ("text", "outcome", "right", "said"),
    [
        ("Beijing", values.VerdictOutcome.SUPPORTED, True, "yes"),
        ("B Beijing", values.VerdictOutcome.UNSUPPORTED, False, "said, but unsupported"),
        ("Nanjing", values.VerdictOutcome.SUPPORTED, False, "no"),
    ],
)
def test_an_answer_that_nothing_supports_is_not_counted_as_right(
    text: str, outcome: values.VerdictOutcome, right: bool, said: str
) -> None:
    events = [
        Event("t", 1, 0.0, values.Verdict(outcome, 0.9, 0.9)),
        Event("t", 2, 0.0, values.Done(text, values.FinishReason.COMPLETE)),
    ]
    client: Any = type("Answering", (), {"ask": lambda *_, **__: iter(events)})()
    asked = next(each for each in EIGHT if each.right == ("Beijing",))
    printed = io.StringIO()
    assert everyday._ask(client, asked, Path("china.jpg"), "", Console(file=printed, width=200)) is right
    assert f"expected: Beijing {said}\n" in printed.getvalue()


def test_what_failed_is_said_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ExportError("[/x] is of no shape [batch, tokens]")

    monkeypatch.setattr(everyday, "build_bundle", fails)
    assert everyday.main(["--workdir", str(tmp_path)]) == 1
    assert "The demo failed: [/x] is of no shape [batch, tokens]" in capsys.readouterr().out
