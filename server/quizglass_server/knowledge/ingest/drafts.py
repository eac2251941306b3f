"""Turns an entry as given into a draft ready to be written: checked, cut into chunks, decoded, embedded."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from quizglass.values import Entry, Refused
from quizglass_server.decoding.markup.blocks import Block
from quizglass_server.decoding.markup.converter import Converter, is_long_markup
from quizglass_server.domain.entries import PicturedEntry
from quizglass_server.domain.turns import Picture
from quizglass_server.errors import InvalidInput, needed
from quizglass_server.knowledge.content.chunks import CHUNKING, chunk_entry, passage
from quizglass_server.knowledge.content.perceptual_hash import perceptual_hash_of
from quizglass_server.knowledge.content.records import AddReport, EntryDraft, KnownContent, Replacements, VectorKind
from quizglass_server.knowledge.content.validation import checked_entry, shown_id
from quizglass_server.knowledge.index.idle_window import IdleWindow
from quizglass_server.knowledge.index.search_indexes import Space
from quizglass_server.knowledge.ingest.embedding import NO_VECTOR, Embedders
from quizglass_server.roles.image_encoder import ImageEncoder
from quizglass_server.roles.text_encoder import TextEncoder

logger = logging.getLogger(__name__)
_COMMIT_ENTRIES = 128  # entries a commit: the wait for the disk is shared
_COMMIT_WHILE_BUSY = 32
_COMMIT_BYTES = 32 << 20  # encoded pictures a commit, which wait in memory
_REST_S = 0.002

Commit = Callable[[list[EntryDraft]], Awaitable[Replacements]]
"""Writes entries durably; what they took the place of."""
Decode = Callable[[bytes, str], Awaitable[Picture]]
"""Decodes a picture; the second argument is the field that a refusal names. Raises InvalidPicture, Overloaded."""


def _log(report: AddReport, writing: asyncio.Task[None] | None = None) -> None:
    if writing is not None and not writing.cancelled():
        writing.exception()  # whoever waits for it hears of it
    if report.added or report.refused:
        logger.info("entries added", extra={"audit": True, "count": report.added, "refused": len(report.refused)})


class Ingest:
    """One import."""

    def __init__(
        self,
        text_encoder: TextEncoder | None,
        image_encoder: ImageEncoder | None,
        decode: Decode,
        converter: Converter,
        known: Callable[[Entry], KnownContent] = lambda _: KnownContent(),
    ) -> None:
        """Embed with these encoders; a role that is missing fails the first entry that needs it.

        `known` says what the store has of an entry already, which is not embedded again. It may block.
        """
        self._text_encoder = text_encoder
        self._converter = converter
        self._known = known
        self._embedders = Embedders(text_encoder, image_encoder)
        self._decode = decode
        self._writing: asyncio.Task[None] | None = None
        """The latest commit, which is finished even if its caller has gone."""

    async def all_of(
        self,
        entries: AsyncIterable[PicturedEntry],
        commit: Commit,
        idle_window: IdleWindow,
    ) -> AddReport:
        """Prepare entries and commit them, some at a time; those that are not as documented are in the report.

        While others search, it rests after each entry and commits fewer at a time: an import should not be noticeable.

        Raises:
            RoleMissing: the bundle has no encoder for what an entry holds. Entries before it may have been added.
        """
        report = AddReport()
        try:
            await self._add(entries, commit, idle_window, report)
        finally:  # also where it failed or its client left: what is committed stays
            if self._writing is None:
                _log(report)
            else:
                self._writing.add_done_callback(lambda writing: _log(report, writing))
        return report

    async def _add(
        self,
        entries: AsyncIterable[PicturedEntry],
        commit: Commit,
        idle_window: IdleWindow,
        report: AddReport,
    ) -> None:
        drafts, number = list[EntryDraft](), 0
        async for pictured in entries:
            try:
                drafts.append(await self._prepared(pictured))
            except InvalidInput as refusal:
                report.refused.append(Refused(number, shown_id(pictured.entry.id), refusal.field, refusal.description))
            number += 1
            if idle_window.busy:
                await asyncio.sleep(_REST_S)
            most = _COMMIT_WHILE_BUSY if idle_window.busy else _COMMIT_ENTRIES
            if len(drafts) >= most or sum(map(_picture_bytes, drafts)) >= _COMMIT_BYTES:
                await self._commit(drafts, commit, report)
                drafts = []
        await self._commit(drafts, commit, report)

    async def _commit(self, drafts: list[EntryDraft], commit: Commit, report: AddReport) -> None:
        async def write() -> None:
            replaced = await commit(drafts)
            report.added += len(drafts)
            report.changed += replaced.changed
            report.unchanged += replaced.unchanged

        if drafts:
            await self._embedders.flush()
            self._writing = asyncio.create_task(write(), name="commit entries")
            await asyncio.shield(self._writing)

    async def _prepared(self, pictured: PicturedEntry) -> EntryDraft:
        """Check an entry and begin to embed what is not known of it; its vectors are all there when it is committed.

        Raises:
            InvalidInput: the entry is not as documented, or a picture cannot be used.
            RoleMissing: the bundle has no encoder for what the entry holds.
        """
        if is_long_markup(pictured.entry):
            given, content = await asyncio.to_thread(self._given, pictured), None
            if given.known.chunks is None:
                content = await self._converter.blocks(given.entry.text, given.entry.text_format)
            draft = await asyncio.to_thread(self._cut, given, content)
        else:
            given, draft = await asyncio.to_thread(self._given_and_cut, pictured)
        await self._embed_pictures(given, draft)
        for place, chunk in enumerate(draft.chunks):
            if (vector := given.known.chunk_vectors.get(chunk)) is not None:
                draft.chunk_vectors[place] = vector
            else:
                deliver = partial(draft.chunk_vectors.__setitem__, place)
                await self._embedders.passages.put(passage(draft.entry.title, chunk), deliver)
        return draft

    async def _embed_pictures(self, given: _Given, draft: EntryDraft) -> None:
        for place, (sha256, encoded) in enumerate(given.pictures.items()):
            if (known := given.known.pictures.get(sha256)) is not None:
                draft.picture_vectors[place], draft.perceptual_hashes[place] = known
                continue
            embedder = self._embedders.pictures
            picture = await self._decode(encoded, f"pictures[{given.positions[place]}]")
            draft.perceptual_hashes[place] = await asyncio.to_thread(perceptual_hash_of, picture.pixels)
            await embedder.put(picture, partial(draft.picture_vectors.__setitem__, place))

    def _given(self, pictured: PicturedEntry) -> _Given:
        """The entry as it would be stored, and what the store has of it. Raises InvalidInput."""
        checked = checked_entry(pictured)
        pictures: dict[bytes, bytes] = {}
        positions: list[int] = []
        for position, encoded in enumerate(checked.pictures):
            digest = hashlib.sha256(encoded).digest()
            if digest not in pictures:
                pictures[digest] = encoded
                positions.append(position)
        entry = replace(checked.entry, picture_sha256=tuple(pictures))
        return _Given(entry, pictures, positions, self._known(entry))

    def _cut(self, given: _Given, content: Sequence[Block] | None) -> EntryDraft:
        """A draft with empty places for vectors. Raises RoleMissing."""
        chunks = given.known.chunks
        if chunks is None:
            chunks = chunk_entry(given.entry, self._text_encoder.count_tokens if self._text_encoder else len, content)
        if chunks:
            needed(self._text_encoder, "text_encoder", "adding entries with text")
        draft = EntryDraft(given.entry, chunks, tuple(given.pictures.values()))
        draft.chunk_vectors = [NO_VECTOR] * len(chunks)
        draft.picture_vectors, draft.perceptual_hashes = [NO_VECTOR] * len(given.pictures), [0] * len(given.pictures)
        return draft

    def _given_and_cut(self, pictured: PicturedEntry) -> tuple[_Given, EntryDraft]:
        given = self._given(pictured)
        return given, self._cut(given, None)


@dataclass(frozen=True, slots=True)
class _Given:
    """An entry that was checked."""

    entry: Entry
    pictures: Mapping[bytes, bytes]
    """Encoded, each once, by SHA-256."""
    positions: Sequence[int]
    """Where each of them first stood among those given."""
    known: KnownContent


def spaces(text_encoder: TextEncoder | None, image_encoder: ImageEncoder | None) -> dict[VectorKind, Space]:
    """What makes the vectors of each kind. Missing roles have none."""
    by_kind: dict[VectorKind, Space] = {}
    if text_encoder is not None:
        by_kind[VectorKind.CHUNKS] = Space(f"{text_encoder.fingerprint} {CHUNKING}", text_encoder.dimension)
    if image_encoder is not None:
        by_kind[VectorKind.PICTURES] = Space(image_encoder.fingerprint, image_encoder.dimension)
    return by_kind


def _picture_bytes(draft: EntryDraft) -> int:
    return sum(map(len, draft.pictures))
