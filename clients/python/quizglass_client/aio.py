"""The client for asyncio programs; the same calls as `quizglass_client.sync`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc, memory_pb2_grpc
from quizglass_client import convert
from quizglass_client.batches import batches
from quizglass_client.channel import DEFAULT_TARGET, options
from quizglass_client.errors import ServerError, translated
from quizglass_client.memory import AsyncMemory
from quizglass_client.pictures import encode, is_ready, several
from quizglass_client.timing import Limits
from quizglass_client.types import (
    AddReport,
    Answer,
    Capabilities,
    Deleted,
    Entry,
    Event,
    Evidence,
    Filter,
    PictureLike,
)


class AsyncClient:
    """A connection to a quizglass server, for one event loop.

    Every call that fails raises a `ClientError`; cancelling the task cancels the call. Pictures are read and resized
    on worker threads.

    Args:
        target: "host:port", "[host]:port" or "unix:path".
        timeout: seconds each call may take, None for no limit of the client's own. A question's budget takes its place
            when one is given; adding entries is not bound by it.

    Raises:
        RuntimeError: made outside of a running event loop.
    """

    def __init__(self, target: str = DEFAULT_TARGET, *, timeout: float | None = 30.0) -> None:
        # Without a running loop, gRPC would bind the channel to one that nobody runs, and every call would hang.
        asyncio.get_running_loop()
        self.target = target
        self._limits = Limits(timeout)
        self._channel = grpc.aio.insecure_channel(target, options=options(target))
        self._assistant = assistant_pb2_grpc.AssistantServiceStub(self._channel)  # type: ignore[no-untyped-call]
        self._knowledge = knowledge_pb2_grpc.KnowledgeServiceStub(self._channel)  # type: ignore[no-untyped-call]
        memory = memory_pb2_grpc.MemoryServiceStub(self._channel)  # type: ignore[no-untyped-call]
        self.memory = AsyncMemory(memory, self._limits, self._encoded)
        """What turns with `remember=True` left behind."""
        self._health: Any = health_pb2_grpc.HealthStub(self._channel)  # its stubs lack the methods
        self._useful_side: int | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; calls that run are cancelled."""
        await self._channel.close()

    async def ask(
        self,
        question: str,
        picture: PictureLike | None = None,
        *,
        history: Sequence[tuple[str, str]] = (),
        policy: str = "",
        budget: float | None = None,
        session: str = "",
        remember: bool = False,
        recall: bool = False,
    ) -> AsyncGenerator[Event, None]:
        """Ask a question and follow the turn; arguments and errors as in `Client.ask`.

        Closing the generator cancels the turn: wrap it in `contextlib.aclosing` when the loop may be left early.
        """
        with translated():
            encoded = await self._encoded(picture)
            request = convert.ask_request(question, encoded, history, policy, budget, session, remember, recall)
            call = self._assistant.Ask(request, timeout=self._limits.turn(budget))
            try:
                async for message in call:
                    event = convert.event(message)
                    if event is not None:
                        yield event
            finally:
                call.cancel()

    async def answer(
        self,
        question: str,
        picture: PictureLike | None = None,
        *,
        history: Sequence[tuple[str, str]] = (),
        policy: str = "",
        budget: float | None = None,
        session: str = "",
        remember: bool = False,
        recall: bool = False,
    ) -> Answer:
        """Ask a question and wait for the whole answer; arguments and errors as in `Client.ask`."""
        turn = self.ask(
            question,
            picture,
            history=history,
            policy=policy,
            budget=budget,
            session=session,
            remember=remember,
            recall=recall,
        )
        events = [event async for event in turn]
        try:
            return Answer.of(events)
        except ValueError as error:
            raise ServerError(str(error)) from error

    async def add_entries(
        self,
        entries: Iterable[Entry],
        *,
        on_progress: Callable[[AddReport], None] | None = None,
        batch: int = 64,
    ) -> AddReport:
        """Add or replace entries; arguments, result and errors as in `Client.add_entries`.

        `entries` is iterated on a worker thread, a batch at a time.
        """
        report = AddReport()
        pieces = batches(entries, await self._side(), batch)
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            with translated():
                response = await self._knowledge.AddEntries(iter(piece.requests)) if piece.requests else None
            report += piece.report(response)
            if on_progress is not None:
                on_progress(report)
        return report

    async def get_entry(self, entry_id: str) -> Entry:
        """One entry, without picture bytes.

        Raises:
            NotFound: there is none of that id.
        """
        with translated():
            request = knowledge_pb2.GetEntryRequest(id=convert.entry_id(entry_id))
            return convert.entry((await self._knowledge.GetEntry(request, timeout=self._limits.call)).entry)

    async def list_entries(self) -> AsyncIterator[Entry]:
        """All entries in order of id, fetched a page at a time."""
        token = ""
        while True:
            with translated():
                request = knowledge_pb2.ListEntriesRequest(page_token=token)
                page = await self._knowledge.ListEntries(request, timeout=self._limits.call)
            for message in page.entries:
                yield convert.entry(message)
            token = page.next_page_token
            if not token:
                return

    async def delete_entry(self, entry_id: str) -> Deleted:
        """Delete one entry with its pictures; the receipt says when its bytes are gone (`compact`).

        Raises:
            NotFound: there is none of that id.
        """
        with translated():
            request = knowledge_pb2.DeleteEntryRequest(id=convert.entry_id(entry_id))
            return convert.deleted(entry_id, await self._knowledge.DeleteEntry(request, timeout=self._limits.call))

    async def compact(self) -> int:
        """Remove what deleted entries have left in the server's files; the sequence number up to which that is done."""
        with translated():
            response = await self._knowledge.CompactEntries(knowledge_pb2.CompactEntriesRequest())
            return int(response.sequence)

    async def get_picture(self, sha256: bytes) -> bytes:
        """One stored picture, encoded as it was added.

        Raises:
            NotFound: no entry shows it.
        """
        with translated():
            request = knowledge_pb2.GetPictureRequest(sha256=sha256)
            return bytes((await self._knowledge.GetPicture(request, timeout=self._limits.call)).encoded)

    async def search(
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
            given = several(picture)
            pictures = [encoded for one in given if (encoded := await self._encoded(one)) is not None]
            request = convert.search_request(text, pictures, limit, filter, per_entry, fold_near_duplicates, mode)
            found = await self._knowledge.SearchEntries(request, timeout=self._limits.call)
            return [convert.evidence(message) for message in found.results]

    async def capabilities(self) -> Capabilities:
        """What the server can do."""
        with translated():
            request = assistant_pb2.GetCapabilitiesRequest()
            found = convert.capabilities(await self._assistant.GetCapabilities(request, timeout=self._limits.call))
        self._useful_side = found.useful_picture_side
        return found

    async def healthy(self) -> bool:
        """Whether the server can be reached and takes requests."""
        try:
            reply = await self._health.Check(health_pb2.HealthCheckRequest(), timeout=self._limits.health)
        except grpc.RpcError:
            return False
        return bool(reply.status == health_pb2.HealthCheckResponse.SERVING)

    async def _encoded(self, picture: PictureLike | None) -> bytes | None:
        if picture is None:
            return None
        side = await self._side()
        if isinstance(picture, bytes) and is_ready(picture, side):
            return picture
        return await asyncio.to_thread(encode, picture, side)

    async def _side(self) -> int:
        """Side beyond which a picture's pixels are of no use; asked for once."""
        if self._useful_side is None:
            return (await self.capabilities()).useful_picture_side
        return self._useful_side
