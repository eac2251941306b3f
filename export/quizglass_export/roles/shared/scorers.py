"""The scorers of a bundle: each is exported, described for the manifest, and compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import torch
import transformers
from torch import nn

from quizglass_bundle.fields import Patched
from quizglass_bundle.inputs import vision_inputs
from quizglass_bundle.inputs.prompts import MOST_ENTRIES, SegmentKind
from quizglass_bundle.inputs.resizing import RGB
from quizglass_bundle.parts import TextScorer, TowerGrid, VisionScorer
from quizglass_export.checkpoints.files import CONFIG, tensor_sizes
from quizglass_export.checkpoints.loading import read_config
from quizglass_export.checkpoints.merged import MergedWeights
from quizglass_export.checkpoints.source import AnySource, Source
from quizglass_export.checkpoints.streamed_graph import write_streamed
from quizglass_export.checks import CARD_PRECISIONS, Check
from quizglass_export.errors import ExportError
from quizglass_export.graphs.card_decoder import card_vision_scorer
from quizglass_export.graphs.qwen_vl import VISION_CLASSES, vision_scorer
from quizglass_export.graphs.scorer_text import SharingTextScorer
from quizglass_export.graphs.scorer_vl import DecisionGraph, TowerGraph
from quizglass_export.onnx import scorer_file
from quizglass_export.onnx.accept import Feed, apply_precision, check_lossy_scorer, latency
from quizglass_export.onnx.sample_runs import Run, SampleRuns, scorer_runs
from quizglass_export.onnx.scorer_file import without_past
from quizglass_export.onnx.scorer_inputs import FEATURES, TowerRuns, scorer_batch, tower_inputs
from quizglass_export.onnx.tracing import write_onnx
from quizglass_export.parity import Floats, Inputs, as_array, check_scorer, session
from quizglass_export.roles.shared.card_scorers import write_for_cuda, write_for_tensorrt
from quizglass_export.roles.shared.entry import Scorer
from quizglass_export.roles.shared.job import Exported, RoleJob, by_size, in_each_size, prompt_name
from quizglass_export.roles.shared.towers import tower_name
from quizglass_server.engines.onnx.stepped import LENGTHS, step
from quizglass_server.roles.shared.packing import packed

TEXT_CLASSES = {
    "qwen3": "Qwen3ForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "llama": "LlamaForCausalLM",
    "gemma": "GemmaForCausalLM",
}
MOST_TOKENS = 512
"""Longest prompt where a recipe names none, without pictures of entries."""
LARGE = 2 << 30
"""Bytes of a checkpoint in float32 from which it is read tensor by tensor."""
ROWS = {0: "batch", 1: "sequence"}
TEXT_AXES = {"input_ids": ROWS, "attention_mask": ROWS, "logits": {0: "batch"}}
SEVERAL = {0: "batch", 1: "patches"}
"""Dynamic axes of `pixel_values` where prompts show several pictures."""
_PLACED = TEXT_AXES | {"position_ids": {1: "batch", 2: "sequence"}}
VISION_AXES = _PLACED | {"pixel_values": {0: "batch"}}


def _one_prompt(axes: Mapping[str, Mapping[int, str]]) -> dict[str, dict[int, str]]:
    return {name: {place: axis for place, axis in each.items() if axis == "sequence"} for name, each in axes.items()}


ONE_PROMPT = _one_prompt(VISION_AXES)
"""The same for CUDA, which is given one prompt a run."""
DECISION_AXES = _PLACED | {FEATURES: {0: "batch"}}
"""Where the tower is a graph of its own."""
_SEVERAL_FEATURES = {0: "batch", 1: "features"}


def prepare_vision_scorer(job: RoleJob, spec: Scorer) -> None:
    """Check what is known without weights: prompt, labels, tokenizer, picture sizes."""
    sizes = _sizes(job, spec)
    job.check_scorer(spec, _longest_with_pictures(job, spec, sizes), sizes)
    image_id = job.prompt_tokenizer().token_id(spec.image_token)
    known = read_config(job.source.folder).image_token_id
    if image_id != known:
        raise ExportError(f"{job.source.folder / CONFIG}: image_token_id is {known}, the tokenizer has {image_id}")


def _sizes(job: RoleJob, spec: Scorer) -> list[Patched]:
    """The sizes of its pictures, the first one first."""
    picture = job.picture(spec.picture)
    grids = job.grids(picture, spec.grids) or ()
    return [picture, *(picture.model_copy(update={"width": grid.width, "height": grid.height}) for grid in grids)]


def _longest_with_pictures(job: RoleJob, spec: Scorer, sizes: Sequence[Patched]) -> int:
    """Tokens of the longest prompt. By default the pictures of all entries that a prompt may show fit beside the text:
    five of 448 x 448 are 1,290 tokens, without which the choice among entries is made by their captions."""
    if spec.max_tokens is not None:
        return spec.max_tokens
    of_one = max(vision_inputs.image_tokens(size) for size in sizes) + 2  # between its start and its end
    return MOST_TOKENS + (MOST_ENTRIES * of_one if _shows_several(job, spec) else 0)


def _shows_several(job: RoleJob, spec: Scorer) -> bool:
    """Whether prompts show pictures of entries too: a graph for a card has the wearer's alone."""
    return job.shows_several and spec.precision not in CARD_PRECISIONS


def export_vision_scorer(job: RoleJob, spec: Scorer) -> Exported:
    """Merge and export a vision-language scorer, a graph for each picture size; for a card, of the wearer's alone."""
    labels = job.head(spec.labels)
    picture = job.picture(spec.picture)
    apart = spec.tower is not False
    model = f"{job.role}/model.onnx"
    grids = [
        TowerGrid(**grid.model_dump(), tower=tower_name(grid.model) if apart else None)
        for grid in job.grids(picture, spec.grids) or ()
    ]
    part = VisionScorer(
        engine="onnx",
        kind="vl-scorer",
        model=model,
        tower=tower_name(model) if apart else None,
        tokenizer=job.tokenizer,
        prompt=prompt_name(spec.prompt),
        labels=spec.labels,
        rows=job.places(spec.labels),
        picture=picture,
        grids=tuple(grids) or None,
        image_token=spec.image_token,
        most_pictures=1 + MOST_ENTRIES if _shows_several(job, spec) else None,
        max_tokens=_longest_with_pictures(job, spec, _sizes(job, spec)),
        pad_to=job.pad_to(spec),
    )
    first, *others = [_write_vision_scorer(job, spec, each, labels) for each in by_size(part)]
    return Exported(part, first | {"grids": others} if others else first)


def _write_vision_scorer(job: RoleJob, spec: Scorer, part: VisionScorer, labels: list[int]) -> dict[str, Any]:
    """The graphs of one picture size; returns notes for the report."""
    prompts = VisionPrompts(job, part)
    one = spec.precision == "cuda-fp16"
    several = part.takes > 1
    make = card_vision_scorer if one else vision_scorer
    build = partial(make, labels=labels, grid=vision_inputs.patch_grid(part.picture), several=several)
    writer = _ScorerWriter(job, build, labels)
    notes: dict[str, Any] = {}
    axes = VISION_AXES | ({"pixel_values": SEVERAL} if several else {})
    decide: Callable[[Any], nn.Module] | None = None
    if part.tower is not None:
        path = job.path(part.tower)
        writer.write(path, TowerGraph, prompts.pixels([0]), {}, FEATURES)  # of one picture: no axis is dynamic
        notes["tower"] = apply_precision(path, spec.precision, prompts.pixels, len(prompts.rows))
        axes = DECISION_AXES | ({FEATURES: _SEVERAL_FEATURES} if several else {})
        decide = DecisionGraph
    given = prompts.inputs([0] if one else [0, len(prompts.rows) - 1])
    writer.write(job.path(part.model), decide, given, _one_prompt(axes) if one else axes, "logits")
    notes |= apply_precision(job.path(part.model), spec.precision, prompts.inputs, len(prompts.rows))
    if "products" in notes and part.tower is not None:
        notes["products"] += notes["tower"]["products"]
    return notes


class _ScorerWriter:
    """Writes the graphs of a scorer: from its checkpoint loaded once, or tensor by tensor where that is too large."""

    def __init__(self, job: RoleJob, build: Callable[[Any], nn.Module], labels: Sequence[int]) -> None:
        self._source, self._kind = job.source, VISION_CLASSES[job.source.model_type]
        self._build, self._labels = build, labels
        self._scorer: nn.Module | None = None

    def write(
        self,
        path: Path,
        part: Callable[[Any], nn.Module] | None,
        given: Inputs,
        axes: Mapping[str, Mapping[int, str]],
        output: str,
    ) -> None:
        """Write a part of the scorer; all of it for None."""
        take = part or (lambda scorer: scorer)
        example = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in given.items()}
        if is_large(self._source):
            weights = MergedWeights(self._source, self._kind)
            build = self._build
            write_streamed(
                weights, lambda model: take(build(model)).eval(), self._labels, lambda _: example, axes, [output], path
            )
            return
        if self._scorer is None:
            self._scorer = self._build(self._source.load(self._kind))
        write_onnx(take(self._scorer).eval(), example, axes, output, path)


def check_vision_scorer(job: RoleJob, spec: Scorer, part: VisionScorer) -> list[Check]:
    """Compare a vision-language scorer with transformers, each picture size by itself."""
    return in_each_size(part, partial(_check_vision_scorer, job, spec))


def _check_vision_scorer(job: RoleJob, spec: Scorer, part: VisionScorer) -> list[Check]:
    labels = job.tokens([text for _, text in part.labels])
    model = job.source.reference(VISION_CLASSES[job.source.model_type])
    prompts = VisionPrompts(job, part)
    references = [
        vision_logits(model, row, pictures, part.picture)[labels]
        for row, pictures in zip(prompts.rows, prompts.pictures, strict=True)
    ]
    del model  # before ONNX Runtime loads as much again
    return _compare(job, spec, part, references, prompts.inputs)


def vision_scorer_runs(job: RoleJob, spec: Scorer, part: VisionScorer) -> SampleRuns:
    """Runs of a vision-language scorer's models on pictures of the first size; its tower runs for each prompt."""
    prompts = VisionPrompts(job, part)
    runs = scorer_runs(job.role, part.model, prompts.whole, len(prompts.rows), spec.accept, part.rows)
    return runs if part.tower is None else replace(runs, opened=partial(_opened, part.tower, part))


def _opened(tower: str, part: VisionScorer, folder: Path) -> Run:
    """Both graphs of a folder, given what a single one takes."""
    sees, decides = TowerRuns(folder / tower, part.picture), session(folder / part.model)
    down, across = vision_inputs.patch_grid(part.picture)

    def outputs(inputs: Inputs) -> list[Floats]:
        pixels = np.asarray(inputs["pixel_values"], np.float32)
        seen = [sees(each) for each in pixels.reshape(-1, down * across, pixels.shape[-1])]
        given = {name: value for name, value in inputs.items() if name != "pixel_values"}
        values: list[Floats] = decides.run(["logits"], given | {FEATURES: np.concatenate(seen)[None]})
        return values

    return outputs


class VisionPrompts:
    """The samples as a vision-language scorer reads them; where its prompt shows several pictures, every other one with
    two.
    """

    def __init__(self, job: RoleJob, part: VisionScorer) -> None:
        tokenizer, template = job.prompt_tokenizer(), job.prompt(Path(part.prompt).stem)
        self.spec = part.picture
        self._tower = job.path(part.tower) if part.tower is not None else None
        self._views = [vision_inputs.fit(sample.picture, part.picture) for sample in job.samples]
        self.image_id = tokenizer.token_id(part.image_token)
        self.rows: list[list[int]] = []
        self.pictures: list[list[RGB]] = []
        """Pictures of each prompt, in the order in which it shows them."""
        span = vision_inputs.image_span(tokenizer, part.image_token, part.picture)
        for index, sample in enumerate(job.samples):
            given, values = [sample.picture], sample.values()
            if template.shows_several and part.takes > 1 and index % 2:
                given.append(job.samples[index - 1].picture)
                values["seen"] = list(sample.seen) or [sample.passages[0]]  # prompts show a picture beside a line
            prompt = template.render(pictures=len(given), **values)
            shown = [given[segment.picture] for segment in prompt if segment.kind is SegmentKind.IMAGE]
            self.rows.append(tokenizer.encode(prompt, span))
            self.pictures.append([vision_inputs.fit(picture, part.picture) for picture in shown])

    def inputs(self, indices: Sequence[int]) -> Inputs:
        """The server's own tensors for some of the samples."""
        if self._tower is None:
            return self.whole(indices)
        rows, pictures = [self.rows[i] for i in indices], [self.pictures[i] for i in indices]
        return self._runs.batch(rows, self.image_id, pictures)

    def whole(self, indices: Sequence[int]) -> Inputs:
        """The same for a single graph of pictures and prompts."""
        rows, pictures = [self.rows[i] for i in indices], [self.pictures[i] for i in indices]
        return scorer_batch(rows, self.image_id, self.spec, pictures)

    def pixels(self, indices: Sequence[int]) -> Inputs:
        """What the tower is given of one sample."""
        (index,) = indices
        return tower_inputs(vision_inputs.patches(self._views[index], self.spec))

    @cached_property
    def _runs(self) -> TowerRuns:
        """The tower as it is stored, once it is."""
        assert self._tower is not None
        return TowerRuns(self._tower, self.spec)


def prepare_text_scorer(job: RoleJob, spec: Scorer) -> None:
    """Check what is known without weights: prompt, labels, tokenizer."""
    for key, given in (("picture", spec.picture), ("grids", spec.grids or None), ("tower", spec.tower)):
        if given is not None:
            raise ExportError(f"roles.{job.role}.{key}: {job.source.model_type} reads text alone; leave it out")
    job.check_scorer(spec, _longest(job, spec))


def export_text_scorer(job: RoleJob, spec: Scorer) -> Exported:
    """Merge and export a scorer of texts."""
    labels = job.head(spec.labels)
    part = TextScorer(
        engine="onnx",
        kind="text-scorer",
        model=f"{job.role}/model.onnx",
        tokenizer=job.tokenizer,
        prompt=prompt_name(spec.prompt),
        labels=spec.labels,
        rows=job.places(spec.labels),
        max_tokens=_longest(job, spec),
        pad_to=job.pad_to(spec),
        packed=f"{job.role}/packed.onnx" if _is_packed(job, spec) else None,
    )
    rows = text_rows(job, part)
    if spec.precision in CARD_PRECISIONS:
        return Exported(part, _write_card_scorer(job, spec, part, labels, rows))
    if is_large(job.source):
        weights = MergedWeights(job.source, TEXT_CLASSES[job.source.model_type])
        write_streamed(
            weights,
            partial(_sharing, labels=labels),
            labels,
            scorer_file.example,
            scorer_file.AXES,
            scorer_file.OUTPUTS,
            job.path(part.model),
        )
    else:
        scorer_file.write_text_scorer(
            job.source.load(TEXT_CLASSES[job.source.model_type]), labels, job.path(part.model)
        )
    feed = _feed(rows, job.path(part.model))
    return Exported(part, apply_precision(job.path(part.model), spec.precision, feed, len(rows)))


def _write_card_scorer(
    job: RoleJob, spec: Scorer, part: TextScorer, labels: list[int], rows: Sequence[Sequence[int]]
) -> dict[str, Any]:
    """The graph of a precision for a card; returns notes for the report."""
    path, kind = job.path(part.model), TEXT_CLASSES[job.source.model_type]
    if part.packed is not None and isinstance(job.source, Source):
        positions = step(max(part.max_tokens, *map(len, rows)), LENGTHS)
        weights = MergedWeights(job.source, kind)
        write_for_cuda(weights, labels, positions, path, packed=job.path(part.packed))
    else:
        write_for_tensorrt(job.source.load(kind), labels, path)
    return {"precision": spec.precision, "latency_ms": latency(path, _feed(rows, path), len(rows))}


def _is_packed(job: RoleJob, spec: Scorer) -> bool:
    """Whether it gets a second graph, for prompts that begin alike: the operators for that are the CUDA profile's."""
    return spec.precision == "cuda-fp16" and isinstance(job.source, Source)


def _longest(job: RoleJob, spec: Scorer) -> int:
    """Tokens that a text model is given at most."""
    return min(spec.max_tokens or MOST_TOKENS, int(read_config(job.source.folder).max_position_embeddings))


def check_text_scorer(job: RoleJob, spec: Scorer, part: TextScorer) -> list[Check]:
    """Compare a scorer of texts with transformers."""
    labels = job.tokens([text for _, text in part.labels])
    model = job.source.reference(TEXT_CLASSES[job.source.model_type])
    rows = text_rows(job, part)

    with torch.no_grad():
        references = [as_array(model(input_ids=torch.tensor([row])).logits[0, -1, labels]) for row in rows]
    del model
    checks = _compare(job, spec, part, references, _feed(rows, job.path(part.model)))
    if part.packed is None:
        return checks
    path = job.path(part.packed)
    sharing = check_lossy_scorer(
        job.role, path, references, lambda given: packed([rows[i] for i in given]), spec.accept, job.batches, part.rows
    )
    return [*checks, *(replace(check, measure=f"{check.measure}, prompts packed") for check in sharing)]


def text_scorer_runs(job: RoleJob, spec: Scorer, part: TextScorer) -> SampleRuns:
    """Runs of the models of a scorer of texts, on whole prompts."""
    rows = text_rows(job, part)
    feed = _feed(rows, job.path(part.model))
    return scorer_runs(job.role, part.model, feed, len(rows), spec.accept, part.rows)


def _sharing(model: Any, labels: Sequence[int]) -> SharingTextScorer:
    return SharingTextScorer(model, labels).eval()


def is_large(source: AnySource) -> TypeGuard[Source]:
    """Whether a checkpoint in float32 is too much to have in memory for its export alone."""
    return isinstance(source, Source) and sum(sum(tensor_sizes(path)) for path in source.weights()) * 4 > LARGE


def _compare(
    job: RoleJob,
    spec: Scorer,
    part: VisionScorer | TextScorer,
    references: list[Floats],
    feed: Feed,
) -> list[Check]:
    path = job.path(part.model)
    if spec.precision == "fp32":
        return check_scorer(job.role, path, references, feed, job.demands.logits, job.batches, part.rows)
    alone = spec.precision == "cuda-fp16" and isinstance(part, VisionScorer)
    sizes = (1,) if alone else job.batches
    return check_lossy_scorer(job.role, path, references, feed, spec.accept, sizes, part.rows)


def _feed(rows: Sequence[Sequence[int]], path: Path) -> Feed:
    """The server's own tensors for some of the prompts, each of them whole."""
    completed = without_past(path)

    def inputs(indices: Sequence[int]) -> Inputs:
        return completed(scorer_batch([rows[i] for i in indices]))

    return inputs


def text_rows(job: RoleJob, part: TextScorer) -> list[list[int]]:
    """The samples as a scorer of texts reads them, a prompt each."""
    tokenizer, template = job.prompt_tokenizer(), job.prompt(Path(part.prompt).stem)
    return [
        tokenizer.encode(template.render(pictures=0, **sample.values(passage=passage)))
        for sample in job.samples
        for passage in sample.passages
    ][: len(job.samples)]


def vision_logits(model: Any, row: list[int], pictures: Sequence[RGB], spec: Patched) -> Floats:
    """Logits [V] after a prompt, by transformers alone: its image processor and its own positions."""
    ids = torch.tensor([row])
    with torch.no_grad():
        output = model(input_ids=ids, attention_mask=torch.ones_like(ids), **processed(pictures, spec))
    return as_array(output.logits[0, -1])


def processed(pictures: Sequence[RGB], spec: Patched | None) -> dict[str, Any]:
    """Pictures in their final size as transformers' own processor gives them to a model; nothing for none."""
    if not pictures or spec is None:
        return {}
    processor = transformers.Qwen2VLImageProcessor(
        do_resize=False,
        image_mean=list(spec.mean),
        image_std=list(spec.std),
        patch_size=spec.patch,
        merge_size=spec.merge,
        temporal_patch_size=spec.temporal,
    )
    return dict(processor(images=list(pictures), return_tensors="pt"))
