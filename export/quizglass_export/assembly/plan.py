"""What a build will do: every source found and checked before the first step starts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from quizglass_bundle.errors import BundleError
from quizglass_bundle.inputs.prompts import GENERAL_PROMPTS, PromptError, PromptTemplate
from quizglass_bundle.manifest import DECIDERS
from quizglass_bundle.parts import NAMED, LinearDeciderPart
from quizglass_export.assembly.work import Work
from quizglass_export.checkpoints.files import TOKENIZER, read_json
from quizglass_export.checkpoints.peft_models import check_fit
from quizglass_export.checkpoints.source import AnySource, GgufSource, LibrarySource, OnnxSource, Source
from quizglass_export.checks import QUICKEST, Precision
from quizglass_export.errors import ExportError, reason
from quizglass_export.recipe import schema
from quizglass_export.recipe.read import RecipeFile
from quizglass_export.roles import decider
from quizglass_export.roles.decider import LinearDecider, SharingDecider
from quizglass_export.roles.generator import Generator
from quizglass_export.roles.image_encoder import LibraryImageEncoder
from quizglass_export.roles.reader import Reader, reader_source
from quizglass_export.roles.reranker import CLASSES as CROSS_ENCODERS
from quizglass_export.roles.shared.entry import ReadyOnnx, Scorer
from quizglass_export.roles.shared.job import Exporter, RoleJob
from quizglass_export.roles.shared.samples import SEED, SOURCES, LazySamples, ParitySample
from quizglass_export.roles.tagger import ReadyTagger
from quizglass_server.roles.decider import check_labels

SHARED_TOKENIZER = "tokenizer/tokenizer.json"
READY = ("generator", "image_encoder", "text_encoder", "reranker", "tagger")
"""Roles that ready-made files may fill: what takes them in is in `roles.ready`."""
NOT_EXPORTED = ("hearing", "voice")
"""Roles whose models run as servers of their own."""
READY_KINDS = ("gguf", "onnx", "library")
"""What stands for a model type where there is no checkpoint of transformers."""
Draw = Callable[[int, int], Sequence[ParitySample]]
"""Makes so many samples of a seed."""
DEFAULT_PROMPTS = Path(__file__).parent.parent / "prompts"


def exporters_of(role: str) -> Mapping[str, Exporter]:
    """transformers' model type to what exports a role from it; each role's module has its own."""
    if role in NAMED or role.startswith(DECIDERS):
        return decider.EXPORTERS
    exporters: dict[str, Exporter] = import_module(f"quizglass_export.roles.{role}").EXPORTERS
    return exporters | (import_module(f"quizglass_export.roles.ready.{role}").EXPORTERS if role in READY else {})


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked recipe.

    Attributes:
        file: the recipe.
        sources: the checkpoint of each role that has one; that of a graph's owner for those that share it.
        prompts: template name to file.
        owners: decider to the one whose graph it shares.
        samples: what exported models are compared on.
        draw: makes more of them.
        linear: deciders that need no checkpoint, as the manifest has them.
        precisions: of roles whose precision was chosen by measurement.
    """

    file: RecipeFile
    sources: Mapping[str, AnySource]
    prompts: Mapping[str, Path]
    owners: Mapping[str, str]
    samples: Sequence[ParitySample]
    draw: Draw
    linear: Mapping[str, LinearDeciderPart] = field(default_factory=dict)
    precisions: Mapping[str, Precision] = field(default_factory=dict)

    def spec(self, role: str) -> Any:
        """The recipe's entry of a role; of one that shares a graph the owner's, with its own labels and prompt."""
        spec = self.file.recipe.roles.spec(role)
        if isinstance(spec, SharingDecider):
            return self.spec(self.owners[role]).model_copy(update={"labels": spec.labels, "prompt": spec.prompt})
        chosen = self.precisions.get(role)
        return spec if chosen is None else spec.model_copy(update={"precision": chosen})

    @property
    def undecided(self) -> tuple[str, ...]:
        """Roles with a graph of their own whose precision is to be chosen by measurement."""
        own = (role for role in self.sources if role not in self.owners)
        return tuple(role for role in own if getattr(self.spec(role), "precision", None) == QUICKEST)

    def decided(self, role: str, precision: Precision) -> Plan:
        """The same plan, with a role's precision."""
        return replace(self, precisions={**self.precisions, role: precision})

    def step_name(self, role: str) -> str:
        """Name of the step that makes a role; candidates of one role are steps of their own."""
        precision = self.precisions.get(self.owners.get(role, role))
        return role if precision is None else f"{role}.{precision}"

    def has(self, part: str) -> bool:
        """Whether the bundle will fill a role, such as `planner`, and of it a part such as `generator.prompts.plan`."""
        # llama.cpp tells probabilities: wherever there is a generator, it can choose.
        role, _, task = part.removesuffix(".choices").partition(".prompts.")
        roles = self.file.recipe.roles
        return role in roles.named() and (not task or task in roles.spec(role).templates())

    def rows(self, role: str) -> tuple[str, ...]:
        """Texts of the labels of a shared graph, each once, the owner's first; none if it is not shared."""
        served = self.served(role)
        labels = [label for each in served for label in self.spec(each).labels] if len(served) > 1 else []
        return tuple(dict.fromkeys(text for _, text in labels))

    def shows_several(self, role: str) -> bool:
        """Whether a prompt of a decider that the role's graph serves shows pictures besides the wearer's.

        Raises:
            ExportError: a prompt is no template.
        """
        several = False
        for each in self.served(role):
            spec = self.spec(each)
            try:
                prompted = isinstance(spec, Scorer) and spec.prompt in self.prompts
                several |= prompted and PromptTemplate.load(self.prompts[spec.prompt]).shows_several
            except PromptError as error:
                raise ExportError(f"roles.{each}: {error}") from error
        return several

    def served(self, role: str) -> list[str]:
        """The roles of a role's graph, its owner first."""
        owner = self.owners.get(role, role)
        return [owner, *(each for each, its in self.owners.items() if its == owner)]

    def exporter(self, role: str) -> Exporter:
        """What exports a role."""
        return exporters_of(role)[self.sources[role].model_type]

    def job(self, role: str, folder: Path, tokenizer: str, samples: Sequence[ParitySample]) -> RoleJob:
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
            rows=self.rows(role),
            shows_several=self.shows_several(role),
        )

    def tokenizers(self, work: Work) -> dict[str, tuple[Path, str]]:
        """Role to tokenizer file and its name in the bundle; equal files are stored once."""
        names: dict[str, tuple[Path, str]] = {}
        by_digest: dict[str, str] = {}
        for role, source in self.sources.items():
            if not self.spec(role).reads_text or isinstance(source, GgufSource):
                continue
            file = source.tokenizer_file()
            name = by_digest.setdefault(work.digest(file), f"{role}/tokenizer.json" if names else SHARED_TOKENIZER)
            names[role] = (file, name)
        return names


def make_plan(file: RecipeFile, draw: Draw | None = None) -> Plan:
    """Find and check everything that a recipe names, without reading weights.

    Args:
        file: the recipe.
        draw: makes what exported models are compared on; None: what the recipe says.

    Raises:
        ExportError: a file is missing or of another architecture, or something is in it that a build or the server
            would refuse.
    """
    roles, folder = file.recipe.roles, _prompt_folder(file)
    owners, linear = _owners(roles), _linear(file)
    sources: dict[str, AnySource] = {}
    prompts: dict[str, Path] = {}
    named = [role for role in roles.named() if not _as_packaged(roles.spec(role))]
    alone = [role for role in named if role not in {*NOT_EXPORTED, *linear, *owners}]
    for role in (*alone, *owners):
        spec = roles.spec(role)
        source = sources[owners[role]] if role in owners else _source(file, spec)
        source.check(role, tuple(kind for kind in exporters_of(role) if kind not in READY_KINDS))
        sources[role] = source
        for name in _prompt_names(spec, source):
            prompts[name] = folder / f"{name}.jinja"
            if not prompts[name].is_file():
                raise ExportError(f"{prompts[name]}: missing; roles.{role} needs the prompt {name!r}")
    if file.recipe.training:
        read_json(file.path(file.recipe.training))  # for the provenance, when all else is done
    how = file.recipe.samples
    drawn = draw or SOURCES[how.source]
    plan = Plan(file, sources, prompts, owners, LazySamples(lambda: drawn(how.count, SEED)), drawn, linear)
    for role in sources:
        _prepare(plan, role)
    return plan


def _as_packaged(spec: Any) -> bool:
    """Whether a role's models stay in the package that they come with."""
    return isinstance(spec, Reader) and spec.precision == "fp32"


def _owners(roles: schema.Roles) -> dict[str, str]:
    """Decider to the one whose graph it shares."""
    owners: dict[str, str] = {}
    for role in roles.named():
        spec = roles.spec(role)
        if isinstance(spec, SharingDecider):
            decides = spec.shares in NAMED or spec.shares.startswith(DECIDERS)
            if not decides or spec.shares not in roles.named() or not isinstance(roles.spec(spec.shares), Scorer):
                raise ExportError(f"roles.{role}.shares: {spec.shares} is no decider with a checkpoint of its own")
            owners[role] = spec.shares
    return owners


def _linear(file: RecipeFile) -> dict[str, LinearDeciderPart]:
    """The deciders by weighted sums, read from their files."""
    parts: dict[str, LinearDeciderPart] = {}
    for role in file.recipe.roles.named():
        spec = file.recipe.roles.spec(role)
        if isinstance(spec, LinearDecider):
            path = file.path(spec.linear)
            try:
                part = LinearDeciderPart.model_validate({"engine": "numpy", "kind": "linear", **read_json(path)})
                check_labels(role, part.labels)
            except ExportError:
                raise
            except ValueError as error:
                raise ExportError(f"{path}: {reason(error)}") from None
            except BundleError as error:
                raise ExportError(str(error)) from error
            parts[role] = part
    return parts


def _prompt_folder(file: RecipeFile) -> Path:
    named = file.recipe.prompts
    if named is None:
        return DEFAULT_PROMPTS
    return GENERAL_PROMPTS if named == "general" else file.path(named)


def _prepare(plan: Plan, role: str) -> None:
    """Check a role's inputs, adapters among them; nothing is written, and no weights are read."""
    source, exporter = plan.sources[role], plan.exporter(role)
    try:
        exporter.prepare(plan.job(role, Path(), "", plan.samples), plan.spec(role))
    except PromptError as error:
        raise ExportError(f"roles.{role}: {error}") from error
    if plan.spec(role).reads_text and not isinstance(source, GgufSource):
        source.tokenizer_file()
    if isinstance(source, Source | GgufSource) and source.adapters:
        bare = source.bare(exporter.classes.get(source.model_type, ""))
        for folder, _ in source.adapters:
            check_fit(bare, folder)


_PATHS = {"checkpoint", "tokenizer", "adapters", "model", "projector", "weights"}
"""Keys of recipes that name files, whose contents count and not their names."""


def step_key(plan: Plan, role: str, work: Work, tokenizers: Mapping[str, tuple[Path, str]]) -> dict[str, Any]:
    """All that a role's files depend on, as JSON values."""
    recipe, spec = plan.file.recipe, plan.spec(role)
    tokenizer = tokenizers.get(role)
    return {
        "role": role,
        "title": recipe.name,
        "spec": json.loads(spec.model_dump_json(exclude=_PATHS)),
        "weights": [weight for _, weight in plan.sources[role].adapters],
        "sources": [[path.name, work.digest(path)] for path in plan.sources[role].files()],
        "tokenizer": [work.digest(tokenizer[0]), tokenizer[1]] if tokenizer else None,
        "prompts": {name: work.digest(plan.prompts[name]) for name in _prompt_names(spec, plan.sources[role])},
        "samples": recipe.samples.model_dump(),
        "rows": list(plan.rows(role)),
        "shows_several": plan.shows_several(role),
    }


def _source(file: RecipeFile, spec: Any) -> AnySource:
    tokenizer = getattr(spec, "tokenizer", None)
    if isinstance(spec, Generator) and spec.model:
        model, projector = file.path(spec.model), file.path(spec.projector) if spec.projector else None
        beside = model.with_name(TOKENIZER)
        own = file.path(tokenizer) if tokenizer else beside if beside.is_file() else None
        return GgufSource(model, projector, own, _adapters(file, spec))
    if isinstance(spec, Reader):
        return reader_source()
    if isinstance(spec, LibraryImageEncoder):
        return LibrarySource(spec.library, spec.architecture, file.path(spec.weights))
    if isinstance(spec, ReadyOnnx):
        own = file.path(tokenizer) if tokenizer else None
        checkpoint = Source(file.path(spec.checkpoint), tokenizer=own) if spec.checkpoint else None
        labels = file.path(spec.labels) if isinstance(spec, ReadyTagger) else None
        return OnnxSource(file.path(spec.model), checkpoint, tokenizer=own, labels=labels)
    return Source(
        folder=file.path(spec.checkpoint),
        adapters=_adapters(file, spec),
        tokenizer=file.path(tokenizer) if tokenizer else None,
    )


def _adapters(file: RecipeFile, spec: Any) -> tuple[tuple[Path, float], ...]:
    return tuple((file.path(adapter.path), adapter.weight) for adapter in spec.adapters)


def _prompt_names(spec: Any, source: AnySource) -> list[str]:
    if source.model_type in CROSS_ENCODERS:
        return []
    if isinstance(spec, Generator):
        return list(spec.templates().values())
    return [spec.prompt] if isinstance(spec, Scorer | SharingDecider) else []
