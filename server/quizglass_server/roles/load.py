"""Loads every model of a bundle, and says what runs where."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from quizglass_bundle.errors import BundleError
from quizglass_bundle.inputs.products import take_memory
from quizglass_bundle.manifest import Roles
from quizglass_bundle.parts import (
    CoarseRerankerPart,
    CrossEncoderPart,
    DetectorPart,
    DomainRouterPart,
    GeneratorPart,
    ImageEncoderPart,
    LinearDeciderPart,
    ReaderPart,
    RolePart,
    SpeechPart,
    TaggerPart,
    TextEncoderPart,
    TextScorer,
    VisionScorer,
)
from quizglass_bundle.weights import weight_files
from quizglass_server.config.settings import EngineOptions, GeneratorOptions, SpeechOptions
from quizglass_server.engines.generator.process.card import CardRoom, room
from quizglass_server.engines.generator.process.programs import find_program
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.prepared import card_bytes
from quizglass_server.engines.onnx.providers import NAMES, choose
from quizglass_server.engines.onnx.session import OnnxOptions, import_onnxruntime
from quizglass_server.errors import EngineFailed, SettingsError
from quizglass_server.roles.coarse_reranker import OnnxCoarseReranker
from quizglass_server.roles.decider import LinearDecider, TextDecider, VisionDecider
from quizglass_server.roles.detector import OnnxDetector
from quizglass_server.roles.domain_router import OnnxDomainRouter
from quizglass_server.roles.generator import GENERATOR, GeneratorBackend, LlamaGenerator
from quizglass_server.roles.image_encoder import OnnxImageEncoder
from quizglass_server.roles.reader import READER, RapidOcrReader
from quizglass_server.roles.reranker import RERANKER, OnnxCrossEncoder, OnnxReranker
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.shared.loading import Loading, ModelFiles
from quizglass_server.roles.speech import SpeechEngine, given_speech, speech_engine
from quizglass_server.roles.table import Models
from quizglass_server.roles.tagger import OnnxTagger
from quizglass_server.roles.text_encoder import OnnxTextEncoder
from quizglass_server.scheduling.cores import share_cores, usable_cores

logger = logging.getLogger(__name__)

_ONNX_RUNTIME = 700 << 20
"""Bytes that CUDA and ONNX Runtime take of a card beside the weights, about."""
_BY_PART: Mapping[type[RolePart], Callable[[Any, Loading], Any]] = {
    CoarseRerankerPart: OnnxCoarseReranker,
    CrossEncoderPart: OnnxCrossEncoder,
    DetectorPart: OnnxDetector,
    DomainRouterPart: OnnxDomainRouter,
    ImageEncoderPart: OnnxImageEncoder,
    TaggerPart: OnnxTagger,
    TextEncoderPart: OnnxTextEncoder,
}
"""Classes of the kinds of model whose class depends on the kind alone."""


@dataclass(frozen=True, slots=True)
class RoleStatus:
    """What a role's model runs on."""

    role: str
    engine: str
    """onnx, llama, openai, rapidocr, numpy or wyoming."""
    executor: str
    """cpu, cuda, tensorrt, tensorrt-engine for an engine built ahead of time, gpu where llama.cpp uses one, process for
    a speech server of this machine, or elsewhere for a generator or a speech server behind a network address."""
    ready: bool
    sees_pictures: bool
    """Whether the model is given pictures; a generator of text alone is not."""
    picture_side: int = 0
    """The longer side of the largest pictures it takes, in pixels; 0 where that does not matter."""
    notice: str = ""
    """Why it is slower than it could be, and what to do; empty when it is not."""
    program: str = ""
    """Which llama-server runs it on this machine, and where that comes from; empty for others."""


class FilledRoles(ModelFiles, Protocol):
    """A verified bundle: its files, and which roles they fill."""

    @property
    def roles(self) -> Roles:
        """What fills its roles."""
        ...


@dataclass(slots=True)
class LoadedModels(Models):
    """The models of a bundle, and what runs them."""

    pool: EnginePool = field(kw_only=True)
    parts: dict[str, RolePart] = field(kw_only=True)
    """Role to its settings, of the roles that are filled."""
    process: LlamaGenerator | None = field(default=None, kw_only=True)
    """The generator, where there is one: it runs in a process of its own."""
    speech: list[SpeechEngine] = field(default_factory=list, kw_only=True)
    """What recognises speech and what speaks, where there is something."""

    def statuses(self) -> tuple[RoleStatus, ...]:
        """What every filled role runs on, and whether it does right now."""
        return tuple(self._status(role, part) for role, part in self.parts.items())

    def on_change(self, told: Callable[[], None]) -> None:
        """Have `told` called whenever a role may have become ready or not."""
        if self.process is not None:
            self.process.on_change(told)
        for engine in self.speech:
            engine.on_change(told)

    async def load_rest(self) -> None:
        """Load what a server serves without, and requests wait for: the models that read printed words."""
        if (reader := self[READER]) is not None:
            with suppress(EngineFailed):  # which is logged, and told to whoever reads
                await reader.loaded()

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """Roles whose model is behind a network address."""
        return tuple(role for role in self.parts if getattr(self.get(role), "executor", "") == "elsewhere")

    async def close(self) -> None:
        """End the generator process, the speech servers and the engines' threads; running work ends first."""
        for engine in self.speech:
            await engine.close()
        if self.process is not None:
            await self.process.close()
        await asyncio.to_thread(self.pool.close)

    def _status(self, role: str, part: RolePart) -> RoleStatus:
        model: Any = self.get(role)
        side = max((max(size) for size in part.sizes()), default=0)
        ready, notice = getattr(model, "ready", True), getattr(model, "notice", "")
        program = model.program if isinstance(model, LlamaGenerator) else ""
        return RoleStatus(role, part.engine, model.executor, ready, part.sees_pictures, side, notice, program)


async def load_models(
    bundle: FilledRoles,
    engines: EngineOptions,
    generator: GeneratorOptions | None = None,
    elsewhere: GeneratorBackend | None = None,
    speech: SpeechOptions | None = None,
    *,
    beside: Callable[[], None] | None = None,
) -> LoadedModels:
    """Load what the bundle has.

    Args:
        bundle: what to load.
        engines: how the machine is shared between engines.
        generator: how the generator process is run.
        elsewhere: what runs the generator; None: a process of its own.
        speech: who recognises speech and who speaks.
        beside: runs on a thread while models are loaded; what it raises is raised here.

    Raises:
        BundleError: a file cannot be used; names it.
        EngineFailed: an engine is not installed (names the extra) or does not start.
        SettingsError: the provider is unknown or not available, the state directory cannot be used, or there is no such
            program.
    """
    speech = speech or SpeechOptions()
    shares = share_cores(usable_cores(), engines.threads)
    pool = EnginePool(shares.runs)
    take_memory()
    models = LoadedModels(pool=pool, parts=dict(bundle.roles.filled()) | given_speech(speech))
    how = OnnxOptions(
        shares.onnx,
        engines.provider,
        engines.engine_cache,
        memory=int(engines.gpu_memory * card_bytes(max(0, engines.gpu_device))),
        device=engines.gpu_device,
        float16=engines.tensorrt_fp16,
    )
    loading = Loading(bundle, pool, PictureFitter(engines.picture_cache_bytes // 8), how, shares.reading)
    try:
        part, there = bundle.roles.generator, None
        if part is not None and elsewhere is None:  # looked at before this process takes some of it
            there = await asyncio.to_thread(
                _card_room, list(models.parts.values()), bundle, engines, generator or GeneratorOptions()
            )
        async with asyncio.TaskGroup() as group:
            if part is not None:
                process = LlamaGenerator(part, bundle, loading.fitter, engines.threads, generator, elsewhere, there)
                models[GENERATOR] = models.process = process
                group.create_task(process.start())
            group.create_task(_load_here(models, loading))
            if beside is not None:
                group.create_task(asyncio.to_thread(beside))
        _begin_speech(models, speech)
    except BaseExceptionGroup as group_error:
        await models.close()
        raise group_error.exceptions[0] from None
    except BaseException:
        await models.close()
        raise
    for status in models.statuses():
        logger.info("model is loaded", extra=asdict(status))
    return models


def load_role(role: str, part: RolePart, loading: Loading) -> Any:
    """Load the model that fills a role in this process; generators and speech run in others.

    Raises:
        BundleError: a file is damaged, or does not fit the manifest or the role; names it.
        EngineFailed: an engine is not installed, or does not start.
    """
    match part:
        case VisionScorer():
            return VisionDecider(role, part, loading)
        case TextScorer():
            return OnnxReranker(part, loading) if role == RERANKER.name else TextDecider(role, part, loading)
        case LinearDeciderPart():
            return LinearDecider(role, part)
        case ReaderPart():
            detector = None if part.detector is None else loading.files.path(part.detector)
            return RapidOcrReader(loading.pool, part.gate, detector=detector, threads=loading.reading)
    if (model := _BY_PART.get(type(part))) is None:
        raise BundleError(f"roles.{role}.kind: {part.kind!r} is not run in this process")
    return model(part, loading)


async def _load_here(models: LoadedModels, loading: Loading) -> None:
    """Load the models of this process, off the event loop."""
    for role, part in models.parts.items():
        if not isinstance(part, GeneratorPart | SpeechPart):
            named = replace(loading, how=replace(loading.how, role=role))
            models.put(role, await models.pool.run(partial(load_role, role, part, named)))


def _begin_speech(models: LoadedModels, options: SpeechOptions) -> None:
    """Begin to look after what recognises speech and what speaks, which the server serves without."""
    for role, part in models.parts.items():
        if isinstance(part, SpeechPart):
            engine = speech_engine(part, options)
            models.put(role, engine)
            models.speech.append(engine)
            engine.start()


def _card_room(
    parts: Sequence[RolePart], files: ModelFiles, engines: EngineOptions, generator: GeneratorOptions
) -> CardRoom | None:
    """What a generator of this machine may take of its cards; None where its llama-server uses none.

    Raises:
        SettingsError: it lists no card of the number that is set.
    """
    try:
        program = find_program(generator.llama_server)
    except (EngineFailed, SettingsError):  # said by name when it is started
        return None
    reserved = _of_onnx_runtime(parts, files, engines.provider)
    return room(program, engines.gpu_memory, reserved, engines.gpu_device)


def _of_onnx_runtime(parts: Sequence[RolePart], files: ModelFiles, provider: str) -> int:
    """Bytes of the card that ONNX Runtime's models take, about; 0 where it runs them on the CPU."""
    try:
        runs = choose(provider, import_onnxruntime().get_available_providers())[0]
    except (EngineFailed, SettingsError):
        return 0
    graphs = {path for part in parts if part.engine == "onnx" for path in _graphs(part, files)}
    if runs == NAMES["cpu"] or not graphs:
        return 0
    # Graphs that have a file of weights in common are on the card with it each.
    return _ONNX_RUNTIME + sum(path.stat().st_size for graph in graphs for path in (graph, *weight_files(graph)))


def _graphs(part: RolePart, files: ModelFiles) -> Iterator[Path]:
    """Of a role."""
    names = [getattr(part, key, None) for key in ("model", "tower", "text_model", "packed")]
    grids = getattr(part, "grids", None) or ()
    for name in [*names, *(getattr(grid, key, None) for grid in grids for key in ("model", "tower"))]:
        if name is not None:
            yield files.path(name)
