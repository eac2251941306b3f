"""What a caller needs to be allowed, for every call and every path: the one table of both listeners."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fnmatch import fnmatchcase


class Permission(StrEnum):
    """What a token allows."""

    ASK = "ask"
    """Ask questions, alone and in sessions."""
    READ = "read"
    """Read and search the knowledge."""
    WRITE = "write"
    """Add, replace and delete entries."""
    MEMORY = "memory"
    """Have turns remembered, and search, recall and erase what was."""
    OPERATE = "operate"
    """Compact stores, see how large they are, pair devices, and watch the server: its metrics and settings."""


Needs = frozenset[Permission] | None
"""One of these is enough; None: no token is needed."""

_PUBLIC: Needs = None
_ANY = frozenset(Permission)
_ASK, _READ, _WRITE = frozenset({Permission.ASK}), frozenset({Permission.READ}), frozenset({Permission.WRITE})
_MEMORY, _OPERATE = frozenset({Permission.MEMORY}), frozenset({Permission.OPERATE})

TABLE: Mapping[str, Needs] = {
    "/quizglass.v1.AssistantService/Ask": _ASK,
    "/quizglass.v1.AssistantService/GetCapabilities": _ANY,
    "/quizglass.v1.SessionService/Converse": _ASK,
    "/quizglass.v1.SessionService/Attach": _ASK,
    "/quizglass.v1.SessionService/Send": _ASK,
    "/quizglass.v1.KnowledgeService/AddEntries": _WRITE,
    "/quizglass.v1.KnowledgeService/DeleteEntry": _WRITE,
    "/quizglass.v1.KnowledgeService/GetEntry": _READ,
    "/quizglass.v1.KnowledgeService/ListEntries": _READ,
    "/quizglass.v1.KnowledgeService/SearchEntries": _READ,
    # Whoever asks is shown evidence, which names its pictures by their hashes.
    "/quizglass.v1.KnowledgeService/GetPicture": _READ | _ASK,
    "/quizglass.v1.KnowledgeService/CompactEntries": _OPERATE,
    "/quizglass.v1.MemoryService/SearchMemory": _MEMORY,
    "/quizglass.v1.MemoryService/GetThumbnail": _MEMORY,
    "/quizglass.v1.MemoryService/ForgetMemory": _MEMORY,
    # Nothing is erased from the files before that.
    "/quizglass.v1.MemoryService/CompactMemory": _MEMORY | _OPERATE,
    "/quizglass.v1.MemoryService/GetMemoryStats": _MEMORY | _OPERATE,
    "/quizglass.v1.PairingService/CreatePairing": _OPERATE,
    # Whoever has no token yet shows a code instead.
    "/quizglass.v1.PairingService/RedeemPairing": _PUBLIC,
    "/grpc.health.v1.Health/*": _PUBLIC,
    "/grpc.reflection.v1alpha.ServerReflection/*": _ANY,
    "/v1/chat/completions": _ASK,
    "/v1/audio/transcriptions": _ASK,
    "/v1/audio/speech": _ASK,
    "/v1/models": _ANY,
    "/v1/models/*": _ANY,
    "/health": _PUBLIC,
    "/healthz": _PUBLIC,
    "/ready": _PUBLIC,
    "/readyz": _PUBLIC,
    "/livez": _PUBLIC,
    "/metrics": _OPERATE,
    "/config": _OPERATE,
    "/turns": _OPERATE,
    # The page has to be there before anyone can log in on it; it holds nothing of this server's.
    "/": _PUBLIC,
    "/*.js": _PUBLIC,
    "/*.css": _PUBLIC,
    "/*.svg": _PUBLIC,
    "/samples/*": _PUBLIC,
}
"""By path of a call or a request; `*` stands for anything."""


def needs(path: str) -> Needs:
    """What a caller needs for a path.

    Raises:
        LookupError: the table has no line for it. What is not in the table is not served.
    """
    if path in TABLE:
        return TABLE[path]
    for pattern, needed in TABLE.items():
        if "*" in pattern and fnmatchcase(path, pattern):
            return needed
    raise LookupError(f"{path} has no line in the table of permissions")
