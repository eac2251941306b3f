"""One letter from the starter's planner: label rows, an export with all logits, and transformers' generate.

Time in turns in this process; memory in processes of their own: `python -m bench.export.heads labels|full|generate
CHECKPOINTS FOLDER` prints the peak beyond what it took with its libraries loaded.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from bench.engine.scorers.memory import memory_kib
from bench.export.planner import export_planner, milliseconds, starter_plan
from bench.export.setup import Setup
from bench.results import Row, against
from bench.sections import Part
from quizglass_bundle.inputs.vision_inputs import patch_grid
from quizglass_bundle.parts import VisionScorer as Planner
from quizglass_export.graphs.attention import causal_masks
from quizglass_export.graphs.scorer_vl import VisionScorer
from quizglass_export.onnx.file import halve_weights
from quizglass_export.onnx.tracing import write_onnx
from quizglass_export.parity import Inputs, session
from quizglass_export.roles.shared.scorers import VISION_AXES, VisionPrompts

ROOT = Path(__file__).parents[2]
WAYS = {"labels": "label rows", "full": "all logits, ONNX", "generate": "transformers' generate"}
_CLASS = "Qwen2_5_VLForConditionalGeneration"
_PROMPTS, _FEW = 64, 4
_MODEL, _FULL, _GIVEN = "planner/model.onnx", "full.onnx", "given.pt"


class EveryLogit(VisionScorer):
    """The whole vocabulary at every position, through transformers' own decoder, as an ordinary export has it."""

    def __init__(self, model: Any, grid: tuple[int, int]) -> None:
        """Args as `VisionScorer`'s."""
        super().__init__(model, [0], grid)
        self.model = model

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        position_ids: torch.Tensor,
        pixel_values: torch.Tensor,
    ) -> torch.Tensor:
        """[B, S] prompts to float32 [B, S, V]."""
        masks = causal_masks(self.decoder.config, attention_mask)
        output = self.model.model.language_model(
            inputs_embeds=self._place(self.embed(input_ids), self.tower(pixel_values), input_ids),
            attention_mask={kind: mask[:, None] for kind, mask in masks.items()},
            position_ids=position_ids,
            use_cache=False,
        )
        logits: torch.Tensor = self.model.lm_head(output.last_hidden_state)
        return logits


def run(setup: Setup) -> Part:
    """Time and memory of each way, and whether all say the same letter."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="quizglass-bench-") as name:
        folder = Path(name)
        setup.say("heads: exporting")
        labels = _export(setup.checkpoints, folder, setup.count(_PROMPTS, _FEW))
        given = _given(folder)[0]
        setup.say("heads: time")
        runs = [_way(way, setup.checkpoints, folder) for way in WAYS]
        times = milliseconds(runs, given)
        same = [len({_letter(run(each), labels) for run in runs}) == 1 for each in given]
        memory = {}
        for way in WAYS:
            setup.say(f"heads: memory, {WAYS[way]}")
            memory[way] = _memory(way, setup.checkpoints, folder)
    by_time = dict(zip(WAYS, times, strict=True))
    rows = [Row("planner: equal letters, all three ways", 100 * sum(same) / len(same), "%", bar=">= 100", ok=all(same))]
    for peer in ("full", "generate"):
        rows.append(against("planner, one letter", by_time["labels"], "ms", WAYS[peer], by_time[peer]))
        ratio = memory["labels"] / memory[peer]
        rows.append(Row("planner, peak memory", memory["labels"], "MiB", WAYS[peer], memory[peer], ratio))
    return Part(rows, {"peak_mib": memory, "prompts": len(given)})


def _letter(logits: Any, labels: list[int]) -> int:
    """Which label is best, of logits [L] or [V]."""
    return int((logits if len(logits) == len(labels) else logits[labels]).argmax())


def _export(checkpoints: Path, folder: Path, count: int) -> list[int]:
    """Write both graphs and the prompts; returns the token ids of the letters."""
    plan = starter_plan(checkpoints, count)
    job, _, exported = export_planner(plan, folder)
    part = exported.part
    if not isinstance(part, Planner):
        raise TypeError(f"the planner is a {part.kind}")
    prompts = VisionPrompts(job, part)
    given = [prompts.inputs([index]) for index in range(len(prompts.rows))]
    torch.save((given, patch_grid(part.picture)), folder / _GIVEN)
    both = {key: torch.from_numpy(value) for key, value in prompts.inputs([0, 1]).items()}
    model = EveryLogit(job.source.load(_CLASS), patch_grid(part.picture)).eval()
    axes = VISION_AXES | {"logits": {0: "batch", 1: "sequence"}}
    write_onnx(model, both, axes, "logits", folder / _FULL)
    halve_weights(folder / _FULL)
    return job.head(part.labels)


def _given(folder: Path) -> tuple[list[Inputs], tuple[int, int]]:
    """The prompts, and the grid of their pictures."""
    found: tuple[list[Inputs], tuple[int, int]] = torch.load(folder / _GIVEN, weights_only=False)
    return found


def _way(way: str, checkpoints: Path, folder: Path) -> Callable[[Inputs], Any]:
    """What gives the logits after one prompt: of the labels [L], else of the vocabulary [V]."""
    if way == "labels":
        rows = session(folder / _MODEL)
        return lambda each: rows.run(None, each)[0][0]
    if way == "full":
        full = session(folder / _FULL)
        return lambda each: full.run(None, each)[0][0, -1]
    plan = starter_plan(checkpoints, 2)
    model = plan.sources["planner"].load(_CLASS)
    grid = torch.tensor([[1, *_given(folder)[1]]])

    def letter(each: Inputs) -> Any:
        output = model.generate(
            input_ids=torch.from_numpy(each["input_ids"]),
            attention_mask=torch.from_numpy(each["attention_mask"]),
            pixel_values=torch.from_numpy(each["pixel_values"][0]),
            image_grid_thw=grid,
            max_new_tokens=1,
            do_sample=False,
            pad_token_id=0,
            return_dict_in_generate=True,
            output_logits=True,
        )
        return output.logits[0][0].numpy()

    return letter


def _memory(way: str, checkpoints: Path, folder: Path) -> float:
    command = [sys.executable, "-m", "bench.export.heads", way, str(checkpoints.resolve()), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{WAYS[way]} failed:\n{done.stderr}")
    return float(json.loads(done.stdout.splitlines()[-1])["peak_mib"])


def main() -> None:
    """Answer a few prompts one way, and print the peak of this process's memory."""
    way, checkpoints, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    torch.set_num_threads(1)
    given = _given(folder)[0][:8]
    idle = memory_kib("VmRSS")
    run_one = _way(way, checkpoints, folder)
    for each in given:
        run_one(each)
    print(json.dumps({"peak_mib": (memory_kib("VmHWM") - idle) / 1024}))


if __name__ == "__main__":
    main()
