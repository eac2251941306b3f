"""The schema of a recipe, format 1: which checkpoint fills which role, how precisely, compared on what.

Unknown keys are refused. Paths are relative to the recipe's own directory. What is said of a role is declared in the
role's own file in `roles`, of the same name as on the server, whose list of roles is that of recipes too. Reading the
file is `read`'s.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, create_model, model_validator

from quizglass_bundle import manifest
from quizglass_bundle.fields import Count, ManifestPart
from quizglass_bundle.inputs.prompts import GENERAL_PROMPTS
from quizglass_bundle.languages import DEFAULT_LANGUAGES, Languages
from quizglass_bundle.parts import NAMED
from quizglass_bundle.tuning import EvidenceLimits, Thresholds, check_answers
from quizglass_export.roles import decider
from quizglass_export.roles.shared.entry import Demands

FORMAT = 1


class RoleEntries(ManifestPart):
    """What a recipe says of its roles: of one at least."""

    if TYPE_CHECKING:
        deciders: dict[str, Any]

    @model_validator(mode="after")
    def _any(self) -> RoleEntries:
        if not self.named():
            raise ValueError(f"name at least one of {', '.join(type(self).model_fields)}")
        return self

    def named(self) -> tuple[str, ...]:
        """Names of the roles that the recipe has, in the format's order, then `deciders.NAME`."""
        single = [role for role in type(self).model_fields if role != "deciders"]
        present = [role for role in single if getattr(self, role) is not None]
        return (*present, *(manifest.DECIDERS + name for name in self.deciders))

    def spec(self, role: str) -> Any:
        """What the recipe says of a role by its name; None if nothing."""
        if role.startswith(manifest.DECIDERS):
            return self.deciders.get(role.removeprefix(manifest.DECIDERS))
        return getattr(self, role)


def _field(role: str) -> Any:
    """Type and default of a role's key: what its file calls `ENTRY`."""
    if role == "deciders":
        return dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], decider.Decider], Field(default_factory=dict)
    if role in NAMED:
        return (decider.Planner if role == "planner" else decider.Decider) | None, None
    return import_module(f"quizglass_export.roles.{role}").ENTRY | None, None


if TYPE_CHECKING:
    Roles = RoleEntries
else:
    Roles = create_model("Roles", __base__=RoleEntries, **{role: _field(role) for role in manifest.Roles.model_fields})


class Samples(ManifestPart):
    """What exported models are compared and calibrated on."""

    source: Literal["general", "random"] = "general"
    count: Annotated[int, Field(ge=2)] = 160
    generated: Count = 80
    """How many of them the generator answers."""
    batches: Annotated[tuple[Count, ...], Field(min_length=1)] = (8,)
    """Sizes of the padded batches in which they are compared, besides one at a time."""


class Comparison(ManifestPart):
    """How `precision = "quickest"` compares the precisions of a role."""

    samples: Count = 2000
    """Most samples that each of them is run on, one at a time, as every decider of a shared graph reads them."""
    seconds: Annotated[float, Field(gt=0)] = 300
    """After which it goes by those that were run, at least seven for each decider."""


class Recipe(ManifestPart):
    """The whole of a recipe."""

    format: Literal[1]
    name: Annotated[str, Field(min_length=1)]
    version: Annotated[str, Field(min_length=1)]
    abstain: Annotated[str, Field(min_length=1)] = "I don't know"
    languages: Languages = DEFAULT_LANGUAGES
    """As the manifest has them: those that questions are answered in."""
    prompts: Literal["general"] | Path | None = None
    """Directory of templates, or "general": those for general instruction-tuned models. The generator has every task
    that one is named as. Default: the starter's, of which it has `GENERATOR_TEMPLATES`."""
    training: Path | None = None
    """A JSON file of facts about the training, copied into the provenance."""
    thresholds: Thresholds = Thresholds()
    evidence: EvidenceLimits = EvidenceLimits()
    samples: Samples = Samples()
    quickest: Comparison = Comparison()
    demands: Demands = Demands()
    threads: Count = 1
    """CPU threads for PyTorch and quantising."""
    roles: Roles

    @model_validator(mode="after")
    def _answers_can_be_given(self) -> Recipe:
        check_answers(self.evidence, self.thresholds)
        return self

    @model_validator(mode="before")
    @classmethod
    def _general_tasks(cls, data: Any) -> Any:
        """The general prompts are templates of every task."""
        return (
            with_tasks(data, GENERAL_PROMPTS) if isinstance(data, dict) and data.get("prompts") == "general" else data
        )


def with_tasks(data: Any, folder: Path) -> Any:
    """What a recipe says, whose generator has every task that the folder has a template for, named as the task.

    What the recipe itself says of a task goes before that.
    """
    match data:
        case {"roles": {"generator": dict() as generator, **roles}}:
            tasks = [path.stem for path in sorted(GENERAL_PROMPTS.glob("*.jinja")) if path.stem != "rerank"]
            there = {task: task for task in tasks if (folder / f"{task}.jinja").is_file()}
            if isinstance(own := generator.get("prompts", {}), dict):
                generator = {**generator, "prompts": there | own}
            return {**data, "roles": {**roles, "generator": generator}}
    return data
