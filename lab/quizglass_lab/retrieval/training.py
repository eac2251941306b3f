"""A training run with a time budget: learning-rate schedule, checkpoints, progress, and the record of its cost.

It knows nothing about models or data. The schedule follows the share of the time that has passed, so that a run
ends annealed on any machine; a run that is interrupted goes on from its last checkpoint and its remaining time.
On a CPU time is the process's processor time per thread: the time on the clock where nothing else runs, and no less
training where something does. On a GPU, for which the process waits, it is the time on the clock.
"""

import json
import logging
import math
import resource
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from torch import nn

from quizglass_lab.starter.model.precision import device_of

logger = logging.getLogger("quizglass.train")

DONE = "done.json"
_CHECKPOINT_SECONDS = 60.0
_LOG_SECONDS = 15.0
_WARM_UP = 0.04  # share of the time
_FINAL_SHARE = 0.02  # of the peak rate, at the end


def learning_rate(peak: float, passed: float) -> float:
    """Rate at `passed` (0..1 of the time): linear warm-up, then a half cosine."""
    if passed < _WARM_UP:
        return peak * max(passed / _WARM_UP, 0.05)
    angle = math.pi * min((passed - _WARM_UP) / (1 - _WARM_UP), 1.0)
    return peak * (_FINAL_SHARE + (1 - _FINAL_SHARE) * 0.5 * (1 + math.cos(angle)))


def adamw(model: nn.Module, weight_decay: float = 0.02) -> torch.optim.AdamW:
    """AdamW that decays matrices only."""
    matrices = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    others = [p for p in model.parameters() if p.requires_grad and p.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.98), fused=True)


@dataclass
class TimedRun:
    """One stage of training. Iterate `steps()`; call `update(loss, …)` once in each."""

    name: str
    folder: Path
    model: nn.Module  # everything that is trained, auxiliary heads included
    minutes: float  # that it may take
    peak_rate: float
    step: int = 0
    elapsed: float = 0.0  # seconds, over all resumed parts
    averages: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.optimizer = adamw(self.model)
        self.device = device_of(self.model)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._state_file = self.folder / f"{self.name}.state.pt"
        if self._state_file.exists():
            self._load()

    @property
    def passed(self) -> float:
        """Share of the time that has passed, 0..1."""
        return min(self.elapsed / (60 * self.minutes), 1.0) if self.minutes > 0 else 1.0

    def steps(self) -> Iterator[int]:
        """Step numbers until the time is up; saves a checkpoint every minute and at the end."""
        saved = told = time.monotonic()
        with _progress() as progress:
            bar = progress.add_task(self.name, total=1.0)
            while self.passed < 1.0:
                started = self._clock()
                for group in self.optimizer.param_groups:
                    group["lr"] = learning_rate(self.peak_rate, self.passed)
                yield self.step
                self.step += 1
                now = time.monotonic()
                self.elapsed += self._clock() - started
                progress.update(bar, completed=self.passed, description=f"{self.name} {self._told()}")
                if now - told > _LOG_SECONDS:
                    told = now
                    logger.info("%s %3.0f%% step %d %s", self.name, 100 * self.passed, self.step, self._told())
                if now - saved > _CHECKPOINT_SECONDS:
                    saved = now
                    self.save()
        self.save()
        logger.info("%s finished: %d steps, %.0f s, %s", self.name, self.step, self.elapsed, self._told())

    def update(self, loss: torch.Tensor, **measures: float) -> None:
        """Back-propagate, clip, step; the measures go into running averages for the log."""
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        for key, value in {"loss": loss.item(), **measures}.items():
            self.averages[key] = 0.95 * self.averages.get(key, value) + 0.05 * value

    @property
    def measured(self) -> dict[str, float]:
        """Loss and the other measures, averaged over about the last twenty steps."""
        return {key: round(value, 4) for key, value in self.averages.items()}

    def save(self) -> None:
        """Write the state atomically."""
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "elapsed": self.elapsed,
            "averages": self.averages,
        }
        part = self._state_file.with_suffix(".part")
        torch.save(state, part)
        part.replace(self._state_file)

    def _load(self) -> None:
        state: dict[str, Any] = torch.load(self._state_file, map_location="cpu", weights_only=True)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.elapsed = state["step"], state["elapsed"]
        self.averages = state.get("averages", {})  # a state written before it held any
        logger.info("%s resumed at step %d, %.0f s", self.name, self.step, self.elapsed)

    def _clock(self) -> float:
        """Seconds of learning since any moment."""
        on_cpu = self.device.type == "cpu"
        return time.process_time() / torch.get_num_threads() if on_cpu else time.monotonic()

    def _told(self) -> str:
        return " ".join(f"{key} {value:.3f}" for key, value in self.averages.items())


def finished(folder: Path) -> bool:
    """Whether the stage in this folder is done; delete the folder to repeat it."""
    return (folder / DONE).is_file()


def finish(folder: Path, measured: Mapping[str, object], *runs: TimedRun) -> None:
    """Mark a stage done.

    Writes `done.json` with what was measured, and `steps` and `minutes` (over all sittings, as `TimedRun` counts them)
    of its runs together, `peak_memory_mb` (largest resident memory of the last sitting's process), and the `device`
    where that was a GPU.
    """
    gpu = next((torch.cuda.get_device_name(run.device) for run in runs if run.device.type == "cuda"), None)
    report = {
        **measured,
        "steps": sum(run.step for run in runs),
        "minutes": round(sum(run.elapsed for run in runs) / 60, 2),
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        **({"device": gpu} if gpu else {}),
    }
    part = folder / f"{DONE}.part"
    part.write_text(json.dumps(report, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    part.replace(folder / DONE)
    logger.info("%s done: %s", folder.name, json.dumps(report, sort_keys=True))


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, disable=not console.is_terminal)


def prepare(workdir: Path, threads: int, seed: int) -> None:
    """Threads, seed and log lines of a training process; lines also go to `workdir`/logs/retrieval.log."""
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    logs = workdir / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    if not logger.handlers:
        for handler in (logging.StreamHandler(), logging.FileHandler(logs / "retrieval.log")):
            handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
            logger.addHandler(handler)
        logger.setLevel(logging.INFO)
