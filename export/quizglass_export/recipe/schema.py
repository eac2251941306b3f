"""The schema of a recipe, format 1: which checkpoint fills which role, how precisely, compared on what.

Unknown keys are refused. Paths are relative to the recipe's own directory. Reading the file is `read`'s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from quizglass_server.models.fields import Count, ManifestPart, Normalised, Size
from quizglass_server.steps.tuning import EvidenceLimits, Thresholds

FORMAT = 1
GENERAL_PROMPTS = Path(__file__).parent.parent / "prompts"
"""For general instruction-tuned models that speak ChatML: one for every task of every policy, named as the task."""
PLAN_LABELS = (("none", " A"), ("image", " B"), ("text", " C"), ("both", " D"))
RELEVANCE_LABELS = (("yes", " yes"), ("no", " no"))
IMAGE_TOKEN = "<|image_pad|>"  # noqa: S105 - a word of the vocabulary
STOP = "<|im_end|>"
GENERATOR_TEMPLATES = {task: task for task in ("answer", "rewrite", "plan")}
DECIDERS = "deciders."
"""What names of further deciders begin with, where roles are named."""

Share = Annotated[float, Field(ge=0, le=1)]
Labels = Annotated[tuple[tuple[str, str], ...], Field(min_length=2)]
Precision = Literal["fp32", "fp16", "int8", "int8-rows", "int8-weights", "int4-weights"]
"""Of an ONNX model: computing in float32 or float16; static INT8 (QDQ) calibrated on the samples; INT8 with a scale for
each token, found while it runs (CPU alone); or float32 activations with 8- or 4-bit weights."""
GgufType = Literal["f32", "f16", "bf16", "q8_0", "q4_0", "q4_k_m", "q5_k_m", "q6_k"]
TensorType = Literal["f32", "f16", "bf16", "q8_0", "q4_0", "q4_k", "q5_k", "q6_k"]


def _weight(value: float) -> float:
    if not math.isfinite(value) or value == 0:
        raise ValueError("must be a number other than 0")
    return value


class Adapter(ManifestPart):
    """A PEFT adapter's directory, and by how much its change counts."""

    path: Path
    weight: Annotated[float, AfterValidator(_weight)] = 1.0


def _adapters(value: Any) -> Any:
    """A bare path stands for an adapter of weight 1."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list | tuple):
        return [{"path": each} if isinstance(each, str) else each for each in value]
    return value


Adapters = Annotated[tuple[Adapter, ...], BeforeValidator(_adapters)]


class Acceptance(ManifestPart):
    """What a model of less than float32 must reach against the float32 one, on the samples."""

    labels: Share = 0.99
    """Share of equal labels (scorers)."""
    drift: Annotated[float, Field(gt=0)] = 0.02
    """Largest mean change of a label's probability (scorers)."""
    cosine: Share = 0.99
    """Smallest cosine (encoders)."""


class _Exported(ManifestPart):
    checkpoint: Path
    adapters: Adapters = ()
    precision: Precision = "fp32"
    accept: Acceptance = Acceptance()


class Scorer(_Exported):
    """A model that returns logits for labels: planner, reranker, tool router, verifier."""

    labels: Labels
    prompt: Annotated[str, Field(min_length=1)]
    """Name of a template in the recipe's `prompts`."""
    tokenizer: Path | None = None
    """Default: `tokenizer.json` of the checkpoint."""
    max_tokens: Count = 512
    picture: Size | None = None
    """Needed by vision-language models."""
    grids: tuple[Size, ...] = ()
    """Further sizes of their pictures, each a graph of its own."""
    image_token: str = IMAGE_TOKEN


class Planner(Scorer):
    """The planner's defaults: the four lookups as letters."""

    labels: Labels = PLAN_LABELS
    prompt: Annotated[str, Field(min_length=1)] = "plan"


class SharingDecider(ManifestPart):
    """A decider that uses the model of another one, with labels and a prompt of its own."""

    shares: Annotated[str, Field(min_length=1)]
    """Name of the other: `planner`, `tool_router`, `verifier` or `deciders.NAME`."""
    labels: Labels
    prompt: Annotated[str, Field(min_length=1)]


class LinearDecider(ManifestPart):
    """A decider by weighted sums of numbers."""

    linear: Path
    """JSON with `features`, `labels`, `weights` (a row for each label) and `bias`."""


def _kind(value: Any) -> str:
    keys = value if isinstance(value, Mapping) else getattr(value, "model_fields_set", ())
    return next((f"<{key}>" for key in ("shares", "linear") if key in keys), "<scorer>")


Decider = Annotated[
    Annotated[Scorer, Tag("<scorer>")]
    | Annotated[SharingDecider, Tag("<shares>")]
    | Annotated[LinearDecider, Tag("<linear>")],
    Discriminator(_kind),
]


class Reranker(Scorer):
    """The fine reranker's defaults: yes and no."""

    labels: Labels = RELEVANCE_LABELS
    prompt: Annotated[str, Field(min_length=1)] = "rerank"
    max_tokens: Count = 256


class ImageEncoder(_Exported):
    """A picture to a vector."""


class LibraryImageEncoder(ManifestPart):
    """A picture to a vector, by weights of a library that is installed beside the exporter."""

    library: Literal["timm", "torchvision"]
    architecture: Annotated[str, Field(min_length=1)]
    """The library's name of the model."""
    weights: Path
    """Its state dict: safetensors, or what `torch.save` wrote, which is read as tensors alone."""
    picture: Normalised
    """What the weights were trained on: timm's `pretrained_cfg`, torchvision's `weights.transforms()`."""
    precision: Precision = "fp32"
    accept: Acceptance = Acceptance()


class ReadyOnnx(ManifestPart):
    """An ONNX file as it is."""

    model: Path
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """Of the file; another one is refused."""
    checkpoint: Path | None = None
    """What it was made of, to compare it with."""
    precision: Precision = "fp32"
    """How it was made: with `fp32` the comparison is bounded by `demands`, otherwise by `accept`."""
    accept: Acceptance = Acceptance()


class ReadyImageEncoder(ReadyOnnx):
    """A picture to a vector: `pixel_values` [B, 3, H, W] to `image_embeds` [B, dimension]."""

    picture: Normalised
    dimension: Count


class ReadyTextEncoder(ReadyOnnx):
    """A text to a vector: `input_ids` and `attention_mask` [B, S] to `last_hidden_state` [B, S, dimension]."""

    tokenizer: Path
    dimension: Count
    pooling: Literal["mean", "cls", "last"] = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: Count


class ReadyReranker(ReadyOnnx):
    """A query and a passage, encoded as a pair, to a relevance: as above to `logits` [B, logits]."""

    tokenizer: Path
    max_tokens: Count = 256
    logits: Count = 1
    """How many the model gives; of one, the relevance is its sigmoid, of more, the softmax at `relevant`."""
    relevant: Annotated[int, Field(ge=0)] | None = None
    """Default: the last."""


class _Tags(ManifestPart):
    least: Share = 0.5
    """Less likely labels are left out."""
    most: Count = 3
    """Labels of one picture."""


class Tagger(_Exported, _Tags):
    """A picture to its likely labels: a classifier whose labels are the `id2label` of its `config.json`."""

    precision: Literal["fp32"] = "fp32"


class ReadyTagger(ReadyOnnx, _Tags):
    """A picture to its likely labels: `pixel_values` [B, 3, H, W] to `logits` or `probabilities` [B, labels]."""

    picture: Normalised
    labels: Path
    """UTF-8, a label a line, in the order of the model's values."""
    output: Literal["logits", "probabilities"] = "logits"


def _is_ready(value: Any) -> str:
    keys = value if isinstance(value, Mapping) else getattr(value, "model_fields_set", ())
    return "<ready>" if "model" in keys else "<checkpoint>"


def _image_source(value: Any) -> str:
    keys = value if isinstance(value, Mapping) else getattr(value, "model_fields_set", ())
    return "<library>" if "library" in keys or "architecture" in keys else _is_ready(value)


AnyImageEncoder = Annotated[
    Annotated[ImageEncoder, Tag("<checkpoint>")]
    | Annotated[ReadyImageEncoder, Tag("<ready>")]
    | Annotated[LibraryImageEncoder, Tag("<library>")],
    Discriminator(_image_source),
]


class TextEncoder(_Exported):
    """A text to a vector; what is left out is read from the checkpoint."""

    tokenizer: Path | None = None
    pooling: Literal["mean", "cls", "last"] | None = None
    query_prefix: str | None = None
    passage_prefix: str | None = None
    max_tokens: Count | None = None


AnyTextEncoder = Annotated[
    Annotated[TextEncoder, Tag("<checkpoint>")] | Annotated[ReadyTextEncoder, Tag("<ready>")],
    Discriminator(_is_ready),
]
AnyReranker = Annotated[
    Annotated[Reranker, Tag("<checkpoint>")] | Annotated[ReadyReranker, Tag("<ready>")],
    Discriminator(_is_ready),
]


AnyTagger = Annotated[
    Annotated[Tagger, Tag("<checkpoint>")] | Annotated[ReadyTagger, Tag("<ready>")],
    Discriminator(_is_ready),
]


class CoarseReranker(_Exported):
    """BLIP-2's Q-Former: pictures and passages to vectors."""

    precision: Literal["fp32"] = "fp32"
    tokenizer: Path | None = None
    max_tokens: Count = 256


class DomainRouter(CoarseReranker):
    """BLIP-2's Q-Former with `classifier.safetensors` beside the checkpoint: picture and question to a domain."""

    labels: Annotated[tuple[str, ...], Field(min_length=2)]
    """Names in the order of the head's rows."""
    max_tokens: Count = 64


class Detector(_Exported):
    """Grounding DINO or OWLv2."""

    precision: Literal["fp32"] = "fp32"
    tokenizer: Path | None = None
    picture: Size | None = None
    """Needed by Grounding DINO; OWLv2 has one size of its own."""
    grids: tuple[Size, ...] = ()
    """Further sizes of Grounding DINO's pictures, each a graph of its own."""


class Generator(ManifestPart):
    """A model for llama.cpp: a checkpoint to convert, GGUF files as they are, or a GGUF file to merge adapters into."""

    checkpoint: Path | None = None
    adapters: Adapters = ()
    """Of `checkpoint` or, for a model of text alone, of `model`: that is then dequantised and quantised again."""
    model: Path | None = None
    projector: Path | None = None
    """Beside `model`, where that sees pictures."""
    tokenizer: Path | None = None
    """Default: `tokenizer.json` of the checkpoint, or beside `model`; without one there, one that transformers rebuilds
    from the GGUF file is compared with llama.cpp's own, which is told of and not demanded."""
    quantisation: GgufType = "q8_0"
    token_embedding: TensorType | None = None
    """Type of the input embedding; default: as the quantisation has it."""
    output: TensorType | None = None
    """Type of the output matrix; default: as the quantisation has it."""
    prompts: dict[str, str] = Field(default_factory=dict)
    """Task to the name of a template in the recipe's `prompts`, besides `GENERATOR_TEMPLATES`; an empty one leaves a
    task out."""
    picture: Size = Size(width=448, height=448)
    """Of models that see."""
    image_token: str = IMAGE_TOKEN
    stop: Annotated[tuple[str, ...], Field(min_length=1)] = (STOP,)
    """Texts that end an answer. Left out beside `model`: the tokens that the file names as endings."""
    context: Count = 4096
    max_new_tokens: Count = 64

    def templates(self) -> dict[str, str]:
        """Task to the name of its template."""
        return {task: name for task, name in {**GENERATOR_TEMPLATES, **self.prompts}.items() if name}

    @model_validator(mode="after")
    def _one_source(self) -> Generator:
        ready = self.model is not None
        if self.projector is not None and not ready:
            raise ValueError("projector: goes with model; give both GGUF files")
        if ready == (self.checkpoint is not None):
            raise ValueError("give either checkpoint, or model with its projector")
        if self.adapters and self.projector is not None:
            raise ValueError("adapters: cannot be merged into a GGUF model that sees; merge them into its checkpoint")
        as_is = ready and not self.adapters
        if as_is and (self.token_embedding or self.output):
            raise ValueError("token_embedding and output: GGUF files without adapters are taken as they are")
        if as_is and "quantisation" in self.model_fields_set:
            raise ValueError("quantisation: ready-made GGUF files are taken as they are; leave it out")
        if ready and self.projector is None and "picture" in self.model_fields_set:
            raise ValueError("picture: a model without projector reads text alone; leave it out, or name the projector")
        return self


class Reader(ManifestPart):
    """Reads printed words; its models come with a package."""

    engine: Literal["rapidocr"] = "rapidocr"


class Roles(ManifestPart):
    """At least one role."""

    planner: Planner | None = None
    tool_router: Decider | None = None
    domain_router: DomainRouter | None = None
    coarse_reranker: CoarseReranker | None = None
    reranker: AnyReranker | None = None
    verifier: Decider | None = None
    detector: Detector | None = None
    image_encoder: AnyImageEncoder | None = None
    text_encoder: AnyTextEncoder | None = None
    generator: Generator | None = None
    reader: Reader | None = None
    tagger: AnyTagger | None = None
    deciders: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], Decider] = Field(default_factory=dict)
    """Further ones, by the names that policies decide by."""

    @model_validator(mode="after")
    def _any(self) -> Roles:
        if not self.named():
            raise ValueError(f"name at least one of {', '.join(type(self).model_fields)}")
        return self

    def named(self) -> tuple[str, ...]:
        """Names of the roles that the recipe has, in the format's order, then `deciders.NAME`."""
        single = [role for role in type(self).model_fields if role != "deciders"]
        present = [role for role in single if getattr(self, role) is not None]
        return (*present, *(DECIDERS + name for name in self.deciders))

    def spec(self, role: str) -> Any:
        """What the recipe says of a role by its name."""
        if role.startswith(DECIDERS):
            return self.deciders[role.removeprefix(DECIDERS)]
        return getattr(self, role)


class Samples(ManifestPart):
    """What exported models are compared and calibrated on."""

    source: Literal["pocketworld", "random"] = "pocketworld"
    count: Annotated[int, Field(ge=2)] = 160
    generated: Count = 80
    """How many of them the generator answers."""
    batches: Annotated[tuple[Count, ...], Field(min_length=1)] = (8,)
    """Sizes of the padded batches in which they are compared, besides one at a time."""


class Demands(ManifestPart):
    """What an export must reach to become a bundle, against PyTorch."""

    logits: Annotated[float, Field(ge=0)] = 1e-3
    """Largest difference of a float32 scorer's logits; of a generator in f32 or f16, ten times this is the largest
    difference of logits in units of their standard deviation (llama.cpp multiplies in float16)."""
    cosine: Share = 0.9999
    """Smallest cosine of a float32 encoder."""
    answers: Share = 0.97
    """Smallest share of equal greedy answers, and of equal best tokens of a generator in f32 or f16."""


class Recipe(ManifestPart):
    """The whole of a recipe."""

    format: Literal[1]
    name: Annotated[str, Field(min_length=1)]
    version: Annotated[str, Field(min_length=1)]
    abstain: Annotated[str, Field(min_length=1)] = "I don't know"
    prompts: Literal["general"] | Path | None = None
    """Directory of templates, or "general": those for general instruction-tuned models. Default: the starter's."""
    training: Path | None = None
    """A JSON file of facts about the training, copied into the provenance."""
    thresholds: Thresholds = Thresholds()
    evidence: EvidenceLimits = EvidenceLimits()
    samples: Samples = Samples()
    demands: Demands = Demands()
    threads: Count = 1
    """CPU threads for PyTorch and quantising."""
    roles: Roles

    @model_validator(mode="before")
    @classmethod
    def _general_tasks(cls, data: Any) -> Any:
        """With the general prompts a generator has all of them, unless the recipe says otherwise of a task."""
        match data:
            case {"prompts": "general", "roles": {"generator": dict() as generator, **roles}}:
                every = {path.stem: path.stem for path in GENERAL_PROMPTS.glob("*.jinja") if path.stem != "rerank"}
                if isinstance(own := generator.get("prompts", {}), dict):
                    generator = {**generator, "prompts": every | own}
                return {**data, "roles": {**roles, "generator": generator}}
        return data
