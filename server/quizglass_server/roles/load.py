"""Loads every model of a bundle, and says what runs where."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from quizglass_server.bundle import manifest
from quizglass_server.bundle.files import Bundle
from quizglass_server.config.options import EngineOptions, GeneratorOptions
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.errors import BundleError
from quizglass_server.models.fitting import PictureFitter
from quizglass_server.roles.cross_encoder import OnnxCrossEncoder
from quizglass_server.roles.detector import OnnxDetector
from quizglass_server.roles.encoders import OnnxImageEncoder, OnnxTextEncoder
from quizglass_server.roles.generator import LlamaGenerator
from quizglass_server.roles.label_scorer import Loading
from quizglass_server.roles.q_former import OnnxCoarseReranker, OnnxDomainRouter
from quizglass_server.roles.reader import RapidOcrReader
from quizglass_server.roles.scorers import OnnxPlanner, OnnxReranker, OnnxToolRouter, OnnxVerifier
from quizglass_server.scheduling.cores import share_cores, usable_cores

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RoleStatus:
    """What a role's model runs on."""

    role: str
    engine: str
    """onnx, llama or rapidocr."""
    executor: str
    """cpu, cuda, tensorrt, tensorrt-engine for an engine built ahead of time, or gpu where llama.cpp uses one."""
    ready: bool
    sees_pictures: bool
    """Whether the model is given pictures; a generator of text alone is not."""
    picture_side: int = 0
    """The longer side of the largest pictures it takes, in pixels; 0 where that does not matter."""
    notice: str = ""
    """Why it is slower than it could be, and what to do; empty when it is not."""


@dataclass(slots=True)
class Models:
    """The models of a bundle; a role that the bundle does not fill is None."""

    pool: EnginePool
    planner: OnnxPlanner | None = None
    tool_router: OnnxToolRouter | None = None
    domain_router: OnnxDomainRouter | None = None
    coarse_reranker: OnnxCoarseReranker | None = None
    reranker: OnnxReranker | OnnxCrossEncoder | None = None
    verifier: OnnxVerifier | None = None
    detector: OnnxDetector | None = None
    image_encoder: OnnxImageEncoder | None = None
    text_encoder: OnnxTextEncoder | None = None
    generator: LlamaGenerator | None = None
    reader: RapidOcrReader | None = None
    parts: dict[str, manifest.Role] = field(default_factory=dict)
    """Role to its settings, of the roles that are filled."""

    def statuses(self) -> tuple[RoleStatus, ...]:
        """What every filled role runs on, and whether it does right now."""
        return tuple(self._status(role, part) for role, part in self.parts.items())

    def on_change(self, told: Callable[[], None]) -> None:
        """Have `told` called whenever a role may have become ready or not."""
        if self.generator is not None:
            self.generator.on_change(told)

    async def close(self) -> None:
        """End the generator process and the engines' threads; running work ends first."""
        if self.generator is not None:
            await self.generator.close()
        await asyncio.to_thread(self.pool.close)

    def _status(self, role: str, part: manifest.Role) -> RoleStatus:
        model = getattr(self, role)
        sizes = manifest.picture_sizes(part)
        sees, side = bool(sizes) or isinstance(part, manifest.Reader), max((max(size) for size in sizes), default=0)
        ready, notice = getattr(model, "ready", True), getattr(model, "notice", "")
        return RoleStatus(role, part.engine, model.executor, ready, sees, side, notice)


async def load_models(bundle: Bundle, engines: EngineOptions, generator: GeneratorOptions | None = None) -> Models:
    """Load what the bundle has.

    Args:
        bundle: what to load.
        engines: how the machine is shared between engines.
        generator: how the generator process is run.

    Raises:
        BundleError: a file cannot be used; names it.
        EngineFailed: an engine is not installed (names the extra) or does not start.
        SettingsError: the provider is unknown or not available, or the state directory cannot be used.
    """
    shares = share_cores(usable_cores(), engines.threads)
    pool = EnginePool(shares.runs)
    models = Models(pool)
    how = OnnxOptions(shares.onnx, engines.provider, engines.engine_cache)
    fitter = PictureFitter()
    try:
        async with asyncio.TaskGroup() as group:
            if bundle.has("generator"):
                models.generator = LlamaGenerator(bundle, fitter, shares.llama, generator)
                group.create_task(models.generator.start())
            group.create_task(_load_here(models, Loading(bundle, pool, fitter, how)))
    except BaseExceptionGroup as group_error:
        await models.close()
        raise group_error.exceptions[0] from None
    except BaseException:
        await models.close()
        raise
    models.parts = dict(bundle.manifest.roles.filled())
    for status in models.statuses():
        logger.info("model is loaded", extra=asdict(status))
    return models


async def _load_here(models: Models, loading: Loading) -> None:
    """Load the models of this process, off the event loop."""
    for role, part in loading.bundle.manifest.roles.filled():
        if not isinstance(part, manifest.Generator):
            setattr(models, role, await models.pool.run(partial(load_role, role, part, loading)))


def load_role(role: str, part: manifest.Role, loading: Loading) -> Any:
    """The model of a role that runs in this process, tried once.

    Raises:
        BundleError: a file cannot be used, or does not fit the manifest; names it.
        EngineFailed: an engine is not installed, or does not start.
    """
    bundle, pool, fitter, how = loading.bundle, loading.pool, loading.fitter, loading.how
    match part:
        case manifest.CrossEncoder():
            return OnnxCrossEncoder(bundle, part, pool, how)
        case manifest.QFormer():
            return OnnxCoarseReranker(bundle, part, pool, fitter, how)
        case manifest.QFormerClassifier():
            return OnnxDomainRouter(bundle, part, pool, fitter, how)
        case manifest.Detector():
            return OnnxDetector(bundle, part, pool, fitter, how)
        case manifest.ImageEncoder():
            return OnnxImageEncoder(bundle, pool, fitter, how)
        case manifest.TextEncoder():
            return OnnxTextEncoder(bundle, pool, how)
        case manifest.Reader():
            return RapidOcrReader(pool, part.gate)
        case manifest.VisionScorer() | manifest.TextScorer():
            scorers: dict[str, Callable[[], Any]] = {
                "planner": lambda: OnnxPlanner(bundle, pool, fitter, how),
                "tool_router": lambda: OnnxToolRouter(part, loading),
                "verifier": lambda: OnnxVerifier(part, loading),
                "reranker": lambda: OnnxReranker(bundle, pool, how),
            }
            return scorers[role]()
    raise BundleError(f"roles.{role}.kind: {part.kind!r} is not run in this process")
