"""A tool of an MCP server (Model Context Protocol, over Streamable HTTP) that finds texts, such as a search of a wiki.

Each search is a session of its own: it begins, calls the tool and ends, and nothing is left where one is cut off. The
server is offered nothing: no sampling, no files, no further questions.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from quizglass_server.config.token_file import token_of
from quizglass_server.knowledge.sources.address import WebAddress, warn_when_in_clear
from quizglass_server.knowledge.sources.protocol import Passage, SourceError, TextQuery

MAX_ANSWER = 1 << 20
"""Bytes of one response."""
_TITLES, _TEXTS, _ADDRESSES = (
    ("title", "name", "heading"),
    ("text", "content", "snippet", "summary", "extract", "description", "body"),
    ("url", "link", "uri", "address"),
)
"""McpKeys of results that tools give as JSON, the likeliest first."""


class McpKeys(BaseModel):
    """What its table may have."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: WebAddress
    """Of the server's endpoint, http://HOST:PORT/mcp."""
    tool: str
    argument: str = "query"
    """The tool's argument that takes the query."""
    arguments: Mapping[str, Any] = {}
    """Its other ones, the same for each search."""
    token_file: Path | None = None


class McpTool:
    """A tool of an MCP server."""

    remote = True

    def __init__(self, keys: McpKeys) -> None:
        # Loading them takes seconds, in which nothing else would run if the first search did it.
        self._mcp = import_module("mcp.client.client")
        self._http = import_module("mcp.client.streamable_http")
        self._tls = ssl.create_default_context() if keys.url.startswith("https:") else False
        self._keys = keys
        warn_when_in_clear(keys.url)
        token = token_of(keys.token_file, "token_file", "")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def search_text(self, query: TextQuery, limit: int) -> Sequence[Passage]:
        """What the tool gives for a query, in its order."""
        keys = self._keys
        async with (
            bounded_client(self._headers, self._tls) as http,
            self._mcp.Client(self._http.streamable_http_client(keys.url, http_client=http), cache=None) as client,
        ):
            result = await client.call_tool(keys.tool, {**keys.arguments, keys.argument: query.text})
        if result.is_error:
            raise SourceError(f"the tool {keys.tool} says that it failed")
        given = result.structured_content
        texts = [block.text for block in result.content if block.type == "text"]
        records = texts if given is None else [given]
        return list(_passages(keys.tool, records))[:limit]

    async def close(self) -> None:
        """Nothing is kept between searches."""


def _passages(tool: str, records: Sequence[object]) -> Iterator[Passage]:
    for number, record in enumerate(each for given in records for each in _results(given)):
        if isinstance(record, str):
            yield Passage(f"{tool}/{number}", tool, record)
        elif isinstance(record, Mapping):
            title, text, address = (_first(record, keys) for keys in (_TITLES, _TEXTS, _ADDRESSES))
            yield Passage(address or title or f"{tool}/{number}", title or tool, text, address)


def _results(given: object) -> list[object]:
    """The results in what a tool gave: JSON is read, and a list taken out of an object that has nothing else.

    Servers wrap what a tool returns: a text that is JSON comes as {"result": "[…]"}.
    """
    given = _read(given)
    while isinstance(given, Mapping) and len(given) == 1 and not _first(given, _TEXTS):
        (wrapped,) = given.values()
        given = _read(wrapped)
    if isinstance(given, Mapping) and not _first(given, _TEXTS):
        lists = [value for value in given.values() if isinstance(value, list)]
        of_records = (each for each in lists if any(isinstance(one, Mapping) for one in each))
        return next(of_records, lists[0]) if lists else list(given.values())
    return list(given) if isinstance(given, list) else [given]


def _read(given: object) -> object:
    """What a text says that is JSON; all else as it is."""
    if not isinstance(given, str) or given.lstrip()[:1] not in ("[", "{"):
        return given
    try:
        read: object = json.loads(given)
    except (ValueError, RecursionError):
        return given
    return read


def _first(record: Mapping[Any, Any], keys: Sequence[str]) -> str:
    return next((record[key] for key in keys if isinstance(record.get(key), str)), "")


def bounded_client(headers: Mapping[str, str], tls: ssl.SSLContext | bool) -> Any:
    """An HTTP client of which no response is longer than `MAX_ANSWER`; it follows nowhere."""
    import httpx2

    class Bounded(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            response = await super().handle_async_request(request)
            if response.headers.get("content-encoding", "identity") != "identity":  # a megabyte may become a thousand
                await response.aclose()
                raise httpx2.ReadError("compressed, which was not asked for")
            stream = BoundedStream(response.stream)
            return httpx2.Response(response.status_code, headers=response.headers, stream=stream)

    class BoundedStream(httpx2.AsyncByteStream):
        def __init__(self, whole: Any) -> None:
            self._whole = whole

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in self._whole:
                size += len(chunk)
                if size > MAX_ANSWER:
                    raise httpx2.ReadError(f"longer than {MAX_ANSWER} bytes")
                yield chunk

        async def aclose(self) -> None:
            await self._whole.aclose()

    whole = {"Accept-Encoding": "identity", **headers}
    return httpx2.AsyncClient(transport=Bounded(verify=tls), headers=whole, trust_env=False, timeout=60)


def opened(keys: Mapping[str, Any]) -> McpTool:
    """A source of this kind. Raises ValueError for a wrong key, or where its package is not installed."""
    if find_spec("mcp") is None:
        raise ValueError("type: mcp needs more packages; in the clone: pip install '.[mcp]'")
    return McpTool(McpKeys.model_validate(keys))
