"""Keeps a generator process serving: notices its death or hang at once, and starts the next one.

A request that finds no process waits a moment for the next one; a request that was running when the process died is
told so immediately; while the breaker is open, requests are refused at once. Knows nothing of prompts or turns.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from math import ceil
from pathlib import Path
from time import monotonic, process_time

from quizglass_server.containment import Containment
from quizglass_server.engines.generator.client import GeneratorClient
from quizglass_server.engines.generator.process.breaker import Breaker, BreakerState
from quizglass_server.engines.generator.process.launcher import Launcher, Life
from quizglass_server.engines.generator.process.options import ProcessOptions
from quizglass_server.engines.generator.process.programs import Program
from quizglass_server.engines.generator.process.spawn import undisturbed
from quizglass_server.engines.generator.process.state import StateDirectory
from quizglass_server.engines.generator.process.threads import Neighbours, OthersLoad
from quizglass_server.engines.generator.process.watch import Signs, hang, processor_s
from quizglass_server.errors import EngineFailed, EngineLost, QuizglassError
from quizglass_server.observe import metrics

_LAST_CALLS_S = 0.5
"""For calls that have taken a process which is about to be replaced, and have not begun."""
_LEAST_RETRY_S = 0.5
"""Least retry delay: a process takes that long to start."""
logger = logging.getLogger(__name__)


class GeneratorProcess:
    """A generator process that is replaced whenever it dies or hangs."""

    def __init__(self, options: ProcessOptions, state: StateDirectory | None = None) -> None:
        """Make it; `start` starts it.

        Args:
            options: what to load and how patient to be.
            state: where kept prompts outlive an orderly end; None: nowhere.
        """
        self._options = options
        self._state = state
        self._launcher = Launcher(options)
        self._breaker = Breaker(options.breaker)
        self._life: Life | None = None
        self._running: Life | None = None
        self._closed = False
        self._changed = asyncio.Event()
        self._starting: asyncio.Task[Life] | None = None
        self._supervision: asyncio.Task[None] | None = None
        self._executor = "cpu"
        self._start_s = _LEAST_RETRY_S
        self._probing_since = 0.0
        self.on_change: Callable[[], None] = lambda: None
        """Called whenever `ready` may have changed."""

    @property
    def ready(self) -> bool:
        """Whether a process is serving right now."""
        return self._life is not None

    @property
    def breaker(self) -> BreakerState:
        """Whether deaths are few enough to go on."""
        return self._breaker.state

    @property
    def description(self) -> str:
        """What the model calls itself; empty while no process is serving."""
        return self._life.description if self._life else ""

    @property
    def executor(self) -> str:
        """What the model runs on: cpu or gpu."""
        return self._executor

    @property
    def program(self) -> Program | None:
        """The llama-server that is started; None before the first start."""
        return self._launcher.program

    @property
    def on_card(self) -> str:
        """What of the model is on a card, in words; empty without one."""
        plan = self._launcher.on_card
        return "" if plan is None else str(plan)

    @property
    def contained(self) -> Containment | None:
        """What holds the process that is serving; None while none is."""
        return self._life.contained if self._life else None

    @property
    def notice(self) -> str:
        """Why it is slower than it could be, and what to do; empty when it is not."""
        return self._launcher.notice

    @property
    def pid(self) -> int | None:
        """Process id of the process that is serving."""
        return self._life.process.pid if self._life else None

    async def start(self) -> None:
        """Start the process and wait until it serves.

        Raises:
            BundleError: a model file cannot be loaded.
            EngineFailed: the process died or did not answer while loading.
            EngineLost: `close` was called.
        """
        self._check_open()
        self._starting = asyncio.create_task(self._first(), name="generator start")
        try:
            life = await self._starting
        except BaseException as error:
            await self._end_running()
            self._launcher.close()
            self._check_open()
            if isinstance(error, OSError):
                raise EngineFailed(f"the generator process cannot be started: {error.strerror}") from error
            raise
        self._check_open()
        self._serve(life)
        self._supervision = asyncio.create_task(self._supervise(life), name="generator supervision")

    async def client(self, deadline: float | None = None) -> GeneratorClient:
        """The calls of the process that serves, after waiting for it for a moment if there is none; for one call.

        Args:
            deadline: `time.monotonic()` after which it is abandoned; None: no limit.

        Raises:
            EngineLost: no process serves, or will soon enough.
        """
        wait_s = self._options.restart_wait_s
        if deadline is not None:
            wait_s = min(wait_s, deadline - monotonic())
        try:
            async with asyncio.timeout(wait_s):
                while self._life is None:
                    if self._supervision is None or self._supervision.done():
                        raise EngineLost("the generator process is not running")
                    if self._breaker.state is not BreakerState.CLOSED:
                        raise self._refusal()
                    await self._changed.wait()
        except TimeoutError:
            raise EngineLost("the generator process is being restarted; ask again in a moment") from None
        return self._life.client

    async def forget(self) -> None:
        """Keep nothing of prompts and pictures so far, in memory or in files; a process that dies keeps nothing.

        Raises:
            EngineFailed: llama.cpp failed.
        """
        if self._life is not None:
            with suppress(EngineLost):
                await self._life.client.forget()
        if self._state is not None:
            await asyncio.to_thread(self._state.clear)

    async def close(self) -> None:
        """End supervision and process. What still runs on it, or waits for the next one, gets EngineLost."""
        self._closed = True
        for task in (self._starting, self._supervision):
            if task is not None:
                task.cancel()
                await asyncio.wait({task})
        life, self._life = self._life, None
        self._announce()
        if life is not None:
            await self._save(life)
        await self._end_running()
        self._launcher.close()

    def _check_open(self) -> None:
        if self._closed:
            raise EngineLost("the generator process is closed; the server is stopping")

    def _refusal(self) -> EngineLost:
        """For a request that comes while nothing is tried, or while a probe is being started."""
        if self._breaker.state is BreakerState.HALF_OPEN:
            left = max(self._start_s - (monotonic() - self._probing_since), self._breaker.retry_after_s)
            what = "is being tried again; ask again"
        else:
            left, what = self._breaker.retry_after_s, "is paused; next attempt"
        left = max(left, _LEAST_RETRY_S)
        return EngineLost(
            f"the generator process died {self._breaker.recent_deaths} times in short order and {what} in "
            f"{ceil(left)} s, see the server's log for the reason",
            retry_after_s=left,
        )

    async def _first(self) -> Life:
        """The first process, with the state of the last run where it can be restored."""
        saved = None if self._state is None else await asyncio.to_thread(self._state.take)
        if self._state is None or saved is None:
            return await self._launch()
        try:
            return await self._launch(saved)
        except (EngineFailed, EngineLost) as error:
            logger.warning("the generator's saved state is left out: %s", error.message)
            return await self._launch()
        finally:
            await undisturbed(asyncio.to_thread(self._state.taken))

    async def _launch(self, restore: Path | None = None) -> Life:
        began = self._probing_since = monotonic()
        life = self._running = await self._launcher.launch(restore)
        self._start_s = monotonic() - began
        self._executor = life.executor
        return life

    async def _supervise(self, life: Life) -> None:
        """Serve one life after the other, for ever."""
        while True:
            replaced = await self._outlive(life)
            life = await self._next(0.0 if replaced else self._breaker.died())
            self._serve(life)

    async def _next(self, wait_s: float) -> Life:
        """The next process that starts; the first attempt is made in `wait_s` seconds."""
        while True:
            if self._breaker.state is BreakerState.OPEN:
                logger.error(
                    "the generator process died %d times within %.0f s; requests are refused, next attempt in %.0f s",
                    self._breaker.recent_deaths,
                    self._options.breaker.window_s,
                    wait_s,
                )
            self._announce()
            await asyncio.sleep(wait_s)
            self._breaker.probe()
            try:
                return await self._launch()
            except OSError as error:
                wait_s = self._breaker.not_started()
                logger.error("the generator process cannot be started: %s; next attempt in %.1f s", error, wait_s)
            except Exception as error:  # whatever it is, the next attempt may work, and without one none ever does
                if self._closed:
                    raise
                logger.error(
                    "the generator process cannot be restarted: %s",
                    error,
                    exc_info=not isinstance(error, QuizglassError),
                )
                wait_s = self._breaker.died()

    async def _outlive(self, life: Life) -> bool:
        """Watch a process until it has ended, killing it when it hangs: whether it was ended for another one."""
        watching = asyncio.create_task(self._watch(life), name="generator watch")
        adapting = asyncio.create_task(self._adapt(life), name="generator threads")
        ended = asyncio.ensure_future(life.process.wait())
        try:
            first = asyncio.FIRST_COMPLETED
            steady_s = self._options.breaker.steady_s
            if not (await asyncio.wait({ended, adapting}, timeout=steady_s, return_when=first))[0]:
                self._breaker.steady()
                await asyncio.wait({ended, adapting}, return_when=first)
        finally:
            watching.cancel()
            adapting.cancel()
            ended.cancel()
        self._retire(life)
        if life.process.returncode is None:
            await self._end_running()
            return True
        metrics.RESTARTS.add()
        logger.error("the generator process died (%s); restarting it", life.how())
        await self._end_running()
        self._launcher.died(life.process.returncode)
        return False

    async def _end_running(self) -> None:
        """End the process that runs, whether it serves or not, and free what it held."""
        life, self._running = self._running, None
        if life is not None:
            await life.end(self._options.close_wait_s)

    async def _adapt(self, life: Life) -> None:
        """Return when another number of threads has suited the machine better for long, and no call is under way."""
        choice, patience = self._launcher.threads, self._options.patience
        neighbours, load = Neighbours(patience, busy=choice.beside_others), OthersLoad(self._options.cores)
        began = monotonic()
        while True:
            await asyncio.sleep(patience.look_s)
            if not choice.chosen:
                continue
            own_s = process_time() + processor_s(life.process.pid)
            neighbours.seen(load.cores(own_s), monotonic())
            if monotonic() - began < patience.apart_s or not await _idle(life, patience.idle_s):
                continue
            choice.beside_others = neighbours.busy
            if choice.now != life.threads:
                break
        logger.info("the generator is restarted with %d threads", choice.now)
        self._retire(life)
        while not await _idle(life, _LAST_CALLS_S):
            pass

    async def _watch(self, life: Life) -> None:
        """End a process that hangs."""
        pulse, pid = life.client.pulse, life.process.pid

        def signs() -> Signs:
            return Signs(pulse.pending, pulse.heard, processor_s(pid))

        life.fate = f"hang: {await hang(life.client.alive, signs, self._options.watch)}"
        self._retire(life)
        life.kill()

    async def _save(self, life: Life) -> None:
        """Keep what slots hold for the next run; a server that stops says what went wrong and stops."""
        if self._state is None:
            return
        try:
            directory = await asyncio.to_thread(self._state.begin)
            async with asyncio.timeout(self._options.save_wait_s):
                count = await life.saved_to(directory)
            if not count:
                await asyncio.to_thread(self._state.clear)
                return
            await asyncio.to_thread(self._state.commit)
            logger.info("%d kept prompts of the generator are saved", count)
        except (QuizglassError, OSError, TimeoutError) as error:
            logger.warning("the generator's state is not saved: %s", error or "it took too long")

    def _serve(self, life: Life) -> None:
        def lost() -> None:
            """No request may use this process any more; one that lives but cannot be reached is ended."""
            self._retire(life)
            life.kill()

        life.client.on_lost = lost
        self._life = life
        self._announce()

    def _retire(self, life: Life) -> None:
        if self._life is life:
            self._life = None
            self._announce()

    def _announce(self) -> None:
        """Wake whoever waits for a change."""
        self._changed.set()
        self._changed = asyncio.Event()
        self.on_change()


async def _idle(life: Life, seconds: float) -> bool:
    """Whether no call is under way now, and none after so long."""
    if life.client.calls:
        return False
    await asyncio.sleep(seconds)
    return not life.client.calls
