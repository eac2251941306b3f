"""Building TensorRT engines, and ONNX Runtime's context models that hold one.

Unverified on hardware: TensorRT's libraries cannot be installed where this is built, so the tests run against a
stand-in at the import, which records what is asked of it. Engines fit one version of TensorRT and one kind of card.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from onnx import helper

from quizglass_export.bundles.onnx_graph import read_onnx
from quizglass_export.errors import ExportError
from quizglass_server.engines.onnx.prepared import (
    CONTEXT,
    ENGINE,
    Hardware,
    engine_stem,
    find_hardware,
    tensorrt_version,
)
from quizglass_server.engines.onnx.providers import NAMES, InputRange, options
from quizglass_server.roles.detector import MAX_PHRASES

FLAGS = ("fp16", "bf16", "int8")
_BATCH_AXES = ("batch", "batch_size", "b")
_TOKEN_AXES = ("sequence", "sequence_length", "tokens", "s")
_PHRASES = "phrases"
_TENSORRT = NAMES["tensorrt"]
_REMEDY = "in the clone: pip install '.[gpu]'"
_OPSET, _IR_VERSION = 17, 8


@dataclass(frozen=True, slots=True)
class Limits:
    """Shapes that an engine is built for."""

    batch: int = 16
    usual_tokens: int = 128
    tokens: int = 512


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How an engine is built.

    Attributes:
        flags: precisions beyond float32 that TensorRT may choose.
        workspace: bytes that it may use while building.
        timing_cache: file with timings of earlier builds, read and written; None: without.
    """

    flags: tuple[str, ...] = ()
    workspace: int = 2 << 30
    timing_cache: Path | None = None


def input_ranges(model: Path, limits: Limits) -> dict[str, InputRange]:
    """Smallest, usual and largest shape of every input.

    Raises:
        ExportError: an input has a dynamic axis that is neither batch nor tokens.
    """
    graph = read_onnx(model).graph
    own = {tensor.name for tensor in graph.initializer}
    ranges = {}
    for value in graph.input:
        if value.name in own:
            continue
        axes = [axis.dim_param or int(axis.dim_value) for axis in value.type.tensor_type.shape.dim]
        sizes = [_sizes(model, value.name, axis, limits) for axis in axes]
        ranges[value.name] = InputRange(*(tuple(size[place] for size in sizes) for place in range(3)))
    return ranges


def this_hardware() -> Hardware:
    """The first card; ExportError if there is none."""
    try:
        return find_hardware()
    except LookupError as error:
        raise ExportError(f"{error}; build engines on the machine that runs them") from None


def build_engine(model: Path, out: Path, limits: Limits, how: EngineOptions, hardware: Hardware) -> Path:
    """Build an engine, and beside it a model that names it, which a server can load.

    Returns:
        The engine's file below `out`.

    Raises:
        ExportError: TensorRT is missing or refuses the model; with the parser's first words.
    """
    if unknown := [flag for flag in how.flags if flag not in FLAGS]:
        raise ExportError(f"{unknown[0]}: unknown precision; use {', '.join(FLAGS)}")
    trt = _import_tensorrt()
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    if not parser.parse_from_file(str(model)):
        reasons = [str(parser.get_error(index)) for index in range(parser.num_errors)]
        raise ExportError(f"{model}: TensorRT {trt.__version__} cannot parse it: {(reasons or ['no reason given'])[0]}")
    config = builder.create_builder_config()
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, how.workspace)
    for flag in how.flags:
        config.set_flag(getattr(trt.BuilderFlag, flag.upper()))
    _add_profile(builder, config, input_ranges(model, limits), model)
    cache = _timing_cache(config, how.timing_cache)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise ExportError(f"{model}: TensorRT {trt.__version__} built no engine; its log has the reason")
    if cache is not None and how.timing_cache is not None:
        _write(how.timing_cache, bytes(config.get_timing_cache().serialize()))
    stem = engine_stem(model, trt.__version__, hardware, how.flags)
    _write(out / f"{stem}{ENGINE}", bytes(plan))
    _write(out / f"{stem}{CONTEXT}", _naming(model, f"{stem}{ENGINE}").SerializeToString())
    return out / f"{stem}{ENGINE}"


def _naming(model: Path, engine: str) -> onnx.ModelProto:
    """A model of one node that stands for an engine in a file beside it, with the inputs and outputs of `model`."""
    graph = read_onnx(model).graph
    own = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in own]
    node = helper.make_node(
        "EPContext",
        [value.name for value in inputs],
        [value.name for value in graph.output],
        domain="com.microsoft",
        main_context=1,
        embed_mode=0,
        ep_cache_context=engine,
    )
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_graph([node], model.stem, inputs, list(graph.output))
    return helper.make_model(made, opset_imports=opsets, ir_version=_IR_VERSION)


def write_context_model(
    model: Path, folder: Path, limits: Limits, hardware: Callable[[], Hardware], flags: Sequence[str] = ()
) -> Path:
    """Have ONNX Runtime's TensorRT provider write a model that holds its engine, so that no server builds one.

    Returns:
        Its file below `folder`, under the name by which a server finds it.

    Raises:
        ExportError: the provider is not there, or ONNX Runtime fell back from it.
    """
    import onnxruntime

    if _TENSORRT not in onnxruntime.get_available_providers():
        raise ExportError(f"onnxruntime has no TensorRT provider here; {_REMEDY} on the machine that runs it")
    try:
        version = tensorrt_version()
    except LookupError as error:
        raise ExportError(f"{error}; {_REMEDY} on the machine that runs it") from None
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"{engine_stem(model, version, hardware(), flags)}{CONTEXT}"
    scratch = out.with_name(f".{out.name}.new")
    given = options(_TENSORRT, input_ranges(model, limits), None) | {f"trt_{flag}_enable": "1" for flag in flags}
    try:
        _have_written(onnxruntime, model, scratch, given)
        scratch.replace(out)
    finally:
        scratch.unlink(missing_ok=True)
    return out


def _have_written(onnxruntime: Any, model: Path, path: Path, given: dict[str, str]) -> None:
    """Start a session whose provider writes the file; ExportError where it does not."""
    settings = onnxruntime.SessionOptions()
    settings.add_session_config_entry("ep.context_enable", "1")
    settings.add_session_config_entry("ep.context_file_path", str(path))
    settings.add_session_config_entry("ep.context_embed_mode", "1")
    try:
        session = onnxruntime.InferenceSession(str(model), settings, providers=[(_TENSORRT, given), NAMES["cpu"]])
    except Exception as error:  # onnxruntime's errors have no base of their own
        raise ExportError(f"{model}: ONNX Runtime built no engine: {error}") from error
    running = session.get_providers()
    if not running or running[0] != _TENSORRT or not path.is_file():
        fallen = running[0] if running else "nothing"
        raise ExportError(f"{model}: ONNX Runtime fell back to {fallen}; no engine was built")


def _sizes(model: Path, name: str, axis: str | int, limits: Limits) -> tuple[int, int, int]:
    if isinstance(axis, int) and axis > 0:
        return axis, axis, axis
    if axis in _BATCH_AXES:
        return 1, 1, limits.batch
    if axis == _PHRASES:
        return 1, 1, MAX_PHRASES
    if axis in _TOKEN_AXES:
        return 1, min(limits.usual_tokens, limits.tokens), limits.tokens
    raise ExportError(
        f"{model}: input {name} has the dynamic axis {axis!r}; engines know batch, tokens and phrases alone"
    )


def _add_profile(builder: Any, config: Any, ranges: Mapping[str, InputRange], model: Path) -> None:
    profile = builder.create_optimization_profile()
    for name, each in ranges.items():
        profile.set_shape(name, each.smallest, each.usual, each.largest)
    if config.add_optimization_profile(profile) < 0:
        raise ExportError(f"{model}: TensorRT refuses the shapes {dict(ranges)}")


def _timing_cache(config: Any, path: Path | None) -> Any:
    if path is None:
        return None
    cache = config.create_timing_cache(path.read_bytes() if path.is_file() else b"")
    config.set_timing_cache(cache, False)
    return cache


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.new")
    scratch.write_bytes(content)
    scratch.replace(path)


def _import_tensorrt() -> Any:
    try:
        import tensorrt
    except ImportError as error:
        raise ExportError(f"tensorrt is not installed ({error}); {_REMEDY}") from error
    return tensorrt
