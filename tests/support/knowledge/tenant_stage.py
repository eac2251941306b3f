"""A server of several tenants on real sockets, with real stores behind models that know a picture by its colour."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from quizglass_bundle.tuning import EvidenceLimits, Thresholds
from quizglass_server.knowledge.sources.guarded import KnowledgeSources
from quizglass_server.network.permissions import Permission
from quizglass_server.network.tokens import TokenFile, made
from quizglass_server.roles.image_encoder import IMAGE_ENCODER
from quizglass_server.roles.load import RoleStatus
from quizglass_server.roles.text_encoder import TEXT_ENCODER
from quizglass_server.scheduling.admission import Admission
from quizglass_server.scheduling.costs import StepCosts
from quizglass_server.stores import ServerParts, opened_stores, tenant_stores
from quizglass_server.web.routes import open_listener
from tests.support.knowledge.fakes import FakeTextEncoder
from tests.support.knowledge.memory_stage import Eyes
from tests.support.rpc_fakes import Stage, serve_stage
from tests.support.tls import following
from tests.support.turn_fakes import Models
from tests.support.web import WebStage


class TenantModels(Models):
    """Dummies, as a server has them loaded."""

    elsewhere: tuple[str, ...] = ()

    def statuses(self) -> Sequence[RoleStatus]:
        return ()

    def on_change(self, told: Callable[[], None]) -> None:
        """Nothing changes."""


class TenantStage(Stage):
    """A server on dummies, whose stores are real. Tokens are of `tenants`, and one is of none: "own"."""

    def __init__(self, folder: Path, tenants: Sequence[str], **settings: Any) -> None:
        file = TokenFile(folder / "tokens.json")
        self.tokens = {name: self._token(file, name) for name in ("own", *tenants)}
        self.folder, self.file = folder, file
        given = {"memory_directory": folder / "memory", "tenants": folder / "tenants", "web_port": 0}
        super().__init__(folder, **{"knowledge": folder / "knowledge", "tokens": file.path, **given, **settings})

    @staticmethod
    def _token(file: TokenFile, name: str) -> str:
        text, record = made(name, Permission, None, "" if name == "own" else name)
        file.add(record)
        return text

    async def open(self, stack: AsyncExitStack) -> None:
        """Open what is always open, as a server does."""
        models, was, settings = TenantModels(), self.services, self.services.settings
        models[IMAGE_ENCODER], models[TEXT_ENCODER] = Eyes(), FakeTextEncoder()  # type: ignore[assignment]
        about = {"name": "dummies", "version": "1", "abstain": "I don't know", "languages": ("en",)}
        limits = {"evidence": EvidenceLimits(), "thresholds": Thresholds(image_accept=0.6)}
        manifest = SimpleNamespace(**about, **limits)
        bundle: Any = SimpleNamespace(manifest=manifest, has=lambda part: True, answers="write")
        admission = Admission(settings.max_turns, settings.queue, tenants=True)
        parts = ServerParts(models, bundle, self.decoder, was.work, admission, StepCosts(), KnowledgeSources())  # type: ignore[arg-type]
        services = await opened_stores(parts, settings, was.sealer, stack)
        opening = lambda name: tenant_stores(parts, services, name)  # noqa: E731
        self.services = replace(services, network=was.network, tenant=opening)


@asynccontextmanager
async def tenants_serving(folder: Path, *tenants: str, **settings: Any) -> AsyncIterator[tuple[TenantStage, WebStage]]:
    """A server of these tenants on the test's own event loop, over gRPC and HTTP."""
    async with AsyncExitStack() as stack:
        stage = TenantStage(folder, tenants, **settings)
        await stage.open(stack)
        await stack.enter_async_context(following(stage.services.network))
        await stack.enter_async_context(serve_stage(stage))
        assert stage.rpc is not None
        web = await open_listener(stage.services, stage.rpc, stage.services.settings)
        stack.push_async_callback(web.stop, 0)
        yield stage, WebStage(stage, web)
