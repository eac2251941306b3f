"""How a model is trained: what every recipe can set, with the papers' figures as defaults in the recipes' own files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from quizglass_lab.finetuning.shared.options import DEVICE, Options, PictureSize, flag

FULL_RATE, ADAPTER_RATE = 2e-5, 1e-4
"""Learning rates of full fine-tuning and of adapters (planning-agent paper, section 5.3)."""

_SHAPE = ("rank", "alpha", "dropout", "layers")
_OF_ADAPTERS = (*_SHAPE, "half", "bfloat16", "adapter")


class Training(Options):
    """Options of `quizglass-lab train`; each recipe has its own defaults."""

    objectives: ClassVar[tuple[str, ...]] = ()
    """Names of the objectives that the recipe's examples have; --without and --only take no other."""
    checkpoint: Path = Field(description="the model to train: a directory as transformers writes it")
    data: Path = Field(description="folder with train.jsonl and held-out.jsonl, as annotate writes it")
    out: Path = Field(description="folder for the adapter, its prompts, TensorBoard's curves and training.json")
    adapter: Path | None = Field(None, description="an adapter to go on from, with its rank, alpha and layers")
    rank: int = Field(32, ge=1, description="LoRA rank")
    alpha: int = Field(128, ge=1, description="LoRA alpha")
    dropout: float = Field(0.0, ge=0, lt=1, description="LoRA dropout")
    layers: str = Field("all", pattern="^(all|attention)$", description="linear layers with an adapter: all, attention")
    half: bool = Field(False, description="write the adapter in float16, half as large")
    bfloat16: bool = Field(
        False, description="compute in bfloat16 on a CPU that multiplies tiles of it (AMX), as on every GPU"
    )
    full: bool = Field(False, description=f"train all weights instead of an adapter (learning rate {FULL_RATE:g})")
    learning_rate: float = Field(1e-4, gt=0, description="peak learning rate")
    schedule: str = Field("linear", pattern="^(linear|cosine|constant)$", description="linear, cosine or constant")
    warm_up: float = Field(0.0, ge=0, lt=1, description="share of the steps in which the rate rises")
    epochs: float = Field(3, gt=0, description="passes over the data")
    steps: int = Field(0, ge=0, description="optimiser steps instead of epochs; 0: epochs")
    minutes: float = Field(
        0, ge=0, description="time limit, at which the rate is down to 0; whichever is first, it or the steps; 0: none"
    )
    batch: int = Field(1, ge=1, description="examples at once")
    accumulation: int = Field(16, ge=1, description="batches that make one optimiser step")
    evaluate_every: int = Field(500, ge=1, description="steps between evaluations on held-out.jsonl and checkpoints")
    without: tuple[str, ...] = Field((), description="objectives to leave out (ablations)")
    only: tuple[str, ...] = Field((), description="objectives to train on alone")
    general: Path | None = Field(None, description="JSONL of general examples, mixed 1:1 with the others")
    prompts: Path | None = Field(None, description="directory of prompt templates; default: those for general models")
    picture: PictureSize = Field("448x448", description="size of pictures, as the bundle will have it")
    max_tokens: int = Field(1024, ge=16, description="longest prompt; the longest data of a longer one is cut")
    checkpointing: bool = Field(True, description="compute activations again in the backward pass: less memory, slower")
    device: str = Field("auto", pattern=DEVICE, description="auto, cpu or cuda")
    seed: int = Field(0, ge=0, description="of the adapter's weights and the order of examples")

    @field_validator("without", "only")
    @classmethod
    def _objectives_there(cls, names: Sequence[str]) -> Sequence[str]:
        if unknown := sorted(set(names) - set(cls.objectives)):
            raise ValueError(f"{unknown[0]!r} is no objective; there are {', '.join(cls.objectives) or 'none'}")
        return tuple(sorted(set(names)))  # a run that goes on compares its options

    @model_validator(mode="after")
    def _adapter_or_all(self) -> Self:
        """What is said of an adapter is not passed over where there is none."""
        if self.full and (said := [flag(name) for name in _OF_ADAPTERS if name in self.model_fields_set]):
            raise ValueError(f"{said[0]}: is of adapters; --full trains all weights")
        if self.adapter and (said := [flag(name) for name in _SHAPE if name in self.model_fields_set]):
            raise ValueError(f"{said[0]}: is as the adapter has it that --adapter goes on from")
        return self

    @model_validator(mode="before")
    @classmethod
    def _rate_that_fits(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Where the other of full tuning and adapter is asked for than the recipe's, so is its learning rate."""
        full = data.get("full", cls.model_fields["full"].default)
        if full == cls.model_fields["full"].default:
            return data
        return {"learning_rate": FULL_RATE if full else ADAPTER_RATE, **data}
