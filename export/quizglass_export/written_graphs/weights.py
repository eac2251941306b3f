"""Weights by their names: what a graph lacks, or a file has too much, is an error and never a guess."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quizglass_export.errors import ExportError

Arrays = Mapping[str, NDArray[Any]]


class NamedWeights:
    """The arrays of a weight file.

    Args:
        path: the file, for messages.
        arrays: name to array.
        model: what it should hold the weights of, for messages.
    """

    def __init__(self, path: Path, arrays: Arrays, model: str) -> None:
        self._path, self._arrays, self._model = path, arrays, model
        self._taken: set[str] = set()

    def take(self, name: str, *shape: int) -> NDArray[np.float32]:
        """The float32 weights of a name.

        Raises:
            ExportError: there is none, or it has another shape.
        """
        found = self._arrays.get(name)
        if found is None:
            raise ExportError(f"{self._path}: not the weights of {self._model}: {name} is missing")
        if found.shape != shape:
            raise ExportError(
                f"{self._path}: not the weights of {self._model}: {name} is {list(found.shape)}, not {list(shape)}"
            )
        self._taken.add(name)
        return np.asarray(found, np.float32)

    def check_all_taken(self, *unused: str) -> None:
        """Raise ExportError where the file holds more than was taken.

        Args:
            unused: beginnings or ends of names that the graph has no use for.
        """
        left = [
            name
            for name in self._arrays
            if name not in self._taken and not any(name.startswith(each) or name.endswith(each) for each in unused)
        ]
        if left:
            raise ExportError(f"{self._path}: not the weights of {self._model}: {left[0]} is unknown")
