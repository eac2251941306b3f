"""Graphs for cards beside PyTorch on a thousand prompts: run by ONNX Runtime's CPU provider, which has their operators.

In float32 the graph's form is compared: what differs is what fused operators do otherwise. In float16, as bundles have
it, rounding comes on top. Products of the CPU provider add up in float32, as a card's do; a card may still round
elsewhere, so `python -m bench.gpu` compares answers there again. Not run on a card.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from bench.export.architectures import qwen
from bench.export.parity import plan_role
from bench.export.planner import starter_plan
from bench.export.setup import Setup
from bench.gpu.models import QWEN3_06B, SMALL, Size, as_transformers, label_rows, weights, write_random
from bench.results import Row
from bench.sections import Part
from quizglass_bundle.inputs.vision_inputs import patch_grid
from quizglass_export.assembly.plan import Plan
from quizglass_export.checkpoints.merged import MergedWeights
from quizglass_export.checkpoints.source import Source
from quizglass_export.graphs.card_decoder import card_vision_scorer
from quizglass_export.graphs.card_operators import settle
from quizglass_export.graphs.qwen_vl import VISION_CLASSES
from quizglass_export.onnx.file import load_model, save_model
from quizglass_export.onnx.scorer_inputs import scorer_batch
from quizglass_export.onnx.tracing import write_onnx
from quizglass_export.parity import Floats, Inputs, as_array, session
from quizglass_export.roles.shared.card_scorers import write_for_cuda
from quizglass_export.roles.shared.samples import ParitySample, random_samples
from quizglass_export.roles.shared.scorers import ONE_PROMPT, TEXT_CLASSES, VisionPrompts, text_rows, vision_logits
from quizglass_server.roles.shared.packing import packed
from tests.support.bundles import tiny_qwen

_PROMPTS, _FEW = 1000, 4
_REAL, _ONE = 20, 1
_TOKENS = 64
_MOST = 5e-3
_PICTURE = {"width": 112, "height": 112}
FLOAT32, CUDA, TENSORRT = "cuda graph in float32", "cuda-fp16", "tensorrt-fp16"
PACKED = "cuda-fp16, packed"


@dataclass(frozen=True)
class Compared:
    """One model: what PyTorch says, and what gives the inputs of each prompt."""

    references: Sequence[Floats]
    """Logits [labels] of each prompt."""
    inputs: Callable[[int], Inputs]
    graphs: Iterator[tuple[str, Path]]
    """Written one after the other, so that one at a time takes memory."""
    packed: Callable[[int], Inputs] | None = None
    """What gives the inputs of a packed graph: each prompt as the first of a batch."""


def run(setup: Setup) -> Part:
    """Compare each model's graphs; the starter's models are trained, the others are small and random."""
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    count = setup.count(_PROMPTS, _FEW)
    starter = starter_plan(setup.checkpoints, count)
    ways: list[tuple[str, Callable[[Path], Compared]]] = [
        ("starter's planner", partial(_planner, starter)),
        ("starter's reranker", partial(_reranker, starter)),
    ]
    for name, make in _SEEING.items():
        ways.append((f"{name}, random", partial(random_role, "planner", make, count)))
    ways.append(("Qwen3, random", partial(random_role, "reranker", tiny_qwen.qwen3, count)))
    return compare_all(setup, ways)


def run_real(setup: Setup) -> Part:
    """The same for a reranker of real size, whose prompts take seconds each on two cores."""
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    size, prompts = (SMALL, _ONE) if setup.quick else (QWEN3_06B, _REAL)
    return compare_all(setup, [("Qwen3-Reranker-0.6B's shape, random", partial(_real, size, prompts))])


def compare_all(setup: Setup, ways: Sequence[tuple[str, Callable[[Path], Compared]]]) -> Part:
    """Rows of every graph of every model."""
    part = Part()
    for name, way in ways:
        with tempfile.TemporaryDirectory(prefix="quizglass-bench-") as folder:
            setup.say(f"cards: {name}")
            compared = way(Path(folder))
            for graph, path in compared.graphs:
                setup.say(f"cards: {name}, {graph}")
                _add(part, name, graph, compared, path)
    return part


_SEEING = {"Qwen2-VL": tiny_qwen.qwen2_vl, "Qwen2.5-VL": tiny_qwen.qwen2_5_vl, "Qwen3-VL": tiny_qwen.qwen3_vl}


def _add(part: Part, name: str, graph: str, compared: Compared, path: Path) -> None:
    ran = session(path)
    inputs = compared.packed if graph == PACKED and compared.packed is not None else compared.inputs
    found = [ran.run(["logits"], inputs(index))[0][0] for index in range(len(compared.references))]
    differences = [float(np.abs(one - other).max()) for one, other in zip(found, compared.references, strict=True)]
    unequal = [
        index
        for index, (one, other) in enumerate(zip(found, compared.references, strict=True))
        if one.argmax() != other.argmax()
    ]
    count, worst = len(found), max(differences)
    equal = count - len(unequal)
    spread = float(np.std(np.concatenate(compared.references)))
    part.rows += [
        Row(
            f"{name}, {graph}: largest difference of logits",
            worst,
            "",
            f"transformers, {count} prompts, logits' standard deviation",
            spread,
            worst / spread,
            f"<= {_MOST:g}",
            worst <= _MOST,
        ),
        Row(f"{name}, {graph}: equal labels", equal, f"of {count}", bar=f">= {count}", ok=equal == count),
    ]
    part.data[f"{name}, {graph}"] = {
        "mean": float(np.mean(differences)),
        "p99": float(np.quantile(differences, 0.99)),
        "margins of unequal labels": [_margin(compared.references[index]) for index in unequal],
    }


def _margin(logits: Floats) -> float:
    """How much the best label is ahead of the next."""
    *_, second, first = np.sort(logits)
    return float(first - second)


def random_role(role: str, make: Callable[[Path], Any], count: int, folder: Path) -> Compared:
    """A planner or reranker of random weights, as `make` makes it of a tokenizer, on so many prompts."""
    qwen(make)(folder / "checkpoint")
    spec: dict[str, Any] = {"checkpoint": folder / "checkpoint"}
    if role == "planner":
        spec |= {"picture": _PICTURE, "tower": False}
    plan = plan_role(folder, role, spec, {"source": "random", "count": count})
    return (_planner if role == "planner" else _reranker)(plan, folder, random_samples(count))


def _planner(plan: Plan, folder: Path, samples: Sequence[ParitySample] | None = None) -> Compared:
    """A scorer of pictures: one prompt a run, as a card is given it."""
    job = plan.job("planner", folder, "tokenizer.json", samples or plan.samples)
    spec = plan.spec("planner")
    part = plan.exporter("planner").export(job, spec.model_copy(update={"precision": CUDA})).part
    kind, prompts = VISION_CLASSES[job.source.model_type], VisionPrompts(job, part)
    labels, grid = job.head(part.labels), patch_grid(part.picture)
    model = job.source.reference(kind)
    shown = list(zip(prompts.rows, prompts.pictures, strict=True))
    references = [vision_logits(model, row, pictures, part.picture)[labels] for row, pictures in shown]

    def graphs() -> Iterator[tuple[str, Path]]:
        yield CUDA, job.path(part.model)
        example = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in prompts.inputs([0]).items()}
        path = folder / "float32.onnx"
        write_onnx(card_vision_scorer(job.source.load(kind), labels, grid), example, ONE_PROMPT, "logits", path)
        written = load_model(path)
        settle(written)
        save_model(written, path)
        yield FLOAT32, path
        yield TENSORRT, _exported(plan, "planner", job.samples, folder / TENSORRT)

    return Compared(references, lambda index: prompts.inputs([index]), graphs())


def _reranker(plan: Plan, folder: Path, samples: Sequence[ParitySample] | None = None) -> Compared:
    """A scorer of texts."""
    job = plan.job("reranker", folder, "tokenizer.json", samples or plan.samples)
    spec = plan.spec("reranker")
    part = plan.exporter("reranker").export(job, spec.model_copy(update={"precision": CUDA})).part
    rows, labels, kind = text_rows(job, part), job.head(part.labels), TEXT_CLASSES[job.source.model_type]
    if not isinstance(job.source, Source):
        raise TypeError(f"{job.source.folder} is no checkpoint of transformers")
    weights_of, model = MergedWeights(job.source, kind), job.source.reference(kind)
    with torch.no_grad():
        references = [as_array(model(input_ids=torch.tensor([row])).logits[0, -1, labels]) for row in rows]

    def graphs() -> Iterator[tuple[str, Path]]:
        yield CUDA, job.path(part.model)
        yield PACKED, job.path(part.packed)
        path = folder / "float32.onnx"
        write_for_cuda(weights_of, labels, max(map(len, rows)), path, np.float32)
        yield FLOAT32, path
        yield TENSORRT, _exported(plan, "reranker", job.samples, folder / TENSORRT)

    return Compared(
        references,
        lambda index: scorer_batch([rows[index]]),
        graphs(),
        lambda index: packed([rows[index], rows[index - 1], rows[index - 2]]),
    )


def _exported(plan: Plan, role: str, samples: Sequence[ParitySample], folder: Path) -> Path:
    """The graph for TensorRT."""
    job = plan.job(role, folder, "tokenizer.json", samples)
    spec = plan.spec(role).model_copy(update={"precision": TENSORRT})
    return job.path(plan.exporter(role).export(job, spec).part.model)


def _real(size: Size, count: int, folder: Path) -> Compared:
    """A reranker of real size and random weights, which PyTorch and the graph read from the same numbers."""
    rng = np.random.default_rng(2)
    rows = [rng.integers(1, min(400, size.vocabulary), _TOKENS).tolist() for _ in range(count)]
    references = _of_torch(size, rows)

    def graphs() -> Iterator[tuple[str, Path]]:
        for name, number in ((CUDA, np.float16), (FLOAT32, np.float32)):
            path = folder / f"{number.__name__}.onnx"
            write_random(size, path, number)
            yield name, path

    return Compared(references, lambda index: scorer_batch([rows[index]]), graphs())


def _of_torch(size: Size, rows: Sequence[Sequence[int]]) -> list[Floats]:
    read, model = weights(size), transformers.Qwen3Model(as_transformers(size)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(_named(read, f"model.{name}")))
        head = torch.from_numpy(label_rows(size))
        return [as_array(model(input_ids=torch.tensor([row])).last_hidden_state[0, -1] @ head.T) for row in rows]


def _named(read: Callable[[str], np.ndarray[Any, Any] | None], name: str) -> np.ndarray[Any, Any]:
    found = read(name)
    if found is None:
        raise ValueError(f"no weight is called {name}")
    return found
