"""The client for programs that wait for each call. Generated from aio.py by `make client`; edit that."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from types import TracebackType
from typing import Any, Self, Unpack

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from quizglass.convert import capabilities_value, event_value, to_value
from quizglass.v1 import (
    assistant_pb2,
    assistant_pb2_grpc,
    knowledge_pb2,
    knowledge_pb2_grpc,
    memory_pb2,
    memory_pb2_grpc,
)
from quizglass.values import Capabilities, Deleted, Done, Evidence, Filter, ForgottenSightings, MemoryStats, Sighting
from quizglass_client import requests
from quizglass_client.access import CallsWithMetadata, FileName, Metadata, access_to
from quizglass_client.batches import Known, batches, none_known
from quizglass_client.channel import DEFAULT_TARGET, open_channel
from quizglass_client.errors import (
    ClientError,
    InvalidRequest,
    NotFound,
    ServerError,
    misses_picture,
    refuses_session,
    translated,
)
from quizglass_client.notes import note
from quizglass_client.pictures import Encoder, encode, several
from quizglass_client.requests import Moment
from quizglass_client.timing import RETRY_PAUSES_S, Limits, sleep
from quizglass_client.types import (
    AddReport,
    Answer,
    AskOptions,
    Entry,
    EntryFields,
    Event,
    NoteReceipt,
    PictureLike,
)


class Client:
    """A connection to a quizglass server; safe to share between threads.

    Every call that fails raises a `ClientError`. Reading calls are retried while the server cannot be reached, as
    `quizglass/v1/service_config.json` says; a question is asked again only if no work on it has begun: no one
    answered, or the server was stopping.

    Args:
        target: "host:port", "[host]:port" or "unix:path".
        timeout: seconds each call may take, None for no limit of the client's own. A question with a budget may take a
            little longer than its budget instead; adding entries and compacting, which take as long as they take, are
            not bound by it.
        credentials: TLS credentials, such as `grpc.ssl_channel_credentials()`, where `ca` is not enough; None, and no
            `ca`: the connection is not encrypted.
        metadata: goes with every call, for a proxy that asks for more than a token.
        token: goes with every call as `authorization: Bearer …`; over TLS only, unless the server is on this machine.
        token_file: file that has the token, read again when it changes; None, and no `token`: the one that
            QUIZGLASS_TOKEN_FILE names.
        ca: file of the certificates that are trusted, PEM; the connection is then encrypted.

    Raises:
        InvalidRequest: the target is no address, the timeout no time, or token or metadata cannot be sent.
        OSError: a file that is named cannot be read.
    """

    def __init__(
        self,
        target: str = DEFAULT_TARGET,
        *,
        timeout: float | None = 30.0,
        credentials: grpc.ChannelCredentials | None = None,
        metadata: Metadata = (),
        token: str | None = None,
        token_file: FileName | None = None,
        ca: FileName | None = None,
    ) -> None:
        self.target = target
        self._limits = Limits(timeout)
        access = access_to(
            target, credentials=credentials, metadata=metadata, token=token, token_file=token_file, ca=ca
        )
        self._channel = open_channel(target, access=access)
        calls: Any = CallsWithMetadata(self._channel, access)
        self._assistant = assistant_pb2_grpc.AssistantServiceStub(calls)  # type: ignore[no-untyped-call]
        self._knowledge = knowledge_pb2_grpc.KnowledgeServiceStub(calls)  # type: ignore[no-untyped-call]
        self._health: Any = health_pb2_grpc.HealthStub(calls)  # its stubs lack the methods
        memory = memory_pb2_grpc.MemoryServiceStub(calls)  # type: ignore[no-untyped-call]
        self.memory = Memory(memory, self._limits, self._encoded)
        """What turns with `remember=True` left behind."""
        self._useful_side: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; calls that run, or come after, fail with `Cancelled`."""
        self._channel.close()

    def ask(
        self,
        question: str,
        picture: PictureLike | None = None,
        *,
        session: bytes = b"",
        **options: Unpack[AskOptions],
    ) -> Generator[Event]:
        """Ask a question and follow the turn; the call starts with the first event that is asked for.

        Closing the generator, or leaving it, cancels the turn.

        Args:
            question: what to answer.
            picture: what it is about; resized to what the server can use.
            session: `Done.session` of an earlier answer, to go on from there.
            options: history, policy, budget and more; `AskOptions` says what they are.

        Raises:
            ClientError: the request is refused, or the turn fails.
        """
        encoded = self._encoded(picture)
        request = requests.ask(question, encoded, session, **options)
        for pause in (*RETRY_PAUSES_S, None):
            try:
                with closing(self._turn(request, self._limits.turn(options.get("budget")))) as events:
                    yield from events
                return
            except ClientError as error:
                if error.begun or pause is None:
                    raise
            sleep(pause)

    def _turn(self, request: assistant_pb2.AskRequest, limit: float | None) -> Generator[Event]:
        """One attempt at a question."""
        with translated():
            call = self._assistant.Ask(request, timeout=limit)
            try:
                for message in call:
                    payload = event_value(message)
                    if payload is not None:  # a later version's, of which this one knows nothing
                        yield Event(message.turn_id, message.seq, message.elapsed_us / 1e6, payload)
            finally:
                call.cancel()

    def answer(
        self,
        question: str,
        picture: PictureLike | None = None,
        *,
        session: bytes = b"",
        **options: Unpack[AskOptions],
    ) -> Answer:
        """Ask a question and wait for the whole answer; arguments and errors as in `ask`."""
        return _answer(list(self.ask(question, picture, session=session, **options)))

    def add_entries(
        self,
        entries: Iterable[Entry],
        *,
        on_progress: Callable[[AddReport], None] | None = None,
        batch: int = 64,
        known: Known = none_known,
    ) -> AddReport:
        """Add or replace entries.

        Args:
            entries: what to add; read as it is sent.
            on_progress: called after every batch with the report so far; what it counts as added is on disk.
            batch: entries a call.
            known: whether the server has an entry just so; it is not sent then, and counts as unchanged.

        Returns:
            How many were added, how many of these were new, changed and unchanged, and those refused with their
            position among `entries`.

        Raises:
            ClientError: the server failed; batches reported before stay added.
        """
        report = AddReport()
        for piece in batches(entries, self._side(), batch, known):
            with translated():
                response = self._knowledge.AddEntries(iter(piece.requests)) if piece.requests else None
            report += piece.report(response)
            if on_progress is not None:
                on_progress(report)
        return report

    def add_note(
        self,
        text: str = "",
        pictures: PictureLike | Sequence[PictureLike] | None = None,
        *,
        title: str = "",
        id: str = "",
        **fields: Unpack[EntryFields],
    ) -> NoteReceipt:
        """Add a thing of one's own: photographs of it, and what there is to know.

        The same photograph again changes the entry that it made: what is left empty stays as it is, and pictures join
        those that are there. `add_entries` replaces an entry as a whole.

        Args:
            text: about it, in a few sentences.
            pictures: of it, by which it is recognised.
            title: what it is called. Empty: as the file of a picture, if a person named that, else the first sentence.
            id: of the entry that is added or changed. Empty: that of its pictures or, without any, of the text.
            fields: kind, source, attributes and more; `EntryFields` has them all.

        Raises:
            InvalidRequest: there is nothing to add or no title, a picture cannot be read, or the server refuses it.
        """
        made = note(text, several(pictures), title=title, id=id, **fields)
        before = self._first_entry(made.ids)
        entry = made.entry if before is None else made.changing(before, self._joined(before, made.entry.pictures))
        if not entry.title:
            raise InvalidRequest.of("title", "nothing says what it is; give a text or a title")
        report = self.add_entries([entry])
        for refused in report.refused:
            raise InvalidRequest.of(refused.field, refused.message)
        return NoteReceipt(entry.id, entry.title, len(entry.pictures), before is not None, bool(report.unchanged))

    def _first_entry(self, ids: Sequence[str]) -> Entry | None:
        """The first that is there of the entries of these ids."""
        for entry_id in ids:
            with suppress(NotFound):
                return self.get_entry(entry_id)
        return None

    def _joined(self, entry: Entry, pictures: Sequence[PictureLike]) -> list[bytes]:
        """The stored pictures of an entry and behind them new ones, each once; those that are both are not fetched."""
        encoded = [encode(picture, self._side()) for picture in pictures]
        fresh = {sha256(picture).digest(): picture for picture in encoded}
        stored = [fresh.pop(digest, b"") or self.get_picture(digest) for digest in entry.picture_sha256]
        return [*stored, *fresh.values()]

    def get_entry(self, entry_id: str) -> Entry:
        """One entry, without picture bytes.

        Raises:
            NotFound: there is none of that id.
        """
        with translated():
            request = knowledge_pb2.GetEntryRequest(id=requests.sendable(entry_id, "id"))
            response = self._knowledge.GetEntry(request, timeout=self._limits.call)
            return to_value(response.entry, Entry)

    def list_entries(self) -> Iterator[Entry]:
        """All entries in order of id, fetched a page at a time."""
        token = ""
        while True:
            with translated():
                request = knowledge_pb2.ListEntriesRequest(page_token=token)
                page = self._knowledge.ListEntries(request, timeout=self._limits.call)
            for message in page.entries:
                yield to_value(message, Entry)
            token = page.next_page_token
            if not token:
                return

    def delete_entry(self, entry_id: str) -> Deleted:
        """Delete one entry with its pictures; the receipt says when its bytes are gone (`compact`).

        Raises:
            NotFound: there is none of that id.
        """
        with translated():
            request = knowledge_pb2.DeleteEntryRequest(id=requests.sendable(entry_id, "id"))
            return to_value(self._knowledge.DeleteEntry(request, timeout=self._limits.call), Deleted, id=entry_id)

    def compact(self) -> int:
        """Remove what deleted entries have left in the server's files.

        Returns:
            The sequence number up to which that is done; see `Deleted.sequence`.
        """
        with translated():
            response = self._knowledge.CompactEntries(knowledge_pb2.CompactEntriesRequest())
            return int(response.sequence)

    def get_picture(self, sha256: bytes) -> bytes:
        """One stored picture, encoded as it was added.

        Raises:
            NotFound: no entry shows it.
        """
        with translated():
            request = knowledge_pb2.GetPictureRequest(sha256=sha256)
            response = self._knowledge.GetPicture(request, timeout=self._limits.call)
            return bytes(response.encoded)

    def search(
        self,
        text: str = "",
        picture: PictureLike | Sequence[PictureLike] | None = None,
        limit: int = 5,
        *,
        filter: Filter | None = None,
        per_entry: bool = False,
        fold_near_duplicates: bool = False,
        mode: str = "",
    ) -> list[Evidence]:
        """Search by text, by picture, or by both; best first.

        Args:
            text: what to look for.
            picture: what it looks like; several are pictures or crops of the same thing.
            limit: results wanted, 1 to 100.
            filter: which entries may be brought back.
            per_entry: of each entry only its best result.
            fold_near_duplicates: of entries whose pictures are near-duplicates only the best.
            mode: how `text` is searched: hybrid (also the default, empty), vectors or keywords.
        """
        with translated():
            pictures = [encoded for one in several(picture) if (encoded := self._encoded(one)) is not None]
            request = requests.search(text, pictures, limit, filter, per_entry, fold_near_duplicates, mode)
            response = self._knowledge.SearchEntries(request, timeout=self._limits.call)
            return [to_value(message, Evidence) for message in response.results]

    def capabilities(self) -> Capabilities:
        """What the server can do."""
        with translated():
            request = assistant_pb2.GetCapabilitiesRequest()
            response = self._assistant.GetCapabilities(request, timeout=self._limits.call)
            capabilities = capabilities_value(response)
        self._useful_side = capabilities.useful_picture_side
        return capabilities

    def healthy(self) -> bool:
        """Whether the server can be reached and takes requests."""
        try:
            with translated():
                reply = self._health.Check(health_pb2.HealthCheckRequest(), timeout=self._limits.health)
        except ClientError:
            return False
        return bool(reply.status == health_pb2.HealthCheckResponse.SERVING)

    def _encoded(self, picture: PictureLike | None) -> bytes | None:
        return None if picture is None else encode(picture, self._side())

    def _side(self) -> int:
        """The largest useful side of a picture, in pixels; the server is asked for it once."""
        if self._useful_side is None:
            capabilities = self.capabilities()
            return capabilities.useful_picture_side
        return self._useful_side


class Dialogue:
    """Questions that follow one another: "And the other one?", "How much does it weigh?".

    Carries the session from answer to answer. A picture that the server does not hold any more is sent again; where it
    refuses the session, because that has expired or its key is gone, the dialogue begins anew with the last picture.

    Args:
        client: asks; its server may change between two questions if both servers have the same key.
        session: `Done.session` of an earlier answer, to go on from there.
    """

    def __init__(self, client: Client, session: bytes = b"") -> None:
        self.session = session
        """What another dialogue is given as `session` to go on from here, elsewhere or later."""
        self._client = client
        self._picture: PictureLike | None = None

    def ask(self, question: str, picture: PictureLike | None = None, **options: Unpack[AskOptions]) -> Generator[Event]:
        """Ask the next question, about a new picture or without one, and follow the turn; as `ask` of the client."""
        if picture is not None:
            self._picture = picture
        begun = False
        for last in (False, True):
            try:
                with closing(self._client.ask(question, picture, session=self.session, **options)) as events:
                    for event in events:
                        begun = True
                        if isinstance(event.payload, Done):
                            self.session = event.payload.session
                        yield event
                return
            except ClientError as error:
                if begun or last:
                    raise
                if refuses_session(error):
                    self.session = b""
                elif picture is not None or not misses_picture(error):
                    raise
            picture = self._picture

    def answer(self, question: str, picture: PictureLike | None = None, **options: Unpack[AskOptions]) -> Answer:
        """Ask the next question and wait for the whole answer; as `ask`."""
        return _answer(list(self.ask(question, picture, **options)))


def _answer(events: Sequence[Event]) -> Answer:
    """A whole turn; ServerError where it ended before its answer."""
    try:
        return Answer.of(events)
    except ValueError as error:
        raise ServerError(str(error)) from error


class Memory:
    """The visual memory of a client's server. Every call raises NotSupported when the server has none."""

    def __init__(self, stub: Any, limits: Limits, encoded: Encoder) -> None:
        """For the client only."""
        self._stub = stub
        self._limits = limits
        self._encoded = encoded

    def search(
        self,
        picture: PictureLike | None = None,
        text: str = "",
        *,
        limit: int = 5,
        order: str = "",
        session_id: str = "",
        frame: bytes = b"",
        since: Moment = 0,
        until: Moment = 0,
        least_score: float = 0.0,
    ) -> list[Sighting]:
        """Sightings that look like a picture, or fit a text, or (with neither) the latest.

        Args:
            picture: what to look for.
            text: words to look for in questions, answers and names; not together with a picture.
            limit: sightings wanted, 1 to 100.
            order: "latest" first (also the default, empty), or "best".
            session_id: only of this one.
            frame: only of the frame of this SHA-256.
            since: at or after this time; 0: any.
            until: before this time; 0: any.
            least_score: least cosine of a search by picture; 0: what the server's bundle takes for the same thing.
        """
        with translated():
            filter_ = requests.sighting_filter(session_id, frame, since, until)
            request = requests.search_memory(self._encoded(picture), text, limit, order, filter_, least_score)
            response = self._stub.SearchMemory(request, timeout=self._limits.call)
            return [to_value(message, Sighting) for message in response.sightings]

    def thumbnail(self, id: str) -> bytes:
        """The small picture of a sighting, JPEG.

        Raises:
            NotFound: there is no such sighting any more, or it has none.
        """
        with translated():
            request = memory_pb2.GetThumbnailRequest(id=requests.sendable(id, "id"))
            response = self._stub.GetThumbnail(request, timeout=self._limits.call)
            return bytes(response.jpeg)

    def forget(
        self,
        *,
        session_id: str = "",
        frame: bytes = b"",
        since: Moment = 0,
        until: Moment = 0,
        everything: bool = False,
    ) -> ForgottenSightings:
        """Forget the sightings that fit all that is given, durably; arguments as in `search`.

        Args:
            everything: forget all of them; nothing else may be given.
        """
        with translated():
            request = requests.forget(requests.sighting_filter(session_id, frame, since, until), everything)
            response = self._stub.ForgetMemory(request, timeout=self._limits.call)
            return ForgottenSightings(response.forgotten, response.sequence)

    def compact(self) -> int:
        """Remove what is forgotten from the server's files; the sequence number up to which that is done."""
        with translated():
            response = self._stub.CompactMemory(memory_pb2.CompactMemoryRequest())
            return int(response.sequence)

    def stats(self) -> MemoryStats:
        """How much is remembered."""
        with translated():
            request = memory_pb2.GetMemoryStatsRequest()
            return to_value(self._stub.GetMemoryStats(request, timeout=self._limits.call), MemoryStats)
