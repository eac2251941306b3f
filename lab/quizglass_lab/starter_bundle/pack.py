"""`quizglass-lab pack-checkpoints`: the files that rebuild a bundle, in half precision and without
training state.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from quizglass_export.checkpoints.files import PARTS, TRAINING, Checkpoints, read_json
from quizglass_export.checkpoints.loading import check_finite
from quizglass_export.directory import check_free, fresh_directory
from quizglass_export.errors import ExportError
from quizglass_lab.starter_bundle.settings import SETTINGS, read_settings

MOST_BYTES = 32 << 20
_TEXTS = (".json", ".jinja", ".txt")
_DONE = "done.json"
_STATE = (_DONE, "sittings", "optimizer", "scheduler", "trainer_state", "progress", "rng")
"""Beginnings of the names of files that only a resumed training needs."""


def pack(source: Path, out: Path, *, replace: bool = False, advance: Callable[[str], None] = lambda part: None) -> int:
    """Copy checkpoints, converting weights to float16.

    Args:
        source: directory of checkpoints as training leaves it.
        out: directory to write; it must not exist unless `replace`.
        replace: whether an existing directory may be replaced.
        advance: called with each part's name as it starts.

    Returns:
        Bytes written.

    Raises:
        ExportError: a part is missing, a weight does not fit float16, or the result is over 32 MiB.
    """
    check_free(out, replace, PARTS[0])
    checkpoints = Checkpoints.find(source)
    read_settings(source)
    with fresh_directory(out) as folder:
        for part in checkpoints.parts():
            advance(part)
            (folder / part).mkdir()
            for path in checkpoints.weights(part):
                _halve(path, folder / part / path.name)
            _copy_texts(checkpoints.part(part), folder / part)
        if (source / SETTINGS).is_file():
            shutil.copyfile(source / SETTINGS, folder / SETTINGS)
        if training := _training(source):
            text = json.dumps(training, indent=1, sort_keys=True) + "\n"
            (folder / TRAINING).write_text(text, encoding="utf-8")
        if (source / "prompts").is_dir():
            (folder / "prompts").mkdir()
            _copy_texts(source / "prompts", folder / "prompts")
        total = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        if total > MOST_BYTES:
            raise ExportError(f"{source}: {total:,} bytes in float16, at most {MOST_BYTES:,} are kept")
    return total


def _training(source: Path) -> dict[str, Any]:
    """What the stages of the training noted when they were done, by stage."""
    if (source / TRAINING).is_file():
        return read_json(source / TRAINING)
    return {path.parent.name: read_json(path) for path in sorted(source.glob(f"*/{_DONE}"))}


def _copy_texts(source: Path, target: Path) -> None:
    for path in sorted(source.iterdir()):
        if path.is_file() and path.suffix in _TEXTS and not path.name.startswith(_STATE):
            shutil.copyfile(path, target / path.name)


def _halve(source: Path, target: Path) -> None:
    check_finite(source)
    tensors: dict[str, torch.Tensor] = {}
    with safe_open(str(source), framework="pt") as file:
        metadata = file.metadata()
        for key in file.keys():  # noqa: SIM118 - not a mapping
            tensor = file.get_tensor(key)
            if tensor.is_floating_point():
                tensor = tensor.to(torch.float16)
                if not bool(torch.isfinite(tensor).all()):
                    raise ExportError(f"{source}: {key} has values beyond float16's range; keep this part as it is")
            tensors[key] = tensor.contiguous()
    save_file(tensors, str(target), metadata=metadata)
