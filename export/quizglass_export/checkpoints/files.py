"""The checkpoints of a bundle: where they lie, and whether they are whole. Knows no PyTorch: `loading` does.

A directory of checkpoints holds `base/` (Qwen2.5-VL with `tokenizer.json`), `planner/` (PEFT adapter on it),
`reranker_base/` (Qwen3) with `reranker/` (adapter), `image_encoder/` (CLIP vision with projection) and
`text_encoder/` (BERT with `tokenizer.json`), all in the form that transformers and PEFT write. It may hold `detector/`
(OWLv2) and `coarse_reranker/` (BLIP-2's Q-Former; with `classifier.safetensors`, the head of a domain router).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from quizglass_export.errors import ExportError

CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
ADAPTER_CONFIG = "adapter_config.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
TRAINING = "training.json"
"""What is known of the training, beside the parts; it becomes part of a bundle's provenance."""
DECISIONS = "decisions.json"
"""Beside the planner's adapter: the roles that it was trained for, with their labels in the order of the letters."""
ROUTER = "search_router.json"
"""Also beside the planner's adapter: the weights of the search router."""

_MOST_HEADER = 100 << 20
CLASSIFIER = "classifier.safetensors"
"""A domain router's head, beside the Q-Former: `weight` [labels, H] and `bias` [labels]."""
MODEL_TYPES = {
    "base": "qwen2_5_vl",
    "reranker_base": "qwen3",
    "image_encoder": "clip_vision_model",
    "text_encoder": "bert",
    "detector": "owlv2",
    "coarse_reranker": "blip-2",
}
ADAPTERS = {"planner": "base", "reranker": "reranker_base"}
PARTS = ("base", "planner", "reranker_base", "reranker", "image_encoder", "text_encoder")
FURTHER_PARTS = ("detector", "coarse_reranker")
"""A directory of checkpoints may do without them."""
_TOKENIZED = ("base", "text_encoder", *FURTHER_PARTS)


def how_to_download(folder: Path) -> str:
    """What to do where a path that is not there is a model's name on the Hugging Face Hub; empty where it is none.

    Nothing is downloaded by itself: a build reads files alone.
    """
    name = "/".join(folder.parts[-2:])
    if folder.parent.exists() or not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        return ""
    return f". If that is a name on the Hugging Face Hub: hf download {name} --local-dir {folder}"


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """A directory of checkpoints whose files are all there."""

    root: Path

    @classmethod
    def find(cls, root: Path) -> Checkpoints:
        """Check that every part has its files, and each config the expected architecture.

        Raises:
            ExportError: something is missing or of another architecture.
        """
        if not root.is_dir():
            raise ExportError(f"{root}: not a directory; give the directory with {', '.join(PARTS)}")
        checkpoints = cls(root)
        for part in checkpoints.parts():
            names = [ADAPTER_CONFIG, ADAPTER_WEIGHTS] if part in ADAPTERS else [CONFIG]
            names += [TOKENIZER] if part in _TOKENIZED else []
            for name in names:
                if not (root / part / name).is_file():
                    raise ExportError(f"{root / part / name}: missing; train or copy the {part} checkpoint")
            if part in MODEL_TYPES:
                found = read_json(root / part / CONFIG).get("model_type")
                if found != MODEL_TYPES[part]:
                    raise ExportError(
                        f"{root / part / CONFIG}: model_type is {found!r}, {part} must be {MODEL_TYPES[part]!r}"
                    )
        return checkpoints

    def parts(self) -> tuple[str, ...]:
        """The parts that every directory has, and those of the optional ones that this one has."""
        return (*PARTS, *(part for part in FURTHER_PARTS if (self.root / part).is_dir()))

    def part(self, name: str) -> Path:
        """Directory of one checkpoint."""
        return self.root / name

    def weights(self, name: str) -> list[Path]:
        """Weight files of one part, in order.

        Raises:
            ExportError: none, or a shard that the index names is missing.
        """
        folder = self.part(name)
        if name in ADAPTERS:
            return [folder / ADAPTER_WEIGHTS]
        return [*weight_files(folder), *(path for path in (folder / CLASSIFIER,) if path.is_file())]


def weight_files(folder: Path) -> list[Path]:
    """Weight files of a checkpoint, in order.

    Raises:
        ExportError: none, or a shard that the index names is missing.
    """
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if not (folder / INDEX).is_file():
        raise ExportError(f"{folder / WEIGHTS}: missing; save the checkpoint as safetensors")
    index = read_json(folder / INDEX).get("weight_map")
    if not isinstance(index, dict) or not all(isinstance(shard, str) for shard in index.values()):
        raise ExportError(f"{folder / INDEX}: weight_map must name a shard for each key")
    shards = sorted(set(index.values()))
    for shard in shards:
        if Path(shard).name != shard or not (folder / shard).is_file():
            raise ExportError(f"{folder / INDEX}: names {shard!r}, which is not in {folder}")
    return [folder / shard for shard in shards]


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; ExportError if it is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ExportError(f"{path}: not readable JSON: {error}") from error
    if not isinstance(value, dict):
        raise ExportError(f"{path}: must hold a JSON object")
    return value


def tensor_sizes(path: Path) -> list[int]:
    """Number of elements of each tensor of a safetensors file, from its header.

    Raises:
        ExportError: the header is no header, or claims more bytes than the file has.
    """
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(_MOST_HEADER, path.stat().st_size):
                raise ExportError(f"{path}: not a readable safetensors file: header of {length:,} bytes")
            header = json.loads(file.read(length))
        return [prod(entry["shape"]) for key, entry in header.items() if key != "__metadata__"]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        if isinstance(error, ExportError):
            raise
        raise ExportError(f"{path}: not a readable safetensors file: {error}") from error
