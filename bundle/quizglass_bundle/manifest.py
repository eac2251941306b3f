"""The schema of a bundle's `manifest.json`, format 1.

Unknown keys are refused, so that a typing mistake never passes as a default. What it says of each role is in
`parts`, what it says of evidence and answers in `tuning`; `files` reads it and compares hashes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from quizglass_bundle.fields import FileName, ManifestPart, files_of
from quizglass_bundle.languages import DEFAULT_LANGUAGES, Languages
from quizglass_bundle.parts import (
    CoarseRerankerPart,
    DeciderPart,
    DetectorPart,
    DomainRouterPart,
    GeneratorPart,
    HearingPart,
    ImageEncoderPart,
    ReaderPart,
    RerankerPart,
    RolePart,
    TaggerPart,
    TextEncoderPart,
    VoicePart,
)
from quizglass_bundle.tuning import EvidenceLimits, Thresholds, check_answers

FORMAT = 1
DECIDERS = "deciders."
"""What names of further deciders begin with, where roles are named."""
Deciders = dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], DeciderPart]


class Roles(ManifestPart):
    """The `roles` of a manifest, and the list of roles; one without a model is None."""

    planner: DeciderPart | None = None
    tool_router: DeciderPart | None = None
    domain_router: DomainRouterPart | None = None
    coarse_reranker: CoarseRerankerPart | None = None
    reranker: RerankerPart | None = None
    verifier: DeciderPart | None = None
    detector: DetectorPart | None = None
    image_encoder: ImageEncoderPart | None = None
    text_encoder: TextEncoderPart | None = None
    generator: GeneratorPart | None = None
    reader: ReaderPart | None = None
    tagger: TaggerPart | None = None
    hearing: HearingPart | None = None
    voice: VoicePart | None = None
    deciders: Deciders | None = None
    """Further ones, by names that policies decide by."""

    @model_validator(mode="after")
    def _names_are_free(self) -> Roles:
        if taken := sorted(type(self).model_fields.keys() & (self.deciders or {}).keys()):
            raise ValueError(f"deciders: {taken[0]} has a place of its own; give it as roles.{taken[0]}")
        return self

    def filled(self) -> Iterator[tuple[str, RolePart]]:
        """(name, settings) of every role that has a model, in the format's order, then `deciders.NAME`."""
        for role in type(self).model_fields:
            part = getattr(self, role)
            if isinstance(part, RolePart):
                yield role, part
        for name, decider in (self.deciders or {}).items():
            yield DECIDERS + name, decider

    def names(self) -> tuple[str, ...]:
        """Names of the roles that have a model, in the format's order."""
        return tuple(name for name, _ in self.filled())

    def part(self, role: str) -> RolePart | None:
        """Settings of a role by its name, such as `planner` or `deciders.act`; None if it has no model."""
        return dict(self.filled()).get(role)

    def has(self, path: str) -> bool:
        """Whether there is a role, such as `planner`, or a part of one, such as `generator.prompts.plan`."""
        place: object = self
        for name in path.split("."):
            place = place.get(name) if isinstance(place, Mapping) else getattr(place, name, None)
        return place is not None


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
    languages: Languages = DEFAULT_LANGUAGES
    """Those that questions are answered in; one in another is refused."""
    evidence: EvidenceLimits = EvidenceLimits()
    files: dict[FileName, FileEntry]
    parity: FileName
    provenance: dict[str, Any]

    @model_validator(mode="after")
    def _answers_can_be_given(self) -> Manifest:
        check_answers(self.evidence, self.thresholds)
        return self

    def references(self) -> Iterator[tuple[str, str]]:
        """(key, file name) of every place where the manifest names a file, `files` itself apart."""
        yield "parity", self.parity
        yield from ((f"roles.{key}", name) for key, name in files_of(self.roles))


def nested(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Roles by their names as a manifest has them: those named `deciders.NAME` under `deciders`."""
    further = {name.removeprefix(DECIDERS): part for name, part in parts.items() if name.startswith(DECIDERS)}
    single = {name: part for name, part in parts.items() if not name.startswith(DECIDERS)}
    return single | ({"deciders": further} if further else {})
