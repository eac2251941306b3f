"""The schema of a bundle's `manifest.json`, format 1.

Unknown keys are refused, so that a typing mistake never passes as a default. Reading and hashing are
`bundle`'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

MANIFEST = "manifest.json"
FORMAT = 1


def _inside(name: str) -> str:
    """Accept a relative POSIX path in normal form that stays inside the bundle."""
    path = PurePosixPath(name)
    if (
        not name
        or path.is_absolute()
        or str(path) != name
        or ".." in path.parts
        or any(character in name for character in ("\\", ":", "\x00"))
    ):
        raise ValueError(f"{name!r} is not a plain relative path inside the bundle")
    if name == MANIFEST:
        raise ValueError(f"{MANIFEST} cannot list itself")
    return name


FileName = Annotated[str, AfterValidator(_inside)]
Count = Annotated[int, Field(ge=1)]
Channels = tuple[float, float, float]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class FileEntry(_Part):
    """What a file must be: its SHA-256 in hex and its size in bytes."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    bytes: Annotated[int, Field(ge=0)]


class Size(_Part):
    """Picture size in pixels."""

    width: Count
    height: Count


class Normalised(Size):
    """A picture as an encoder takes it: resized to width x height, scaled to 0..1, then (x - mean) / std per
    channel.
    """

    mean: Channels
    std: Annotated[Channels, AfterValidator(lambda std: _positive(std))]


class Patched(Normalised):
    """A picture as a Qwen2-VL vision tower takes it: `patch` pixels a side, `merge` x `merge` patches to a
    token.
    """

    patch: Count
    merge: Count
    temporal: Count

    @model_validator(mode="after")
    def _whole_tokens(self) -> Patched:
        side = self.patch * self.merge
        if self.width % side or self.height % side:
            raise ValueError(f"width {self.width} and height {self.height} must be multiples of {side}")
        return self


def _positive(std: Channels) -> Channels:
    if min(std) <= 0:
        raise ValueError("std must be positive in every channel")
    return std


class _Scorer(_Part):
    engine: Literal["onnx"]
    model: FileName
    tokenizer: FileName
    prompt: FileName
    labels: Annotated[tuple[tuple[str, str], ...], Field(min_length=2)]
    """(name, text) in the order of the model's logits; each text is one token."""
    max_tokens: Count


class VisionScorer(_Scorer):
    """A vision-language model cut down to one prefill pass and its label rows (the planner)."""

    kind: Literal["vl-scorer"]
    picture: Patched
    image_token: str


class TextScorer(_Scorer):
    """A text model cut down to one prefill pass and its label rows (the reranker)."""

    kind: Literal["text-scorer"]


class CrossEncoder(_Part):
    """A query and a passage, encoded as a pair by the tokenizer, to logits [B, logits] (BERT-style rerankers)."""

    engine: Literal["onnx"]
    kind: Literal["cross-encoder"]
    model: FileName
    tokenizer: FileName
    max_tokens: Count
    logits: Count
    """How many the model gives; of one, the relevance is its sigmoid, of more, the softmax at `relevant`."""
    relevant: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _inside(self) -> CrossEncoder:
        if self.relevant >= self.logits:
            raise ValueError(f"relevant is {self.relevant}, the model gives {self.logits} logits")
        return self


class QFormer(_Part):
    """BLIP-2's Q-Former: a picture to `queries` vectors of `dimension`, a text to one; similarity is the largest dot
    product.
    """

    engine: Literal["onnx"]
    kind: Literal["q-former"]
    model: FileName
    """`pixel_values` to `image_embeds` [B, queries, dimension]."""
    text_model: FileName
    """`input_ids`, `attention_mask` to `text_embeds` [B, dimension]."""
    tokenizer: FileName
    picture: Normalised
    queries: Count
    dimension: Count
    max_tokens: Count


class QFormerClassifier(_Part):
    """BLIP-2's Q-Former reading a picture and a question, with a classification head: `logits` [B, labels]."""

    engine: Literal["onnx"]
    kind: Literal["q-former-classifier"]
    model: FileName
    tokenizer: FileName
    picture: Normalised
    labels: Annotated[tuple[str, ...], Field(min_length=2)]
    max_tokens: Count


class Detector(_Part):
    """An open-vocabulary detector: a picture and phrases to boxes (centre x, centre y, width, height, 0 to 1)."""

    engine: Literal["onnx"]
    kind: Literal["grounding-dino", "owlv2"]
    model: FileName
    tokenizer: FileName
    picture: Normalised
    boxes: Count
    """How many the model gives for a picture."""
    max_tokens: Count


class ImageEncoder(_Part):
    """A picture to one vector of `dimension` floats."""

    engine: Literal["onnx"]
    kind: Literal["image-encoder"]
    model: FileName
    picture: Normalised
    dimension: Count


class TextEncoder(_Part):
    """A text to one vector of `dimension` floats, pooled over its tokens."""

    engine: Literal["onnx"]
    kind: Literal["text-encoder"]
    model: FileName
    tokenizer: FileName
    dimension: Count
    pooling: Literal["mean", "cls", "last"]
    """Of the token states: their mean, the first, or that of the last token."""
    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: Count


class GeneratorPrompts(_Part):
    """Prompt templates of the generator; `plan` is for policies that ask the generator itself for the
    plan.
    """

    answer: FileName
    rewrite: FileName
    plan: FileName | None = None


class Generator(_Part):
    """A vision-language model for llama.cpp: text GGUF and its vision projector."""

    engine: Literal["llama"]
    kind: Literal["generator"]
    model: FileName
    projector: FileName
    prompts: GeneratorPrompts
    picture: Size
    stop: Annotated[tuple[str, ...], Field(min_length=1)]
    context: Count
    max_new_tokens: Count


class Reader(_Part):
    """Reads printed words; its models come with the RapidOCR package."""

    engine: Literal["rapidocr"]
    kind: Literal["reader"]


Scorer = Annotated[VisionScorer | TextScorer, Field(discriminator="kind")]


class Roles(_Part):
    """What each model is for; an absent role is None."""

    planner: VisionScorer | None = None
    tool_router: Scorer | None = None
    domain_router: QFormerClassifier | None = None
    coarse_reranker: QFormer | None = None
    reranker: Annotated[TextScorer | CrossEncoder, Field(discriminator="kind")] | None = None
    verifier: Scorer | None = None
    detector: Detector | None = None
    image_encoder: ImageEncoder | None = None
    text_encoder: TextEncoder | None = None
    generator: Generator | None = None
    reader: Reader | None = None


class Thresholds(_Part):
    """Scores below which evidence is dropped: cosine for pictures, probability of "yes" for reranking."""

    image_accept: float = 0.0
    rerank_accept: float = 0.0


Share = Annotated[float, Field(gt=0, le=1)]
Shares = Annotated[tuple[Share, ...], Field(min_length=1, max_length=3)]


class Views(_Part):
    """Which parts of a picture are searched for: widths as shares of the picture's.

    `placed`: of a question that names a place, each cut there. `unplaced`: of any other; a width below 1 is cut left,
    in the middle and right.
    """

    placed: Shares = (0.5,)
    unplaced: Shares = (1.0,)


class EvidenceLimits(_Part):
    """How evidence is looked for, and how many pieces are fetched and shown to the generator."""

    seen: Count = 1
    found: Count = 2
    text_candidates: Count = 8
    image_candidates: Count = 5
    views: Views = Views()
    kind_bonus: Annotated[float, Field(ge=0, le=2)] = 0.0


class Manifest(_Part):
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
        for role in Roles.model_fields:
            part = getattr(self.roles, role)
            for field in ("model", "text_model", "tokenizer", "prompt", "projector"):
                if (name := getattr(part, field, None)) is not None:
                    yield f"roles.{role}.{field}", name
        if self.roles.generator is not None:
            for field, name in self.roles.generator.prompts:
                if name is not None:
                    yield f"roles.generator.prompts.{field}", name
