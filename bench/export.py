"""The exporters: memory of a large export, and what each precision costs. `python -m bench.export`.

Memory: a checkpoint of Qwen2-VL's 1.5B shape with random bfloat16 weights, in shards, becomes a scorer in a process of
its own. Precisions: the planner of the starter checkpoints, in each precision, against float32. Heads: the same planner
as a graph with label rows, with the whole vocabulary, and as transformers' generate for one letter.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.results import Row, at_least, at_most, show, write

ROOT = Path(__file__).parents[1]
CHECKPOINTS = ROOT / "models" / "starter" / "checkpoints"
SECTIONS = ("memory", "precisions", "heads")
SHAPES: dict[str, dict[str, Any]] = {
    "1.5B": {
        "text": {"hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28, "num_attention_heads": 12},
        "vocabulary": 151_936,
        "vision": {"depth": 32, "embed_dim": 1280, "num_heads": 16},
    },
    "small": {
        "text": {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 12, "num_attention_heads": 8},
        "vocabulary": 65_536,
        "vision": {"depth": 6, "embed_dim": 512, "num_heads": 8},
    },
}
_SHARD = 1 << 30
_MOST_MEMORY = 2.2
_PRECISIONS = ("fp32", "fp16", "int8", "int8-weights", "int4-weights")
_SAMPLES = 160


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; returns 0, or 1 when a bar is not reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=SECTIONS, action="append", help="measure only this (may be repeated)")
    parser.add_argument("--shape", choices=SHAPES, default="1.5B", help="of the memory section (default: %(default)s)")
    parser.add_argument("--dry", action="store_true", help="print the rows without writing bench/results/export.json")
    parser.add_argument("--child", nargs=2, metavar=("CHECKPOINT", "OUT"), help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    if args.child:
        return export_child(*map(Path, args.child))
    sections: dict[str, Callable[[], list[Row]]] = {
        "memory": lambda: memory(args.shape),
        "precisions": precisions,
        "heads": heads,
    }
    rows = [row for name in SECTIONS if name in (args.only or SECTIONS) for row in sections[name]()]
    show(rows, "export", Console())
    if not args.dry:
        write("export", rows, shape=args.shape, samples=_SAMPLES)
    return 0 if all(row.ok is not False for row in rows) else 1


def memory(shape: str) -> list[Row]:
    """Peak memory and time of exporting a random checkpoint."""
    with tempfile.TemporaryDirectory(prefix="quizglass-bench-") as folder:
        checkpoint, out = Path(folder) / "checkpoint", Path(folder) / "out"
        write_random(checkpoint, SHAPES[shape])
        size = sum(path.stat().st_size for path in checkpoint.glob("*.safetensors"))
        out.mkdir()
        command = [sys.executable, "-m", "bench.export", "--child", str(checkpoint), str(out)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"bench.export: the export failed:\n{done.stderr}")
        found = json.loads(done.stdout.splitlines()[-1])
        written = sum(path.stat().st_size for path in out.iterdir())
    name = f"Qwen2-VL {shape}, bfloat16"
    return [
        Row(f"{name}: checkpoint", size / 1e9, "GB"),
        at_most(f"{name}: peak memory of the export", found["peak"] / size, "x checkpoint", _MOST_MEMORY),
        Row(f"{name}: written", written / 1e9, "GB"),
        Row(f"{name}: time", found["seconds"], "s"),
    ]


def write_random(folder: Path, shape: dict[str, Any]) -> None:
    """A checkpoint of a shape in shards, one shard in memory at a time."""
    import torch
    import transformers
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    config = transformers.Qwen2VLConfig(
        text_config={
            **shape["text"],
            "num_key_value_heads": 2,
            "vocab_size": shape["vocabulary"],
            "tie_word_embeddings": True,
            "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
        },
        vision_config={**shape["vision"], "hidden_size": shape["text"]["hidden_size"], "mlp_ratio": 4},
        tie_word_embeddings=True,
        image_token_id=1000,
        video_token_id=1001,
        vision_start_token_id=1002,
        vision_end_token_id=1003,
    )
    config.save_pretrained(folder)
    with torch.device("meta"):
        model = transformers.Qwen2VLForConditionalGeneration(config)
    places: dict[str, str] = {}
    shard: dict[str, torch.Tensor] = {}
    size = number = 0
    pending = list(model.named_parameters())
    torch.manual_seed(0)
    for index, (name, parameter) in enumerate(pending):
        shard[name] = (torch.randn(parameter.shape) * 0.02).to(torch.bfloat16)
        size += shard[name].nbytes
        if size > _SHARD or index == len(pending) - 1:
            number += 1
            file = f"model-{number:05}.safetensors"
            save_file(shard, folder / file, metadata={"format": "pt"})
            places |= dict.fromkeys(shard, file)
            shard, size = {}, 0
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))


def export_child(checkpoint: Path, out: Path) -> int:
    """In a process of its own: export, then print the peak of its memory."""
    import torch

    from quizglass_export.architectures.qwen_vl import vision_scorer
    from quizglass_export.bundling.roles_onnx import VISION_AXES
    from quizglass_export.recipe.source import Source
    from quizglass_export.weights.graph import write_streamed
    from quizglass_export.weights.merged import MergedWeights

    torch.set_num_threads(1)
    grid, labels = (8, 8), [32, 33, 34, 35]
    ids = torch.tensor([[1, 1002, *[1000] * 16, 1003, 5, 6, 7]] * 2)
    example = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "position_ids": torch.arange(ids.shape[1]).expand(3, 2, -1).contiguous(),
        "pixel_values": torch.zeros(2, 64, 1176),
    }
    started = time.perf_counter()
    write_streamed(
        MergedWeights(Source(checkpoint), "Qwen2VLForConditionalGeneration"),
        lambda model: vision_scorer(model, labels, grid),
        labels,
        lambda scorer: example,
        VISION_AXES,
        ["logits"],
        out / "model.onnx",
    )
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    print(json.dumps({"peak": peak, "seconds": seconds}))
    return 0


def precisions() -> list[Row]:
    """Size, time and agreement of the starter's planner in each precision."""
    from quizglass_export.bundling.build import BuildOptions, plan_starter

    plan = plan_starter(BuildOptions(CHECKPOINTS, Path("unused"), samples=_SAMPLES))
    rows: list[Row] = []
    base: dict[str, float] = {}
    for precision in _PRECISIONS:
        found = _planner(plan, precision)
        base = base or found
        for key, unit in (("bytes", "MB"), ("latency", "ms")):
            value = found[key] / (1e6 if key == "bytes" else 1)
            row = Row(f"planner {precision}: {'size' if key == 'bytes' else 'time of one prompt'}", value, unit)
            peer = base[key] / (1e6 if key == "bytes" else 1)
            rows.append(row if precision == "fp32" else replace(row, peer="fp32", peer_value=peer, ratio=value / peer))
        if precision != "fp32":
            rows.append(at_least(f"planner {precision}: equal labels", found["labels"], "", 0.99))
            rows.append(Row(f"planner {precision}: mean change of a probability", found["drift"], ""))
    return rows


def _planner(plan: Any, precision: str) -> dict[str, float]:
    from quizglass_export.recipe.carry_out import Samples

    spec = plan.spec("planner").model_copy(update={"precision": precision})
    with tempfile.TemporaryDirectory(prefix="quizglass-bench-") as folder:
        samples = Samples(plan.file.recipe.samples).drawn()
        job = plan.job("planner", Path(folder), "tokenizer.json", samples)
        exported = plan.exporter("planner").export(job, spec)
        checks = {c.measure: c.value for c in plan.exporter("planner").check(job, spec, exported.part)}
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    labels, drift = checks["equal labels"], checks.get("mean change of a probability", 0.0)
    return {"bytes": size, "latency": exported.notes["latency_ms"], "labels": labels, "drift": drift}


def heads() -> list[Row]:
    """One letter from the planner: label rows, the whole vocabulary, and transformers' generate."""
    import torch

    from quizglass_export.architectures.qwen_vl import vision_scorer
    from quizglass_export.bundling.build import BuildOptions, plan_starter
    from quizglass_export.bundling.onnx_file import write_onnx
    from quizglass_export.bundling.parity import session
    from quizglass_export.bundling.roles_onnx import VISION_AXES, VisionPrompts
    from quizglass_export.recipe.carry_out import Samples
    from quizglass_server.manifest import VisionScorer
    from quizglass_server.models.vision_inputs import patch_grid

    torch.set_num_threads(1)
    plan = plan_starter(BuildOptions(CHECKPOINTS, Path("unused"), samples=32))
    with tempfile.TemporaryDirectory(prefix="quizglass-bench-") as folder:
        job = plan.job("planner", Path(folder), "tokenizer.json", Samples(plan.file.recipe.samples).drawn())
        part = plan.exporter("planner").export(job, plan.spec("planner")).part
        if not isinstance(part, VisionScorer):
            raise TypeError(f"the planner is a {part.kind}")
        prompts = VisionPrompts(job, part)
        given = [prompts.inputs([index]) for index in range(len(prompts.rows))]
        example = {name: torch.from_numpy(value) for name, value in prompts.inputs([0, 1]).items()}
        model = job.source.load("Qwen2_5_VLForConditionalGeneration")
        every = range(model.config.get_text_config().vocab_size)
        whole = Path(folder) / "whole.onnx"
        write_onnx(vision_scorer(model, every, patch_grid(part.picture)), example, VISION_AXES, "logits", whole)
        rows, full = session(job.path(part.model)), session(whole)
        ours = _median(lambda each: rows.run(None, each), given)
        vocabulary = _median(lambda each: full.run(None, each), given)
        grid = torch.tensor([[1, *patch_grid(part.picture)]])

        def letter(each: dict[str, Any]) -> None:
            model.generate(
                input_ids=torch.from_numpy(each["input_ids"]),
                attention_mask=torch.from_numpy(each["attention_mask"]),
                pixel_values=torch.from_numpy(each["pixel_values"][0]),
                image_grid_thw=grid,
                max_new_tokens=1,
                do_sample=False,
                pad_token_id=0,
            )

        peer = _median(letter, given)
    compared = "transformers' generate"
    return [
        Row("planner, one prompt: label rows", ours, "ms", compared, peer, ours / peer, "< peer", ours < peer),
        Row("planner, one prompt: whole vocabulary", vocabulary, "ms", compared, peer, vocabulary / peer),
    ]


def _median(run: Callable[[Any], object], given: Sequence[Any]) -> float:
    """Median milliseconds, after a first run that is not counted."""
    run(given[0])
    times = []
    for each in given:
        started = time.perf_counter()
        run(each)
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)


if __name__ == "__main__":
    sys.exit(main())
