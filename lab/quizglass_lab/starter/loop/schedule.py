"""Time-budgeted learning-rate schedules and resumable progress, shared by every stage."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from torch import nn

logger = logging.getLogger(__name__)
PROGRESS = "progress.pt"
_FLOOR = 0.03
"""Share of the rate that is left at the end."""


class Schedule:
    """Linear warm-up, then cosine decay, over a budget of time instead of a step count.

    On a CPU time is the processor time of the thread that trains: the time on the clock where nothing else runs, and no
    less training where something does. On a GPU, for which that thread waits, it is the time on the clock. A stage
    interrupted and resumed goes on where it was: the time already spent is part of its progress. On a terminal a
    progress bar shows the budget.

    Args:
        minutes: the budget.
        rate: of learning, at its highest.
        device: where the model learns.
        warm_up: share of the budget in which the rate rises.
    """

    def __init__(self, minutes: float, rate: float, device: torch.device, *, warm_up: float) -> None:
        self.budget = minutes * 60
        self.rate = rate
        self.warm_up = warm_up
        self.steps = 0
        self.spent = 0.0
        self._clock = time.thread_time if device.type == "cpu" else time.monotonic
        self._mark = self._clock()
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        console = Console(stderr=True)
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("", total=self.budget)

    def step(self, optimizer: torch.optim.Optimizer, note: str = "") -> bool:
        """Set the rate for the next step; false when the time is used up. `note` stands beside the progress bar."""
        now = self._clock()
        self.spent += now - self._mark
        self._mark = now
        self._bar.start()
        self._bar.update(self._task, completed=self.spent, description=f"step {self.steps} {note}")
        if self.spent >= self.budget:
            self._bar.stop()
            return False
        part = self.part()
        ramp = min(1.0, part / self.warm_up)
        decay = _FLOOR + (1 - _FLOOR) * 0.5 * (1 + math.cos(math.pi * part))
        for group in optimizer.param_groups:
            group["lr"] = self.rate * group.get("scale", 1.0) * ramp * decay
        self.steps += 1
        return True

    def part(self) -> float:
        """Share of the budget spent, 0 to 1."""
        return min(1.0, self.spent / self.budget) if self.budget > 0 else 1.0

    def progress(self) -> str:
        """Text for log lines: minutes spent of minutes given."""
        return f"{self.spent / 60:.1f}/{self.budget / 60:.0f} min"


def optimiser(
    module: nn.Module, rate: float, decay: float = 0.05, scales: dict[str, float] | None = None
) -> torch.optim.AdamW:
    """AdamW with weight decay on matrices only; `scales` multiplies the rate of parameters by name prefix."""
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            scale = next((value for prefix, value in (scales or {}).items() if name.startswith(prefix)), 1.0)
            groups.setdefault((decay if parameter.ndim >= 2 else 0.0, scale), []).append(parameter)
    return torch.optim.AdamW(
        [{"params": members, "weight_decay": wd, "scale": scale} for (wd, scale), members in groups.items()],
        lr=rate,
        betas=(0.9, 0.98),
        fused=True,
    )


def save_progress(
    folder: Path,
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    schedule: Schedule,
    measured: Mapping[str, object],
) -> None:
    """Write everything `resume` needs, atomically; `measured` are the running figures of the training."""
    folder.mkdir(parents=True, exist_ok=True)
    state = {
        "module": module.state_dict(),
        "optimizer": optimizer.state_dict(),
        "steps": schedule.steps,
        "spent": schedule.spent,
        "measured": dict(measured),
    }
    part = folder / f"{PROGRESS}.part"
    torch.save(state, part)
    part.rename(folder / PROGRESS)


def resume(folder: Path, module: nn.Module, optimizer: torch.optim.Optimizer, schedule: Schedule) -> dict[str, Any]:
    """Continue from a folder's progress if there is any. Returns what was measured until then."""
    path = folder / PROGRESS
    if not path.is_file():
        return {}
    state = torch.load(path, map_location="cpu", weights_only=True)
    module.load_state_dict(state["module"])
    optimizer.load_state_dict(state["optimizer"])
    schedule.steps, schedule.spent = state["steps"], state["spent"]
    logger.info("%s resumed at %s", folder.name, schedule.progress())
    return dict(state.get("measured", {}))  # progress written before it held any
