"""The schema of a bundle's `manifest.json`, format 1.

Unknown keys are refused, so that a typing mistake never passes as a default. What it says of a role is that role's own
(`roles`); reading and hashing are `files`'.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from quizglass_server.models.fields import Count, FileName, ManifestPart, files_of
from quizglass_server.roles.table import Roles

FORMAT = 1


class FileEntry(ManifestPart):
    """What a file must be: its SHA-256 in hex and its size in bytes."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    bytes: Annotated[int, Field(ge=0)]


class CertaintyLine(ManifestPart):
    """A draft is certain where `p_min` x its least and `p_mean` x its mean token probability are at least `least`."""

    p_min: Annotated[float, Field(ge=0)]
    p_mean: Annotated[float, Field(ge=0)]
    least: float


class Thresholds(ManifestPart):
    """Scores below which evidence is dropped: cosine for pictures, probability of "yes" for reranking, cosine of the
    coarse reranker, probability of a detector's box. `p_min` and `p_mean`, of a draft's tokens, say when it is certain.
    """

    image_accept: float = 0.0
    rerank_accept: float = 0.0
    coarse_accept: float = -1.0
    detect_accept: Annotated[float, Field(ge=0, le=1)] = 0.3
    p_min: Annotated[float, Field(ge=0, le=1)] | None = None
    p_mean: Annotated[float, Field(ge=0, le=1)] | None = None
    line: CertaintyLine | None = None
    """Over both, as QA-Dragon's verifier has it; besides the two bounds."""
    support_accept: Annotated[float, Field(ge=0, le=1)] | None = None
    """Probability of "supported" below which a verifier doubts; None: where another label is likelier."""


Share = Annotated[float, Field(gt=0, le=1)]
Shares = Annotated[tuple[Share, ...], Field(min_length=1, max_length=3)]


class ViewWidths(ManifestPart):
    """Which parts of a picture are searched for: widths as shares of the picture's.

    `placed`: of a question that names a place, each cut there. `unplaced`: of any other; a width below 1 is cut left,
    in the middle and right.
    """

    placed: Shares = (0.5,)
    unplaced: Shares = (1.0,)


class EvidenceLimits(ManifestPart):
    """How evidence is looked for, and how many pieces are fetched and shown to the generator."""

    seen: Count = 1
    found: Count = 2
    text_candidates: Count = 8
    coarse_candidates: Count | None = None
    """Of the text candidates, how many the coarse reranker leaves to the fine one; None: all."""
    links: Annotated[int, Field(ge=0, le=20)] = 0
    """Passages that the names in a query and in the best passages bring where no passage answers."""
    image_candidates: Count = 5
    views: ViewWidths = ViewWidths()
    boxes: Count = 2
    """How many of a detector's boxes are searched for, instead of the views."""
    box_step: Annotated[float, Field(ge=0, le=2)] = 0.0
    """By how much cosine what a box finds goes behind what the likelier one before it does."""
    kind_bonus: Annotated[float, Field(ge=0, le=2)] = 0.0
    judged: bool = True
    """Whether the verifier judges every answer, and not those alone whose policy asks it."""
    rounds: Annotated[int, Field(ge=1, le=10)] = 3
    """Most rounds of a policy whose paper leaves no other number: CogPlanner's 3."""
    own_passages: Annotated[int, Field(ge=0, le=20)] = 0
    """Of each entry seen in the picture, how many passages of its own stand behind its caption."""


class Manifest(ManifestPart):
    """The whole of `manifest.json`."""

    format: Literal[1]
    name: str
    version: str
    roles: Roles
    thresholds: Thresholds = Thresholds()
    abstain: Annotated[str, Field(min_length=1)]
    evidence: EvidenceLimits = EvidenceLimits()
    files: dict[FileName, FileEntry]
    parity: FileName
    provenance: dict[str, Any]

    def references(self) -> Iterator[tuple[str, str]]:
        """(key, file name) of every place where the manifest names a file, `files` itself apart."""
        yield "parity", self.parity
        yield from ((f"roles.{key}", name) for key, name in files_of(self.roles))
