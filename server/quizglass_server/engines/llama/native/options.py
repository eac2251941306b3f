"""What a generator's engine is built from; knows no llama.cpp, so that who starts the process can say it too."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Self

from quizglass_server.config.options import BatchOptions


@dataclass(frozen=True)
class LoadOptions(BatchOptions):
    """What to load and how large."""

    model: Path
    projector: Path | None
    """None: the model reads no pictures, and `width` and `height` mean nothing."""
    width: int
    """Of every picture, pixels."""
    height: int
    context: int
    """Tokens of one prompt with its answer."""
    sequences: int = 4
    """How many prompts the cache keeps."""
    threads: int = 1
    """Threads of one decode step; as many encode pictures where `vision_threads` is 0."""
    extra_buffers: bool = True
    """Whether weights may be kept in the order that the CPU's fastest instructions want (repacked, AMX)."""

    @property
    def cache_cells(self) -> int:
        """Cells of the KV cache, shared by all sequences."""
        return max(self.generator_cells or self.context * self.sequences, self.context)

    def as_json(self) -> str:
        """The options as the command line of the generator process takes them."""
        return json.dumps({each.name: getattr(self, each.name) for each in fields(LoadOptions)}, default=str)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What `as_json` wrote."""
        read = cls(**json.loads(text))
        return replace(read, model=Path(read.model), projector=None if read.projector is None else Path(read.projector))
