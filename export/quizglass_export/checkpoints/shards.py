"""The tensors of a checkpoint, read one at a time from its safetensors shards."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from quizglass_export.checkpoints.files import INDEX, read_json, weight_files
from quizglass_export.errors import ExportError


class Shards:
    """Keys of all shards, under the names of the model class that reads them.

    A shard is opened for each tensor and closed after it: an open map would keep every page that was read in memory.
    """

    def __init__(self, folder: Path, renamed: Mapping[str, str] | None = None) -> None:
        """Read the headers.

        Args:
            folder: the checkpoint.
            renamed: regular expressions to what they become, the first that matches, as transformers' classes have them
                for checkpoints of older versions.

        Raises:
            ExportError: a shard is missing or damaged, a key is in two, or the index names one that is in none.
        """
        self.folder = folder
        self._renamed = dict(renamed or {})
        self._places: dict[str, tuple[Path, str]] = {}
        for path in weight_files(folder):
            for key in _keys(path):
                name = self.name(key)
                if name in self._places:
                    raise ExportError(
                        f"{path}: {key} is also in {self._places[name][0].name}; export the checkpoint again"
                    )
                self._places[name] = (path, key)
        self._check_index()

    def name(self, key: str) -> str:
        """The model class' name of a checkpoint's key."""
        for pattern, replacement in self._renamed.items():
            changed, count = re.subn(pattern, replacement, key)
            if count:
                return changed
        return key

    @property
    def names(self) -> frozenset[str]:
        """Names of all tensors."""
        return frozenset(self._places)

    def get(self, name: str, rows: Sequence[int] | None = None) -> Tensor:
        """One tensor, or some rows of it, as it is stored.

        Raises:
            ExportError: it is missing, cannot be read, or holds NaN or infinity.
        """
        if name not in self._places:
            raise ExportError(f"{self.folder}: {name} is missing; the checkpoint is not whole")
        path, key = self._places[name]
        try:
            with safe_open(str(path), framework="pt") as file:
                if rows is None:
                    tensor: Tensor = file.get_tensor(key).clone()
                else:
                    part = file.get_slice(key)
                    tensor = torch.cat([part[row : row + 1] for row in rows])
        except (SafetensorError, OSError) as error:
            raise ExportError(f"{path}: not a readable safetensors file: {error}") from error
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise ExportError(f"{path}: {key} holds NaN or infinity; train again or restore the file")
        return tensor

    def _check_index(self) -> None:
        if not (self.folder / INDEX).is_file():
            return
        index = read_json(self.folder / INDEX).get("weight_map")
        if not isinstance(index, dict):
            raise ExportError(f"{self.folder / INDEX}: weight_map must name a shard for each key")
        places = {self.name(key): shard for key, shard in index.items()}
        for name, shard in places.items():
            if name not in self._places or self._places[name][0].name != shard:
                raise ExportError(f"{self.folder / shard}: {name} is not in it, as {INDEX} says; copy the shard again")


def _keys(path: Path) -> list[str]:
    try:
        with safe_open(str(path), framework="pt") as file:
            return list(file.keys())
    except (SafetensorError, OSError) as error:
        raise ExportError(f"{path}: not a readable safetensors file: {error}") from error
