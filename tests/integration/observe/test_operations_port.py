"""The operations port of a server process: what it shows, to whom, and that no request puts a word into it."""

from __future__ import annotations

import json
import os
import signal
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from quizglass_client import Client, ClientError, Session
from quizglass_client.local import LocalServer
from quizglass_server.config.load import all_fields
from quizglass_server.network.permissions import Permission
from quizglass_server.network.tokens import TokenFile, made
from quizglass_server.observe.metrics import EVERY
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.processes import generator_of
from tests.support.rpc_fakes import png
from tests.support.tls import certificate

pytest.importorskip("prometheus_client", reason="the extra web is not installed")
from prometheus_client.parser import text_string_to_metric_families

CANARY = "canary7731"
Sample = tuple[str, frozenset[tuple[str, str]]]


def got(url: str, token: str = "", ca: Path | None = None) -> tuple[int, str]:
    """Status and text of an answer."""
    request = Request(url, headers={"authorization": f"Bearer {token}"} if token else {})
    try:
        with urlopen(request, context=ssl.create_default_context(cafile=ca) if ca else None) as answer:
            return int(answer.status), answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def samples(text: str) -> dict[Sample, float]:
    """Every sample of `/metrics`, by its name and labels."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found: dict[Sample, float], name: str, **labels: str) -> float:
    return found[name, frozenset(labels.items())]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    folder = tmp_path_factory.mktemp("operations")
    flags = ["--operations-port", "0", "--web-port", "0"]
    with LocalServer(write_bundle(folder / "bundle"), folder / "knowledge", flags=flags) as running:
        yield running


def measured(server: LocalServer) -> dict[Sample, float]:
    status, text = got(f"{server.operations}/metrics")
    assert status == 200
    return samples(text)


def test_a_turn_is_counted_with_its_policy_outcome_stages_and_tokens(server: LocalServer) -> None:
    before = measured(server)
    with Client(server.target, timeout=60) as client:
        client.answer("What is this?", png(), policy="none")
    after = measured(server)
    turn = {"policy": "none", "plan": "none", "outcome": "answered"}
    abstained = {**turn, "outcome": "abstained"}

    def turns(found: dict[Sample, float]) -> float:
        return sum(found.get(("quizglass_turns_total", frozenset(each.items())), 0) for each in (turn, abstained))

    assert turns(after) == turns(before) + 1
    assert value(after, "quizglass_turn_seconds_count", policy="none") >= 1
    assert value(after, "quizglass_first_words_seconds_count", policy="none") >= 1
    assert value(after, "quizglass_stage_seconds_count", stage="generate") >= 1
    assert value(after, "quizglass_engine_seconds_sum", stage="generate") > 0
    assert value(after, "quizglass_queue_seconds_count") >= 1
    assert value(after, "quizglass_prompt_tokens_total", how="read") > 0
    assert value(after, "quizglass_written_tokens_total") > 0
    assert value(after, "quizglass_cache_lookups_total", cache="pictures", result="miss") >= 1
    assert value(after, "quizglass_drain_step") == 0
    assert value(after, "quizglass_ready", part="server") == 1
    assert value(after, "quizglass_ready", part="generator") == 1


def test_the_same_picture_again_is_a_hit(server: LocalServer) -> None:
    picture = png(80, 60, "blue")
    hit = {"cache": "pictures", "result": "hit"}
    with Client(server.target, timeout=60) as client:
        client.answer("What is this?", picture, policy="none")
        first = measured(server)
        before = first.get(("quizglass_cache_lookups_total", frozenset(hit.items())), 0)
        client.answer("What is that?", picture, policy="none")
        second = measured(server)
        client.answer("What is this?", png(90, 60, "blue"), policy="none")
        other = measured(server)
    assert value(second, "quizglass_cache_lookups_total", **hit) > before
    for cache, least in (("pictures", 90 * 60 * 3), ("forms", 1)):
        kept, again, more = (value(each, "quizglass_cache_bytes", cache=cache) for each in (first, second, other))
        assert 0 < kept == again <= more - least


def test_what_is_refused_is_counted_by_its_reason_over_every_transport(server: LocalServer) -> None:
    def refusals() -> dict[str, float]:
        return {
            dict(labels)["reason"]: count
            for (name, labels), count in measured(server).items()
            if name == "quizglass_refusals_total"
        }

    before = refusals()
    assert before["UNEXPECTED"] == 0, "an alert looks for an increase, and the first must be one"
    with Client(server.target, timeout=60) as client:
        for picture in (b"no picture", None):
            with pytest.raises(ClientError):
                client.answer("What?" if picture else "", picture)
    assert got(f"{server.web}/nowhere")[0] == 404
    with Session(server.target) as session, pytest.raises(ClientError):
        session.answer("")
    after = refusals()
    grown = {reason: count - before.get(reason, 0) for reason, count in after.items()}
    assert grown["INVALID_PICTURE"] == 1
    assert grown["INVALID_FIELD"] == 2
    assert grown["HTTP_404"] == 1


def test_a_generator_that_dies_is_counted(server: LocalServer) -> None:
    pid = generator_of(server.pid)
    assert pid is not None
    before = value(measured(server), "quizglass_generator_restarts_total")
    os.kill(pid, signal.SIGKILL)
    with Client(server.target, timeout=120) as client:
        while value(measured(server), "quizglass_generator_restarts_total") == before:
            pass
        client.answer("What is this?", policy="none")
    assert value(measured(server), "quizglass_generator_restarts_total") == before + 1


def test_sessions_are_counted_as_they_open_and_while_they_are_there(server: LocalServer) -> None:
    before = measured(server).get(("quizglass_sessions_opened_total", frozenset({("restored", "new")})), 0)
    with Session(server.target) as session:
        session.answer("What is this?", png())
        found = measured(server)
        assert value(found, "quizglass_sessions") == 1
        assert value(found, "quizglass_sessions_opened_total", restored="new") == before + 1


def test_every_name_is_declared_and_no_word_of_a_request_stands_in_any_label(server: LocalServer) -> None:
    with Client(server.target, timeout=60) as client:
        client.answer(f"What is {CANARY}?", png(), policy="none", session_id=CANARY)
        with pytest.raises(ClientError):
            client.answer("What?", policy=CANARY)
        with pytest.raises(ClientError):
            client.get_entry(CANARY)
    assert got(f"{server.web}/{CANARY}")[0] == 404
    _, text = got(f"{server.operations}/metrics")
    assert CANARY not in text
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    ours = {name for name in names if name.startswith("quizglass_") and not name.endswith("_created")}
    assert ours == set(EVERY)
    assert {"process_resident_memory_bytes", "process_open_fds", "process_max_fds"} <= names


def test_prometheus_is_given_the_format_that_it_asks_for(server: LocalServer) -> None:
    asked = Request(f"{server.operations}/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    with urlopen(asked) as answer:
        assert answer.headers["content-type"].startswith("application/openmetrics-text")
        assert answer.read().endswith(b"# EOF\n")


def test_the_settings_in_force_are_shown(server: LocalServer) -> None:
    status, text = got(f"{server.operations}/config")
    shown = json.loads(text)
    assert status == 200
    assert list(shown) == list(all_fields())
    assert (shown["max_turns"], shown["web_port"], shown["tokens"]) == (8, 0, None)
    assert shown["bundle"].endswith("bundle")


@pytest.mark.parametrize("path", ["/", "/v1/chat/completions", "/quizglass.v1.AssistantService/GetCapabilities"])
def test_nothing_else_is_on_the_port(server: LocalServer, path: str) -> None:
    assert got(f"{server.operations}{path}")[0] == 404


def test_a_page_that_calls_the_port_by_another_name_is_refused(server: LocalServer) -> None:
    request = Request(f"{server.operations}/metrics", headers={"host": "evil.example"})
    with pytest.raises(HTTPError) as refusal:
        urlopen(request)
    assert refusal.value.code == 403


def test_with_tls_and_tokens_it_takes_one_that_allows_to_operate(tmp_path: Path) -> None:
    shown, tokens = certificate(tmp_path), tmp_path / "tokens.json"
    texts = {}
    for permission in (Permission.ASK, Permission.OPERATE):
        texts[permission], token = made(permission, [permission], None)
        TokenFile(tokens).add(token)
    flags = ["--operations-port", "0", "--tls-cert", str(shown.path), "--tls-key", str(shown.key)]
    flags += ["--tokens", str(tokens)]
    with LocalServer(write_bundle(tmp_path / "bundle"), tmp_path / "knowledge", flags=flags) as running:
        assert running.operations.startswith("https://")
        url = running.operations.replace("127.0.0.1", "localhost")
        for path in ("/metrics", "/config"):
            assert got(f"{url}{path}", ca=shown.path)[0] == 401
            assert got(f"{url}{path}", texts[Permission.ASK], shown.path)[0] == 403
            assert got(f"{url}{path}", texts[Permission.OPERATE], shown.path)[0] == 200
        assert got(f"{url}/livez", ca=shown.path) == (200, "ok\n")
        assert got(f"{url}/readyz", ca=shown.path)[0] == 200
        found = samples(got(f"{url}/metrics", texts[Permission.OPERATE], shown.path)[1])
        assert value(found, "quizglass_certificate_expiry_timestamp_seconds") > 1.7e9
        assert texts[Permission.OPERATE] not in got(f"{url}/config", texts[Permission.OPERATE], shown.path)[1]
        assert "UNAUTHENTICATED" in {dict(labels).get("reason") for _, labels in found}
