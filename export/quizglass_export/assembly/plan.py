"""What a build will do: every source found and checked before the first step starts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quizglass_export.assembly.work import Work
from quizglass_export.checkpoints.peft_models import check_fit
from quizglass_export.checkpoints.source import GgufSource, Source
from quizglass_export.errors import ExportError
from quizglass_export.graphs.qwen_vl import VISION_CLASSES
from quizglass_export.parity import Check
from quizglass_export.recipe import schema
from quizglass_export.recipe.read import RecipeFile
from quizglass_export.roles import encoders as roles_encoders
from quizglass_export.roles import generator as roles_llama
from quizglass_export.roles import ready_gguf
from quizglass_export.roles import scorers as roles_onnx
from quizglass_export.roles import vision as roles_vision
from quizglass_export.roles.job import Exported, RoleJob
from quizglass_export.roles.samples import Sample
from quizglass_server.models.prompts import PromptError

SHARED_TOKENIZER = "tokenizer/tokenizer.json"
DEFAULT_PROMPTS = Path(__file__).parent.parent / "starter" / "prompts"
GENERAL_PROMPTS = Path(__file__).parent.parent / "prompts"
"""For general instruction-tuned models that speak ChatML: one for every task of every policy, named as the task."""


@dataclass(frozen=True, slots=True)
class Exporter:
    """How one role of one architecture is made.

    Attributes:
        prepare: checks inputs as far as they are known without weights; ExportError for what a build or the server
            would refuse.
        export: writes the role's files.
        check: compares them with their source.
        classes: transformers' model type to the name of its class; without those that have no checkpoint.
    """

    prepare: Callable[[RoleJob, Any], None]
    export: Callable[[RoleJob, Any], Exported]
    check: Callable[[RoleJob, Any, Any], list[Check]]
    classes: Mapping[str, str]


_VISION_SCORER = Exporter(
    roles_onnx.prepare_vision_scorer, roles_onnx.export_vision_scorer, roles_onnx.check_vision_scorer, VISION_CLASSES
)
_TEXT_SCORER = Exporter(
    roles_onnx.prepare_text_scorer,
    roles_onnx.export_text_scorer,
    roles_onnx.check_text_scorer,
    {"qwen3": "Qwen3ForCausalLM"},
)
_CROSS_ENCODER = Exporter(
    roles_encoders.prepare_cross_encoder,
    roles_encoders.export_cross_encoder,
    roles_encoders.check_cross_encoder,
    roles_encoders.CROSS_CLASSES,
)
_IMAGE_ENCODER = Exporter(
    roles_encoders.prepare_image_encoder,
    roles_encoders.export_image_encoder,
    roles_encoders.check_image_encoder,
    {kind: name for kind, (name, _) in roles_encoders.IMAGE_CLASSES.items()},
)
_TEXT_ENCODER = Exporter(
    roles_encoders.prepare_text_encoder,
    roles_encoders.export_text_encoder,
    roles_encoders.check_text_encoder,
    {kind: name for kind, (name, _) in roles_encoders.TEXT_CLASSES.items()},
)
_DOMAIN_ROUTER = Exporter(
    roles_vision.prepare_domain_router,
    roles_vision.export_domain_router,
    roles_vision.check_domain_router,
    roles_vision.Q_FORMER_CLASSES,
)
_COARSE_RERANKER = Exporter(
    roles_vision.prepare_coarse_reranker,
    roles_vision.export_coarse_reranker,
    roles_vision.check_coarse_reranker,
    roles_vision.Q_FORMER_CLASSES,
)
_DETECTOR = Exporter(
    roles_vision.prepare_detector,
    roles_vision.export_detector,
    roles_vision.check_detector,
    roles_vision.DETECTOR_CLASSES,
)
_GENERATOR = Exporter(
    roles_llama.prepare_generator,
    roles_llama.export_generator,
    roles_llama.check_generator,
    roles_llama.GENERATOR_CLASSES,
)
_READY = Exporter(ready_gguf.prepare_ready, ready_gguf.export_ready, ready_gguf.check_ready, {})


def _by_type(*exporters: Exporter) -> dict[str, Exporter]:
    return {kind: each for each in exporters for kind in each.classes}


EXPORTERS: dict[str, dict[str, Exporter]] = {
    "planner": _by_type(_VISION_SCORER),
    "tool_router": _by_type(_VISION_SCORER, _TEXT_SCORER),
    "domain_router": _by_type(_DOMAIN_ROUTER),
    "coarse_reranker": _by_type(_COARSE_RERANKER),
    "reranker": _by_type(_TEXT_SCORER, _CROSS_ENCODER),
    "verifier": _by_type(_VISION_SCORER, _TEXT_SCORER),
    "detector": _by_type(_DETECTOR),
    "image_encoder": _by_type(_IMAGE_ENCODER),
    "text_encoder": _by_type(_TEXT_ENCODER),
    "generator": _by_type(_GENERATOR) | {"gguf": _READY},
}
"""Role to transformers' model type to what exports it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked recipe.

    Attributes:
        file: the recipe.
        sources: the checkpoint of each role that has one.
        prompts: template name to file.
    """

    file: RecipeFile
    sources: Mapping[str, Source | GgufSource]
    prompts: Mapping[str, Path]

    def spec(self, role: str) -> Any:
        """The recipe's entry of a role."""
        return getattr(self.file.recipe.roles, role)

    def exporter(self, role: str) -> Exporter:
        """What exports a role."""
        return EXPORTERS[role][self.sources[role].model_type]

    def job(self, role: str, folder: Path, tokenizer: str, samples: Sequence[Sample]) -> RoleJob:
        """What a role's exporter works with; its files are below `folder`."""
        recipe = self.file.recipe
        return RoleJob(
            role=role,
            title=recipe.name,
            source=self.sources[role],
            folder=folder,
            tokenizer=tokenizer,
            prompts=self.prompts,
            samples=samples,
            batches=recipe.samples.batches,
            generated=recipe.samples.generated,
            demands=recipe.demands,
            threads=recipe.threads,
        )

    def tokenizers(self, work: Work) -> dict[str, tuple[Path, str]]:
        """Role to tokenizer file and its name in the bundle; equal files are stored once."""
        names: dict[str, tuple[Path, str]] = {}
        by_digest: dict[str, str] = {}
        for role, source in self.sources.items():
            if role == "image_encoder":
                continue
            file = source.tokenizer_file()
            name = by_digest.setdefault(work.digest(file), f"{role}/tokenizer.json" if names else SHARED_TOKENIZER)
            names[role] = (file, name)
        return names


def make_plan(file: RecipeFile) -> Plan:
    """Find and check everything that a recipe names, without reading weights.

    Raises:
        ExportError: a file is missing or of another architecture, or something is in it that a build or the server
            would refuse.
    """
    sources: dict[str, Source | GgufSource] = {}
    prompts: dict[str, Path] = {}
    folder = _prompt_folder(file)
    for role in EXPORTERS:
        spec = getattr(file.recipe.roles, role)
        if spec is None:
            continue
        source = _source(file, spec)
        source.check(role, tuple(kind for kind in EXPORTERS[role] if kind != "gguf"))
        sources[role] = source
        for name in _prompt_names(spec):
            prompts[name] = folder / f"{name}.jinja"
            if not prompts[name].is_file():
                raise ExportError(f"{prompts[name]}: missing; roles.{role} needs the prompt {name!r}")
    if file.recipe.training and not file.path(file.recipe.training).is_file():
        raise ExportError(f"{file.path(file.recipe.training)}: missing; correct the recipe's key training")
    plan = Plan(file, sources, prompts)
    for role in sources:
        _prepare(plan, role)
    return plan


def _prompt_folder(file: RecipeFile) -> Path:
    named = file.recipe.prompts
    if named is None:
        return DEFAULT_PROMPTS
    return GENERAL_PROMPTS if named == "general" else file.path(named)


def _prepare(plan: Plan, role: str) -> None:
    """Check a role's inputs, adapters among them; nothing is written, and no weights are read."""
    source, exporter = plan.sources[role], plan.exporter(role)
    try:
        exporter.prepare(plan.job(role, Path(), "", ()), plan.spec(role))
    except PromptError as error:
        raise ExportError(f"roles.{role}: {error}") from error
    if role != "image_encoder":
        source.tokenizer_file()
    if isinstance(source, Source) and source.adapters:
        bare = source.bare(exporter.classes[source.model_type])
        for folder, _ in source.adapters:
            check_fit(bare, folder)


def step_key(plan: Plan, role: str, work: Work, tokenizers: Mapping[str, tuple[Path, str]]) -> dict[str, Any]:
    """All that a role's files depend on, as JSON values."""
    recipe, spec = plan.file.recipe, plan.spec(role)
    tokenizer = tokenizers.get(role)
    return {
        "role": role,
        "title": recipe.name,
        "spec": json.loads(spec.model_dump_json(exclude={"checkpoint", "tokenizer", "adapters", "model", "projector"})),
        "weights": [weight for _, weight in plan.sources[role].adapters],
        "sources": [[path.name, work.digest(path)] for path in plan.sources[role].files()],
        "tokenizer": [work.digest(tokenizer[0]), tokenizer[1]] if tokenizer else None,
        "prompts": {name: work.digest(plan.prompts[name]) for name in _prompt_names(spec)},
        "samples": recipe.samples.model_dump(),
    }


def _source(file: RecipeFile, spec: Any) -> Source | GgufSource:
    if isinstance(spec, schema.Generator) and spec.model and spec.tokenizer:
        projector = file.path(spec.projector) if spec.projector else None
        return GgufSource(file.path(spec.model), projector, file.path(spec.tokenizer))
    tokenizer = getattr(spec, "tokenizer", None)
    return Source(
        folder=file.path(spec.checkpoint),
        adapters=tuple((file.path(adapter.path), adapter.weight) for adapter in spec.adapters),
        tokenizer=file.path(tokenizer) if tokenizer else None,
    )


def _prompt_names(spec: Any) -> list[str]:
    if isinstance(spec, schema.Generator):
        names = spec.prompts
        return [name for name in (names.answer, names.rewrite, names.plan) if name]
    return [spec.prompt] if isinstance(spec, schema.Scorer) else []
