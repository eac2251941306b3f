"""Starts one generator process and ends it. Knows nothing of restarting, prompts or turns."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import shutil
import signal
import socket
import tempfile
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

from quizglass_server.containment import Containment, Listens, in_force
from quizglass_server.descriptors import Reserve
from quizglass_server.engines.generator.checks import known_model
from quizglass_server.engines.generator.checks.machine import machine
from quizglass_server.engines.generator.checks.proof import Nonsense, judge, questions
from quizglass_server.engines.generator.checks.weights import Weights, check_memory, examined
from quizglass_server.engines.generator.client import GeneratorClient, ServedModel
from quizglass_server.engines.generator.connection import Address
from quizglass_server.engines.generator.control_tokens import ControlTexts
from quizglass_server.engines.generator.places import ServerPlaces
from quizglass_server.engines.generator.process.card import CardPlan
from quizglass_server.engines.generator.process.folders import new_folder, remove_folder, sweep
from quizglass_server.engines.generator.process.log import LogTail, exit_words
from quizglass_server.engines.generator.process.options import ProcessOptions, environment
from quizglass_server.engines.generator.process.programs import SLOWER, Origin, Program, find_program
from quizglass_server.engines.generator.process.spawn import DESCRIPTORS, Child, spawn, undisturbed
from quizglass_server.engines.generator.process.threads import ThreadChoice, kept_in
from quizglass_server.engines.generator.prompt import TextPart
from quizglass_server.errors import BundleError, EngineFailed, EngineLost, QuizglassError

_ASK_EVERY_S = 0.02
_SOCKET = "x.sock"
"""The process finds it in its working directory."""
_LONGEST_SOCKET = 100
"""Bytes of a Unix socket's path: systems take 104 or 108."""
_PROOF_S = 60.0
_COMPARING_S = 20.0
"""For the comparison of threads, with two loads of the model."""
_TYPICAL, _TYPICAL_TOKENS = "The quick brown fox jumps over the lazy dog. " * 6, 8
_OF_PROJECTORS = re.compile("mmproj|mtmd|clip")
_FAULTS = frozenset({signal.SIGILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGABRT, signal.SIGTRAP})
"""Signals by which a process ends that runs instructions which this CPU does not have, or which compute nonsense."""
_REMEDY = 'install a llama.cpp for every CPU, see docs/operations.md, "When the generator does not suit the CPU"'
_NO_MEMORY = (
    "the system ends processes like that when memory is short: take a smaller model or quantisation, or fewer "
    "--generator-cells, or allow this server more memory"
)
_NOTHING = ServedModel(ControlTexts(()), ControlTexts(()))
logger = logging.getLogger(__name__)


class CpuFault(EngineFailed):
    """The process died of a signal that tells of wrong code for this CPU, or computed nonsense, while it loaded."""


class NoSocket(EngineFailed):
    """The program cannot listen on a Unix socket."""


@dataclass(slots=True)
class Life:
    """One generator process from its start to its end, with the calls to it."""

    process: Child
    client: GeneratorClient
    folder: Path
    """Its own, with its socket and what it writes."""
    lock: int
    """Descriptor that keeps `folder` from being swept away."""
    reading: asyncio.Task[None]
    log: LogTail
    threads: int
    """That compute."""
    contained: Containment | None
    """What holds it; None: its program cannot be read."""
    description: str = ""
    fate: str = ""
    """Why it was ended, where that is known better than from its exit status."""

    @property
    def executor(self) -> str:
        """What the model runs on: cpu or gpu."""
        return "gpu" if self.log.on_gpu else "cpu"

    @property
    def slots(self) -> Path:
        """Where its slots are saved."""
        return self.folder / "slots"

    def kill(self) -> None:
        """End it now."""
        self.process.send(signal.SIGKILL)

    async def end(self, wait_s: float) -> None:
        """Ask it to end, wait up to `wait_s` seconds, then kill it; not left undone when cancelled."""
        await undisturbed(self._end(wait_s))

    async def bury(self) -> None:
        """Wait for its end and free what it held; not left undone when cancelled."""
        await undisturbed(self._bury())

    async def _end(self, wait_s: float) -> None:
        self.process.send(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self.process.wait()
        self.kill()
        await self._bury()

    async def _bury(self) -> None:
        await self.process.wait()
        self.client.close()
        await self.reading
        self.process.close()
        await remove_folder(self.folder, self.lock)

    async def saved_to(self, directory: Path) -> int:
        """Write what its slots hold to a directory: how many. Raises QuizglassError, OSError."""
        count = await self.client.save(self.slots)
        await asyncio.to_thread(shutil.copytree, self.slots, directory, dirs_exist_ok=True)
        return count

    def how(self) -> str:
        """How it ended, in words."""
        return self.fate or exit_words(self.process.returncode)


class Launcher:
    """Starts processes, from the first that does not suit the CPU on without llama.cpp's repacked weights.

    Repacked, weights lie in the order in which the fastest instructions of a CPU want them, AMX among them. That is the
    code which compilers and CPUs disagree about; without it, llama.cpp is slower and runs everywhere.
    """

    def __init__(self, options: ProcessOptions) -> None:
        self._options = options
        self._reserve = Reserve(DESCRIPTORS)
        self._repack = True
        self._proved = False
        self._sockets = hasattr(socket, "AF_UNIX")
        sweep()
        self.program: Program | None = None
        """What was started last."""
        self.threads = ThreadChoice(options, kept_in())
        self._fault = ""
        self.on_card: CardPlan | None = None
        """What of the model is on the card; None: there is none, or it was not looked at yet."""

    @property
    def notice(self) -> str:
        """Why it is slower than it could be, and what to do; empty when it is not."""
        if told := "; ".join(filter(None, (self._fault, self.on_card.notice if self.on_card else ""))):
            return told
        if self.program is None or self.program.origin is not Origin.PREBUILT:
            return ""
        return f"runs llama-server of {self.program}: {SLOWER} (in the clone: make llama)"

    async def launch(self, restore: Path | None = None) -> Life:
        """Start a process and wait until it serves; leaves none behind on failure.

        Args:
            restore: directory of saved slots.

        Raises:
            BundleError: a model file cannot be loaded, or needs more memory than there is.
            EngineFailed: the process died or did not answer while loading, or computes nonsense, or there is none.
            SettingsError: the program that was named cannot be started, or the card has no room for the layers that
                were asked for.
            OSError: it cannot be started.
        """
        options = self._options
        self.program = options.program or find_program()
        weights = await asyncio.to_thread(examined, options.model, options.projector, options.cells)
        self.on_card = await asyncio.to_thread(options.card_plan)
        spared = self.on_card.spared if self.on_card else 0
        check_memory(options.model, weights.needed - spared, options.cells)
        try:
            return await self._proved_life(weights, restore)
        except CpuFault as fault:
            if not self._repack:
                raise EngineFailed(f"{fault.message}, without repacked weights. {machine()}; {_REMEDY}") from None
            logger.error("%s; it is started again without repacked weights", fault.message)
            return await self._without_repacking(fault, weights)

    async def _without_repacking(self, fault: CpuFault, weights: Weights) -> Life:
        self._repack = False
        try:
            life = await self._proved_life(weights, None)
        except CpuFault as again:
            self._repack = True
            raise EngineFailed(
                f"{fault.message}; and again without repacked weights: {again.message}. {machine()}; {_REMEDY}"
            ) from None
        except BaseException:
            self._repack = True
            raise
        self._tell_of(fault.message)
        return life

    def died(self, status: int | None) -> None:
        """A process that served has died: after an illegal instruction the next one goes without repacked weights."""
        if status == -signal.SIGILL and self._repack:
            self._repack = False
            self._proved = False
            self._tell_of(f"the generator process died while it served ({exit_words(status)})")

    def close(self) -> None:
        """Give the reserve of descriptors up."""
        self._reserve.empty()

    def _tell_of(self, fault: str) -> None:
        self._fault = (
            "runs without the CPU's fastest code for matrices (llama.cpp's repacked weights), because with it "
            f"{fault}: prompts are read more slowly, with Q4_0 weights half as long again; {_REMEDY}"
        )
        logger.warning("the generator %s. %s", self.notice, machine())

    async def _proved_life(self, weights: Weights, restore: Path | None) -> Life:
        """A process that serves, once its program is proved to compute rightly here."""
        if not self._proved:
            try:
                await self._prove()
            except NoSocket:  # an older one, or a file system without sockets: by a port of loopback, with a key
                self._sockets = False
                await self._prove()
            self._proved = True
        await self._compare_threads(weights)
        life = await self._begun(self._options, self.threads.now)
        try:
            await self._serving(life, weights, self._options.load_timeout_s)
            if restore is not None:
                await _restored(life, restore)
        except BaseException:
            life.kill()
            await life.bury()
            raise
        life.log.calm = True
        where = f", {self.on_card}" if self.on_card else ""
        logger.info("generator process %d (%s) serves %s%s", life.process.pid, self.program, life.description, where)
        return life

    async def _compare_threads(self, weights: Weights) -> None:
        """Find out with how many threads it answers soonest, once for a machine and a model, within a limit of time."""
        assert self.program is not None
        numbers = self.threads.to_compare(self.program)
        seconds: dict[int, float] = {}
        with suppress(TimeoutError):
            async with asyncio.timeout(_COMPARING_S):
                for threads in numbers:
                    life = await self._begun(self._options, threads)
                    try:
                        await self._serving(life, weights, self._options.load_timeout_s)
                        seconds[threads] = await _answer_s(life.client)
                    finally:
                        life.kill()
                        await life.bury()
        if numbers:
            self.threads.learn(seconds)

    async def _prove(self) -> None:
        """Have the program answer what is known of a tiny model. Raises CpuFault where it does not."""
        with tempfile.TemporaryDirectory(prefix="quizglass-") as folder:
            model = Path(folder) / "self-test.gguf"
            model.write_bytes(known_model.gguf())
            tiny = replace(
                self._options,
                model=model,
                projector=None,
                context=known_model.CONTEXT,
                sequences=1,
                generator_batch=1,
                generator_cells=0,
            )
            # Work too small to be shared: on a busy machine threads would wait for each other a hundred times.
            life = await self._begun(tiny, threads=1)
            try:
                await self._serving(life, None, min(_PROOF_S, self._options.load_timeout_s))
                async with asyncio.timeout(_PROOF_S):
                    judge([await life.client.document("POST", "/completion", each) for each in questions()])
            except Nonsense as error:
                raise CpuFault(f"{self.program}: computed nonsense: {error}") from None
            except EngineLost:
                await life.process.wait()
                raise self._died(life, "answering the self-test") from None
            except TimeoutError:
                raise EngineFailed(f"{self.program}: the self-test took more than {_PROOF_S:.0f} s") from None
            finally:
                life.kill()
                await life.bury()

    async def _begun(self, options: ProcessOptions, threads: int) -> Life:
        """A process that has been started, over a Unix socket where that is possible."""
        assert self.program is not None
        folder, lock = new_folder()
        try:
            (folder / "slots").mkdir()
            path = _reachable(folder, lock)
            if self._sockets and self.program.sockets and path is not None:
                address, host, port, key = Address(socket=path), _SOCKET, 8080, ""
            else:
                key, host, port = secrets.token_urlsafe(32), "127.0.0.1", _free_port()
                address = Address(host=host, port=port, headers={"Authorization": f"Bearer {key}"})
            on_card = self.on_card if options is self._options else None
            flags = options.flags(folder / "slots", host, port, threads=threads, repack=self._repack, on_card=on_card)
            with self._reserve.spent():
                listens: Listens = "tcp" if key else "unix"
                held = _held(Path(self.program.command[0]), listens)
                process = await spawn([*self.program.command, *flags], environment(key), folder, listens)
        except BaseException:
            await remove_folder(folder, lock)
            raise
        log = LogTail()
        reading = asyncio.create_task(log.read(process.output), name="generator log")
        places = ServerPlaces(options.generator_batch, options.generator_queue, options.cells // options.context)
        return Life(process, GeneratorClient(address, _NOTHING, places), folder, lock, reading, log, threads, held)

    async def _serving(self, life: Life, weights: Weights | None, patience_s: float) -> None:
        """Wait until a process serves, and learn what it serves.

        Raises:
            BundleError: it cannot load the model.
            EngineFailed: it died, or does not answer in time.
        """
        ended = asyncio.ensure_future(life.process.wait())
        answers = asyncio.ensure_future(_answering(life.client))
        try:
            await asyncio.wait({ended, answers}, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                await life.reading
                raise self._died(life, "loading the model")
            if not answers.done():
                raise EngineFailed(f"{self._options.model.name}: not loaded after {patience_s:.0f} s")
            answers.result()
            if weights is not None:
                await self._learn(life, weights)
        finally:
            ended.cancel()
            answers.cancel()

    async def _learn(self, life: Life, weights: Weights) -> None:
        properties = await life.client.document("GET", "/props")
        marker = str(properties.get("media_marker") or "<__media__>")
        begun = await life.client.document("POST", "/tokenize", {"content": "", "add_special": True})
        begins = tuple(int(token) for token in begun.get("tokens") or ())
        begin = str(properties.get("bos_token") or "") if begins else ""
        modalities = properties.get("modalities")
        sees = isinstance(modalities, dict) and bool(modalities.get("vision"))
        if self._options.projector is not None and not sees:
            name = self._options.projector.name
            raise BundleError(f"{name}: llama.cpp reads no pictures with it; name the model's own mmproj file")
        name = Path(str(properties.get("model_alias") or self._options.model)).name
        life.description = f"{name} {properties.get('model_ftype') or ''}".strip()
        control = ControlTexts({*weights.texts, marker})
        life.client.serve(ServedModel(control, weights.added, self._options.stop, sees, marker, begin, begins))

    def _died(self, life: Life, doing: str) -> QuizglassError:
        """Why a process that has ended while it loaded did so."""
        status, name = life.process.returncode, self._options.model.name
        if life.log.unknown_flag:
            return EngineFailed(
                f"{self.program} is too old or too new: it does not know {life.log.unknown_flag}; take llama.cpp as of "
                "server/pyproject.toml's llama-cpp-python"
            )
        if self._sockets and life.log.mentions("couldn't bind HTTP server socket"):
            return NoSocket(f"{self.program}: cannot listen on a Unix socket")
        if life.log.mentions("cannot execute"):
            return EngineFailed(f"{self.program}: {life.log.reason()}")
        if -(status or 0) in _FAULTS:
            return CpuFault(f"{name}: the generator process died while {doing} ({exit_words(status)}); see the log")
        if (reason := life.log.reason()) and (status or 0) > 0:
            projector = self._options.projector
            blamed = name if projector is None or not _OF_PROJECTORS.search(reason) else projector.name
            return BundleError(f"{blamed}: llama.cpp cannot load this model: {reason}")
        hint = _NO_MEMORY if status == -signal.SIGKILL else "see the log"
        return EngineFailed(f"{name}: the generator process died while {doing} ({exit_words(status)}); {hint}")


def _held(program: Path, listens: Listens) -> Containment | None:
    try:
        return in_force(program, listens)
    except OSError:  # the process that is started says so itself
        return None


async def _answering(client: GeneratorClient) -> None:
    """Return when a process that is loading its model has done so."""
    while True:
        try:
            await client.alive()
        except EngineLost:
            await asyncio.sleep(_ASK_EVERY_S)
        else:
            return


async def _answer_s(client: GeneratorClient) -> float:
    """Seconds of a short answer: the lesser of two."""
    took = []
    for number in range(2):
        prompt = [TextPart(f"{number}", trusted=True), TextPart(_TYPICAL, trusted=False)]
        began = monotonic()
        async with aclosing(client.generate(prompt, _TYPICAL_TOKENS)) as answer:
            async for _ in answer:
                pass
        took.append(monotonic() - began)
    return min(took)


async def _restored(life: Life, saved: Path) -> None:
    """Fill the slots with what they held; what does not fit is left out."""
    await asyncio.to_thread(shutil.copytree, saved, life.slots, dirs_exist_ok=True)
    logger.info("%d kept prompts are restored", await life.client.restore(life.slots))


def _reachable(folder: Path, lock: int) -> Path | None:
    """The path by which this process can connect to the socket in the folder; None where it is too long for any."""
    for path in (folder / _SOCKET, Path(f"/proc/self/fd/{lock}/{_SOCKET}")):
        if len(str(path).encode()) <= _LONGEST_SOCKET and path.parent.exists():
            return path
    return None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
