"""Rows of several requests in one run of a model. Knows nothing about the rows' contents.

No request waits for company: a run takes what has gathered while the engine was busy. On a CPU padding is pure loss, so
rows of like length go together, up to a budget of tokens. A request that is cancelled leaves the others as they are,
and a run that fails is tried again for each request alone, so that only the one with the bad row fails. A run all of
whose requests are cancelled is ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Generic, TypeVar

from quizglass_server.engines.onnx.ending import Interest, waited_for
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.errors import EngineFailed
from quizglass_server.scheduling.clock import EngineClock, current_clock, stage_clock
from quizglass_server.scheduling.ledger import ByteLedger, current_ledger, entered_in
from quizglass_server.scheduling.priority import Priority, current_priority

Row = TypeVar("Row")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How much goes into one run."""

    tokens: int
    """Most tokens with padding; a longer row has a run to itself."""
    rows: int
    padding: float = 0.25
    """Largest share of padding."""


@dataclass(eq=False, slots=True)
class _Request(Generic[Row, Result]):
    prepare: Callable[[], Sequence[Row]]
    priority: Priority
    clock: EngineClock | None
    ledger: ByteLedger | None
    future: Future[list[Result]] = field(default_factory=Future)
    rows: Sequence[Row] | None = None
    """None until it is prepared."""
    results: dict[int, Result] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class _Place(Generic[Row, Result]):
    """One row of a request."""

    request: _Request[Row, Result]
    index: int
    row: Row
    length: int


class Batcher(Generic[Row, Result]):
    """Requests for one model, batched."""

    def __init__(
        self,
        pool: EnginePool,
        execute: Callable[[Sequence[Row]], Sequence[Result]],
        length: Callable[[Row], int],
        limits: BatchLimits,
        *,
        prompts: bool = False,
    ) -> None:
        """Batch for a model.

        Args:
            pool: where it runs.
            execute: runs the model on some rows and gives one result a row; called on the pool's threads.
            length: tokens of a row.
            limits: of one run.
            prompts: whether rows are prompts, whose tokens the stage counts.
        """
        self._pool = pool
        self._execute = execute
        self._length = length
        self._limits = limits
        self._prompts = prompts
        self._lock = Lock()
        self._unprepared: list[_Request[Row, Result]] = []
        self._places: list[_Place[Row, Result]] = []

    def submit(self, prepare: Callable[[], Sequence[Row]]) -> Future[list[Result]]:
        """One result for each row that `prepare` gives (on a thread of the pool), in order; to be cancelled at will.

        The engine's time and bytes are shared among the requests of a run by their tokens, and added to this stage's
        and this turn's. The future fails with whatever `prepare` or the model raises for these rows.
        """
        request: _Request[Row, Result] = _Request(prepare, current_priority(), current_clock(), current_ledger())
        with self._lock:
            self._unprepared.append(request)
        self._post(request.priority)
        return request.future

    async def run(self, prepare: Callable[[], Sequence[Row]]) -> list[Result]:
        """`submit`, and wait."""
        return await asyncio.wrap_future(self.submit(prepare))

    def _post(self, priority: Priority) -> None:
        try:
            job = self._pool.submit(partial(self._serve, priority), priority)
        except EngineFailed as error:
            self._drop(error)
        else:
            job.add_done_callback(self._ended)

    def _ended(self, job: Future[None]) -> None:
        """A job that was dropped, or failed outside any request, must leave no waiter behind."""
        error = EngineFailed("the engines are closed; the server is stopping") if job.cancelled() else job.exception()
        if error is not None:
            self._drop(error)

    def _drop(self, error: BaseException) -> None:
        with self._lock:
            waiting = [*self._unprepared, *(place.request for place in self._places)]
            self._unprepared, self._places = [], []
        for request in waiting:
            _fail(request, error)

    def _serve(self, priority: Priority) -> None:
        """Run one batch of this urgency, and schedule the rest."""
        self._prepare(priority)
        with self._lock:
            batch = self._take(priority)
            left = any(place.request.priority is priority for place in self._places)
        if left:
            self._post(priority)
        if batch:
            self._run(batch)

    def _prepare(self, priority: Priority) -> None:
        """Prepare the oldest requests that are this urgent, as many as one run could hold.

        Each of them came with a job of its own, so that those which are left have one too.
        """
        with self._lock:
            self._unprepared = [request for request in self._unprepared if not request.future.done()]
            chosen = [request for request in self._unprepared if request.priority is priority][: self._limits.rows]
            self._unprepared = [request for request in self._unprepared if request not in chosen]
        for request in chosen:
            try:
                request.rows = rows = request.prepare()
                places = [_Place(request, index, row, self._length(row)) for index, row in enumerate(rows)]
            except Exception as error:
                _fail(request, error)
                continue
            if not places:
                _finish(request, [])
            with self._lock:
                self._places += places

    def _take(self, priority: Priority) -> list[_Place[Row, Result]]:
        """The oldest row that is this urgent, and others of like length. Called with the lock held."""
        self._places = [place for place in self._places if not place.request.future.done()]
        peers = [place for place in self._places if place.request.priority is priority]
        if not peers:
            return []
        head = peers[0]
        peers.sort(key=lambda place: place.length)
        batch = self._around(peers, peers.index(head))
        taken = {id(place) for place in batch}
        self._places = [place for place in self._places if id(place) not in taken]
        return batch

    def _around(self, peers: list[_Place[Row, Result]], at: int) -> list[_Place[Row, Result]]:
        """The longest window of rows sorted by length that holds row `at` and keeps the limits."""
        low, high = at, at + 1
        total = peers[at].length
        while high - low < self._limits.rows:
            sides = [side for side in (low - 1, high) if 0 <= side < len(peers)]
            sides.sort(key=lambda side: abs(peers[side].length - peers[at].length))
            for side in sides:
                padded = (high - low + 1) * max(peers[side].length, peers[high - 1].length)
                whole = total + peers[side].length
                if padded <= self._limits.tokens and padded - whole <= self._limits.padding * padded:
                    low, high, total = min(low, side), max(high, side + 1), whole
                    break
            else:
                break
        return peers[low:high]

    def _run(self, batch: Sequence[_Place[Row, Result]]) -> None:
        try:
            self._deliver(batch)
        except Exception as error:
            requests = _requests(batch)
            if len(requests) == 1:
                _fail(batch[0].request, error)
                return
            for request in requests:
                if request.future.done():
                    continue
                self._run([place for place in batch if place.request is request])

    def _deliver(self, batch: Sequence[_Place[Row, Result]]) -> None:
        ledger = ByteLedger()
        with stage_clock(metered=False) as clock, entered_in(ledger), waited_for(_interest(_requests(batch))):
            results = self._execute([place.row for place in batch])
        _share(clock.us, ledger, batch, prompts=self._prompts)
        for place, result in zip(batch, results, strict=True):
            request = place.request
            with self._lock:
                request.results[place.index] = result
                complete = request.rows is not None and len(request.results) == len(request.rows)
            if complete:
                _finish(request, [request.results[index] for index in range(len(request.results))])


def _requests(batch: Sequence[_Place[Row, Result]]) -> list[_Request[Row, Result]]:
    """Those that a run is for, each once."""
    return list({id(place.request): place.request for place in batch}.values())


def _interest(requests: Sequence[_Request[Row, Result]]) -> Interest:
    """In a run for these requests, lost when the last of them is cancelled."""
    interest, waiting = Interest(), [True] * len(requests)

    def ended(future: Future[list[Result]]) -> None:
        if future.cancelled():
            waiting.pop()
            if not waiting:
                interest.lose()

    for request in requests:
        request.future.add_done_callback(ended)
    return interest


def _share(us: int, ledger: ByteLedger, batch: Sequence[_Place[Row, Result]], *, prompts: bool) -> None:
    """Tell the stages and turns of a run what part of it, by tokens, was theirs."""
    handed = ledger.settle()
    tokens = sum(place.length for place in batch) or 1
    for request in _requests(batch):
        own = sum(place.length for place in batch if place.request is request)
        if request.clock is not None:
            request.clock.add(us, own / tokens, own if prompts else 0)
        if request.ledger is not None:
            for to, size in handed.items():
                request.ledger.add(to, round(size * own / tokens))


def _finish(request: _Request[Row, Result], results: list[Result]) -> None:
    with suppress(InvalidStateError):  # cancelled, or failed in another run
        request.future.set_result(results)


def _fail(request: _Request[Row, Result], error: BaseException) -> None:
    with suppress(InvalidStateError):
        request.future.set_exception(error)
