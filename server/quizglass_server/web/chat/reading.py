"""Reads chats off the event loop: bodies that are large, and schemas, whose grammars take time to work out.

One body and one schema at a time, each kind on a thread of its own: more would keep the event loop from running.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from cachetools import LRUCache

from quizglass_server.decoding.picture_cache import PictureCache
from quizglass_server.errors import InvalidInput
from quizglass_server.scheduling.clients import current_client
from quizglass_server.scheduling.deadline import due_within
from quizglass_server.scheduling.places import Places
from quizglass_server.web.chat.request import MOST_VALUES, Chat, read_chat
from quizglass_server.web.chat.schemas.conversion import SchemaGrammar, schema_grammar
from quizglass_server.web.chat.schemas.limits import SchemaRefused

SCHEMA = "response_format.json_schema.schema"
"""Where a body has its schema."""
_READ_HERE = 16 * 1024
"""Bytes of bodies that are read where they come in, which takes less than a change of threads."""
_VALUE_BYTES = 300
"""What a value or key takes at most once it is parsed, its characters apart."""
_MOST_WAITING = 16
_WAIT_S = 5.0
_KEPT = 32
"""Grammars that are kept: programs ask with the same schema again and again."""

Result = TypeVar("Result")


class ChatReader:
    """Makes chats of bodies.

    Args:
        most_history: exchanges that a question may have.
        pictures: decodes pictures, later, and admits memory.
    """

    def __init__(self, most_history: int, pictures: PictureCache) -> None:
        self._most_history = most_history
        self._pictures = pictures
        self._bodies, self._schemas = _ReadingThread("chats"), _ReadingThread("schemas")
        self._grammars: LRUCache[tuple[str, str], SchemaGrammar] = LRUCache(_KEPT)
        """By tenant and schema."""

    async def chat(self, body: bytes) -> Chat:
        """What a body asks.

        Raises:
            InvalidInput: it is wrong, or asks for what cannot be done; its place in the body is named.
            Overloaded: there is no room to read it.
        """
        if len(body) <= _READ_HERE:
            return self._read(body)
        with due_within(_WAIT_S):
            async with self._pictures.received(_becomes(body)):
                return await self._bodies.run(lambda: self._read(body))

    async def with_grammar(self, chat: Chat) -> Chat:
        """A chat with the grammar of its answers, where it has a schema.

        Raises:
            InvalidInput: the schema is wrong, or cannot be followed; names the keyword's place.
            Overloaded: too many schemas wait to be worked out.
        """
        if not chat.answer_schema:
            return chat
        grammar = await self._grammar(chat.answer_schema)
        ignored = (f"{SCHEMA}.{place}" for place in grammar.ignored)
        return replace(chat, answer_grammar=grammar.text, ignored=(*chat.ignored, *ignored))

    def _read(self, body: bytes) -> Chat:
        return read_chat(body, self._most_history, self._pictures)

    async def _grammar(self, schema: str) -> SchemaGrammar:
        key = current_client().tenant, schema
        if (kept := self._grammars.get(key)) is not None:
            return kept
        try:
            made = await self._schemas.run(lambda: schema_grammar(schema))
        except SchemaRefused as refusal:
            place = f"{SCHEMA}.{refusal.place}" if refusal.place else SCHEMA
            raise InvalidInput(place, refusal.message) from None
        self._grammars[key] = made
        return made


class _ReadingThread:
    """A thread that does one thing at a time."""

    def __init__(self, what: str) -> None:
        self._thread = ThreadPoolExecutor(1, what)
        self._places = Places(_MOST_WAITING, f"places of {what} to be read")

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do work on the thread. Raises Overloaded where too much of the client's address waits for it."""
        place = self._places.take(current_client())
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            place.release()


def _becomes(body: bytes) -> int:
    """Bytes that a body takes at most while it is read: itself, its texts, its picture, all values that it may have."""
    text = len(body) if body.isascii() else 4 * len(body)
    return 2 * len(body) + text + _VALUE_BYTES * min(MOST_VALUES, len(body))
