"""A collection of Milvus that others fill, searched by the vectors of the bundle's encoders and never written."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict

from quizglass_server.config.address import MilvusAddress, knowledge_address
from quizglass_server.config.token_file import token_of
from quizglass_server.domain.turns import Vector
from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.milvus.link import MilvusAccess, MilvusLink
from quizglass_server.knowledge.sources.protocol import Passage, PictureQuery, SourceError, TextQuery

logger = logging.getLogger(__name__)
_CALL_S = 10.0
_THREADS = 4


def _milvus(url: str) -> str:
    address = knowledge_address(url)
    if not isinstance(address, MilvusAddress):
        raise ValueError("is no address of Milvus: http://HOST:PORT, https://HOST:PORT or milvus:FILE.db")
    if address.in_process and not Path(address.uri).exists():
        raise ValueError("there is no such file")
    return url


class MilvusKeys(BaseModel):
    """What its table may have; `vector`, `title`, `text` and `address` are names of fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: Annotated[str, AfterValidator(_milvus)]
    collection: str
    finds: Literal["text", "image"] = "text"
    vector: str = "vector"
    text: str = "text"
    title: str = ""
    address: str = ""
    token_file: Path | None = None


class _Collection:
    """What both kinds share."""

    def __init__(self, keys: MilvusKeys) -> None:
        address = knowledge_address(keys.url)
        assert isinstance(address, MilvusAddress)
        self._keys = keys
        if address.leaves_machine_in_clear:
            logger.warning("queries cross the network without encryption", extra={"to": keys.url})
        self._access = MilvusAccess(address, token_of(keys.token_file, "token_file", ""), _CALL_S)
        self._link: MilvusLink | None = None
        self._connecting = Lock()
        self._threads = ThreadPoolExecutor(_THREADS, "source-milvus")
        self.remote = not address.in_process

    async def close(self) -> None:
        """Close the connection, if there is one."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._link is not None:
            await asyncio.to_thread(self._link.close)

    async def _nearest(self, vectors: Sequence[Vector], limit: int) -> list[Passage]:
        """The nearest of each vector, in turn, each once."""
        work = asyncio.get_running_loop().run_in_executor(self._threads, self._searched, vectors, limit)
        try:
            by_vector = await work
        except KnowledgeFailed as error:
            raise SourceError(error.message.replace("knowledge_token_file", "token_file")) from None
        once: dict[str, Passage] = {}
        for passage in (each for rank in zip_longest(*by_vector) for each in rank if each is not None):
            once.setdefault(passage.id, passage)
        return list(once.values())[:limit]

    def _searched(self, vectors: Sequence[Vector], limit: int) -> list[list[Passage]]:
        keys = self._keys
        with self._connecting:
            if self._link is None:
                self._link = MilvusLink(self._access)
        fields = [name for name in (keys.text, keys.title, keys.address) if name]
        data = [vector.tolist() for vector in vectors]

        def search(client: Any, timeout_s: float) -> Any:
            where = {"anns_field": keys.vector, "limit": limit, "output_fields": fields, "timeout": timeout_s}
            return client.search(keys.collection, data, **where)

        return [[self._passage(hit) for hit in hits] for hits in self._link.run(search)]

    def _passage(self, hit: Any) -> Passage:
        if self._keys.text not in hit["entity"]:
            raise SourceError(f"its collection has no field {self._keys.text}")
        text, title, address = (str(hit["entity"].get(name) or "") for name in self._names)
        return Passage(str(hit["id"]), title or self._keys.collection, text, address, float(hit["distance"]))

    @property
    def _names(self) -> tuple[str, str, str]:
        return self._keys.text, self._keys.title, self._keys.address


class MilvusTexts(_Collection):
    """Texts by their vectors."""

    by_vector = True

    async def search_text(self, query: TextQuery, limit: int) -> Sequence[Passage]:
        """The texts nearest to the query's vector."""
        if query.vector is None:
            raise SourceError("the bundle has no text encoder to search it with")
        return await self._nearest([query.vector], limit)


class MilvusPictures(_Collection):
    """Descriptions of pictures by the pictures' vectors."""

    async def search_picture(self, query: PictureQuery, limit: int) -> Sequence[Passage]:
        """Descriptions of the pictures nearest to any part of the wearer's."""
        return await self._nearest(query.vectors, limit)


def opened(keys: Mapping[str, Any]) -> MilvusTexts | MilvusPictures:
    """A source of this kind. Raises ValueError for a wrong key."""
    given = MilvusKeys.model_validate(keys)
    try:
        import_module("pymilvus")  # which takes seconds, and a search has less
    except ImportError:
        raise ValueError("type: Milvus needs more packages; in the clone: pip install '.[milvus]'") from None
    return MilvusPictures(given) if given.finds == "image" else MilvusTexts(given)
