"""A server process with a file of sources: what it answers, shows and counts, and what it keeps shut."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from quizglass.values import SkippedStep
from quizglass_client import Client
from quizglass_client.local import LocalServer
from tests.support.bundles.tiny_bundle import write_bundle

pytest.importorskip("prometheus_client", reason="the extra web is not installed")
QUESTION = "How much does the Velmora cost?"


@contextmanager
def serving(folder: Path, url: str, *flags: str) -> Iterator[LocalServer]:
    """A server with a folder of notes, and a SearXNG at an address."""
    (notes := folder / "notes").mkdir()
    (notes / "velmora.md").write_text("# Velmora\n\nThe Velmora costs 45 crowns.\n")
    sources = folder / "sources.toml"
    sources.write_text(
        f'[notes]\ntype = "markdown"\nfolder = "{notes}"\n[web]\ntype = "searxng"\nurl = "{url}"\nbudget_s = 0.2\n'
    )
    given = ["--operations-port", "0", "--sources", str(sources), *flags]
    with LocalServer(write_bundle(folder / "bundle"), folder / "knowledge", flags=given) as server:
        yield server


def metrics(server: LocalServer) -> list[str]:
    with urlopen(f"{server.operations}/metrics") as answer:
        return [line for line in answer.read().decode().splitlines() if "source." in line]


def test_an_empty_store_is_answered_from_notes_while_the_other_source_is_named_as_skipped(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:  # connects, and nothing is ever said
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with serving(tmp_path, url) as server, Client(server.target, timeout=120) as client:
            answer = client.answer(QUESTION, policy="quote", budget=60)
            found = {source.name: source for source in client.capabilities().sources}
            counted = metrics(server)
    (evidence,) = [item for item in answer.evidence if item.entry_id.startswith("notes:")]
    assert (evidence.title, evidence.source) == ("Velmora", "velmora.md")
    assert SkippedStep("source.web", "BUDGET") in answer.done.skipped
    assert (found["notes"].ready, found["notes"].remote) == (True, False)
    assert (found["web"].ready, found["web"].remote) == (False, True)
    assert found["web"].notice == "no answer within 0.2 s"
    assert 'quizglass_ready{part="source.notes"} 1.0' in counted
    assert 'quizglass_ready{part="source.web"} 0.0' in counted
    assert 'quizglass_skipped_steps_total{reason="BUDGET",stage="source.web"} 1.0' in counted


def test_with_local_only_no_connection_is_opened(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as canary:
        url = f"http://127.0.0.1:{canary.getsockname()[1]}"
        with serving(tmp_path, url, "--local-only") as server, Client(server.target, timeout=120) as client:
            answer = client.answer(QUESTION, policy="quote", budget=60)
            (web,) = [source for source in client.capabilities().sources if source.name == "web"]
        came, _, _ = select.select([canary], [], [], 0)
    assert came == []
    assert SkippedStep("source.web", "NOT_LOCAL") in answer.done.skipped
    assert "LOCAL_ONLY" in web.notice
    assert [item.entry_id for item in answer.evidence] == ["notes:velmora.md#1"]
