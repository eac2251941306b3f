"""What the export of one role works with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from quizglass_bundle.errors import BundleError
from quizglass_bundle.fields import Channels, Grid, Normalised, Patched, Size, graphs
from quizglass_bundle.inputs.prompts import EXAMPLE, PromptError, PromptTemplate, PromptTokenizer, encode_within, filled
from quizglass_bundle.inputs.text_rows import TextTokenizer
from quizglass_bundle.inputs.vision_inputs import image_span
from quizglass_bundle.parts import DetectorPart, VisionScorer
from quizglass_export.checkpoints.files import CONFIG, read_json
from quizglass_export.checkpoints.source import AnySource
from quizglass_export.checks import CARD_PRECISIONS, Check
from quizglass_export.clip_pixels import CLIP_MEAN, CLIP_STD
from quizglass_export.errors import ExportError, reason
from quizglass_export.onnx.sample_runs import SampleRuns
from quizglass_export.roles.shared.entry import Demands, OnnxEntry, Scorer
from quizglass_export.roles.shared.samples import ParitySample
from quizglass_server.roles.shared.scorers import scorer_prompt

_HALF: Channels = (0.5, 0.5, 0.5)
PREPROCESSOR = "preprocessor_config.json"


@dataclass(frozen=True, slots=True)
class RoleJob:
    """One role of a build: where it reads, where it writes, and what its model is compared on.

    Attributes:
        role: its name in the manifest.
        title: the bundle's name.
        source: the checkpoint.
        folder: where its files go, by their names in the bundle.
        tokenizer: the tokenizer's file name in the bundle.
        prompts: template name to source file.
        samples: what the model is compared and calibrated on.
        batches: sizes of the padded batches in which it is compared, besides one at a time.
        generated: how many samples a generator answers.
        demands: bounds of the comparison with PyTorch.
        threads: CPU threads for PyTorch and quantising.
        rows: texts of the labels whose logits the model gives, in their order, where it serves several roles; none: of
            the role's own.
        shows_several: whether a prompt of a decider that the model serves shows pictures besides the wearer's.
    """

    role: str
    title: str
    source: AnySource
    folder: Path
    tokenizer: str
    prompts: Mapping[str, Path]
    samples: Sequence[ParitySample]
    batches: Sequence[int]
    generated: int
    demands: Demands
    threads: int
    rows: tuple[str, ...] = ()
    shows_several: bool = False

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of all batches in which it is compared: of one, as a server mostly runs it, and the padded ones."""
        return tuple(dict.fromkeys((1, *self.batches)))

    def path(self, name: str) -> Path:
        """A file to write; its directory is made."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def picture(self, size: Size | None) -> Patched:
        """Size, normalisation and patches of a Qwen2-VL style model's pictures.

        Raises:
            ExportError: no size, or one that is no multiple of a merged patch.
        """
        if size is None:
            raise ExportError(f"roles.{self.role}.picture: missing; give the width and height of its pictures")
        try:
            return patched(self.source.folder, self.source.config(), size.width, size.height)
        except ValueError as error:
            raise ExportError(f"roles.{self.role}.picture: {reason(error)}") from None

    def grids(self, picture: Normalised, sizes: Sequence[Size]) -> tuple[Grid, ...] | None:
        """Further picture sizes of the role's model, each with the file of its graph; None for none.

        Raises:
            ExportError: the model cannot take a size, or has it already; names the key.
        """
        found: dict[tuple[int, int], str] = {(picture.width, picture.height): ""}
        for index, size in enumerate(sizes):
            key, name = f"roles.{self.role}.grids.{index}", f"{size.width}x{size.height}"
            if (size.width, size.height) in found:
                raise ExportError(f"{key}: {name} is there already; leave it out")
            try:
                type(picture).model_validate(picture.model_dump() | size.model_dump())
            except ValueError as error:
                raise ExportError(f"{key}: {reason(error)}") from None
            found[size.width, size.height] = f"{self.role}/model-{name}.onnx"
        further = [Grid(width=size[0], height=size[1], model=name) for size, name in found.items() if name]
        return tuple(further) or None

    def prompt(self, name: str) -> PromptTemplate:
        """A prompt template by name."""
        return PromptTemplate.load(self.prompts[name])

    def prompt_tokenizer(self) -> PromptTokenizer:
        """The tokenizer as the server uses it."""
        return PromptTokenizer(self.source.tokenizer_file())

    def head(self, labels: Sequence[tuple[str, str]]) -> list[int]:
        """Token ids of the model's logits, for a role of these labels."""
        return self.tokens(self.rows or [text for _, text in labels])

    def places(self, labels: Sequence[tuple[str, str]]) -> tuple[int, ...] | None:
        """Positions of the labels' logits among the model's; None where they are all of them, in this order."""
        texts = tuple(text for _, text in labels)
        return None if self.rows in ((), texts) else tuple(self.rows.index(text) for text in texts)

    def tokens(self, texts: Sequence[str]) -> list[int]:
        """Token ids of labels by their texts; ExportError where one is not one token."""
        parsed = self.prompt_tokenizer()
        try:
            return [parsed.label(text) for text in texts]
        except PromptError as error:
            raise ExportError(f"roles.{self.role}.labels: {error}") from error

    def check_scorer(self, spec: Scorer, limit: int, pictures: Sequence[Patched] = ()) -> None:
        """Check labels, prompt and tokenizer of a scorer as the server does when it loads one.

        Args:
            spec: the scorer.
            limit: how many tokens its model takes.
            pictures: the sizes of its pictures; none for a model of text alone.

        Raises:
            ExportError: what the server would refuse.
        """
        path, image = self.prompts[spec.prompt], spec.image_token if pictures else None
        try:
            prompt = scorer_prompt(self.role, spec.labels, self.prompt_tokenizer(), path, image)
        except BundleError as error:
            raise ExportError(str(error)) from error
        filled_in = prompt.template.render(pictures=1 if pictures else 0, **filled(EXAMPLE))
        spans = [image_span(prompt.tokenizer, spec.image_token, size) for size in pictures]
        span = max(spans, key=len, default=[])
        needed = len(encode_within(prompt.tokenizer, filled_in, span, limit))
        if needed > limit:
            shown = f", {len(span)} of them its picture's" if span else ""
            raise ExportError(
                f"roles.{self.role}.max_tokens: {limit}; the prompt {spec.prompt!r} alone has {needed} tokens{shown}"
            )

    def cosine(self, spec: OnnxEntry) -> float:
        """Smallest cosine that an encoder's vectors may have with PyTorch's."""
        return self.demands.cosine if spec.precision == "fp32" else spec.accept.cosine

    @staticmethod
    def pad_to(spec: OnnxEntry) -> Literal["longest", "steps"]:
        """How large the server is to make batches: in steps for a card."""
        return "steps" if spec.precision in CARD_PRECISIONS else "longest"

    def check_texts(self, limit: int) -> None:
        """Raise ExportError where the server would refuse the tokenizer of a role that reads plain texts."""
        try:
            TextTokenizer(self.source.tokenizer_file(), limit)
        except BundleError as error:
            raise ExportError(f"roles.{self.role}: {error}") from error


@dataclass(frozen=True, slots=True)
class Exported:
    """A role whose files are written.

    Attributes:
        part: its entry in the manifest.
        notes: how it is stored and what it runs at, for the report.
    """

    part: Any
    notes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Exporter:
    """How one role of one architecture is made.

    Attributes:
        prepare: checks inputs as far as they are known without weights; ExportError for what a build or the server
            would refuse.
        export: writes the role's files.
        check: compares them with their source.
        classes: transformers' model type to the name of its class; without those that have no checkpoint.
        runs: what it takes to run its models of several precisions side by side; None: it has one.
    """

    prepare: Callable[[RoleJob, Any], None]
    export: Callable[[RoleJob, Any], Exported]
    check: Callable[[RoleJob, Any, Any], list[Check]]
    classes: Mapping[str, str]
    runs: Callable[[RoleJob, Any, Any], SampleRuns] | None = None


def by_type(*exporters: Exporter) -> dict[str, Exporter]:
    """Exporters by the model types that they take."""
    return {kind: each for each in exporters for kind in each.classes}


Sized = TypeVar("Sized", VisionScorer, DetectorPart)


def by_size(part: Sized) -> list[Sized]:
    """A model of several picture sizes as models of one each."""
    changes: list[dict[str, Any]] = [
        {"picture": picture, "model": model, "grids": None} for picture, model in graphs(part)
    ]
    towers: tuple[str | None, ...] = part.towers if isinstance(part, VisionScorer) else ()
    for place, tower in enumerate(towers):
        changes[place]["tower"] = tower
    return [part.model_copy(update=change) for change in changes]


def in_each_size(part: Sized, check: Callable[[Sized], list[Check]]) -> list[Check]:
    """The comparisons of every picture size; those of further sizes say which."""
    checks: list[Check] = []
    for index, each in enumerate(by_size(part)):
        size = f", {each.picture.width} x {each.picture.height}" if index else ""
        checks += [replace(one, measure=one.measure + size) for one in check(each)]
    return checks


def prompt_name(name: str) -> str:
    """A template's file name in the bundle."""
    return f"prompts/{name}.jinja"


def patched(folder: Path, config: Mapping[str, Any], width: int, height: int) -> Patched:
    """Normalisation and patches of a Qwen2-VL style checkpoint's pictures of this size, in pixels.

    Args:
        folder: of the checkpoint; its preprocessor's file counts, where there is one.
        config: its `config.json`.
        width: of the pictures.
        height: of the pictures.

    Raises:
        ValueError: a side is no multiple of a merged patch.
        ExportError: the preprocessor's file cannot be used.
    """
    vision = config.get("vision_config")
    if not isinstance(vision, Mapping):
        raise ExportError(f"{folder / CONFIG}: vision_config is missing; it says how pictures are cut")
    mean, std = (_HALF, _HALF) if config["model_type"] == "qwen3_vl" else (CLIP_MEAN, CLIP_STD)
    if (folder / PREPROCESSOR).is_file():
        mean, std = normalisation(folder / PREPROCESSOR)
    return Patched(
        width=width,
        height=height,
        mean=mean,
        std=std,
        patch=vision.get("patch_size", 14),
        merge=vision.get("spatial_merge_size", 2),
        temporal=vision.get("temporal_patch_size", 2),
    )


def normalisation(path: Path) -> tuple[Channels, Channels]:
    """Mean and standard deviation of values from 0 to 1 that a `preprocessor_config.json` comes to.

    It may scale pixels otherwise, shift them, leave them as they are, or divide once more by the standard deviation, as
    EfficientNet's does unless `include_top` is false.

    Raises:
        ExportError: a number is missing or cannot be used; names file and key.
    """
    content = read_json(path)
    efficient = str(content.get("image_processor_type", "")).startswith("EfficientNet")
    full = 255 * _number(path, content, "rescale_factor", 1 / 255) if content.get("do_rescale", True) else 255.0
    full = 1.0 if math.isclose(full, 1, rel_tol=1e-6) else full
    shift = 1.0 if content.get("rescale_offset") and content.get("do_rescale", True) else 0.0
    mean, std, again = (0.0,) * 3, (1.0,) * 3, (1.0,) * 3
    if content.get("do_normalize", True):
        mean, std = _three(path, content, "image_mean"), _three(path, content, "image_std")
    if content.get("include_top", efficient):
        again = _three(path, content, "image_std")
    if min(*std, *again) <= 0:
        raise ExportError(f"{path}: image_std is {content['image_std']}; each must be above 0")
    means = [(value + shift) / full for value in mean]
    spreads = [value * other / full for value, other in zip(std, again, strict=True)]
    return (means[0], means[1], means[2]), (spreads[0], spreads[1], spreads[2])


def _three(path: Path, content: Mapping[str, Any], key: str) -> Channels:
    values = content.get(key)
    numbers = [float(each) for each in values if type(each) in (int, float)] if isinstance(values, list) else []
    if len(numbers) != 3 or len(values or ()) != 3 or not all(map(math.isfinite, numbers)):
        raise ExportError(f"{path}: image_mean and image_std must be three numbers each")
    return (numbers[0], numbers[1], numbers[2])


def _number(path: Path, content: Mapping[str, Any], key: str, default: float) -> float:
    value = content.get(key, default)
    if type(value) not in (int, float) or not math.isfinite(value) or value <= 0:
        raise ExportError(f"{path}: {key} is {value!r}; it must be a number above 0")
    return float(value)
