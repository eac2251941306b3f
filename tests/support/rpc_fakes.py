"""A server on a real socket whose assistant and knowledge are scripted by the test."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from PIL import Image

from quizglass import values
from quizglass.values import Deleted, Entry, Refused, Region
from quizglass_server.config.load import Settings
from quizglass_server.config.settings import PictureLimits
from quizglass_server.decoding.decoder import PictureDecoder
from quizglass_server.domain import turns as domain
from quizglass_server.domain.entries import PicturedEntry, SearchOptions
from quizglass_server.errors import NotFound
from quizglass_server.network.network import Network
from quizglass_server.policies.table import PolicyStatus
from quizglass_server.roles.load import RoleStatus
from quizglass_server.roles.table import Models
from quizglass_server.rpc.server import RpcServer, Services, start_rpc
from quizglass_server.scheduling.admission import Admission
from quizglass_server.scheduling.memory import WorkMemory
from quizglass_server.scheduling.time_left import Budget
from quizglass_server.session.dialogue.token import DialogueSealer
from tests.support.gate import Gate

Script = Callable[[domain.Turn, str, Budget], AsyncGenerator[values.TurnEvent, None]]

FOUND = domain.Evidence(
    "1",
    values.Origin.TEXT_SEARCH,
    "velmora",
    "Velmora",
    "The Velmora costs 45 crowns.",
    0.75,
    0.5,
    "pocketworld",
    True,
    b"p" * 32,
)
EVENTS: tuple[values.TurnEvent, ...] = (
    values.PlanMade(
        values.Plan.BOTH,
        "planner",
        {values.Plan.NONE: 0.0625, values.Plan.TEXT: 0.1875, values.Plan.BOTH: 0.75},
    ),
    values.QueryRewritten("How much does the Velmora cost?", True),
    values.EvidenceFound((FOUND,)),
    values.AnswerDelta(" 45"),
    values.AnswerDelta(" crowns"),
    values.Verdict(values.VerdictOutcome.SUPPORTED, 0.5, 0.75),
    values.Done(
        "45 crowns",
        values.FinishReason.COMPLETE,
        citations=(values.Citation("1", "velmora", "Velmora", 0, 9),),
        skipped=(values.SkippedStep("rerank", "BUDGET"),),
        timings=(values.StageTiming("generate", 0.002, 0.0015),),
        prompt_tokens=20,
        answer_tokens=2,
    ),
)


def png(width: int = 64, height: int = 48, colour: str = "red") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(out, "PNG")
    return out.getvalue()


class HeldScript:
    """A script that tells one event and then waits at its gate, until its turn is ended."""

    def __init__(self, event: values.TurnEvent = EVENTS[0]) -> None:
        self.gate, self.closed = Gate(), asyncio.Event()
        self._event = event

    async def __call__(self, turn: domain.Turn, policy: str, budget: Budget) -> AsyncGenerator[values.TurnEvent, None]:
        try:
            yield self._event
            await self.gate()
        finally:
            self.closed.set()


class Assistant:
    """Says what its script says; remembers what it was asked."""

    policies = ("planning-agent+", "none", "both")
    policy_statuses = (
        PolicyStatus("planning-agent+", ()),
        PolicyStatus("none", ()),
        PolicyStatus("both", (), ("reranker", "coarse_reranker")),
        PolicyStatus("draft-first", ("tool_router",)),
    )

    def __init__(self) -> None:
        self.admission = Admission(limit=4, queue=0)
        self.script: Script = self.usual
        self.turns: list[domain.Turn] = []
        self.asked: list[tuple[str, Budget]] = []
        self.searches: list[tuple[str, domain.Picture | None, int]] = []
        self.findings: list[tuple[SearchOptions | None, Sequence[domain.Picture]]] = []
        self.failure: Exception | None = None
        self.looked_at: list[bytes] = []
        self.lines: list[Region] = []
        self.wordy: list[Region] | None = None
        self.gated: list[bytes] = []
        self.things: list[Region] = []
        self.forgotten = 0
        """How often the generator was to keep nothing of prompts."""

    async def usual(self, turn: domain.Turn, policy: str, budget: Budget) -> AsyncGenerator[values.TurnEvent, None]:
        for event in EVENTS:
            yield event

    async def run(
        self, turn: domain.Turn, policy: str, budget: Budget, tell: Callable[[values.TurnEvent], None]
    ) -> None:
        self.turns.append(turn)
        self.asked.append((policy, budget))
        async with aclosing(self.script(turn, policy, budget)) as events:
            async for event in events:
                tell(event)

    async def look_ahead(self, picture: domain.Picture) -> AsyncGenerator[str, None]:
        self.looked_at.append(picture.sha256)
        yield "read"

    async def text_regions(self, picture: domain.Picture) -> list[Region] | None:
        self.gated.append(picture.sha256)
        return self.wordy

    async def lines_in(self, picture: domain.Picture, part: Region) -> list[Region]:
        return self.lines

    async def things_in(self, picture: domain.Picture, question: str) -> list[Region]:
        return self.things

    async def forget_prompts(self) -> None:
        self.forgotten += 1

    def usual_s(self, stage: str) -> float:
        return 0.0

    async def search(
        self,
        text: str,
        picture: domain.Picture | None,
        limit: int,
        finding: SearchOptions | None = None,
        more: Sequence[domain.Picture] = (),
    ) -> list[domain.Evidence]:
        self.searches.append((text, picture, limit))
        self.findings.append((finding, more))
        if self.failure is not None:
            raise self.failure
        return [FOUND]


@dataclass
class Report:
    added: int = 0
    refused: list[Refused] = field(default_factory=list)
    changed: int = 0
    unchanged: int = 0


class Knowledge:
    """A dictionary of entries; those without a title are refused."""

    backend = "local"
    ready = True
    writable = True

    def on_change(self, told: Callable[[], None]) -> None:
        self.told = told

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.pictures: dict[str, Sequence[bytes]] = {}
        self.batches: list[int] = []
        self.before: Callable[[], Awaitable[None]] | None = None

    async def add(self, entries: AsyncIterable[PicturedEntry]) -> Report:
        report, index = Report(), 0
        async for given in entries:
            if self.before is not None:
                await self.before()
            if given.entry.title:
                digests = tuple(sha256(picture).digest() for picture in given.pictures)
                before, after = self.entries.get(given.entry.id), replace(given.entry, picture_sha256=digests)
                report.unchanged += before == after
                report.changed += before not in (None, after)
                self.entries[given.entry.id] = after
                self.pictures[given.entry.id] = given.pictures
                report.added += 1
            else:
                report.refused.append(Refused(index, given.entry.id, "title", "is missing"))
            index += 1
        self.batches.append(index)
        return report

    async def get(self, id: str) -> Entry:
        if id not in self.entries:
            raise NotFound(f"there is no entry {id!r}", id=id)
        return self.entries[id]

    async def list(self, after: str, limit: int) -> list[Entry]:
        return [self.entries[id] for id in sorted(self.entries) if id > after][:limit]

    async def delete(self, id: str) -> Deleted:
        await self.get(id)
        del self.entries[id]
        return Deleted(id, 7, 2, len(self.pictures.pop(id, ())))

    async def compact(self) -> int:
        return 7

    async def picture(self, digest: bytes) -> bytes:
        for pictures in self.pictures.values():
            for encoded in pictures:
                if sha256(encoded).digest() == digest:
                    return encoded
        raise NotFound("there is no such picture")

    def count(self) -> int:
        return len(self.entries)


class StageModels(Models):
    """Models of which a test has the roles that it fills: `stage.models[HEARING] = …`."""

    def __init__(self, statuses: Sequence[RoleStatus]) -> None:
        super().__init__()
        self._statuses = statuses
        self.elsewhere: tuple[str, ...] = ()

    def statuses(self) -> Sequence[RoleStatus]:
        return self._statuses

    def on_change(self, told: Callable[[], None]) -> None:
        """Nothing changes."""


class Stage:
    """What a test scripts."""

    def __init__(self, folder: Path, *, bundle: str = "starter", **settings: Any) -> None:
        self.assistant, self.knowledge = Assistant(), Knowledge()
        roles = (RoleStatus("planner", "onnx", "cpu", ready=True, sees_pictures=True, notice="runs slowly"),)
        self.models = StageModels(roles)
        manifest = SimpleNamespace(name=bundle, version="0.1.0", languages=("en",))
        served = SimpleNamespace(manifest=manifest, answers="write")
        settings = {
            "knowledge": folder,
            "coaching": "off",  # flat pictures are blurred: a word of it may come at any time
            **settings,
        }
        made = Settings(bundle=folder, port=0, **settings)
        work = WorkMemory(made.work_memory_bytes)
        self.decoder = PictureDecoder(PictureLimits.of(made), work)
        self.services = Services(
            self.assistant,  # type: ignore[arg-type]
            self.knowledge,  # type: ignore[arg-type]
            self.models,  # type: ignore[arg-type]
            served,  # type: ignore[arg-type]
            made,
            self.decoder,
            work,
            DialogueSealer([bytes(32)], made.session_ttl_s),
            network=Network(made),
        )
        self.rpc: RpcServer | None = None

    def use(self, assistant: Any, memory: Any) -> None:
        """Serve another assistant, and a memory."""
        self.services = replace(self.services, assistant=assistant, memory=memory)

    @property
    def target(self) -> str:
        assert self.rpc is not None
        return f"127.0.0.1:{self.rpc.port}"


AnyStage = TypeVar("AnyStage", bound=Stage)


@asynccontextmanager
async def serving(folder: Path, **settings: Any) -> AsyncIterator[Stage]:
    """A server on the test's own event loop."""
    async with serve_stage(Stage(folder, **settings)) as stage:
        yield stage


@asynccontextmanager
async def serve_stage(stage: AnyStage) -> AsyncIterator[AnyStage]:
    """What was scripted, on the test's own event loop."""
    stage.rpc = await start_rpc(stage.services)
    try:
        yield stage
    finally:
        await stage.rpc.stop(0)
        await stage.decoder.close()


@contextmanager
def serving_on_a_thread(folder: Path, *, kind: type[AnyStage] = Stage, **settings: Any) -> Iterator[AnyStage]:  # type: ignore[assignment]
    """A server on an event loop of its own, for clients that block. What it fails with is raised, at its end too."""
    started: Future[tuple[AnyStage, Callable[[], object]]] = Future()

    async def serve() -> None:
        end, loop = asyncio.Event(), asyncio.get_running_loop()
        async with serve_stage(kind(folder, **settings)) as stage:
            started.set_result((stage, lambda: loop.call_soon_threadsafe(end.set)))
            await end.wait()

    pool = ThreadPoolExecutor(1)
    served = pool.submit(lambda: asyncio.run(serve()))
    served.add_done_callback(lambda _: started.cancel())  # it did not start
    try:
        stage, stop = started.result(60)
    except CancelledError:
        served.result()
        raise
    try:
        yield stage
    finally:
        stop()
        served.result(60)
        pool.shutdown()
