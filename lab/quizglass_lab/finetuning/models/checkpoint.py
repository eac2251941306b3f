"""A checkpoint of transformers' with its tokenizer and prompts, to be asked or trained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from quizglass_bundle.inputs.prompts import PromptError, PromptTokenizer
from quizglass_export.checkpoints.files import CONFIG, TOKENIZER, how_to_download, read_json, weight_files
from quizglass_export.checkpoints.peft_models import load_adapted
from quizglass_export.errors import ExportError, reason
from quizglass_export.graphs.qwen_vl import VISION_CLASSES
from quizglass_export.roles.shared.entry import IMAGE_TOKEN
from quizglass_export.roles.shared.job import patched
from quizglass_lab.finetuning.models.chat import Prompts
from quizglass_lab.finetuning.models.inputs import InputMaker
from quizglass_lab.starter.model.precision import chosen_device

TEXT_TYPES = ("qwen3", "qwen2", "llama")
"""Model types that read text alone."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that is ready, and what turns prompts into its inputs."""

    folder: Path
    model: Any
    prompts: Prompts
    inputs: InputMaker
    stop: int
    """Id of the token that ends an answer."""

    @property
    def device(self) -> torch.device:
        """The device that the model's weights are on."""
        device: torch.device = next(self.model.parameters()).device
        return device


def picture_size(text: str) -> tuple[int, int]:
    """(width, height) of "448x448"; ValueError where it is none."""
    width, _, height = text.partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise ValueError(f"{text!r} is no size such as 448x448")
    return int(width), int(height)


def load(
    folder: Path,
    *,
    prompts: Path | None = None,
    picture: tuple[int, int] = (448, 448),
    max_tokens: int = 1024,
    device: str = "auto",
    adapter: Path | None = None,
) -> Loaded:
    """Load a checkpoint in its own precision on a GPU, in float32 on a CPU.

    Args:
        folder: config, weights and tokenizer, as transformers writes them.
        prompts: templates; None: those for general models, in the checkpoint's chat format.
        picture: width and height that pictures are stretched to, as the bundle will serve them.
        max_tokens: longest prompt.
        device: auto (a GPU where there is one), cpu or cuda.
        adapter: a PEFT adapter beside it, not merged.

    Raises:
        ExportError: a file is missing, damaged or of an architecture that bundles cannot carry, a size does not fit, or
            there is no GPU where one was asked for.
    """
    config = _config(folder)
    kind = config["model_type"]
    with _read(folder, "its tokenizer"):
        own = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    filled = Prompts(prompts, own, sees=kind in VISION_CLASSES)
    place = chosen_device(device)
    kinds: Any = getattr(transformers, VISION_CLASSES[kind]) if kind in VISION_CLASSES else None
    with _read(folder, "its weights"):
        model = (kinds or transformers.AutoModelForCausalLM).from_pretrained(
            folder, dtype="auto" if place.type == "cuda" else torch.float32, local_files_only=True
        )
    if adapter is not None:
        model = load_adapted(model, adapter)
    maker = _inputs(folder, config, picture, max_tokens)
    try:
        stop = maker.tokenizer.label(filled.stop, "stop text")
    except PromptError as error:
        raise ExportError(f"{folder / TOKENIZER}: {error}") from error
    return Loaded(folder, model.to(place).eval(), filled, maker, stop)


@contextmanager
def _read(folder: Path, what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # transformers' own fail in many ways
        told = " ".join(str(error).split())
        raise ExportError(f"{folder}: {what} cannot be read: {told[:500]}") from error


def _config(folder: Path) -> dict[str, Any]:
    """A checkpoint's `config.json`, once it is known that a model can be loaded."""
    if not (folder / CONFIG).is_file():
        raise ExportError(f"{folder / CONFIG}: missing; give the folder of a checkpoint{how_to_download(folder)}")
    weight_files(folder)
    config = read_json(folder / CONFIG)
    if (kind := config.get("model_type")) not in (*VISION_CLASSES, *TEXT_TYPES):
        types = ", ".join((*VISION_CLASSES, *TEXT_TYPES))
        raise ExportError(f"{folder / CONFIG}: model_type is {kind!r}; a model to ask or train can be {types}")
    return config


def _inputs(folder: Path, config: dict[str, Any], picture: tuple[int, int], max_tokens: int) -> InputMaker:
    path = folder / TOKENIZER
    if not path.is_file():
        raise ExportError(f"{path}: missing; save the tokenizer with its fast class")
    tokenizer = PromptTokenizer(path)
    if config["model_type"] not in VISION_CLASSES:
        return InputMaker(tokenizer, None, "", 0, max_tokens)
    try:
        spec = patched(folder, config, *picture)
    except ValueError as error:
        raise ExportError(f"--picture {picture[0]}x{picture[1]}: {reason(error)}") from None
    # Padding must not be the image token's id, or pictures would be scattered into it.
    pad = 0 if config.get("image_token_id") != 0 else 1
    return InputMaker(tokenizer, spec, IMAGE_TOKEN, pad, max_tokens)
