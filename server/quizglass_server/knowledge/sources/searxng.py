"""SearXNG, a search engine of one's own over others: its JSON API.

The instance has to allow the format: `search.formats` of its settings.yml has `json`.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, ValidationError

from quizglass_server.config.generator_address import generator_address
from quizglass_server.engines.generator.connection import Address, ConnectionLost, HttpConnections, NotHttp
from quizglass_server.knowledge.sources.address import WebAddress, warn_when_in_clear
from quizglass_server.knowledge.sources.protocol import Passage, SourceError, TextQuery

MAX_QUERY = 400
"""Characters; those behind them are left out, which engines would refuse."""
_COMMANDS = "!?:<"
"""What a word of SearXNG's query begins with that is no word but chooses engines, languages or times."""
MAX_ANSWER = 1 << 20
"""Bytes of an answer; a page of results has about 30,000."""


Item = TypeVar("Item", bound=BaseModel)


class SearxNgKeys(BaseModel):
    """What its table may have."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: WebAddress
    """http://HOST:PORT or https://HOST, with the path that the instance has, if any."""
    categories: str = "general"
    language: str = "all"


class _Result(BaseModel):
    """One result. Engines may leave each field out, or send null: a table of keys and values has no address."""

    url: str | None = ""
    title: str | None = ""
    content: str | None = ""


class _Infobox(BaseModel):
    infobox: str | None = ""
    id: str | None = ""
    content: str | None = ""


class _Page(BaseModel):
    results: list[Any] = []
    infoboxes: list[Any] = []


class SearxNg:
    """An instance of SearXNG."""

    remote = True

    def __init__(self, keys: SearxNgKeys) -> None:
        self._keys = keys
        where = generator_address(keys.url)
        warn_when_in_clear(keys.url)
        tls = ssl.create_default_context() if where.scheme == "https" else None
        self._connections = HttpConnections(Address(host=where.host, port=where.port, tls=tls, path=where.path))

    async def search_text(self, query: TextQuery, limit: int) -> Sequence[Passage]:
        """Infoboxes, then results in the instance's order."""
        words = _plain(query.text)
        if not words:
            return []  # it answers that with an error
        wanted = {"q": words, "format": "json", "categories": self._keys.categories}
        asked = urlencode(wanted | {"language": self._keys.language})
        try:
            async with self._connections.request("GET", f"/search?{asked}") as response:
                if response.status == HTTPStatus.FORBIDDEN:
                    raise SourceError("it refuses JSON (403); add json to search.formats in its settings.yml")
                if not response.ok:
                    raise SourceError(f"it answers with HTTP status {response.status}")
                content = await response.document(MAX_ANSWER)
        except ConnectionLost as error:
            raise SourceError(str(error)) from None
        except NotHttp as error:
            raise SourceError(f"what it sends is no answer: {error}") from None
        try:
            return list(_passages(_Page.model_validate_json(content)))[:limit]
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise SourceError(f"its answer is not SearXNG's: {'.'.join(map(str, first['loc']))}") from None

    async def close(self) -> None:
        """Close its connections."""
        self._connections.close()


def _plain(text: str) -> str:
    """A query without commands: what is printed in a picture must not choose who is asked."""
    return " ".join(word for each in text.split() if (word := each.lstrip(_COMMANDS)))[:MAX_QUERY]


def _passages(page: _Page) -> Iterator[Passage]:
    """Those with a text; one without an address is named by its title. Raises SourceError where all are spoilt."""
    boxes, results = _sound(_Infobox, page.infoboxes), _sound(_Result, page.results)
    if not (boxes or results) and (page.infoboxes or page.results):
        raise SourceError("its answer is not SearXNG's: results")
    for box in boxes:
        if box.content:
            title, address = box.infobox or "", box.id or ""
            yield Passage(address or title, title, box.content, address)
    for result in results:
        if result.content:
            title, address = result.title or "", result.url or ""
            yield Passage(address or title, title, result.content, address)


def _sound(kind: type[Item], given: Sequence[Any]) -> list[Item]:
    """Those that are as they should be: one that an engine has spoilt spoils no other."""
    found = list[Item]()
    for each in given:
        with suppress(ValidationError):
            found.append(kind.model_validate(each))
    return found


def opened(keys: Mapping[str, Any]) -> SearxNg:
    """A source of this kind. Raises ValueError for a wrong key."""
    return SearxNg(SearxNgKeys.model_validate(keys))
