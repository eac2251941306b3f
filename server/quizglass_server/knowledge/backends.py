"""Opens the knowledge store that the settings name."""

from __future__ import annotations

from pathlib import Path

from quizglass_server.config.settings import KnowledgeOptions
from quizglass_server.config.token_file import token_of
from quizglass_server.knowledge.base import KnowledgeBase
from quizglass_server.knowledge.ingest.drafts import Decode
from quizglass_server.knowledge.interface import KnowledgeStore
from quizglass_server.roles.image_encoder import ImageEncoder
from quizglass_server.roles.text_encoder import TextEncoder


async def open_knowledge(
    options: KnowledgeOptions,
    *,
    text_encoder: TextEncoder | None,
    image_encoder: ImageEncoder | None,
    decode: Decode,
) -> KnowledgeStore:
    """Open a knowledge store; Milvus and what it needs are loaded only when it is chosen.

    Raises:
        SettingsError: the extra of the backend is not installed, or the token cannot be read.
        KnowledgeLocked, KnowledgeFailed, KnowledgeLost: it cannot be used.
    """
    where = options.knowledge
    if isinstance(where, Path):
        return await KnowledgeBase.open(where, text_encoder=text_encoder, image_encoder=image_encoder, decode=decode)
    from quizglass_server.knowledge.milvus.base import MilvusKnowledge
    from quizglass_server.knowledge.milvus.link import MilvusAccess

    return await MilvusKnowledge.open(
        MilvusAccess(
            where,
            token_of(options.knowledge_token_file, "knowledge_token_file", ": user:password or a key"),
            options.knowledge_timeout_s,
        ),
        name=options.knowledge_collections,
        text_encoder=text_encoder,
        image_encoder=image_encoder,
        decode=decode,
    )
