"""Opens what is kept for a tenant, and puts it together with what all tenants share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from quizglass_bundle.files import Bundle
from quizglass_bundle.tuning import Tuning
from quizglass_server.assistant.assistant import Assistant
from quizglass_server.assistant.turn.resources import Resources
from quizglass_server.config.load import Settings
from quizglass_server.decoding.decoder import PictureDecoder
from quizglass_server.knowledge.backends import open_knowledge
from quizglass_server.knowledge.interface import KnowledgeStore
from quizglass_server.knowledge.keypoints import EntryKeypoints
from quizglass_server.knowledge.memory import SightingMemory
from quizglass_server.knowledge.pictures import EntryPictures
from quizglass_server.knowledge.shared import WithShared
from quizglass_server.knowledge.sources.guarded import KnowledgeSources
from quizglass_server.roles.image_encoder import IMAGE_ENCODER
from quizglass_server.roles.load import LoadedModels
from quizglass_server.roles.text_encoder import TEXT_ENCODER
from quizglass_server.rpc.server import Services
from quizglass_server.scheduling.admission import Admission
from quizglass_server.scheduling.costs import StepCosts
from quizglass_server.scheduling.memory import WorkMemory
from quizglass_server.session.dialogue.token import DialogueSealer


@dataclass(frozen=True, slots=True)
class ServerParts:
    """What all tenants share. Nothing of a request is kept in it but under its owner (`Client.owner`)."""

    models: LoadedModels
    bundle: Bundle
    decoder: PictureDecoder
    work: WorkMemory
    admission: Admission
    costs: StepCosts
    sources: KnowledgeSources


async def opened_stores(
    parts: ServerParts,
    settings: Settings,
    sealer: DialogueSealer,
    stack: AsyncExitStack,
    shared: KnowledgeStore | None = None,
) -> Services:
    """The services over the stores that the settings name; `stack` closes these.

    Args:
        parts: what all tenants share.
        settings: of the server, or with the directories of a tenant.
        sealer: of the tenant's dialogues.
        stack: closes what is opened.
        shared: knowledge that is found beside the tenant's own, and is not changed; None: there is none.

    Raises:
        KnowledgeLocked, KnowledgeFailed, KnowledgeLost, SettingsError: a store cannot be used.
    """
    models, decoder = parts.models, parts.decoder
    text, image = models[TEXT_ENCODER], models[IMAGE_ENCODER]
    knowledge = await open_knowledge(settings, text_encoder=text, image_encoder=image, decode=decoder.decode)
    stack.push_async_callback(knowledge.close)
    both = None if shared is None else WithShared(knowledge, shared)
    pictures = EntryPictures(both or knowledge, decoder.decode)
    keypoints = EntryKeypoints(pictures)
    for let_go in (pictures.let_go, keypoints.let_go):
        parts.work.keepers.append(let_go)
        stack.callback(parts.work.keepers.remove, let_go)
    memory = None
    if settings.memory_directory is not None:
        # Of all tenants' turns: what is written slows them all down.
        busy = lambda: parts.admission.running > 0  # noqa: E731
        memory = await SightingMemory.open(
            settings.memory_directory, settings, text_encoder=text, image_encoder=image, busy=busy
        )
        stack.push_async_callback(memory.close)
    made_for = models, both or knowledge, tuning(parts.bundle), memory, pictures, keypoints, parts.sources, parts.costs
    resources = Resources(*made_for)
    has = parts.sources.beside(parts.bundle.has)
    assistant = Assistant(resources, settings.default_policy, parts.admission, has)
    made = (assistant, knowledge, models, parts.bundle, settings, decoder, parts.work, sealer, memory)
    return Services(*made, sources=parts.sources, shared=both)


@asynccontextmanager
async def tenant_stores(parts: ServerParts, own: Services, name: str) -> AsyncIterator[Services]:
    """The services over the stores of a tenant, for the block; its directory is made where there is none.

    Args:
        parts: what all tenants share.
        own: the services of the server's own tenant.
        name: the tenant's.

    Raises:
        KnowledgeLocked, KnowledgeFailed: a store cannot be used.
    """
    settings = own.settings
    assert settings.tenants is not None
    directory = settings.tenants / name
    memory = None if settings.memory_directory is None else directory / "memory"
    its = settings.model_copy(update={"knowledge": directory / "knowledge", "memory_directory": memory})
    shared = own.knowledge if settings.share_knowledge else None
    async with AsyncExitStack() as stack:
        yield await opened_stores(parts, its, own.sealer.of_tenant(name), stack, shared)


def tuning(bundle: Bundle) -> Tuning:
    """The bundle's settings for evidence: how much is shown, and which thresholds it has to reach."""
    manifest = bundle.manifest
    return Tuning.of(manifest.evidence, manifest.thresholds, manifest.abstain, manifest.languages)
