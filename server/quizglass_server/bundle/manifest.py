"""The schema of a bundle's `manifest.json`, format 1.

Unknown keys are refused, so that a typing mistake never passes as a default. What it says of a role is that role's own
(`roles`), what it says of evidence the steps' (`steps/tuning.py`); reading and hashing are `files`'.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from quizglass_bundle.fields import FileName, ManifestPart, files_of
from quizglass_bundle.tuning import EvidenceLimits, Languages, Thresholds
from quizglass_server.roles.table import Roles

FORMAT = 1


class FileEntry(ManifestPart):
    """What a file must be: its SHA-256 in hex and its size in bytes."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    bytes: Annotated[int, Field(ge=0)]


class Manifest(ManifestPart):
    """The whole of `manifest.json`."""

    format: Literal[1]
    name: str
    version: str
    roles: Roles
    thresholds: Thresholds = Thresholds()
    abstain: Annotated[str, Field(min_length=1)]
    languages: Languages = ("en",)
    """Those that questions are answered in; one in another is refused."""
    evidence: EvidenceLimits = EvidenceLimits()
    files: dict[FileName, FileEntry]
    parity: FileName
    provenance: dict[str, Any]

    def references(self) -> Iterator[tuple[str, str]]:
        """(key, file name) of every place where the manifest names a file, `files` itself apart."""
        yield "parity", self.parity
        yield from ((f"roles.{key}", name) for key, name in files_of(self.roles))
