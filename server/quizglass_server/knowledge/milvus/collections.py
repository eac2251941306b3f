"""The three collections that a store has in Milvus: how they are declared, made and told from others.

`NAME_entries` holds entries whole, `NAME_chunks` and `NAME_pictures` one row a vector, with what filters need. Which
encoder made the vectors stands in the properties of a collection, so that vectors of two encoders never meet.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.content.records import VectorKind
from quizglass_server.knowledge.index.search_indexes import Space
from quizglass_server.knowledge.milvus.link import MilvusLink

logger = logging.getLogger(__name__)

FORMAT = "1"
"""Version of the fields below and of their contents (`rows.py`)."""
ENTRIES = "entries"
MAX_BYTES = 65_535
"""Most bytes of a text in Milvus."""

_FORMAT_PROPERTY, _SPACE_PROPERTY = "quizglass.format", "quizglass.space"
_KEY_BYTES, _ID_BYTES = 256, 200  # ids are ASCII
_MOST_FACTS, _FACT_BYTES = 256, 32
_MOST_TONGUES, _TONGUE_BYTES = 32, 40
_ANALYZER = {
    "tokenizer": "standard",
    "filter": ["lowercase", "asciifolding", {"type": "stemmer", "language": "english"}],
}
_GRAPH = {"M": 16, "efConstruction": 200}


class Collections:
    """The collections of one name; made when they do not exist."""

    def __init__(self, link: MilvusLink, name: str, spaces: Mapping[VectorKind, Space]) -> None:
        """Find or make them.

        Raises:
            KnowledgeFailed: they are of another server's kind, or their vectors of another encoder.
            KnowledgeLost: Milvus does not answer.
        """
        self._link = link
        self._name = name
        self.entries = f"{name}_{ENTRIES}"
        self.vectors = {kind: f"{name}_{kind.value}" for kind in VectorKind}
        there = set(link.run(lambda client, left: client.list_collections(timeout=left)))
        self._ensure(self.entries, "", _entries_schema, there)
        for kind, space in spaces.items():
            schema = partial(_vectors_schema, kind, space.dimension)
            self._ensure(self.vectors[kind], space.name, schema, there)
        self.kinds = [kind for kind in VectorKind if kind in spaces or self.vectors[kind] in there]
        """Those of which there are vectors; of a kind without an encoder only when another server wrote them."""
        self.load()

    @property
    def all(self) -> list[str]:
        """Names of the collections that there are."""
        return [self.entries, *(self.vectors[kind] for kind in self.kinds)]

    def load(self) -> None:
        """Have Milvus load them for searching; it forgets that when it is restarted."""
        for name in self.all:
            self._link.run(partial(_load, name))

    def _ensure(self, name: str, space: str, schema: Callable[[], tuple[Any, Any]], there: set[str]) -> None:
        if name not in there:
            self._make(name, space, schema())
        about = self._link.run(lambda client, left: client.describe_collection(name, timeout=left))
        declared = dict(about.get("properties") or {})
        if declared.get(_FORMAT_PROPERTY) != FORMAT:
            raise KnowledgeFailed(
                f"Milvus collection {name} is not one of this server's version; give another name "
                "(knowledge_collections), or use the server that made it"
            )
        if declared.get(_SPACE_PROPERTY) != space:
            raise KnowledgeFailed(
                f"Milvus collection {name} holds vectors of another encoder or of one that is fed otherwise "
                f"({declared.get(_SPACE_PROPERTY)}, this bundle has {space}); import the entries again under another "
                "name (knowledge_collections), or use bundle and version that made it"
            )

    def _make(self, name: str, space: str, made: tuple[Any, Any]) -> None:
        schema, indexes = made
        properties = {_FORMAT_PROPERTY: FORMAT, _SPACE_PROPERTY: space}
        try:
            self._link.run(
                lambda client, left: client.create_collection(
                    name, schema=schema, consistency_level="Strong", properties=properties, timeout=left
                )
            )
        except KnowledgeFailed:
            if name not in self._link.run(lambda client, left: client.list_collections(timeout=left)):
                raise
            logger.info("Milvus collection was made by another server meanwhile", extra={"collection": name})
        self._link.run(lambda client, left: client.create_index(name, indexes, timeout=left, sync=False))


def _load(name: str, client: Any, left: float) -> None:
    client.load_collection(name, timeout=left)


def _entries_schema() -> tuple[Any, Any]:
    """An entry is one row, or several when it is long: `part` 0, which makes it exist, and the rest of its content."""
    from pymilvus import DataType

    schema, indexes = _begun()
    schema.add_field("part", DataType.INT64)
    schema.add_field("parts", DataType.INT64)
    schema.add_field("chunks", DataType.INT64)
    schema.add_field("pictures", DataType.INT64)
    schema.add_field("content", DataType.VARCHAR, max_length=MAX_BYTES)
    schema.add_field("nothing", DataType.FLOAT_VECTOR, dim=2)  # Milvus has no collections without vectors
    indexes.add_index("nothing", index_type="FLAT", metric_type="L2")
    return schema, indexes


def _vectors_schema(kind: VectorKind, dimension: int) -> tuple[Any, Any]:
    """One row a vector. Attributes are digests of key and value: any text fits, and none of it is an expression."""
    from pymilvus import DataType, Function, FunctionType

    schema, indexes = _begun()
    schema.add_field("kind", DataType.VARCHAR, max_length=512)
    schema.add_field("source", DataType.VARCHAR, max_length=4096)
    schema.add_field("time", DataType.INT64)
    strings = {"element_type": DataType.VARCHAR}
    schema.add_field("languages", DataType.ARRAY, **strings, max_capacity=_MOST_TONGUES, max_length=_TONGUE_BYTES)
    schema.add_field("facts", DataType.ARRAY, **strings, max_capacity=_MOST_FACTS, max_length=_FACT_BYTES)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimension)
    indexes.add_index("vector", index_type="HNSW", metric_type="COSINE", params=_GRAPH)
    if kind is VectorKind.PICTURES:
        schema.add_field("look", DataType.INT64)
        return schema, indexes
    schema.add_field("text", DataType.VARCHAR, max_length=MAX_BYTES)
    schema.add_field("passage", DataType.VARCHAR, max_length=MAX_BYTES, enable_analyzer=True, analyzer_params=_ANALYZER)
    schema.add_field("words", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_function(
        Function("bm25", FunctionType.BM25, input_field_names=["passage"], output_field_names=["words"])
    )
    indexes.add_index("words", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
    return schema, indexes


def _begun() -> tuple[Any, Any]:
    """What rows of every collection have."""
    from pymilvus import DataType, MilvusClient

    schema, indexes = (
        MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False),
        MilvusClient.prepare_index_params(),
    )
    schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=_KEY_BYTES)
    schema.add_field("entry", DataType.VARCHAR, max_length=_ID_BYTES)
    schema.add_field("revision", DataType.INT64)
    schema.add_field("expires", DataType.INT64)
    indexes.add_index("entry", index_type="INVERTED")
    return schema, indexes
