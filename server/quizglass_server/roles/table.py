"""All roles in one place: what a manifest may say of each, and the models that fill them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from quizglass_bundle.manifest import DECIDERS
from quizglass_bundle.parts import (
    NAMED,
)
from quizglass_server.roles.decider import Decider
from quizglass_server.roles.generator import GENERATOR
from quizglass_server.roles.shared.loading import Asked, RoleKey


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
