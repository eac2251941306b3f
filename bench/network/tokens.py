"""Every call and every path, with every kind of token: whether the status is the right one."""

from __future__ import annotations

import asyncio
import itertools
import json
import ssl
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import grpc

from bench.hostile.sections import Setup
from bench.network.serving import Access, protected, serving
from bench.results import Row
from bench.sections import Part
from quizglass_client import AsyncSession, Unauthenticated
from quizglass_client.local import LocalServer
from quizglass_server.network.permissions import TABLE, Permission, needs

_OVERSIZED = 5_000
"""Characters: more than a token has, and less than a header may."""
_MONSTROUS = 60_000
"""More than a header may have: the transport refuses it by itself."""
_FOREIGN = "qg_00000000_" + "A" * 43
_METHODS = [path for path in TABLE if path.startswith("/quizglass.")]
_PERMISSIONS = frozenset(map(str, Permission))
_GET = ("/v1/models",)
_OPERATED = ("/metrics", "/config")
_PUBLIC = ("/", "/main.js", "/style.css", "/icon.svg", "/health", "/healthz", "/livez", "/ready", "/readyz")


class Tally:
    """Statuses that are as they should be, and those that are not."""

    def __init__(self) -> None:
        self.right: Counter[str] = Counter()
        self.wrong: list[str] = []

    def judge(self, kind: str, path: str, found: object, right: bool) -> None:
        """Count one."""
        if right:
            self.right[kind] += 1
        else:
            self.wrong.append(f"{kind}: {path}: {found}")

    def row(self, name: str) -> Row:
        """How many are right."""
        right = self.right.total()
        return Row(name, right, f"of {right + len(self.wrong)}", bar="all", ok=not self.wrong)


async def run(setup: Setup) -> Part:
    """Over gRPC, HTTP and the operations port, each time from another address: failures of one would be held off."""
    access = await asyncio.to_thread(protected, setup)
    given = await asyncio.to_thread(_tokens, access)
    flags = ["--web-port", "0", "--operations-port", "0", "--trusted-proxies", "127.0.0.1"]
    rpc, http = Tally(), Tally()
    async with serving(setup, "asked", flags, access) as (server, _):
        await asyncio.to_thread(access.revoke, "revoked")
        await _taken_up(server, access, given["revoked"])
        sources = (f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}" for n in itertools.count(1))
        setup.say("every call with every kind of token")
        await _over_grpc(server, access, given, sources, rpc)
        setup.say("every path with every kind of token")
        await asyncio.to_thread(_over_http, server, access, given, sources, http)
        setup.say("a token that is revoked while it is used")
        ended = await _revoked_midway(server, access)
    rows = [rpc.row("calls over gRPC with the right status"), http.row("requests over HTTP with the right status")]
    rows.append(
        Row(
            "sessions that end at their next message once their token is revoked", ended, "of 1", bar="1", ok=ended == 1
        )
    )
    return Part(rows, {"wrong": rpc.wrong + http.wrong, "right": rpc.right + http.right})


def _tokens(access: Access) -> dict[str, str]:
    """A token of each permission, by its name, and those that nothing may be done with."""
    made = {str(each): access.add(each, each) for each in Permission}
    made["revoked"] = access.add("revoked", ",".join(Permission))
    made["expired"] = access.add("expired", ",".join(Permission), "--expires", "1h")
    file = json.loads(access.tokens.read_text())
    for token in file["tokens"]:
        if token["name"] == "expired":
            token["expires"] = token["created"]
    access.tokens.write_text(json.dumps(file))
    none = {"without": "", "unknown": _FOREIGN, "malformed": "qg_!", "oversized": "qg_" + "A" * _OVERSIZED}
    return {**made, **none, "monstrous": "qg_" + "A" * _MONSTROUS}


async def _taken_up(server: LocalServer, access: Access, text: str) -> None:
    """Wait until a token is no longer valid."""
    url = f"https://localhost:{server.web.rpartition(':')[2]}/v1/models"
    async with asyncio.timeout(60):
        while await asyncio.to_thread(_status, url, access, {"authorization": f"Bearer {text}"}) != 401:
            pass


async def _over_grpc(
    server: LocalServer, access: Access, given: Mapping[str, str], sources: Iterator[str], tally: Tally
) -> None:
    credentials = grpc.ssl_channel_credentials(access.authority.read_bytes())
    target = f"localhost:{server.target.rpartition(':')[2]}"
    async with grpc.aio.secure_channel(target, credentials) as channel:
        for path, (kind, text) in itertools.product(_METHODS, given.items()):
            metadata = [("x-forwarded-for", next(sources))]
            metadata += [("authorization", f"Bearer {text}")] if text else []
            call: Any = channel.stream_stream(path)(metadata=metadata)
            with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                await call.done_writing()
                async for _ in call:
                    break
            call.cancel() if not call.done() else None
            code = await call.code()
            tally.judge(kind, path, code, right_code(kind, path, code))


def right_code(kind: str, path: str, code: grpc.StatusCode) -> bool:
    """Whether a call that says nothing ends as it should with such a token."""
    if kind == "monstrous":
        return code not in (grpc.StatusCode.OK, grpc.StatusCode.INTERNAL)
    if needs(path) is None:  # it takes a code in place of a token, and got none
        return code is grpc.StatusCode.INVALID_ARGUMENT
    if kind not in _PERMISSIONS:
        return code is grpc.StatusCode.UNAUTHENTICATED
    if kind not in (needs(path) or ()):
        return code is grpc.StatusCode.PERMISSION_DENIED
    # It may do this, and has said nothing that could be done.
    return code not in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.INTERNAL)


def _over_http(
    server: LocalServer, access: Access, given: Mapping[str, str], sources: Iterator[str], tally: Tally
) -> None:
    web, operations = (f"https://localhost:{url.rpartition(':')[2]}" for url in (server.web, server.operations))
    posted = [path for path in _METHODS if not path.endswith("/Converse")]
    asked = [*((web, path, True) for path in (*posted, "/v1/chat/completions"))]
    asked += [*((web, path, False) for path in _GET), *((operations, path, False) for path in _OPERATED)]
    for (host, path, posts), (kind, text) in itertools.product(asked, given.items()):
        headers = {"authorization": f"Bearer {text}"} if text else {}
        headers |= {"x-forwarded-for": next(sources)} if host == web else {}
        status = _status(f"{host}{path}", access, headers, b"{}" if posts else None)
        tally.judge(kind, path, status, right_status(kind, path, status))
    for path in _PUBLIC:
        tally.judge("public", path, status := _status(f"{web}{path}", access, {}), status == 200)


def right_status(kind: str, path: str, status: int) -> bool:
    """Whether a request that says nothing is answered as it should be with such a token."""
    if kind == "monstrous":
        return status in (0, 400, 401, 413, 431)
    if needs(path) is None:
        return status == 400
    if kind not in _PERMISSIONS:
        # The operations port has no trusted proxy: failures of this machine's own address are held off there.
        return status == 401 or (status == 429 and path in _OPERATED)
    return status == 403 if kind not in (needs(path) or ()) else status not in (401, 403, 500)


def _status(url: str, access: Access, headers: Mapping[str, str], body: bytes | None = None) -> int:
    """Status of a response; 0 where the connection was closed without one."""
    context = ssl.create_default_context(cafile=access.authority)
    about = {"content-type": "application/json", **headers} if body is not None else dict(headers)
    try:
        with urlopen(Request(url, data=body, headers=about), context=context, timeout=60) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code
    except OSError:
        return 0


async def _revoked_midway(server: LocalServer, access: Access) -> int:
    """1 where a session that is open ends at its next message once its token is revoked."""
    text = await asyncio.to_thread(access.add, "midway", "ask")
    await asyncio.sleep(3)  # the file is looked at once a second
    target = f"localhost:{server.target.rpartition(':')[2]}"
    async with AsyncSession(target, ca=access.authority, token=text) as session:
        await session.answer("What is this?")
        await asyncio.to_thread(access.revoke, "midway")
        await _taken_up(server, access, text)
        try:
            await session.answer("What is that?")
        except Unauthenticated:
            return 1
    return 0
