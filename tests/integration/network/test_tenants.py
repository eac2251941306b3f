"""Tenants over real sockets: what one asks for with all that another has is as if it had never been."""

import asyncio
import hashlib
import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module

import grpc
import httpx
import pytest
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2, status_pb2

from quizglass.session import Restored
from quizglass.v1 import assistant_pb2 as a
from quizglass.v1 import knowledge_pb2 as k
from quizglass.v1 import memory_pb2 as m
from quizglass.v1 import pairing_pb2 as p
from quizglass.v1 import session_pb2 as s
from quizglass.v1 import types_pb2 as t
from quizglass.v1.pairing_pb2_grpc import PairingServiceStub
from quizglass_client import AsyncClient, Entry
from quizglass_client.errors import ClientError, NotFound, Overloaded
from quizglass_server.config.settings import NetworkOptions
from quizglass_server.errors import SettingsError
from quizglass_server.knowledge.content.chunks import passage
from quizglass_server.network.network import Network
from quizglass_server.network.pairing import PublicAddress
from quizglass_server.network.permissions import TABLE, Permission, needs
from quizglass_server.network.tokens import TokenFile, load_tokens, made
from quizglass_server.session.dialogue.following import Spoken
from quizglass_server.session.dialogue.token import DialogueSealer
from quizglass_server.web.operations import Operations
from tests.support.knowledge.tenant_stage import tenants_serving
from tests.support.rpc_fakes import png
from tests.support.sessions.session_links import HOLDER, WAIT_S, RawLink, question
from tests.support.web import CHAT, JSON, ask, enveloped, envelopes

CANARY = "zebracanary"
QUESTION = f"Where is the {CANARY}?"
FRAME = png(64, 64, "red")


@dataclass(frozen=True)
class Had:
    """All by which something of a tenant may be named."""

    entry: str
    text: str
    question: str
    picture: bytes
    frame: bytes
    turn: str
    walk: str
    session: str
    token: bytes
    state: bytes
    device: str

    @property
    def picture_hash(self) -> bytes:
        return hashlib.sha256(self.picture).digest()

    @property
    def frame_hash(self) -> bytes:
        return hashlib.sha256(self.frame).digest()


def absent() -> Had:
    """What no one ever had. Its tokens are of another server."""
    elsewhere, dialogue = DialogueSealer([b"x" * 32], 3600), (Spoken("What?", "That.", b"", ()),)
    return Had(
        "absent-entry",
        "An absent thing.",
        "Where is the absentthing?",
        png(48, 48, "red"),
        png(40, 40, "red"),
        "0" * 32,
        "absent-walk",
        "1" * 32,
        elsewhere.seal(dialogue),
        elsewhere.seal_state(dialogue, HOLDER),
        "absent-phone",
    )


Case = Callable[[Had], Sequence[Sequence[Message]]]
"""Calls of a method, each by its messages."""


def asked(had: Had) -> Sequence[Sequence[Message]]:
    frame, shown = t.Frame(sha256=had.frame_hash), t.Frame(encoded=had.frame)
    recall = a.MemoryUse(recall=True)
    return [
        [a.AskRequest(question=had.question, policy="text")],
        [a.AskRequest(question="What is this?", frames=[frame])],
        [a.AskRequest(question="What is this?", frames=[shown], policy="image")],
        [a.AskRequest(question="And how old is it?", session=had.token)],
        [a.AskRequest(question="When did I last see this?", frames=[shown], memory=recall)],
        [a.AskRequest(question=had.question, session_id=had.walk, memory=recall)],
    ]


def opened(had: Had) -> list[s.Open]:
    return [s.Open(holder=HOLDER, session_id=had.session), s.Open(holder=HOLDER, state=had.state)]


def conversed(had: Had) -> Sequence[Sequence[Message]]:
    return [[s.ClientMessage(open=each)] for each in opened(had)]


CASES: dict[str, Case] = {
    "AssistantService/Ask": asked,
    "AssistantService/GetCapabilities": lambda _: [[a.GetCapabilitiesRequest()]],
    "SessionService/Converse": conversed,
    "SessionService/Attach": lambda had: [[s.AttachRequest(open=each)] for each in opened(had)],
    "SessionService/Send": lambda had: [
        [s.SendRequest(session_id=had.session, holder=HOLDER, messages=[s.ClientMessage(ping=s.Ping())])]
    ],
    "KnowledgeService/GetEntry": lambda had: [[k.GetEntryRequest(id=had.entry)]],
    "KnowledgeService/DeleteEntry": lambda had: [[k.DeleteEntryRequest(id=had.entry)]],
    "KnowledgeService/ListEntries": lambda had: [[k.ListEntriesRequest()], [k.ListEntriesRequest(page_token="a")]],
    "KnowledgeService/SearchEntries": lambda had: [
        [k.SearchEntriesRequest(text=had.text)],
        [k.SearchEntriesRequest(text=had.question, mode=k.SearchMode.Value("SEARCH_MODE_KEYWORDS"))],
        [k.SearchEntriesRequest(picture=had.picture)],
    ],
    "KnowledgeService/GetPicture": lambda had: [
        [k.GetPictureRequest(sha256=each)] for each in (had.picture_hash, had.frame_hash)
    ],
    "KnowledgeService/CompactEntries": lambda _: [[k.CompactEntriesRequest()]],
    "MemoryService/SearchMemory": lambda had: [
        [m.SearchMemoryRequest()],
        [m.SearchMemoryRequest(text=had.question)],
        [m.SearchMemoryRequest(picture=had.frame, least_score=-1)],
        [m.SearchMemoryRequest(filter=m.SightingFilter(session_id=had.walk))],
        [m.SearchMemoryRequest(filter=m.SightingFilter(frame_sha256=had.frame_hash))],
    ],
    "MemoryService/GetThumbnail": lambda had: [[m.GetThumbnailRequest(id=had.turn)]],
    "MemoryService/GetMemoryStats": lambda _: [[m.GetMemoryStatsRequest()]],
    "MemoryService/ForgetMemory": lambda had: [
        [m.ForgetMemoryRequest(filter=m.SightingFilter(session_id=had.walk))],
        [m.ForgetMemoryRequest(filter=m.SightingFilter(frame_sha256=had.frame_hash))],
        [m.ForgetMemoryRequest(everything=True)],
    ],
    "MemoryService/CompactMemory": lambda _: [[m.CompactMemoryRequest()]],
    "PairingService/CreatePairing": lambda had: [[p.CreatePairingRequest(name=had.device, may=["ask"])]],
    # The last one, since afterwards the tenant has an entry of that id itself.
    "KnowledgeService/AddEntries": lambda had: [
        [k.AddEntriesRequest(entry=k.Entry(id=had.entry, title="Mine", text="Mine."))]
    ],
}
"""Calls by which the data of another tenant might be reached, by method."""
WITHOUT_DATA = {"/v1/audio/transcriptions", "/v1/audio/speech", "/v1/models", "/v1/models/*"}
WHOLE_SERVER = {"/metrics", "/config", "/turns"}


def test_every_call_and_path_has_a_case():
    named = {f"/quizglass.v1.{name}" for name in CASES}
    private = {path for path in TABLE if needs(path) is not None and not path.startswith("/grpc.")}
    assert named | WITHOUT_DATA | WHOLE_SERVER | {CHAT} == private


class Caller:
    """Makes calls with the token of a tenant, over gRPC or over Connect."""

    def __init__(self, served, channel, tenant):
        self.served, self.channel = served, channel
        self.authorization = {"authorization": f"Bearer {served.stage.tokens[tenant]}"}

    async def over_grpc(self, name, requests):
        """How a call ends, and what it says."""
        method = method_of(name)
        reply = GetMessageClass(method.output_type)
        path = f"/quizglass.v1.{name}"
        call = self.channel.stream_stream(path, lambda message: message.SerializeToString(), reply.FromString)(
            metadata=tuple(self.authorization.items())
        )
        for request in requests:
            await call.write(request)
        said = []
        if name in ENDLESS:
            said.append(await call.read())
            call.cancel()
            return grpc.StatusCode.OK.name, "", said
        await call.done_writing()
        with suppress(grpc.aio.AioRpcError):
            said += [message async for message in call]
        packed = [value for key, value in await call.trailing_metadata() if key == "grpc-status-details-bin"]
        told = status_pb2.Status.FromString(packed[0]) if packed else status_pb2.Status()
        return (await call.code()).name, reason_of(told.details) + told.message, said

    async def over_connect(self, name, requests):
        """The same over HTTP."""
        method = method_of(name)
        reply = GetMessageClass(method.output_type)
        path = f"/quizglass.v1.{name}"
        if not (method.client_streaming or method.server_streaming):
            headers = {"content-type": "application/proto", **self.authorization}
            answer = await ask(self.served, "POST", path, requests[0].SerializeToString(), headers)
            if answer.status == 200:
                return "ok", "", [reply.FromString(answer.body)]
            return answer.json["code"], answer.json["message"], []
        headers = {"content-type": "application/connect+proto", **self.authorization}
        body = b"".join(enveloped(each.SerializeToString()) for each in requests)
        answer = await ask(self.served, "POST", path, body, headers)
        *said, (_, end) = envelopes(answer.body)
        return end, "", [reply.FromString(content) for _, content in said]


ENDLESS = {"SessionService/Converse", "SessionService/Attach"}


def method_of(name):
    service, method = name.split("/")
    for module in ("assistant", "knowledge", "memory", "pairing", "session"):
        services = import_module(f"quizglass.v1.{module}_pb2").DESCRIPTOR.services_by_name
        if service in services:
            return services[service].methods_by_name[method]
    raise LookupError(name)


def reason_of(details):
    info = error_details_pb2.ErrorInfo()
    return info.reason if any(each.Unpack(info) for each in details) else ""


TIMES = "time ageS startedUs durationUs engineUs elapsedUs oldestTime latestTime atUs totalUs timings ledger"
DRAWN = "seq sequence turnId session sessionId state code link qrSvg score searchScore bytes"
CHANGING = {*TIMES.split(" "), *DRAWN.split(" ")}
"""Fields that differ from call to call."""


def plain(value, had):
    """What was said without what differs from call to call, and without what the caller named itself."""
    if isinstance(value, dict):
        return {key: plain(each, had) for key, each in value.items() if key not in CHANGING}
    if isinstance(value, list):
        return [plain(each, had) for each in value]
    if not isinstance(value, str):
        return value
    hashes = (b64encode(had.frame_hash).decode(), had.frame_hash.hex()[:16], had.picture_hash.hex()[:16])
    for given in (had.entry, had.turn, had.device, had.question, *hashes):
        value = value.replace(given, "…")
    return value


def outcome(answer, had):
    code, why, said = answer
    events = (MessageToDict(each) for each in said)  # in how many pieces an answer comes is chance, and its end has it
    return code, plain(why, had), [plain(each, had) for each in events if "answerDelta" not in each]


@pytest.fixture
async def served(tmp_path):
    async with tenants_serving(tmp_path, "anna", "bert", "carl") as (_, web):
        yield web


def client_of(served, tenant):
    return AsyncClient(served.stage.target, token=served.stage.tokens[tenant])


async def remembered(client):
    """The one sighting, which is written after its turn."""
    async with asyncio.timeout(WAIT_S):
        while not (seen := await client.memory.search()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return seen[0]


@pytest.fixture
async def annas(served):
    """What Anna has; her session is open."""
    stage, picture = served.stage, png(48, 48, "red")
    entry = Entry("annas-entry", "Anna's thing", text=f"The {CANARY} is in the garden.", pictures=(picture,))
    async with client_of(served, "anna") as client:
        assert (await client.add_entries([entry])).added == 1
        told = await client.answer(QUESTION, FRAME, session_id="annas-walk", remember=True)
        seen = await remembered(client)
    async with grpc.aio.insecure_channel(stage.target) as channel:
        link = RawLink(channel, stage.tokens["anna"])
        session = (await link.open()).session_id
        await link.show(FRAME)
        await link.say(question("q", QUESTION))
        await link.done("q")
        named = {"entry": entry.id, "text": entry.text, "question": QUESTION, "walk": "annas-walk"}
        tokens = {"session": session, "token": told.done.session, "state": link.state}
        yield Had(**named, **tokens, picture=picture, frame=FRAME, turn=seen.id, device="annas-phone")


@pytest.mark.parametrize(
    ("way", "asker"), [("over_grpc", "bert"), ("over_connect", "carl"), ("over_grpc", "own"), ("over_connect", "own")]
)
async def test_what_another_tenant_has_is_as_if_it_had_never_been(served, annas, way, asker):
    differing = []
    own = Entry("askers-own", "Own", text="Something else.", pictures=(png(32, 32, "blue"),))
    async with client_of(served, asker) as client:  # searches are not spared, as they are in empty stores
        assert (await client.add_entries([own])).added == 1
    async with grpc.aio.insecure_channel(served.stage.target) as channel:
        call = getattr(Caller(served, channel, asker), way)
        for name, calls in CASES.items():
            if way == "over_connect" and name in ENDLESS:
                continue
            for hers, nobodys in zip(calls(annas), calls(absent()), strict=True):
                found, nothing = await call(name, hers), await call(name, nobodys)
                if outcome(found, annas) != outcome(nothing, absent()):
                    differing.append((name, hers, outcome(found, annas), outcome(nothing, absent())))
                if CANARY not in str(hers) and CANARY in str(found):
                    differing.append((name, hers, found))
    assert differing == []
    await all_there(served, annas)


async def test_a_chat_is_told_nothing_of_another_tenants_entries(served, annas):
    def said(had):
        return {"model": "text", "messages": [{"role": "user", "content": had.question}]}

    authorization = {"authorization": f"Bearer {served.stage.tokens['bert']}"}
    answers = [
        await ask(served, "POST", CHAT, json.dumps(said(had)).encode(), {**JSON, **authorization})
        for had in (annas, absent())
    ]
    assert [each.status for each in answers] == [200, 200]
    hers, nobodys = (each.json["choices"] for each in answers)
    assert hers == nobodys
    assert CANARY not in str(hers)


async def test_another_tenant_counts_nothing(served, annas):
    for asker in ("bert", "own"):
        async with client_of(served, asker) as client:
            assert (await client.capabilities()).entries == 0
            assert [each async for each in client.list_entries()] == []
            assert await client.search(annas.text) == []
            stats = await client.memory.stats()
            assert (stats.sightings, stats.remembered, stats.oldest_time) == (0, 0, 0)
    await all_there(served, annas)


async def all_there(served, had):
    """That what Anna has is as it was."""
    async with client_of(served, "anna") as client:
        assert (await client.get_entry(had.entry)).text == had.text
        assert [each.id async for each in client.list_entries()] == [had.entry]
        assert await client.get_picture(had.picture_hash) == had.picture
        assert [each.id for each in await client.memory.search()] == [had.turn]
        assert await client.memory.thumbnail(had.turn)
        assert (await client.capabilities()).entries == 1
        assert (await client.answer("And how old is it?", session=had.token)).text


async def test_a_session_goes_on_with_another_token_of_its_tenant(served, annas):
    text, record = made("annas-other", Permission, None, "anna")
    served.stage.file.add(record)
    served.stage.services.network.reload()
    async with grpc.aio.insecure_channel(served.stage.target) as channel:
        async with asyncio.timeout(WAIT_S):
            while True:
                link = RawLink(channel, text)
                try:
                    opened = await link.open(session_id=annas.session)
                    break
                except (grpc.aio.AioRpcError, AssertionError):  # the file is not read again yet
                    await asyncio.sleep(0.05)
        assert opened.restored is Restored.ALL


async def test_pairing_stays_within_its_tenant(served):
    served.stage.services.network.place = PublicAddress("127.0.0.1", 1)
    async with grpc.aio.insecure_channel(served.stage.target) as channel:
        codes = {}
        for tenant in ("anna", "bert"):
            wish = p.CreatePairingRequest(name="phone", may=["read"])
            code, why, (made_,) = await Caller(served, channel, tenant).over_grpc(
                "PairingService/CreatePairing", [wish]
            )
            assert code == "OK", why
            codes[tenant] = made_.code
        for tenant, code in codes.items():  # hers was not replaced by his of the same name
            redeemed = await PairingServiceStub(channel).RedeemPairing(p.RedeemPairingRequest(code=code))
            (token,) = (
                each for each in load_tokens(served.stage.file.path).every if redeemed.token.startswith(f"qg_{each.id}")
            )
            assert (token.tenant, token.name) == (tenant, "phone")


async def test_a_tenants_token_does_not_show_the_whole_server(tmp_path):
    async with tenants_serving(tmp_path, "anna", operations_port=0) as (stage, _):
        shown = Operations(stage.services.settings, stage.services.network)
        port = await shown.open()
        try:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port.port}") as http:
                for path in WHOLE_SERVER:
                    for tenant, status in (("anna", 403), ("own", 200)):
                        headers = {"authorization": f"Bearer {stage.tokens[tenant]}"}
                        assert (await http.get(path, headers=headers)).status_code == status, (path, tenant)
        finally:
            await port.stop(0)


async def test_a_tenant_that_is_idle_makes_room_and_comes_back_with_all_it_had(tmp_path):
    async with tenants_serving(tmp_path, "anna", "bert", max_tenants=1) as (stage, web):
        for round_ in range(2):
            for tenant in ("anna", "bert"):
                async with client_of(web, tenant) as client:
                    entry = Entry(f"{tenant}-{round_}", tenant, text=f"Of {tenant}.")
                    assert (await client.add_entries([entry])).added == 1
                    ids = [each.id async for each in client.list_entries()]
                    assert ids == [f"{tenant}-{number}" for number in range(round_ + 1)]
        async with grpc.aio.insecure_channel(stage.target) as channel:
            link = RawLink(channel, stage.tokens["anna"])
            await link.open()
            async with client_of(web, "bert") as client:
                with pytest.raises(Overloaded, match="too many tenants"):
                    await client.search("Of bert.")
            status = (await ask(web, "POST", "/quizglass.v1.KnowledgeService/ListEntries", b"{}",
                                {**JSON, "authorization": f"Bearer {stage.tokens['bert']}"})).status  # fmt: skip
            assert status == 429
            link.call.cancel()


async def test_a_tenant_whose_directory_cannot_be_used_harms_no_other(tmp_path):
    (tmp_path / "tenants").mkdir()
    (tmp_path / "tenants" / "anna").write_text("a file in its place")
    async with tenants_serving(tmp_path, "anna", "bert") as (_, web):
        async with client_of(web, "anna") as client:
            for _ in range(2):
                with pytest.raises(ClientError, match="cannot be opened") as refusal:
                    await client.search("What?")
                assert str(tmp_path) not in str(refusal.value)
        async with client_of(web, "bert") as client:
            assert await client.search("What?") == []


async def test_shared_knowledge_is_found_and_read_by_all_and_changed_by_none(tmp_path):
    async with tenants_serving(tmp_path, "anna", "bert", share_knowledge=True) as (_, web):
        picture = png(48, 48, "red")
        async with client_of(web, "own") as client:
            shared = Entry("shared", "Shared", text="All may know this.", pictures=(picture,))
            assert (await client.add_entries([shared, Entry("both", "Theirs", text="In both stores.")])).added == 2
        async with client_of(web, "anna") as client:
            own = Entry("both", "Mine", text="In both stores.")
            assert (await client.add_entries([own, Entry("annas", "Anna's", text="Of Anna.")])).added == 2
        async with client_of(web, "anna") as client:
            assert [hit.entry_id for hit in await client.search(passage("Shared", "All may know this."), limit=1)] == [
                "shared"
            ]
            assert {hit.entry_id for hit in await client.search(picture=FRAME)} == {"shared"}
            assert [hit.title for hit in await client.search(passage("Mine", "In both stores."), limit=1)] == ["Mine"]
            assert (await client.get_entry("shared")).title == "Shared"
            assert (await client.get_entry("both")).title == "Mine"
            assert await client.get_picture(hashlib.sha256(picture).digest()) == picture
            assert [each.id async for each in client.list_entries()] == ["annas", "both"]
            with pytest.raises(NotFound, match="is of the knowledge that all tenants share"):
                await client.delete_entry("shared")
            with pytest.raises(NotFound, match="no entry 'none'"):
                await client.delete_entry("none")
            await client.delete_entry("both")
            assert (await client.get_entry("both")).title == "Theirs"
        async with client_of(web, "bert") as client:
            assert (await client.get_entry("shared")).title == "Shared"
            with pytest.raises(NotFound):
                await client.get_entry("annas")


async def test_what_a_tenant_has_replaced_is_not_found_in_the_shared_store(tmp_path):
    async with tenants_serving(tmp_path, "anna", share_knowledge=True) as (_, web):
        picture = png(48, 48, "red")
        async with client_of(web, "own") as client:
            old = Entry("price", "Velmora", text="The Velmora costs 45 crowns.", pictures=(picture,))
            assert (await client.add_entries([old, Entry("other", "Tagrin", text="It lies in Brenn.")])).added == 2
        async with client_of(web, "anna") as client:
            new = Entry("price", "Velmora", text="It is no longer sold.")
            assert (await client.add_entries([new])).added == 1
            for mode in ("hybrid", "vectors", "keywords"):
                found = await client.search("crowns", limit=5, mode=mode)
                assert not [hit.text for hit in found if "45 crowns" in hit.text]
            assert await client.search(picture=FRAME) == []
            assert [hit.entry_id for hit in await client.search("Brenn", limit=1, mode="keywords")] == ["other"]


async def test_what_a_tenant_has_replaced_takes_no_place_of_other_shared_entries(tmp_path):
    async with tenants_serving(tmp_path, "anna", share_knowledge=True) as (_, web):
        red, tall = png(48, 48, "red"), png(48, 64, "red")
        prices = "\n\n".join(
            f"In the year {year} crowns were asked for it, crowns and nothing else." for year in range(9)
        )
        async with client_of(web, "own") as client:
            old = Entry("price", "Velmora", text=prices, pictures=(red,))
            other = Entry(
                "other", "Tagrin", text="There it is paid for in crowns, as is usual in Brenn.", pictures=(tall,)
            )
            assert (await client.add_entries([old, other])).added == 2
            assert {hit.title for hit in await client.search("crowns", limit=3, mode="keywords")} == {"Velmora"}
        async with client_of(web, "anna") as client:
            assert (await client.add_entries([Entry("price", "Velmora", text="It is no longer sold.")])).added == 1
            found = await client.search("crowns", limit=3, mode="keywords")
            assert [hit.entry_id for hit in found] == ["other"]
            assert [hit.entry_id for hit in await client.search(picture=red, limit=1)] == ["other"]


def test_tokens_that_name_tenants_are_refused_where_there_are_none(tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    file.add(made("annas", [Permission.ASK], None, "anna")[1])
    with pytest.raises(SettingsError, match=r"tokens: annas is of the tenant anna, .*--tenants"):
        Network(NetworkOptions(tokens=file.path))


@pytest.mark.parametrize("name", ["Anna", "..", "a/b", "-a", "a" * 33, "a b", "ä"])
def test_a_tenants_name_is_the_name_of_a_directory_and_nothing_else(name):
    with pytest.raises(SettingsError, match="is no name for a tenant"):
        made("annas", [Permission.ASK], None, name)
