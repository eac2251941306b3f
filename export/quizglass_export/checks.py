"""What a comparison of an exported model with its source came to, and whether that is enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import numpy as np
from pydantic import Field

from quizglass_bundle.fields import ManifestPart

Share = Annotated[float, Field(ge=0, le=1)]
Precision = Literal["fp32", "fp16", "int8", "int8-rows", "int8-weights", "int4-weights"]
"""Of an ONNX model: computing in float32 or float16; static INT8 (QDQ) calibrated on the samples; INT8 with a scale for
each token, found while it runs (CPU alone); or float32 activations with 8- or 4-bit weights."""
CardPrecision = Literal["cuda-fp16", "tensorrt-fp16"]
"""Of a scorer of texts for a card: float16 with ONNX Runtime's fused operators, for its CUDA provider; or with standard
operators alone, for TensorRT."""
CARD_PRECISIONS: tuple[CardPrecision, ...] = get_args(CardPrecision)
Quickest = Literal["quickest"]
"""In place of a precision: the quickest that is accepted, measured on the machine of the build."""
QUICKEST: Quickest = "quickest"


@dataclass(frozen=True, slots=True)
class Check:
    """One measured comparison.

    Attributes:
        role: the model's role.
        measure: what was compared, in words.
        value: the worst case, or the share.
        demand: the bound, as text with its direction.
        samples: how many inputs were compared.
        passed: whether the bound holds.
        detail: the first input that broke it, or further figures.
    """

    role: str
    measure: str
    value: float
    demand: str
    samples: int
    passed: bool
    detail: str = ""


def at_most(role: str, measure: str, values: Sequence[float], bound: float, detail: str = "") -> Check:
    """The largest value may not exceed the bound, and none may be NaN."""
    worst = float(np.max(values))  # Python's max passes over NaN unless it comes first
    return Check(role, measure, worst, f"<= {bound:g}", len(values), worst <= bound, detail)


def at_least(role: str, measure: str, values: Sequence[float], bound: float, detail: str = "") -> Check:
    """The smallest value may not be below the bound, and none may be NaN."""
    worst = float(np.min(values))
    return Check(role, measure, worst, f">= {bound:g}", len(values), worst >= bound, detail)


def share(role: str, measure: str, equal: Sequence[bool], bound: float, detail: str = "") -> Check:
    """A check that at least this share of values is equal."""
    value = sum(equal) / len(equal)
    return Check(role, measure, value, f">= {bound:g}", len(equal), value >= bound, detail)


class Acceptance(ManifestPart):
    """What a model of less than float32 must reach against the float32 one, on the samples."""

    labels: Share = 0.99
    """Share of equal labels (scorers)."""
    drift: Annotated[float, Field(gt=0)] = 0.02
    """Largest mean change of a label's probability (scorers)."""
    cosine: Share = 0.99
    """Smallest cosine (encoders)."""
    lines: Share = 0.9
    """Share of lines of words that are read alike (readers)."""
