"""Running llama.cpp jobs in a child process: quantising, and answers for the parity check."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quizglass_bundle.inputs.prompts import Prompt
from quizglass_bundle.inputs.resizing import RGB
from quizglass_export.errors import ExportError

FILE_TYPES = {
    **{"f32": 0, "f16": 1, "bf16": 32, "q8_0": 7},
    **{"q4_0": 2, "q4_1": 3, "q5_0": 8, "q5_1": 9, "iq4_nl": 25, "iq4_xs": 30},
    **{"q2_k": 10, "q3_k_m": 12, "q4_k_m": 15, "q5_k_m": 17, "q6_k": 18},
}
"""llama.cpp's numbers (`llama_ftype`) of quantisations; a recipe offers those of `schema.GgufType`."""
TENSOR_TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 8, "q4_k": 12, "q5_k": 13, "q6_k": 14, "bf16": 30}
"""ggml's numbers (`ggml_type`) of the types offered for single tensors."""

_WORKER = "quizglass_export.gguf.worker"


@dataclass(frozen=True, slots=True)
class GenerationJob:
    """Prompts for a GGUF file and its projector, if it has one; prompts without a picture have None."""

    model: Path
    projector: Path | None
    prompts: Sequence[tuple[Prompt, RGB | None]]
    stop: Sequence[int]
    image_token: int | None
    """Id of the token in whose place pictures are put; None where no prompt has a picture."""
    context: int
    max_new_tokens: int
    first_of: Sequence[int] | None = None
    """Token ids whose logits after the prompt are wanted; None: all."""


@dataclass(frozen=True, slots=True)
class Generations:
    """For each prompt: its token ids, the answer's token ids, their probabilities, the logits after the prompt, and the
    answer."""

    prompts: list[list[int]]
    answers: list[list[int]]
    probabilities: list[list[float]]
    first: list[NDArray[np.float32]]
    """Logits after each prompt: of the whole vocabulary, or of `first_of`."""
    texts: list[str]
    """The answers, as llama.cpp writes their tokens."""


def quantise(
    source: Path,
    target: Path,
    file_type: str,
    *,
    token_embedding: str | None = None,
    output: str | None = None,
    threads: int = 1,
) -> None:
    """Quantise a GGUF.

    Args:
        source: in float32, float16 or bfloat16.
        target: file to write.
        file_type: one of `FILE_TYPES`. K types need rows of a multiple of 256; others get another type.
        token_embedding: type of the input embedding, one of `TENSOR_TYPES`; None: as the file type has it.
        output: the same for the output matrix.
        threads: CPU threads.

    Raises:
        ExportError: llama.cpp cannot.
    """
    _run(
        {
            "task": "quantise",
            "source": str(source),
            "target": str(target),
            "file_type": FILE_TYPES[file_type],
            "token_embedding": None if token_embedding is None else TENSOR_TYPES[token_embedding],
            "output": None if output is None else TENSOR_TYPES[output],
            "threads": threads,
        }
    )


def tokenise(model: Path, texts: Sequence[str], *, special: bool) -> list[list[int]]:
    """Token ids as llama.cpp sees texts; with `special`, special tokens written in them are parsed."""
    job = {"task": "tokenise", "model": str(model), "texts": list(texts), "special": special}
    ids: list[list[int]] = _run(job)["ids"]
    return ids


def picture_tokens(model: Path, projector: Path, width: int, height: int) -> int:
    """How many tokens a picture of that size is; ExportError, in llama.cpp's words, if the files do not go together."""
    sizes = {"width": width, "height": height}
    return int(_run({"task": "picture_tokens", "model": str(model), "projector": str(projector), **sizes})["tokens"])


def logits(model: Path, rows: Sequence[Sequence[int]], *, adapter: Path | None = None) -> list[NDArray[np.float32]]:
    """Logits [S, V] after every token of each row, optionally under a GGUF LoRA adapter; ExportError if it fails."""
    with tempfile.TemporaryDirectory(prefix="quizglass-") as folder:
        file = Path(folder) / "logits.npz"
        job = {"task": "logits", "model": str(model), "rows": [list(row) for row in rows], "out": str(file)}
        _run(job | {"adapter": None if adapter is None else str(adapter)})
        with np.load(file, allow_pickle=False) as found:
            return [found[f"arr_{index}"] for index in range(len(rows))]


def generate(job: GenerationJob) -> Generations:
    """Answer prompts greedily; ExportError if llama.cpp fails."""
    pictures: list[RGB] = []
    prompts = []
    for prompt, picture in job.prompts:
        segments = [[segment.kind.value, segment.text] for segment in prompt]
        prompts.append({"segments": segments, "picture": None if picture is None else len(pictures)})
        if picture is not None:
            pictures.append(picture)
    with tempfile.TemporaryDirectory(prefix="quizglass-") as folder:
        file, first = Path(folder) / "pictures.npy", Path(folder) / "first.npy"
        np.save(file, np.stack(pictures) if pictures else np.zeros((0, 1, 1, 3), np.uint8))
        result = _run(
            {
                "task": "answer",
                "model": str(job.model),
                "projector": None if job.projector is None else str(job.projector),
                "pictures": str(file),
                "prompts": prompts,
                "stop": list(job.stop),
                "image_token": job.image_token,
                "context": job.context,
                "max_new_tokens": job.max_new_tokens,
                "first_of": None if job.first_of is None else list(job.first_of),
                "first": str(first),
            }
        )
        rows = list(np.load(first, allow_pickle=False))
    return Generations(result["prompts"], result["answers"], result["probabilities"], rows, result["texts"])


def _run(job: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="quizglass-") as folder:
        source, target = (Path(folder) / name for name in ("job.json", "result.json"))
        source.write_text(json.dumps(job), encoding="utf-8")
        command = [sys.executable, "-m", _WORKER, str(source), str(target)]
        done = subprocess.run(  # noqa: S603 - which kills the process when it is stopped itself
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
        )
        if done.returncode:
            reason = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
            raise ExportError(f"llama.cpp, {job['task']} (exit {done.returncode}): {reason[-1]}")
        result: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
        return result
