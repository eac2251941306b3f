"""What a recipe says of a role: what the entries of several roles share. A role's own keys are in its own file.

Unknown keys are refused. Paths are relative to the recipe's own directory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from quizglass_bundle.fields import Count, ManifestPart, Size
from quizglass_export.checks import Acceptance, CardPrecision, Precision, Quickest, Share

IMAGE_TOKEN = "<|image_pad|>"  # noqa: S105 - a word of the vocabulary


def _template(name: str) -> str:
    if any(character in name for character in '/\\:"\0'):
        raise ValueError(f"{name!r} must be the name of a template in the recipe's prompts, without a directory")
    return name


TemplateName = Annotated[str, AfterValidator(_template)]
"""Name of a file `NAME.jinja` in the recipe's `prompts`."""
Labels = Annotated[tuple[tuple[str, str], ...], Field(min_length=2)]
RELEVANCE_LABELS: Labels = (("yes", " yes"), ("no", " no"))
"""How a text model says whether a passage answers a query."""


class Entry(ManifestPart):
    """What a recipe says of one role."""

    reads_text: ClassVar[bool] = True
    """Whether its model reads text, and so has a tokenizer."""


def _weight(value: float) -> float:
    if not math.isfinite(value) or value == 0:
        raise ValueError("must be a number other than 0")
    return value


class Adapter(ManifestPart):
    """A PEFT adapter's directory, and the scale of its change."""

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


class OnnxEntry(Entry):
    """A model that is served as an ONNX graph."""

    candidates: ClassVar[tuple[Precision, ...]] = ("fp32", "int8-rows", "int8")
    """What `quickest` measures. Weights of fewer bits save memory, and float16 computes no faster on a CPU."""

    precision: Precision | CardPrecision | Quickest = "fp32"
    """How it is made, or was: with `fp32` the comparison is bounded by `demands`, otherwise by `accept`."""
    accept: Acceptance = Acceptance()


class FromCheckpoint(OnnxEntry):
    """A model that is exported from a checkpoint."""

    checkpoint: Path
    adapters: Adapters = ()


class Scorer(FromCheckpoint):
    """A model that returns logits for labels: planner, reranker, tool router, verifier."""

    labels: Labels
    prompt: Annotated[TemplateName, Field(min_length=1)]
    tokenizer: Path | None = None
    """Default: `tokenizer.json` of the checkpoint."""
    max_tokens: Count | None = None
    """Default: 512; where prompts show pictures of entries, so much more that all of them fit."""
    picture: Size | None = None
    """Needed by vision-language models."""
    grids: tuple[Size, ...] = ()
    """Further sizes of their pictures, each a graph of its own."""
    tower: bool | None = None
    """Whether the vision tower of a vision-language model is a graph of its own, which runs once a picture for all
    decisions about it. Default: it is."""
    image_token: str = IMAGE_TOKEN


class ReadyOnnx(OnnxEntry):
    """An ONNX file as it is."""

    precision: Precision | CardPrecision = "fp32"
    model: Path
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """SHA-256 of the file; another file is refused."""
    checkpoint: Path | None = None
    """What it was made of, to compare it with."""


class QFormer(FromCheckpoint):
    """BLIP-2's Q-Former, of which several roles are made."""

    precision: Literal["fp32"] = "fp32"
    tokenizer: Path | None = None
    max_tokens: Count = 256


def is_ready(value: Any) -> str:
    """The tag of an entry that is a checkpoint or ready-made files, whichever it names."""
    keys = value if isinstance(value, Mapping) else getattr(value, "model_fields_set", ())
    return "<ready>" if "model" in keys else "<checkpoint>"


class Demands(ManifestPart):
    """What an export must reach to become a bundle, against PyTorch."""

    logits: Annotated[float, Field(ge=0)] = 1e-3
    """Largest difference of a float32 scorer's logits; of a generator in f32 or f16, ten times this is the largest
    difference of logits in units of their standard deviation (llama.cpp multiplies in float16)."""
    cosine: Share = 0.9999
    """Smallest cosine of a float32 encoder."""
    answers: Share = 0.97
    """Smallest share of equal greedy answers, and of equal best tokens of a generator in f32 or f16."""
