"""All roles in one place: what a manifest may say of each, and the models that fill them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field, model_validator

from quizglass_bundle.fields import ManifestPart
from quizglass_server.models.loading import Asked, RoleKey, RolePart
from quizglass_server.roles.coarse_reranker import CoarseRerankerPart
from quizglass_server.roles.decider import NAMED, Decider, DeciderPart
from quizglass_server.roles.detector import DetectorPart
from quizglass_server.roles.domain_router import DomainRouterPart
from quizglass_server.roles.generator import GENERATOR, GeneratorPart
from quizglass_server.roles.image_encoder import ImageEncoderPart
from quizglass_server.roles.reader import ReaderPart
from quizglass_server.roles.reranker import RerankerPart
from quizglass_server.roles.speech import HearingPart, VoicePart
from quizglass_server.roles.tagger import TaggerPart
from quizglass_server.roles.text_encoder import TextEncoderPart

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


def nested(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Roles by their names as a manifest has them: those named `deciders.NAME` under `deciders`."""
    further = {name.removeprefix(DECIDERS): part for name, part in parts.items() if name.startswith(DECIDERS)}
    single = {name: part for name, part in parts.items() if not name.startswith(DECIDERS)}
    return single | ({"deciders": further} if further else {})


@dataclass(slots=True)
class Models:
    """The models of a bundle.

    `models[TAGGER]` is what fills the role of that name, with the type that its own file gives it, and None where
    nothing does.
    """

    deciders: dict[str, Decider] = field(default_factory=dict)
    """Planner, tool router and verifier by these names, and every further one by its own."""
    others: dict[str, Any] = field(default_factory=dict)
    """Models of every other role, by the role's name."""

    def __getitem__(self, role: RoleKey[Asked]) -> Asked | None:
        """The model of a role."""
        return self.others.get(role.name)

    def __setitem__(self, role: RoleKey[Asked], model: Asked | None) -> None:
        """Fill a role."""
        self.put(role.name, model)

    def get(self, role: str) -> object | None:
        """The model of a role, such as `deciders.act`; a part of one, `generator.prompts.plan`, counts as the role."""
        if _decides(role):
            return self.deciders.get(role.removeprefix(DECIDERS))
        return self.others.get(role.partition(".")[0])

    def has(self, part: str) -> bool:
        """Whether a role has a model; a part of one, such as `generator.prompts.plan`, counts as the role."""
        return self.get(part) is not None

    def put(self, role: str, model: Any) -> None:
        """Fill a role by its name."""
        (self.deciders if _decides(role) else self.others)[role.removeprefix(DECIDERS)] = model

    def prompts_name(self, value: str) -> bool:
        """Whether a prompt of the generator or of a decider shows a value of this name."""
        generator = self[GENERATOR]
        if generator is not None and value in generator.needs:
            return True
        return any(value in decider.needs for decider in self.deciders.values())


def _decides(role: str) -> bool:
    return role in NAMED or role.startswith(DECIDERS)
