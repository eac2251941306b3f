"""One ONNX model. Knows nothing about the tensors' meaning."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from quizglass_server.engines.onnx.ending import current_interest
from quizglass_server.engines.onnx.plugins import PLUGINS, devices
from quizglass_server.engines.onnx.pool import EnginePool as EnginePool
from quizglass_server.engines.onnx.prepared import find_prepared
from quizglass_server.engines.onnx.providers import (
    AUTO,
    FIRST,
    NAMES,
    PREPARED,
    InputRange,
    Ranges,
    choose,
    confirm,
    on_device,
    options,
)
from quizglass_server.engines.onnx.stepped import SteppedRuns
from quizglass_server.errors import BundleError, EngineFailed
from quizglass_server.scheduling.clock import measured_engine
from quizglass_server.scheduling.ledger import handed

if TYPE_CHECKING:
    import onnxruntime

Tensor = NDArray[np.generic]
_SHARING = Lock()
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OnnxOptions:
    """How models are executed."""

    threads: int = 1
    """Threads of each session."""
    provider: str = AUTO
    """auto, tensorrt, cuda, cpu, or a plug-in: tensorrt-rtx or openvino."""
    cache: Path | None = None
    """Where TensorRT keeps engines it built, and where those built ahead of time are looked for; None: it builds them
    at every start."""
    memory: int = 0
    """Bytes of the card that CUDA's arena of a session may grow to; 0: all."""
    device: int = FIRST
    """Number of the card, as CUDA counts cards; -1: the first."""
    float16: bool = False
    """Whether TensorRT may compute in float16 where a graph has float32."""
    role: str = ""
    """Which role of the bundle they are for; empty: the one that the model's folder is called after."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What whoever runs a model gives to it, and takes from it."""

    output: str
    """Name of the output that `OnnxSession.run` returns."""
    ranges: Ranges
    """The shapes that will be given, by input name."""
    optional: Ranges = field(default_factory=dict)
    """The same for inputs that a model may lack; `OnnxSession.inputs` says which it has."""
    free: frozenset[str] = frozenset()
    """Names of further inputs that it may have, whose shapes only the model knows; see `OnnxSession.shape`."""
    stepped: bool = False
    """Whether a card is given batches of a few fixed shapes; see `SteppedRuns`."""

    @property
    def all_ranges(self) -> Ranges:
        """Shape ranges of every input whose shapes are known."""
        return {**self.ranges, **self.optional}

    def check(self, name: str, inputs: Mapping[str, list[int | str]], outputs: Collection[str]) -> None:
        """Check that a model fits.

        Args:
            name: of the model, for errors.
            inputs: their declared shapes, where text stands for a dynamic axis.
            outputs: their names.

        Raises:
            BundleError: it lacks an input or the output, needs another input, or takes other shapes.
        """
        if missing := self.ranges.keys() - inputs.keys():
            raise BundleError(f"{name}: has no input {', '.join(sorted(missing))}; export it again")
        if extra := inputs.keys() - self.all_ranges.keys() - self.free:
            raise BundleError(f"{name}: needs the unknown input {', '.join(sorted(extra))}; export it again")
        if self.output not in outputs:
            raise BundleError(f"{name}: has no output {self.output}, only {', '.join(outputs)}; export it again")
        for each, declared in inputs.items():
            wanted = self.all_ranges.get(each)
            if wanted is not None and not _overlap(declared, wanted):
                raise BundleError(
                    f"{name}: {each} has shape {declared}, not {list(wanted.smallest)} to {list(wanted.largest)} "
                    "as the manifest says; export it again"
                )


class OnnxSession:
    """A model loaded once; `run` may be called from several threads."""

    def __init__(self, path: Path, signature: Signature, how: OnnxOptions) -> None:
        """Load a model.

        Args:
            path: the ONNX file.
            signature: what it is given and what is taken from it.
            how: threads and provider.

        Raises:
            BundleError: the file cannot be loaded, or does not fit the signature.
            EngineFailed: onnxruntime is not installed, or the provider asked for does not start.
            SettingsError: the provider is unknown.
        """
        ort = import_onnxruntime()
        self.name = f"{path.parent.name}/{path.name}"
        self._role = how.role or path.parent.name
        self._output = signature.output
        self._ranges = signature.all_ranges
        wanted = choose(how.provider, ort.get_available_providers())
        self._session, self.executor = _prepared(ort, path, wanted, how) or _opened(
            ort, path, wanted, signature, how, self.name
        )
        """The provider that runs it, as settings name it, or tensorrt-engine: built ahead of time."""
        on_card = signature.stepped and self.executor == "cuda"
        self._ort = ort
        self._stepped = SteppedRuns(ort, self._session, "cuda", max(0, how.device)) if on_card else None
        self._shapes = {node.name: list(node.shape) for node in self._session.get_inputs()}
        self.inputs = frozenset(self._shapes)
        """Names of the inputs."""
        self.notes: Mapping[str, str] = self._session.get_modelmeta().custom_metadata_map
        """What the exporter wrote into the file."""
        signature.check(self.name, self._shapes, [node.name for node in self._session.get_outputs()])

    def shape(self, name: str) -> list[int | str]:
        """Declared shape of an input; names stand for dynamic axes."""
        return self._shapes[name]

    def run(self, inputs: Mapping[str, Tensor]) -> NDArray[np.float32]:
        """Run the model, and add the time to the current stage's engine time.

        Raises:
            BundleError: the output has no rows.
            EngineFailed: a shape is out of range, ONNX Runtime failed, or nothing waits for the run any more.
        """
        return self.run_for([self._output], inputs)[0]

    def run_for(self, outputs: Sequence[str], inputs: Mapping[str, Tensor]) -> list[NDArray[np.float32]]:
        """The same for several outputs.

        Raises:
            BundleError: an output has no rows.
            EngineFailed: as `run`.
        """
        for name, value in inputs.items():
            if (known := self._ranges.get(name)) is not None and not known.holds(value.shape):
                raise EngineFailed(f"{self.name}: {name} of shape {list(value.shape)} is outside {known}")
        handed(self._role, sum(value.nbytes for value in inputs.values()))
        try:
            with measured_engine():
                results = self._results(list(outputs), dict(inputs))
        except Exception as error:
            raise EngineFailed(f"{self.name}: ONNX Runtime failed; see the server's log") from error
        for output, result in zip(outputs, results, strict=True):
            if not np.ndim(result):
                raise BundleError(f"{self.name}: {output} is a single number, not one row for each of its inputs")
        return [np.asarray(result, dtype=np.float32) for result in results]

    def _results(self, outputs: list[str], inputs: dict[str, Tensor]) -> list[Any]:
        """Those of a run that ends when nothing waits for it any more; one in steps on a card goes on to its end."""
        interest = current_interest()
        if self._stepped is not None:
            return list(self._stepped.run(outputs, inputs))
        if interest is None:
            return list(self._session.run(outputs, inputs))
        options = self._ort.RunOptions()
        with interest.ending(lambda: setattr(options, "terminate", True)):
            return list(self._session.run(outputs, inputs, options))


def _overlap(declared: Sequence[int | str], wanted: InputRange) -> bool:
    """Whether a declared shape has as many axes, and every fixed one of a size that will be given."""
    fixed = [size if isinstance(size, int) and size > 0 else None for size in declared]
    return len(fixed) == len(wanted.largest) and all(
        size is None or low <= size <= high
        for low, size, high in zip(wanted.smallest, fixed, wanted.largest, strict=True)
    )


def _prepared(ort: Any, path: Path, wanted: Sequence[str], how: OnnxOptions) -> tuple[Any, str] | None:
    """A session with the engine that was built for this model and this machine, if there is one that starts."""
    if wanted[0] != NAMES["tensorrt"] or (found := find_prepared(path, how.cache, max(0, how.device))) is None:
        return None
    given = [(each, on_device(each, how.device)) for each in wanted]
    try:
        session = ort.InferenceSession(str(found), _session_options(ort, how.threads), providers=given)
    except Exception as error:
        logger.warning("%s: cannot be started: %s; TensorRT builds an engine now", found.name, error)
        return None
    if (running := session.get_providers()[:1]) != wanted[:1]:
        logger.warning("%s: ONNX Runtime fell back to %s", found.name, ", ".join(running) or "nothing")
        return None
    return session, PREPARED


def _opened(
    ort: Any, path: Path, wanted: Sequence[str], signature: Signature, how: OnnxOptions, name: str
) -> tuple[Any, str]:
    """A session of the model as it is, and what runs it."""
    settings = _session_options(ort, how.threads)
    ranges = {} if signature.free else signature.all_ranges
    placed: dict[str, Any] = {"device": how.device, "float16": how.float16}

    def providers(graphed: bool) -> list[tuple[str, dict[str, str]]]:
        # A CUDA graph is for a provider that runs all of a model: what comes behind another one does not.
        return [
            (each, options(each, ranges, how.cache, graphed and each == wanted[0], how.memory, **placed))
            for each in wanted
        ]

    given = providers(signature.stepped)
    if how.provider in PLUGINS:
        settings.add_provider_for_devices(devices(ort, how.provider, how.device), options(wanted[0], ranges, how.cache))
        given = []  # those of the settings count where none are given
    elif NAMES["cuda"] in wanted:
        _preload(ort)
    try:
        try:
            session = ort.InferenceSession(str(path), settings, providers=given)
        except Exception as error:
            if not signature.stepped or wanted[0] != NAMES["cuda"]:
                raise
            # One made for TensorRT, say, with a node that CUDA leaves to the CPU.
            logger.warning("%s: its kernels cannot be launched as one: %s", name, error)
            session = ort.InferenceSession(str(path), settings, providers=providers(False))
    except Exception as error:
        raise BundleError(f"{name}: ONNX Runtime cannot load it: {error}") from error
    return session, confirm(how.provider, wanted, session.get_providers(), name)


def cpu_session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    """A model on the CPU, for a package that runs its session by itself.

    Raises:
        BundleError: the file cannot be loaded.
        EngineFailed: onnxruntime is not installed.
    """
    ort = import_onnxruntime()
    try:
        return ort.InferenceSession(str(path), _session_options(ort, threads), providers=[NAMES["cpu"]])
    except Exception as error:
        raise BundleError(f"{path.parent.name}/{path.name}: ONNX Runtime cannot load it: {error}") from error


@cache
def _preload(ort: Any) -> None:
    """Load CUDA and cuDNN from the packages that the extra `gpu` brings, once: the linker does not look there."""
    if hasattr(ort, "preload_dlls"):
        ort.preload_dlls(directory="")


def import_onnxruntime() -> Any:
    """The package.

    Raises:
        EngineFailed: it is not installed; names the extra.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise EngineFailed("onnxruntime is not installed; in the clone: pip install '.[cpu]' (or '.[gpu]')") from error
    with _SHARING:  # an allocator can be registered once
        _share_memory(onnxruntime)
    return onnxruntime


def available_providers() -> list[str]:
    """ONNX Runtime's names of the providers that it is compiled with; none where it is not installed."""
    try:
        return list(import_onnxruntime().get_available_providers())
    except EngineFailed:
        return []


@cache
def _share_memory(ort: Any) -> None:
    """Have sessions on the CPU take their memory from one arena, which grows by what is asked for: each by itself would
    keep the most that it has ever needed, rounded up to a power of two.
    """
    where = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    ort.create_and_register_allocator(where, ort.OrtArenaCfg({"arena_extend_strategy": 1}))


def _session_options(ort: Any, threads: int) -> onnxruntime.SessionOptions:
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    # A spinning thread would take its core from llama.cpp, which shares the machine.
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Without VNNI, x86-64 adds products of unsigned rows and signed weights in 16 bits, which overflow. There weights
    # are made unsigned as they are loaded: their products are slower, and exact. Elsewhere this changes nothing.
    settings.add_session_config_entry("session.x64quantprecision", "1")
    # It would hold a block for every shape that was ever run, and lengths hardly repeat.
    settings.enable_mem_pattern = False
    settings.add_session_config_entry("session.use_env_allocators", "1")
    settings.log_severity_level = 3
    return settings
