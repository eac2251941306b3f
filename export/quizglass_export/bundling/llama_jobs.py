"""Running llama.cpp jobs in a child process: quantising, and answers for the parity check."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quizglass_export.bundling.errors import ExportError
from quizglass_server.domain import RGB
from quizglass_server.models.prompts import Prompt

FILE_TYPES = {"f16": 1, "q8_0": 7}
"""llama.cpp's numbers (`llama_ftype`) of the quantisations offered."""

_WORKER = "quizglass_export.bundling.llama_worker"


@dataclass(frozen=True, slots=True)
class GenerationJob:
    """Prompts for one pair of GGUF files; prompts without a picture have None."""

    model: Path
    projector: Path
    prompts: Sequence[tuple[Prompt, RGB | None]]
    stop: Sequence[int]
    image_token: int
    context: int
    max_new_tokens: int


@dataclass(frozen=True, slots=True)
class Generations:
    """For each prompt: its token ids, the answer's token ids, and the logits [V] after the prompt."""

    prompts: list[list[int]]
    answers: list[list[int]]
    first: list[NDArray[np.float32]]


def quantise(source: Path, target: Path, file_type: str) -> None:
    """Quantise a float32 GGUF; ExportError if llama.cpp cannot."""
    _run({"task": "quantise", "source": str(source), "target": str(target), "file_type": FILE_TYPES[file_type]})


def generate(job: GenerationJob, advance: Callable[[], None] = lambda: None) -> Generations:
    """Answer prompts greedily; `advance` is called after each. ExportError if llama.cpp fails."""
    pictures: list[RGB] = []
    prompts = []
    for prompt, picture in job.prompts:
        segments = [[segment.kind.value, segment.text] for segment in prompt]
        prompts.append({"segments": segments, "picture": None if picture is None else len(pictures)})
        if picture is not None:
            pictures.append(picture)
    with tempfile.TemporaryDirectory(prefix="quizglass-") as folder:
        file = Path(folder) / "pictures.npy"
        np.save(file, np.stack(pictures) if pictures else np.zeros((0, 1, 1, 3), np.uint8))
        result = _run(
            {
                "task": "answer",
                "model": str(job.model),
                "projector": str(job.projector),
                "pictures": str(file),
                "prompts": prompts,
                "stop": list(job.stop),
                "image_token": job.image_token,
                "context": job.context,
                "max_new_tokens": job.max_new_tokens,
            },
            advance,
        )
    first = [np.asarray(row, dtype=np.float32) for row in result["first"]]
    return Generations(prompts=result["prompts"], answers=result["answers"], first=first)


def _run(job: dict[str, Any], advance: Callable[[], None] = lambda: None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="quizglass-") as folder:
        source, target, errors = (Path(folder) / name for name in ("job.json", "result.json", "errors.txt"))
        source.write_text(json.dumps(job), encoding="utf-8")
        command = [sys.executable, "-m", _WORKER, str(source), str(target)]
        # Errors go to a file: nobody reads a second pipe while this side waits on the first.
        with (
            errors.open("wb") as stderr,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as process,  # noqa: S603
        ):
            if process.stdout is not None:
                for _ in process.stdout:
                    advance()
        if process.returncode:
            reason = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["no reason given"]
            raise ExportError(f"llama.cpp, {job['task']} (exit {process.returncode}): {reason[-1]}")
        result: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
        return result
