"""Tokens over real sockets: which calls they allow, on both ports, and what becomes of them while a call runs."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path

import grpc
import openai
import pytest
from google.rpc import error_details_pb2, status_pb2

from bench.session.cutting_proxy import Cut, cutting_proxy
from quizglass import values
from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc
from quizglass_client import AsyncClient, AsyncSession, Entry, InvalidRequest, LinkLost, NotPermitted, Unauthenticated
from quizglass_server.network.permissions import TABLE, Permission, needs
from quizglass_server.network.tokens import TokenFile, made
from tests.support.gate import Gate
from tests.support.rpc_fakes import png
from tests.support.sessions.session_links import eventually
from tests.support.tls import following
from tests.support.web import ASK, CHAT, JSON, Wire, ask, enveloped, envelopes, web_serving

NEVER_GIVEN = "qg_00000000_" + "A" * 43


class Given:
    """The tokens of a file, by their names."""

    def __init__(self, path):
        self.file = TokenFile(path)
        self.texts = {}

    def add(self, name, *may, expires=None):
        text, token = made(name, may, expires)
        self.file.add(token)
        self.texts[name] = text
        return text


@pytest.fixture
def given(tmp_path):
    """One token for each permission, by its name, and one for all."""
    made = Given(tmp_path / "tokens.json")
    for permission in Permission:
        made.add(permission, permission)
    made.add("all", *Permission)
    return made


@pytest.fixture
async def served(tmp_path, given):
    async with web_serving(tmp_path, tokens=given.file.path) as opened, following(opened.stage.services.network):
        yield opened


def bearer(text):
    return {"authorization": f"Bearer {text}"} if text else {}


async def status_of(channel, path, text):
    """How a call of any method ends that has a token, or none, and says nothing."""
    call = channel.stream_stream(path)(metadata=tuple(bearer(text).items()))
    await call.done_writing()
    with suppress(grpc.aio.AioRpcError):
        async for _ in call:
            pass
    code = await call.code()
    packed = [value for key, value in await call.trailing_metadata() if key == "grpc-status-details-bin"]
    return code, packed


METHODS = [path for path in TABLE if path.startswith("/quizglass.") and needs(path) is not None]
PUBLIC_PATHS = ["/", "/main.js", "/style.css", "/icon.svg", "/health", "/ready"]


@pytest.mark.parametrize("text", [None, NEVER_GIVEN], ids=["none", "unknown"])
async def test_no_method_over_grpc_is_answered_without_a_valid_token(served, text):
    async with grpc.aio.insecure_channel(served.stage.target) as channel:
        for path in METHODS:
            code, packed = await status_of(channel, path, text)
            assert code is grpc.StatusCode.UNAUTHENTICATED, path
            info = error_details_pb2.ErrorInfo()
            status_pb2.Status.FromString(packed[0]).details[0].Unpack(info)
            assert info.reason == "UNAUTHENTICATED"


async def test_every_method_over_grpc_asks_for_a_token_that_allows_it(served, given):
    async with grpc.aio.insecure_channel(served.stage.target) as channel:
        for path in METHODS:
            for permission in Permission:
                code, _ = await status_of(channel, path, given.texts[permission])
                refused = code is grpc.StatusCode.PERMISSION_DENIED
                assert refused is (permission not in needs(path)), (path, permission)
                assert code is not grpc.StatusCode.UNAUTHENTICATED


async def test_every_path_over_http_asks_for_a_token_that_allows_it(served, given):
    for path in (*(path for path in METHODS if not path.endswith("/Converse")), CHAT):
        refused = await ask(served, "POST", path, b"{}", JSON)
        assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer"), path
        assert refused.json["code"] == "unauthenticated"
        for permission in frozenset(Permission) - needs(path):
            refused = await ask(served, "POST", path, b"{}", {**JSON, **bearer(given.texts[permission])})
            assert (refused.status, refused.json["code"]) == (403, "permission_denied"), path
    for path in ("/v1/models", "/v1/models/quizglass"):
        assert (await ask(served, "GET", path)).status == 401
        assert (await ask(served, "GET", path, headers=bearer(given.texts["read"]))).status == 200
    for path in PUBLIC_PATHS:
        assert (await ask(served, "GET", path)).status == 200, path


async def test_health_is_answered_without_a_token(served):
    async with AsyncClient(served.stage.target) as client:
        assert await client.healthy()


async def test_clients_bring_the_token_of_the_file_that_the_environment_names(served, given, tmp_path, monkeypatch):
    (tmp_path / "token").write_text(given.texts["ask"] + "\n")
    monkeypatch.setenv("QUIZGLASS_TOKEN_FILE", str(tmp_path / "token"))
    for client in (AsyncClient(served.stage.target), AsyncSession(served.stage.target)):
        async with client:
            assert (await client.answer("What?", png())).text == "45 crowns"
    for others in ({"token": NEVER_GIVEN}, {"metadata": [("Authorization", f"Bearer {NEVER_GIVEN}")]}):
        async with AsyncClient(served.stage.target, **others) as client:
            with pytest.raises(Unauthenticated) as refusal:
                await client.answer("What?", png())
        assert refusal.value.metadata["why"] != "MISSING", "what is given goes before what the environment names"
    with pytest.raises(InvalidRequest) as exposed:
        AsyncClient("192.0.2.7:1")
    assert exposed.value.field == "QUIZGLASS_TOKEN_FILE"


async def test_clients_bring_tokens_from_words_and_files(served, given, tmp_path):
    kept = tmp_path / "token"
    kept.write_text(given.texts["ask"] + "\n")
    for access in ({"token": given.texts["ask"]}, {"token_file": kept}):
        async with AsyncClient(served.stage.target, **access) as client:
            assert (await client.answer("What?", png())).text == "45 crowns"
            with pytest.raises(NotPermitted) as refusal:
                await client.add_entries([Entry("a", "A", "A.")])
            assert refusal.value.metadata["needs"] == "write"
        async with AsyncSession(served.stage.target, **access) as session:
            assert (await session.answer("What?", png())).text == "45 crowns"
    async with AsyncClient(served.stage.target) as client:
        with pytest.raises(Unauthenticated) as refusal:
            await client.answer("What?", png())
        assert refusal.value.metadata["why"] == "MISSING"
    with pytest.raises(Unauthenticated):
        async with AsyncSession(served.stage.target, token=NEVER_GIVEN):
            pass


async def test_another_token_in_the_file_is_taken_up_and_none_that_is_not_whole(served, given, tmp_path):
    kept = tmp_path / "token"
    kept.write_text(given.texts["read"])
    async with AsyncClient(served.stage.target, token_file=kept) as client:
        with pytest.raises(NotPermitted):
            await client.answer("What?", png())
        kept.write_text(given.texts["ask"])
        assert (await client.answer("What?", png())).text == "45 crowns"
        for broken in ("", "two words"):
            kept.write_text(broken)
            assert (await client.answer("What?", png())).text == "45 crowns"
        kept.unlink()
        assert (await client.answer("What?", png())).text == "45 crowns"


async def test_a_session_takes_up_another_token_with_its_next_link(served, given, tmp_path):
    kept = tmp_path / "token"
    kept.write_text(given.texts["ask"])
    async with (
        cutting_proxy(served.stage.rpc.port) as proxy,
        AsyncSession(proxy.target, token_file=kept) as session,
    ):
        assert (await session.answer("What?")).text == "45 crowns"
        kept.write_text(NEVER_GIVEN)
        proxy.cut(Cut.RST)
        assert isinstance(await anext(session.news()), LinkLost)
        with pytest.raises(Unauthenticated):
            await session.answer("And now?")


async def test_openais_client_brings_its_key_as_a_token(served, given):
    def client(key):
        return openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key=key, max_retries=0)

    question = {"model": "quizglass", "messages": [{"role": "user", "content": "What?"}]}
    async with client(given.texts["ask"]) as allowed:
        assert (await allowed.chat.completions.create(**question)).choices[0].message.content == "45 crowns"
    async with client("none") as unknown:
        with pytest.raises(openai.AuthenticationError):
            await unknown.chat.completions.create(**question)
    async with client(given.texts["read"]) as lacking:
        with pytest.raises(openai.PermissionDeniedError, match="it takes ask"):
            await lacking.chat.completions.create(**question)


async def test_a_turn_that_remembers_or_recalls_needs_the_memory_too(served, given):
    about = assistant_pb2.AskRequest(question="What?")
    for wish in ("remember", "recall"):
        setattr(about.memory, wish, True)
        async with grpc.aio.insecure_channel(served.stage.target) as channel:
            stub = assistant_pb2_grpc.AssistantServiceStub(channel)
            with pytest.raises(grpc.aio.AioRpcError) as refusal:
                async for _ in stub.Ask(about, metadata=tuple(bearer(given.texts["ask"]).items())):
                    pass
        assert refusal.value.code() is grpc.StatusCode.PERMISSION_DENIED
        answer = await ask(
            served,
            "POST",
            ASK,
            enveloped(json.dumps({"question": "What?", "memory": {wish: True}}).encode()),
            {"content-type": "application/connect+json", **bearer(given.texts["ask"])},
        )
        (_, end), *_ = envelopes(answer.body)
        assert json.loads(end)["error"]["code"] == "permission_denied"
    async with AsyncSession(served.stage.target, token=given.texts["ask"]) as session:
        with pytest.raises(NotPermitted):
            await session.answer("What?", png(), remember=True)


async def test_an_address_that_fails_again_and_again_over_http_is_held_off_and_no_other(served, given):
    async def status(source, text):
        async with await Wire.to(served, source) as wire, asyncio.timeout(60):
            return await wire.ask("GET", "/v1/models", headers=bearer(text))

    while (answer := await status("127.0.0.2", NEVER_GIVEN)).status == 401:
        pass
    assert (answer.status, answer.headers["retry-after"]) == (429, "3")
    assert (await status("127.0.0.2", given.texts["ask"])).status == 200
    assert (await status("127.0.0.3", NEVER_GIVEN)).status == 401


async def revoked(served, given, name):
    given.file.revoke(name)
    await taken_up(served, given.texts[name], valid=False)


async def taken_up(served, text, *, valid=True):
    """Wait until a token is valid, or no longer."""
    network = served.stage.services.network
    network.reload()
    await eventually(lambda: (network.logins.tokens.of(text) is not None) is valid)


class HeldWords:
    """An answer of two words, the second of which waits."""

    def __init__(self):
        self.gate = Gate()

    async def __call__(self, turn, policy, budget):
        yield values.AnswerDelta("first,")
        await self.gate()
        yield values.AnswerDelta(" then second")
        yield values.Done("first, then second", values.FinishReason.COMPLETE)


async def test_a_turn_over_grpc_ends_at_its_next_message_when_the_token_is_revoked(served, given):
    script = served.stage.assistant.script = HeldWords()
    async with AsyncClient(served.stage.target, token=given.texts["ask"]) as client:
        events = client.ask("What?")
        await anext(events)
        await script.gate.reached.wait()
        await revoked(served, given, "ask")
        script.gate.open.set()
        with pytest.raises(Unauthenticated) as ending:
            async for _ in events:
                pass
    assert ending.value.metadata["why"] == "REVOKED"


async def test_a_session_ends_at_its_next_message_when_the_token_is_revoked(served, given):
    async with AsyncSession(served.stage.target, token=given.texts["ask"]) as session:
        await revoked(served, given, "ask")
        with pytest.raises(Unauthenticated):
            await session.answer("What?", png())


async def test_streams_over_http_end_at_their_next_message_when_the_token_is_revoked(served, given):
    words = {"model": "quizglass", "stream": True, "messages": [{"role": "user", "content": "What?"}]}
    asked = {
        ASK: (enveloped(b'{"question": "What?"}'), {"content-type": "application/connect+json"}),
        CHAT: (json.dumps(words).encode(), JSON),
    }
    for path, (body, headers) in asked.items():
        text = given.add("another", Permission.ASK)
        await taken_up(served, text)
        script = served.stage.assistant.script = HeldWords()
        async with await Wire.to(served) as wire, asyncio.timeout(60):
            await wire.begin("POST", path, {"content-length": str(len(body)), **headers, **bearer(text)})
            await wire.say(body)
            assert (await wire.head())[0] == 200
            assert await wire.chunk()
            await script.gate.reached.wait()
            await revoked(served, given, "another")
            script.gate.open.set()
            rest = b""
            while chunk := await wire.chunk():
                rest += chunk
        assert b"unauthenticated" in rest
        assert b"second" not in rest


async def test_an_import_ends_at_its_next_entry_when_the_token_is_revoked(served, given):
    async with grpc.aio.insecure_channel(served.stage.target) as channel:
        call = knowledge_pb2_grpc.KnowledgeServiceStub(channel).AddEntries(
            metadata=tuple(bearer(given.texts["write"]).items())
        )
        one = knowledge_pb2.AddEntriesRequest(entry=knowledge_pb2.Entry(id="a", title="A"))
        await call.write(one)
        await eventually(lambda: "a" in served.stage.knowledge.entries)
        await revoked(served, given, "write")
        await call.write(one)
        with pytest.raises(grpc.aio.AioRpcError) as ending:
            await call
    assert ending.value.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_two_tokens_of_one_name_are_valid_while_one_takes_the_others_place(served, given):
    old, new = given.texts["ask"], given.add("ask", Permission.ASK)
    await taken_up(served, new)
    for text in (old, new):
        async with AsyncClient(served.stage.target, token=text) as client:
            assert (await client.answer("What?", png())).text == "45 crowns"


async def test_a_file_that_is_half_written_changes_nothing_until_it_is_whole(served, given, caplog):
    network, path = served.stage.services.network, given.file.path
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    await eventually(lambda: any("no whole file" in getattr(each, "why", "") for each in caplog.records))
    async with AsyncClient(served.stage.target, token=given.texts["ask"]) as client:
        assert (await client.answer("What?", png())).text == "45 crowns"
    path.write_text(whole)
    given.file.revoke("read")
    await eventually(lambda: network.logins.tokens.of(given.texts["read"]) is None)


def _folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("spoil", "why"),
    [(Path.unlink, "No such file"), (_folder, "Is a directory"), (lambda path: path.chmod(0o666), "chmod 600")],
    ids=["gone", "folder", "writable"],
)
async def test_a_file_that_cannot_be_read_again_changes_nothing_until_it_can(served, given, caplog, spoil, why):
    path = given.file.path
    whole = path.read_bytes()
    spoil(path)
    await eventually(lambda: any(why in getattr(each, "why", "") for each in caplog.records))
    async with AsyncClient(served.stage.target, token=given.texts["ask"]) as client:
        assert (await client.answer("What?", png())).text == "45 crowns"
        if path.is_dir():
            path.rmdir()
        path.write_bytes(whole)
        path.chmod(0o600)
        new = given.add("later", Permission.ASK)
        await taken_up(served, new)
        assert (await client.answer("What?", png())).text == "45 crowns"
