"""Opens the knowledge store that the settings name."""

from __future__ import annotations

from pathlib import Path

from quizglass_server.config.options import KnowledgeOptions
from quizglass_server.errors import SettingsError
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
        MilvusAccess(where, _token(options.knowledge_token_file), options.knowledge_timeout_s),
        name=options.knowledge_collections,
        text_encoder=text_encoder,
        image_encoder=image_encoder,
        decode=decode,
    )


def _token(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        token = file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SettingsError(f"knowledge_token_file: {file}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"knowledge_token_file: {file}: is not text") from error
    if not token or len(token.split()) != 1:
        raise SettingsError(f"knowledge_token_file: {file}: holds no token, which is one word: user:password or a key")
    return token
