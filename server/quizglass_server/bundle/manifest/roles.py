"""What a manifest says about the model of each role."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from quizglass_server.bundle.manifest.fields import Count, FileName, Gridded, Normalised, Part, Patched, Size, graphs

_FILES = ("model", "text_model", "tokenizer", "prompt", "projector")


class _Scorer(Part):
    engine: Literal["onnx"]
    model: FileName
    tokenizer: FileName
    prompt: FileName
    labels: Annotated[tuple[tuple[str, str], ...], Field(min_length=2)]
    """(name, text) in the order of the model's logits; each text is one token."""
    max_tokens: Count


class VisionScorer(_Scorer, Gridded):
    """A vision-language model cut down to one prefill pass and its label rows (planner, tool router, verifier)."""

    kind: Literal["vl-scorer"]
    picture: Patched
    image_token: str


class TextScorer(_Scorer):
    """A text model cut down to one prefill pass and its label rows (reranker, tool router, verifier)."""

    kind: Literal["text-scorer"]


class CrossEncoder(Part):
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


class QFormer(Gridded):
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


class QFormerClassifier(Gridded):
    """BLIP-2's Q-Former reading a picture and a question, with a classification head: `logits` [B, labels]."""

    engine: Literal["onnx"]
    kind: Literal["q-former-classifier"]
    model: FileName
    tokenizer: FileName
    picture: Normalised
    labels: Annotated[tuple[str, ...], Field(min_length=2)]
    max_tokens: Count


class Detector(Gridded):
    """An open-vocabulary detector: a picture and phrases to boxes (centre x, centre y, width, height, 0 to 1)."""

    engine: Literal["onnx"]
    kind: Literal["grounding-dino", "owlv2"]
    model: FileName
    tokenizer: FileName
    picture: Normalised
    boxes: Count
    """How many the model gives for a picture."""
    max_tokens: Count


class ImageEncoder(Gridded):
    """A picture to one vector of `dimension` floats."""

    engine: Literal["onnx"]
    kind: Literal["image-encoder"]
    model: FileName
    picture: Normalised
    dimension: Count


class TextEncoder(Part):
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


class GeneratorPrompts(Part):
    """Prompt templates of the generator; `plan` is for policies that ask the generator itself for the
    plan.
    """

    answer: FileName
    rewrite: FileName
    plan: FileName | None = None


class Generator(Part):
    """A model for llama.cpp: text GGUF and, if it sees pictures, its vision projector."""

    engine: Literal["llama"]
    kind: Literal["generator"]
    model: FileName
    projector: FileName | None = None
    """None: it reads text alone, and a picture reaches it as what was read and found."""
    prompts: GeneratorPrompts
    picture: Size | None = None
    """Together with `projector` alone."""
    stop: Annotated[tuple[str, ...], Field(min_length=1)]
    context: Count
    max_new_tokens: Count

    @model_validator(mode="after")
    def _both_or_none(self) -> Generator:
        if (self.projector is None) != (self.picture is None):
            raise ValueError("projector and picture belong together: give both, or none for a model of text alone")
        return self


class Reader(Part):
    """Reads printed words; its models come with the RapidOCR package."""

    engine: Literal["rapidocr"]
    kind: Literal["reader"]
    gate: Annotated[float, Field(ge=0, le=1)] | None = None
    """Probability of words from which a picture is read at all; 0 reads every picture. None: as the gate was fitted."""


Scorer = Annotated[VisionScorer | TextScorer, Field(discriminator="kind")]


class Roles(Part):
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

    def filled(self) -> Iterator[tuple[str, Role]]:
        """(name, settings) of every role that has a model, in the format's order."""
        for role in type(self).model_fields:
            if (part := getattr(self, role)) is not None:
                yield role, part

    def references(self) -> Iterator[tuple[str, str]]:
        """(key, file name) of every place where a role names a file."""
        for role, part in self.filled():
            for key, name in role_files(part):
                yield f"roles.{role}.{key}", name


Role = (
    VisionScorer
    | TextScorer
    | CrossEncoder
    | QFormer
    | QFormerClassifier
    | Detector
    | ImageEncoder
    | TextEncoder
    | Generator
    | Reader
)


def role_files(part: Role) -> Iterator[tuple[str, str]]:
    """(key, file name) of every place where a role's settings name a file."""
    for key in _FILES:
        if (name := getattr(part, key, None)) is not None:
            yield key, name
    if isinstance(part, Gridded):
        for index, grid in enumerate(part.grids or ()):
            yield f"grids.{index}.model", grid.model
    if isinstance(part, Generator):
        for task, name in part.prompts:
            if name is not None:
                yield f"prompts.{task}", name


def picture_sizes(part: Role) -> list[tuple[int, int]]:
    """(width, height) of every size of pictures that a model takes; none of one that takes no pictures, or any."""
    if isinstance(part, VisionScorer | QFormer | QFormerClassifier | Detector | ImageEncoder):
        return [(picture.width, picture.height) for picture, _ in graphs(part)]
    if isinstance(part, Generator) and part.picture is not None:
        return [(part.picture.width, part.picture.height)]
    return []
