"""Devices get a token for a code: over real sockets, by the page's calls, the command line and other clients."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from quizglass.v1 import pairing_pb2, pairing_pb2_grpc
from quizglass_client import AsyncClient, InvalidRequest
from quizglass_client.cli import main as client
from quizglass_client.pairing import PairingLink, pair
from quizglass_server.cli import main
from quizglass_server.network.pairing import PublicAddress, fingerprint, offered
from quizglass_server.network.permissions import Permission
from quizglass_server.network.tokens import TokenFile, load_tokens, made
from tests.support.rpc_fakes import png
from tests.support.sessions.session_links import eventually
from tests.support.tls import certificate, following
from tests.support.web import JSON, Wire, web_serving

REDEEM = "/quizglass.v1.PairingService/RedeemPairing"


@pytest.fixture
def tokens(tmp_path):
    """A file with an operator's token, which may ask and operate for an hour."""
    text, record = made("operator", [Permission.ASK, Permission.OPERATE], datetime.now(UTC) + timedelta(hours=1))
    TokenFile(tmp_path / "tokens").add(record)
    (tmp_path / "operator").write_text(text)
    return tmp_path / "tokens"


@pytest.fixture
async def served(tmp_path, tokens):
    async with web_serving(tmp_path, tokens=tokens) as opened, following(opened.stage.services.network):
        yield opened


@pytest.fixture
async def calls(served, tmp_path):
    """The service's calls as an operator makes them."""
    bearer = (("authorization", f"Bearer {(tmp_path / 'operator').read_text()}"),)
    async with grpc.aio.insecure_channel(served.stage.target) as channel:
        stub = pairing_pb2_grpc.PairingServiceStub(channel)

        async def create(**fields):
            return await stub.CreatePairing(pairing_pb2.CreatePairingRequest(**fields), metadata=bearer)

        stub.create = create
        yield stub


async def redeemed(calls, code):
    return await calls.RedeemPairing(pairing_pb2.RedeemPairingRequest(code=code))


async def refused(call):
    with pytest.raises(grpc.aio.AioRpcError) as ending:
        await call
    return ending.value


def why(error):
    info = error_details_pb2.ErrorInfo()
    packed = dict(error.trailing_metadata())["grpc-status-details-bin"]
    status_pb2.Status.FromString(packed).details[0].Unpack(info)
    return info.metadata.get("why")


async def test_a_device_gets_a_token_of_its_own_for_a_code_once(served, calls, tokens):
    created = await calls.create(name="glasses", may=["ask"])
    assert created.code not in tokens.read_text()
    given = await redeemed(calls, created.code.lower().replace("-", " "))
    assert (given.name, list(given.may), given.authority) == ("glasses", ["ask"], "")
    async with AsyncClient(served.stage.target, token=given.token) as device:
        assert (await device.answer("What?", png())).text == "45 crowns"
        assert (await device.capabilities()).may == ("ask",)
    again = await refused(redeemed(calls, created.code))
    assert (again.code(), why(again)) == (grpc.StatusCode.UNAUTHENTICATED, "CODE")
    assert load_tokens(tokens).pairings == ()


async def test_of_two_devices_that_redeem_a_code_at_once_one_gets_a_token(calls, tokens):
    code = (await calls.create(name="glasses", may=["ask"])).code
    ends = await asyncio.gather(*(redeemed(calls, code) for _ in range(4)), return_exceptions=True)
    assert sum(not isinstance(each, Exception) for each in ends) == 1
    assert [each.name for each in load_tokens(tokens).every] == ["operator", "glasses"]


async def test_a_device_may_do_no_more_and_no_longer_than_who_pairs_it(calls, tokens):
    more = await refused(calls.create(name="glasses", may=["ask", "write"]))
    assert more.code() is grpc.StatusCode.PERMISSION_DENIED
    own = load_tokens(tokens).every[0].expires
    given = await redeemed(calls, (await calls.create(name="glasses", may=["ask"])).code)
    assert given.expires == int(own.timestamp())
    shorter = await redeemed(calls, (await calls.create(name="phone", may=["ask"], expires_after_s=60)).code)
    assert 0 < shorter.expires - datetime.now(UTC).timestamp() <= 61


async def test_who_may_not_operate_makes_no_code(served, calls):
    given = await redeemed(calls, (await calls.create(name="glasses", may=["ask"])).code)
    metadata = (("authorization", f"Bearer {given.token}"),)
    request = pairing_pb2.CreatePairingRequest(name="another", may=["ask"])
    error = await refused(calls.CreatePairing(request, metadata=metadata))
    assert error.code() is grpc.StatusCode.PERMISSION_DENIED


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"may": ["ask"]}, "name"),
        ({"name": "a b", "may": ["ask"]}, "name"),
        ({"name": "a"}, "may"),
        ({"name": "a", "may": ["everything"]}, "may[0]"),
        ({"name": "a", "may": ["ask"], "expires_after_s": -1}, "expires_after_s"),
        ({"name": "a", "may": ["ask"], "page": "glasses.local"}, "page"),
        ({"name": "a", "may": ["ask"], "page": "https://glasses.local/there"}, "page"),
        ({"name": "a", "may": ["ask"], "page": "https://user@glasses.local:99999"}, "page"),
    ],
)
async def test_a_field_that_is_wrong_is_named_and_leaves_no_code(calls, tokens, fields, field):
    error = await refused(calls.create(**fields))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert error.details().startswith(f"{field}: ")
    assert load_tokens(tokens).pairings == ()


@pytest.mark.parametrize("code", ["", "7K3M", "7K3M-9QXD-2FTV-AAAA", "7K3M-9QXD-2FT!", "x" * 100_000])
async def test_what_is_no_code_is_told_so(calls, code):
    error = await refused(redeemed(calls, code))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_code_ends_with_the_fifth_wrong_try_at_it(calls, tokens):
    code = (await calls.create(name="glasses", may=["ask"])).code
    for _ in range(5):
        error = await refused(redeemed(calls, f"{code[:4]}-0000-0000"))
        assert error.code() is grpc.StatusCode.UNAUTHENTICATED
    assert load_tokens(tokens).pairings == ()
    assert (await refused(redeemed(calls, code))).code() is grpc.StatusCode.UNAUTHENTICATED
    assert [each.name for each in load_tokens(tokens).every] == ["operator"]


async def test_a_code_is_worth_nothing_after_its_time(served, calls, tokens):
    code, record = offered("glasses", [Permission.ASK], None)
    late = record.model_copy(update={"expires": datetime.now(UTC) - timedelta(seconds=1)})
    content = json.loads(tokens.read_text())
    content["pairings"] = [json.loads(late.model_dump_json())]
    tokens.write_text(json.dumps(content))
    await eventually(lambda: served.stage.services.network.logins.tokens.pairings)
    assert (await refused(redeemed(calls, code))).code() is grpc.StatusCode.UNAUTHENTICATED


async def test_who_guesses_codes_is_refused_with_a_delay_and_others_are_not(served, calls):
    body = json.dumps({"code": "0000-0000-0000"}).encode()
    async with await Wire.to(served, "127.0.0.9") as guessing, asyncio.timeout(60):
        answers = [await guessing.ask("POST", REDEEM, body, JSON) for _ in range(30)]
    assert {each.status for each in answers[:20]} == {401}
    assert answers[-1].status == 429
    given = await redeemed(calls, (await calls.create(name="glasses", may=["ask"])).code)
    assert given.token


async def test_a_server_that_asks_for_no_tokens_pairs_nothing(tmp_path):
    async with web_serving(tmp_path) as served, grpc.aio.insecure_channel(served.stage.target) as channel:
        stub = pairing_pb2_grpc.PairingServiceStub(channel)
        for call in (redeemed(stub, "7K3M-9QXD-2FTV"), stub.CreatePairing(create("glasses"))):
            error = await refused(call)
            assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
            assert "asks for no tokens" in error.details()


def create(name):
    return pairing_pb2.CreatePairingRequest(name=name, may=["ask"])


async def test_a_file_that_cannot_be_written_is_not_named_to_the_client(served, calls, tokens, monkeypatch):
    code = (await calls.create(name="glasses", may=["ask"])).code
    pairings = served.stage.services.network.pairings
    monkeypatch.setattr(pairings, "_file", TokenFile(tokens.parent / "gone" / "tokens"))
    error = await refused(redeemed(calls, code))
    assert "log says why" in error.details()
    assert "gone" not in error.details()


async def test_the_links_lead_to_the_page_that_the_operator_has_open(served, calls):
    port = served.web.port
    by_name = await calls.create(name="a", may=["ask"], page="http://glasses.local:8080")
    assert by_name.link == f"http://glasses.local:8080/#code={by_name.code}"
    own = await calls.create(name="b", may=["ask"])
    assert own.link == f"http://127.0.0.1:{port}/#code={own.code}&grpc={served.stage.rpc.port}"
    image = ElementTree.fromstring(own.qr_svg)
    assert image.tag.endswith("svg")


async def test_where_the_page_alone_is_open_to_others_links_lead_to_it(tmp_path, tokens):
    """An operator who opens it on the same machine, by a name that is none for devices."""
    bearer = (("authorization", f"Bearer {(tmp_path / 'operator').read_text()}"),)
    async with (
        web_serving(tmp_path, tokens=tokens, web_host="127.0.0.2") as served,
        grpc.aio.insecure_channel(served.stage.target) as channel,
    ):
        stub = pairing_pb2_grpc.PairingServiceStub(channel)
        offer = await stub.CreatePairing(create("glasses"), metadata=bearer)
    assert offer.link.startswith(f"http://127.0.0.2:{served.web.port}/#code=")


@pytest.mark.parametrize(
    ("page", "begins"),
    [
        ("https://glasses.example:8443", "https://glasses.example:8443/#code="),
        ("https://glasses.example", "https://glasses.example:443/#code="),
        ("https://localhost:8443", "https://192.0.2.7:50062/#code="),
        ("", "https://192.0.2.7:50062/#code="),
    ],
)
def test_a_link_over_tls_leads_to_the_port_that_the_operators_browser_reaches(page, begins, first):
    """A container's port may be published as another one. A name of this machine alone is none for devices."""
    place = PublicAddress("192.0.2.7", 50061, 50062, first.path.read_bytes())
    link = place.link("7K3M-9QXD-2FTV", page)
    assert link.startswith(begins)
    assert PairingLink.of(link).fingerprint == fingerprint(place.chain)


@pytest.fixture
def first(tmp_path):
    return certificate(tmp_path)


@pytest.fixture
def tls(tmp_path, capsys):
    pytest.importorskip("cryptography", reason="the extra tls is not installed")
    assert main(["tls", "init", str(tmp_path / "tls")]) == 0
    capsys.readouterr()
    return {"tls_cert": tmp_path / "tls" / "server.pem", "tls_key": tmp_path / "tls" / "server.key"}


async def test_a_device_pairs_by_the_link_and_trusts_the_authority_from_then_on(
    tls, tokens, tmp_path, monkeypatch, capsys
):
    """As an operator without a page does it: a code from the command line, taken up by a server that runs."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("QUIZGLASS_SERVER", raising=False)
    async with web_serving(tmp_path, tokens=tokens, **tls) as served, following(served.stage.services.network):
        port = str(served.stage.rpc.port)
        flags = ["--tokens", str(tokens), "--tls-cert", str(tls["tls_cert"]), "--port", port, "--address", "localhost"]
        assert main(["token", "pair", "phone", "--may", "ask", "--expires", "90d", *flags]) == 0
        link = capsys.readouterr().out.strip()
        await eventually(lambda: served.stage.services.network.logins.tokens.pairings)
        wrong = replace(PairingLink.of(link), fingerprint="0" * 64)
        with pytest.raises(InvalidRequest, match="another certificate"):
            await asyncio.to_thread(pair, wrong)
        assert await asyncio.to_thread(client, ["pair", link]) == 0
        told = capsys.readouterr().out
        assert f"localhost:{port} knows this device as phone" in told
        assert await asyncio.to_thread(client, ["capabilities"]) == 0
        assert await asyncio.to_thread(client, ["--ca", str(tmp_path / "tls" / "authority.pem"), "capabilities"]) == 0
        assert await asyncio.to_thread(client, ["pair", link]) == 1
        assert "the code is not valid" in capsys.readouterr().err.replace("\n", " ")
    (kept,) = (tmp_path / "config").rglob("*.json")
    assert kept.stat().st_mode & 0o077 == 0


async def test_a_code_is_not_spent_where_its_token_cannot_be_kept(served, calls, tmp_path, monkeypatch, capsys):
    (tmp_path / "no-folder").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-folder"))
    code = (await calls.create(name="glasses", may=["ask"])).code
    assert await asyncio.to_thread(client, ["--server", served.stage.target, "pair", code]) == 1
    assert "no-folder" in capsys.readouterr().err
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert await asyncio.to_thread(client, ["--server", served.stage.target, "pair", code]) == 0


async def test_the_token_of_a_pairing_goes_to_its_server_alone(served, calls, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    code = (await calls.create(name="glasses", may=["ask"])).code
    assert await asyncio.to_thread(client, ["--server", served.stage.target, "pair", code]) == 0
    async with web_serving(tmp_path / "other", tokens=tmp_path / "tokens") as other:
        assert await asyncio.to_thread(client, ["--server", other.stage.target, "capabilities"]) == 1
    assert await asyncio.to_thread(client, ["--server", served.stage.target, "capabilities"]) == 0
    (kept,) = (tmp_path / "config").rglob("*.json")
    kept.write_text("{}")
    capsys.readouterr()
    assert await asyncio.to_thread(client, ["--server", served.stage.target, "capabilities"]) == 2
    assert "does not hold what `quizglass pair` writes" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize(
    "link",
    [
        "",
        "https://glasses.local/",
        "ftp://glasses.local/#code=A",
        "https:///#code=A",
        "https://glasses.local:99999/#code=A",
        "https://glasses.local/#code=A&grpc=x",
        "https://glasses.local/#code=A&sha256=00",
        "https://glasses.local/#code=A&sha256=zz",
        "https://[/#code=A",
        "https://glasses.local/#" + "a=1&" * 100,
        "https://glasses.local/#code=" + "A" * 5000,
    ],
)
def test_what_is_no_link_is_refused(link):
    with pytest.raises(InvalidRequest):
        PairingLink.of(link)


def test_no_code_goes_over_a_network_in_clear():
    for link in ("http://glasses.local:80/#code=A", "quizglass://glasses.local/#code=A"):
        with pytest.raises(InvalidRequest, match="in clear"):
            pair(PairingLink.of(link))
