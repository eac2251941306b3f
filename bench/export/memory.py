"""Memory of a large export: a checkpoint of Qwen2-VL's 1.5B shape with random bfloat16 weights, in shards.

The exporter runs in a process of its own: `python -m bench.export.memory CHECKPOINT OUT` prints its peak.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.engine.scorers.memory import memory_kib
from bench.export.setup import Setup
from bench.results import Row, at_most
from bench.sections import Part

ROOT = Path(__file__).parents[2]
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


def run(setup: Setup) -> Part:
    """Peak memory and time of exporting a random checkpoint."""
    shape = "small" if setup.quick else "1.5B"
    with tempfile.TemporaryDirectory(prefix="quizglass-bench-") as folder:
        checkpoint, out = Path(folder) / "checkpoint", Path(folder) / "out"
        setup.say(f"memory: writing a random checkpoint of the {shape} shape")
        write_random(checkpoint, SHAPES[shape])
        size = sum(path.stat().st_size for path in checkpoint.glob("*.safetensors"))
        out.mkdir()
        setup.say("memory: exporting it")
        command = [sys.executable, "-m", "bench.export.memory", str(checkpoint), str(out)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"the export failed:\n{done.stderr}")
        measured = json.loads(done.stdout.splitlines()[-1])
        written = sum(path.stat().st_size for path in out.iterdir())
    name = f"Qwen2-VL {shape}, bfloat16, to a scorer"
    return Part(
        [
            Row(f"{name}: checkpoint", size / 1e9, "GB"),
            at_most(f"{name}: peak memory", measured["peak"] / size, "x checkpoint", _MOST_MEMORY),
            Row(f"{name}: written", written / 1e9, "GB"),
            Row(f"{name}: time", measured["seconds"], "s"),
        ],
        measured | {"checkpoint_bytes": size},
    )


def write_random(folder: Path, shape: dict[str, Any]) -> None:
    """A checkpoint of a shape in shards, one shard in memory at a time."""
    import torch
    import transformers
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    config = _config(shape)
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


def _config(shape: dict[str, Any]) -> Any:
    import transformers

    return transformers.Qwen2VLConfig(
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


def main() -> None:
    """Export, then print the peak of this process's memory in bytes."""
    checkpoint, out = map(Path, sys.argv[1:])
    import torch

    from quizglass_export.checkpoints.merged import MergedWeights
    from quizglass_export.checkpoints.source import Source
    from quizglass_export.checkpoints.streamed_graph import write_streamed
    from quizglass_export.graphs.qwen_vl import vision_scorer
    from quizglass_export.roles.shared.scorers import VISION_AXES

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
    peak = memory_kib("VmHWM") << 10
    print(json.dumps({"peak": peak, "seconds": seconds}))


if __name__ == "__main__":
    main()
