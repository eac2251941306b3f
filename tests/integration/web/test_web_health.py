"""Whether the server lives and is ready, as whoever runs it asks; and that HEAD is answered wherever GET is."""

import asyncio

import pytest

from tests.support.web import ASK, CHAT, Wire, ask

AS_JSON = {"accept": "application/json"}


@pytest.mark.parametrize("path", ["/health", "/healthz", "/ready", "/readyz"])
async def test_a_server_that_serves_says_so_in_a_line_or_as_json(served, path):
    word = "ok" if path.startswith("/health") else "ready"
    answer = await ask(served, "GET", path)
    assert (answer.status, answer.body, answer.headers["content-type"]) == (
        200,
        f"{word}\n".encode(),
        "text/plain; charset=utf-8",
    )
    answer = await ask(served, "GET", path, headers=AS_JSON)
    assert (answer.status, answer.json["status"]) == (200, word)


async def test_the_parts_that_cannot_answer_are_named(served):
    served.stage.knowledge.ready = False
    answer = await ask(served, "GET", "/ready")
    assert (answer.status, answer.body, answer.headers["retry-after"]) == (503, b"not ready: knowledge\n", "1")
    answer = await ask(served, "GET", "/ready", headers=AS_JSON)
    assert answer.json == {"status": "not ready", "parts": {"server": True, "planner": True, "knowledge": False}}
    assert (await ask(served, "GET", "/health")).status == 200
    served.stage.knowledge.ready, served.stage.knowledge.writable = True, False
    assert (await ask(served, "GET", "/ready")).status == 200, "what may only be read answers questions"


async def test_a_stopping_server_lives_and_is_not_ready(served):
    await served.stage.rpc.guard.drain(0)
    assert (await ask(served, "GET", "/ready")).body == b"not ready: server\n"
    assert (await ask(served, "GET", "/health")).status == 200


async def test_health_is_told_under_any_name(served):
    for host in ("10.0.0.7:8080", "glasses.example", ""):
        assert (await ask(served, "GET", "/ready", headers={"host": host})).status == 200
        assert (await ask(served, "GET", "/v1/models", headers={"host": host})).status == 403


@pytest.mark.parametrize("path", ["/", "/style.css", "/health", "/ready", "/v1/models", "/v1/models/quizglass"])
async def test_head_is_answered_as_get_without_a_body(served, path):
    async with await Wire.to(served) as wire, asyncio.timeout(60):
        got = await wire.ask("GET", path)
        await wire.begin("HEAD", path)
        status, headers = await wire.head()
        assert status == got.status == 200
        assert {**headers, "date": ""} == {**got.headers, "date": ""}
        assert headers["content-length"] == str(len(got.body))
        assert (await wire.ask("GET", path)).body == got.body, "on the same connection"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/health", "GET, HEAD"),
        ("DELETE", "/v1/models", "GET, HEAD"),
        ("HEAD", CHAT, "POST"),
        ("HEAD", ASK, "POST"),
        ("GET", CHAT, "POST"),
    ],
)
async def test_another_method_is_refused_with_those_that_are_taken(served, method, path, allowed):
    async with await Wire.to(served) as wire, asyncio.timeout(60):
        await wire.begin(method, path, {"content-length": "0"})
        status, headers = await wire.head()
        assert (status, headers["allow"]) == (405, allowed)
