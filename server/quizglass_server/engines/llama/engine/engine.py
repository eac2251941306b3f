"""Continuous batching over one model: requests join and leave between decode steps.

One thread, the engine's, calls `step` in a loop and makes every call of llama.cpp except the encoding of pictures. A
method that other threads may call says so. Knows nothing of the event loop or processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from math import inf, isfinite
from time import perf_counter_ns

from quizglass_server.engines.llama.costs.calibration import measure
from quizglass_server.engines.llama.costs.cost_model import Costs, CostTracker
from quizglass_server.engines.llama.engine.encoder import Embedding, Encoding, PictureEncoder
from quizglass_server.engines.llama.engine.liveness import Inbox, Liveness
from quizglass_server.engines.llama.engine.load import Load
from quizglass_server.engines.llama.engine.recovery import Recovery
from quizglass_server.engines.llama.engine.request_builder import RequestBuilder
from quizglass_server.engines.llama.engine.request_kinds import Choice, Prefill
from quizglass_server.engines.llama.engine.requests import LastGiven, Request
from quizglass_server.engines.llama.engine.runner import Runner
from quizglass_server.engines.llama.engine.sampling import Row
from quizglass_server.engines.llama.engine.scheduler import Plan, Scheduler
from quizglass_server.engines.llama.link.prompt import Busy, EngineStats, RequestRefused, TooLate
from quizglass_server.engines.llama.native.errors import DecodeFailed, LoadFailed
from quizglass_server.engines.llama.native.model import DECODED, NativeModel
from quizglass_server.engines.llama.prefixes.cache import Prefixes

LONG_STEP_US = 10_000
"""Microseconds; a longer step holds back nothing that earlier ones have given, and is stopped for a cancellation."""


class Engine:
    """Serves requests that its `builder` makes."""

    def __init__(self, model: NativeModel, stop: Sequence[str], costs: Costs | None = None) -> None:
        """Make an engine.

        Args:
            model: what to run.
            stop: texts that end an answer, each one token of the model.
            costs: of steps, which are kept to; measured, and kept up to date, when not given.

        Raises:
            LoadFailed: a stop text is not one token, or the model cannot decode.
        """
        options = model.options
        self.builder = RequestBuilder(model, stop)
        model.clear()
        tracker = (
            CostTracker(measure(model, options.generator_batch)) if costs is None else CostTracker(costs, fixed=True)
        )
        self.reused_tokens = self.prefilled_tokens = 0
        self.flush: Callable[[bool], None] = lambda _: None
        """Told after each step that results have been put; True when the next ones may take a while."""
        self.model = model
        self.prefixes = Prefixes(model, model.sequences, options.sequences, options.cache_cells)
        self._liveness = Liveness(model)
        self.encoder = PictureEncoder(self._encode, lambda done: self.call(lambda: self._encoded(done)))
        self.scheduler = Scheduler(self.prefixes, tracker, options.generator_batch, self._ready)
        self.load = Load(self.scheduler, self.prefixes, self.encoder, options.generator_queue)
        self._runner = Runner(model, self.prefixes, self._liveness.decode)
        self._recovery = Recovery(model, self.prefixes, self.scheduler, self._liveness, self._fail)
        self._inbox = Inbox()
        self._arrivals = count()
        self._reading: Sequence[Request] = ()
        self._starved = True

    @property
    def threads(self) -> int:
        """Number of threads that compute the next step."""
        return self._liveness.threads.count

    @property
    def pending(self) -> int:
        """Requests that have not ended; for any thread."""
        return self.load.pending

    def submit(self, request: Request) -> None:
        """Enqueue a request; for any thread.

        Raises:
            Busy: too many wait, or its deadline cannot be met because of them; nothing is done for it.
            TooLate: its deadline cannot be met in any case.
        """
        urgency = request.urgency
        deadline = inf if urgency.deadline is None else urgency.deadline
        request.order = (urgency.background, not urgency.ahead, deadline, next(self._arrivals))
        self.load.admit(request)
        self._inbox.put(lambda: self.scheduler.add(request))

    def cancel(self, request: Request) -> None:
        """End a request that nobody waits for any more; for any thread. At most the running step is spent on it."""
        if request.ended:
            return
        request.cancelled = True
        if tuple(self._reading) == (request,):
            self.model.abort()
        self._inbox.put()

    def call(self, action: Callable[[], None]) -> None:
        """Run a function on the engine's thread between two steps; for any thread."""
        self._inbox.put(action)

    def forget(self) -> int:
        """Keep nothing of the prompts and pictures so far: how many prefixes went. On the engine's thread."""
        self.encoder.forget()
        return self.prefixes.forget()

    def stats(self) -> EngineStats:
        """Statistics of the engine; for any thread, so that some numbers may be a step older than others."""
        costs, ledger, encoder = self.scheduler.costs, self.prefixes.ledger, self.encoder
        active = sum(request.lease is not None for request in tuple(self.scheduler.requests))
        return EngineStats(
            beat=self._liveness.last,
            busy=self._liveness.busy,
            active=active,
            waiting=max(0, self.pending - active),
            cells_used=ledger.size - ledger.free,
            cells=ledger.size,
            decode_steps=self._liveness.steps,
            encoded_pictures=encoder.encoded,
            kept=len(self.prefixes),
            reused_tokens=self.reused_tokens,
            prefilled_tokens=self.prefilled_tokens,
            step_us=costs.step_us,
            prefill_us=int(costs.piece_cost(costs.alone)),
            encoding_us=encoder.encoding_us,
            encode_us=int(encoder.encode_us),
        )

    def warm_up(self) -> None:
        """Run every kind of work once, so that the first request does not pay for paging weights in.

        Raises:
            LoadFailed: the model does not work.
        """
        sink, name = LastGiven(), self.model.options.model.name
        try:
            example = self.builder.generation(self.builder.example(), 2, sink=sink)
        except RequestRefused as error:
            raise LoadFailed(f"{name}: the context is too small for any prompt: {error}") from error
        self.submit(example)
        while self.pending:
            self.step()
        if isinstance(sink.item, BaseException):
            raise LoadFailed(f"{name}: the model does not work: {sink.item}")
        self.prefixes.forget_kept()

    def close(self) -> None:
        """Stop encoding pictures; the engine must not be used afterwards."""
        self.encoder.close()

    def step(self, *, wait: bool = True) -> None:
        """Take in what has arrived, run one step, and hand over what it gives.

        With `wait`, and nothing to compute, it sleeps until something arrives or a deadline passes.

        Raises:
            EngineBroken: llama.cpp is in an unknown state.
        """
        if wait and self._starved:
            self._liveness.sleep(self._inbox, self.load.next_deadline())
        self._inbox.empty()
        self._sweep(self._liveness.beat())
        plan = self.scheduler.plan()
        for request in plan.complete:
            self._finish(request, "stop")
        self._starved = plan.empty and not plan.complete
        if not plan.empty:
            started = perf_counter_ns()
            participants = plan.participants
            for request in participants:
                request.takes_part(started)
            self._run(plan)
            for request in participants:
                request.takes_part(None)
        self.flush(self._starved)

    def _run(self, plan: Plan) -> None:
        cost = 0.0
        if plan.pieces or plan.picture:
            cost = self.scheduler.costs.piece_cost(plan.tokens + plan.padding)
            if cost > LONG_STEP_US:
                self.flush(True)
        if plan.streams or plan.pieces:
            self._reading = plan.reading if plan.pieces and cost > LONG_STEP_US else ()
            started = perf_counter_ns()
            code, logits = self._runner.tokens(plan)
            if code == DECODED:
                self._note(plan, cost, (perf_counter_ns() - started) / 1000)
                self._take(logits)
            else:
                self._recovery.failed(code, plan.streams + [each for each, _ in plan.pieces])
        if plan.picture and not plan.picture[0].ended and plan.picture[0].lease:
            self._reading = plan.reading if cost > LONG_STEP_US else ()
            self._run_picture(*plan.picture)
        self._reading = ()

    def _note(self, plan: Plan, expected_us: float, spent_us: float) -> None:
        """Note how long a step has taken."""
        tracker = self.scheduler.tracker
        if plan.pieces:
            self.prefilled_tokens += plan.tokens
            self.load.note_step(expected_us, spent_us)
            tracker.piece(plan.tokens + plan.padding, spent_us)
        else:
            size = len(plan.streams) + plan.padding
            self.load.note_step(tracker.costs.step_us[size - 1], spent_us)
            tracker.step(size, spent_us)

    def _run_picture(self, request: Request, size: int) -> None:
        before = request.todo_cells
        started = perf_counter_ns()
        if (code := self._runner.picture(request, size)) == DECODED:
            rows = before - request.todo_cells
            self.prefilled_tokens += rows
            self.scheduler.tracker.piece(rows, (perf_counter_ns() - started) / 1000)
            self._end_of_prefill(request)
        else:
            self._recovery.failed(code, [request])

    def _take(self, logits: list[tuple[Request, Row | None]]) -> None:
        """Give logits to the requests that wanted them."""
        if not isfinite(sum(row.total for _, row in logits if row is not None)):
            self._recovery.poisoned([request for request, row in logits if row and not isfinite(row.total)])
            return
        forking: list[tuple[Request, Choice]] = []
        suspects = self.scheduler.suspects
        for request, row in logits:
            if row is None:
                self._end_of_prefill(request)
                continue
            if suspects and request in suspects:
                self.scheduler.suspects.remove(request)
            try:
                reason = request.kind.take(request, row)
            except RequestRefused as error:
                self._fail(request, error)
                continue
            if reason is None:
                self.scheduler.sort_in(request)
            elif isinstance(request.kind, Choice):
                forking.append((request, request.kind))
            else:
                self._finish(request, reason)
        # Not before every row has been read: forks overwrite the logits.
        for request, kind in forking:
            self._fork(request, kind)

    def _fork(self, request: Request, kind: Choice) -> None:
        try:
            self._runner.forks(request, kind)
        except DecodeFailed as error:
            self._fail(request, error)
        else:
            self._finish(request, "stop")

    def _end_of_prefill(self, request: Request) -> None:
        if request.todo == 0 and not request.kind.wants_logits:
            self._finish(request, "stop")

    def _sweep(self, now: float) -> None:
        """End requests that were cancelled or are late."""
        for request in self.scheduler.requests:
            deadline = request.urgency.deadline
            if request.cancelled:
                self._finish(request, "cancelled")
            elif deadline is not None and deadline <= now:
                self._finish(request, "deadline")

    def _finish(self, request: Request, reason: str) -> None:
        self._leave(request)
        if request.lease is not None:
            # Half a picture, or what an unfinished step left, goes.
            self.prefixes.roll_back(request.lease)
            self.prefixes.keep(request.lease, unasked=reason != "stop" and isinstance(request.kind, Prefill))
            request.lease = None
        self.reused_tokens += request.reused_tokens
        self.load.note(request, reason)
        result = request.kind.result(reason, request.usage())
        if result is None and reason == "deadline":
            # A request whose prompt was never begun is late because of the other requests, if there are any.
            late, crowded = "the deadline has passed", not request.begun and bool(self.load.waited_for())
            result = Busy(late, self.load.retry_after()) if crowded else TooLate(late)
        if result is not None:
            request.sink.put(result, urgent=True)

    def _fail(self, request: Request, error: Exception) -> None:
        self._leave(request)
        if request.lease is not None:
            self.prefixes.drop(request.lease)
            request.lease = None
        request.sink.put(error, urgent=True)

    def _leave(self, request: Request) -> None:
        self.encoder.leave(request)
        self.scheduler.remove(request)
        request.ended = True
        self.load.leave(request)

    def _ready(self, request: Request) -> bool:
        """Whether what is left of a request needs no picture that is not encoded yet; asks for it otherwise."""
        if len(request.embeddings) >= len(request.pictures):
            return True
        done = request.done if request.lease else self.prefixes.known(request.units, request.shareable)
        picture = request.picture(done)
        return picture is None or self.encoder.provide(request, picture)

    def _encode(self, rgb: bytes) -> Embedding:
        """Pictures come too seldom to tell by them how many threads have cores; steps tell."""
        return self.model.encode(rgb, single=self._liveness.threads.only_one)

    def _encoded(self, encoding: Encoding) -> None:
        for request in self.encoder.receive(encoding):
            if encoding.error is not None:
                self._fail(request, DecodeFailed(str(encoding.error)))
