"""Minutes of a run over all its sittings, and a learning rate that falls over a time limit as it would over steps."""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable
from typing import Any

import torch
import transformers
from transformers.trainer_callback import ExportableState

from quizglass_lab.finetuning.training.settings import Training


class Diary(transformers.TrainerCallback, ExportableState):  # type: ignore[misc]
    """Minutes and peak memory over all sittings, kept in every checkpoint; ends a run whose time is up.

    Args:
        minutes: of the sittings before.
        peak: most memory of the sittings before, bytes.
        limit: minutes after which the run ends; 0: none.
    """

    def __init__(self, minutes: float = 0.0, peak: int = 0, limit: float = 0.0) -> None:
        self.minutes, self.peak, self.limit, self._since = minutes, peak, limit, time.monotonic()

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        """Begin to count the minutes of this sitting."""
        self._since = time.monotonic()

    def on_step_end(self, _: Any, __: Any, control: Any, **___: Any) -> None:
        """Add the time since the last step, evaluations included; end the run where its limit is reached."""
        now = time.monotonic()
        self.minutes, self._since = self.minutes + (now - self._since) / 60, now
        self.peak = max(self.peak, peak_memory())
        if self.limit and self.minutes >= self.limit:
            control.should_training_stop = control.should_save = True

    def state(self) -> dict[str, Any]:
        """Constructor arguments and attributes that transformers keeps in every checkpoint."""
        return {"args": {"limit": self.limit}, "attributes": {"minutes": self.minutes, "peak": self.peak}}


def time_is_up(state: transformers.TrainerState) -> bool:
    """Whether the run that a checkpoint's state is of ended by its time limit."""
    diary = state.stateful_callbacks.get(Diary.__name__)
    limit = diary["args"]["limit"] if isinstance(diary, dict) else 0.0
    return bool(limit) and diary["attributes"]["minutes"] >= limit


def rate_share(progress: float, settings: Training) -> float:
    """The learning rate as a share of the peak, at a share of the run: it rises in the warm-up and falls to 0."""
    if progress < settings.warm_up:
        return progress / settings.warm_up
    if settings.schedule == "constant":
        return 1.0
    left = max(1.0 - progress, 0.0) / (1.0 - settings.warm_up)
    return left if settings.schedule == "linear" else 0.5 * (1.0 - math.cos(math.pi * left))


def falling(optimizer: torch.optim.Optimizer, steps: int, settings: Training, minutes: Callable[[], float]) -> Any:
    """A scheduler whose rate is 0 when the time limit or the last step is reached, whichever comes first."""

    def share(step: int) -> float:
        return rate_share(max(step / steps, minutes() / settings.minutes), settings)

    return torch.optim.lr_scheduler.LambdaLR(optimizer, share)


def peak_memory() -> int:
    """Most bytes taken so far: by tensors on the GPU where there is one, else by this process."""
    if torch.cuda.is_available():
        return int(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
