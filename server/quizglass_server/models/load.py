"""Loads every model of a bundle, and says what runs where."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from quizglass_server.bundle import Bundle
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.providers import AUTO
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.models.encoders import OnnxImageEncoder, OnnxTextEncoder
from quizglass_server.models.fitting import PictureFitter
from quizglass_server.models.generator import GeneratorOptions, LlamaGenerator
from quizglass_server.models.reader import RapidOcrReader
from quizglass_server.models.scorers import OnnxPlanner, OnnxReranker
from quizglass_server.scheduling.cores import CoreShares, share_cores, usable_cores


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How the machine is shared between engines."""

    threads: int = 0
    """Of each engine for one model run; 0: as `share_cores` decides."""
    provider: str = AUTO
    """ONNX Runtime's execution provider: auto, tensorrt, cuda or cpu."""
    workers: int = 0
    """ONNX models that may run at the same time; 0: as `share_cores` decides."""
    engine_cache: Path | None = None
    """Where TensorRT keeps the engines it builds."""
    generator: GeneratorOptions = field(default_factory=GeneratorOptions)
    """How the generator process is run."""

    @property
    def shares(self) -> CoreShares:
        """Threads of each engine, decided."""
        return share_cores(usable_cores(), self.threads, self.workers)


@dataclass(frozen=True, slots=True)
class RoleStatus:
    """What a role's model runs on."""

    role: str
    engine: str
    """onnx, llama or rapidocr."""
    executor: str
    """cpu, cuda, tensorrt, or gpu for a generator that llama.cpp has put on one."""
    ready: bool


@dataclass(slots=True)
class Models:
    """The models of a bundle; a role that the bundle does not fill is None."""

    pool: EnginePool
    planner: OnnxPlanner | None = None
    reranker: OnnxReranker | None = None
    image_encoder: OnnxImageEncoder | None = None
    text_encoder: OnnxTextEncoder | None = None
    generator: LlamaGenerator | None = None
    reader: RapidOcrReader | None = None
    engines: dict[str, str] = field(default_factory=dict)
    """Role to engine, of the roles that are filled."""

    def statuses(self) -> tuple[RoleStatus, ...]:
        """What every filled role runs on, and whether it does right now."""
        return tuple(self._status(role, engine) for role, engine in self.engines.items())

    def on_change(self, told: Callable[[], None]) -> None:
        """Have `told` called whenever a role may have become ready or not."""
        if self.generator is not None:
            self.generator.on_change(told)

    async def close(self) -> None:
        """End the generator process and the engines' threads; running work ends first."""
        if self.generator is not None:
            await self.generator.close()
        await asyncio.to_thread(self.pool.close)

    def _status(self, role: str, engine: str) -> RoleStatus:
        model = getattr(self, role)
        return RoleStatus(role, engine, model.executor, getattr(model, "ready", True))


async def load_models(bundle: Bundle, options: EngineOptions) -> Models:
    """Load what the bundle has.

    Raises:
        BundleError: a file cannot be used; names it.
        EngineFailed: an engine is not installed (names the extra) or does not start.
        SettingsError: the provider is unknown or not available, or the state directory cannot be used.
    """
    shares = options.shares
    pool = EnginePool(shares.runs)
    models = Models(pool)
    how = OnnxOptions(shares.onnx, options.provider, options.engine_cache)
    fitter = PictureFitter()
    try:
        async with asyncio.TaskGroup() as group:
            if bundle.has("generator"):
                models.generator = LlamaGenerator(bundle, fitter, shares.llama, options.generator)
                group.create_task(models.generator.start())
            group.create_task(_load_onnx(models, bundle, fitter, how))
    except BaseExceptionGroup as group_error:
        await models.close()
        raise group_error.exceptions[0] from None
    except BaseException:
        await models.close()
        raise
    served = [role for role in bundle.roles() if hasattr(models, role)]
    models.engines = {role: getattr(bundle.manifest.roles, role).engine for role in served}
    return models


async def _load_onnx(models: Models, bundle: Bundle, fitter: PictureFitter, how: OnnxOptions) -> None:
    """Load the models of this process, off the event loop."""
    pool = models.pool
    if bundle.has("planner"):
        models.planner = await pool.run(lambda: OnnxPlanner(bundle, pool, fitter, how))
    if bundle.has("reranker"):
        models.reranker = await pool.run(lambda: OnnxReranker(bundle, pool, how))
    if bundle.has("image_encoder"):
        models.image_encoder = await pool.run(lambda: OnnxImageEncoder(bundle, pool, fitter, how))
    if bundle.has("text_encoder"):
        models.text_encoder = await pool.run(lambda: OnnxTextEncoder(bundle, pool, how))
    if bundle.has("reader"):
        models.reader = await pool.run(lambda: RapidOcrReader(pool))
