"""What a generator process is started with, and llama-server's command line made from it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from quizglass_server.config.settings import BatchOptions
from quizglass_server.engines.generator.process.breaker import BreakerOptions
from quizglass_server.engines.generator.process.card import AUTO, CardPlan, CardRoom, needs, plan
from quizglass_server.engines.generator.process.programs import Program
from quizglass_server.engines.generator.process.watch import WatchOptions

_BATCH = 512
"""Tokens of a prompt that are read in one step; a step that has begun is not stopped."""
_FOREIGN = ("LLAMA_", "AIP_", "HF_", "MODEL_ENDPOINT")
"""Beginnings of the names of variables that llama-server would take settings from."""
_OPENMP = {"OMP_WAIT_POLICY": "passive"}
"""Threads that spin lose a core to other programs now and then, and all others wait for them: seconds were measured."""


@dataclass(frozen=True, slots=True)
class Patience:
    """When threads are changed while the server runs."""

    look_s: float = 10.0
    """Between two looks at what other programs do."""
    steady_s: float = 180.0
    """The load must have been different for so long."""
    apart_s: float = 900.0
    """Between two changes."""
    idle_s: float = 5.0
    """The generator must have had nothing to do for so long."""
    busy_cores: float = 0.7
    """Others keep a core busy when they use more than this."""
    idle_cores: float = 0.3
    """They do not any more when they use less than this."""


@dataclass(frozen=True)
class ProcessOptions(BatchOptions):
    """What the generator process loads and how long its users wait."""

    model: Path
    projector: Path | None
    """None: the model reads no pictures."""
    context: int
    """Tokens of one prompt with its answer."""
    sequences: int = 4
    """How many whole contexts the KV cache has room for."""
    threads: int = 1
    """0: chosen among `cores`."""
    cores: int = 1
    """That this server may use."""
    stop: tuple[str, ...] = ()
    """Texts that end an answer."""
    program: Program | None = None
    """None: whichever is installed."""
    room: CardRoom | None = None
    """Of the card; None: there is none."""
    gpu_layers: int = AUTO
    """Layers on the card."""
    load_timeout_s: float = 300.0
    restart_wait_s: float = 10.0
    """How long a request waits for a process that is being restarted."""
    save_wait_s: float = 5.0
    close_wait_s: float = 2.0
    watch: WatchOptions = field(default_factory=WatchOptions)
    breaker: BreakerOptions = field(default_factory=BreakerOptions)
    patience: Patience = field(default_factory=Patience)

    @property
    def cells(self) -> int:
        """Cells of the KV cache, shared by all slots."""
        return max(self.generator_cells or self.context * self.sequences, self.context)

    def card_plan(self) -> CardPlan | None:
        """What of the model goes on the card; None without one.

        Raises:
            SettingsError: it has no room for the layers that were asked for.
            OSError, ValueError: a file cannot be read.
        """
        if self.room is None:
            return None
        return plan(needs(self.model, self.projector, self.cells, _BATCH), self.room, self.gpu_layers)

    def flags(
        self, folder: Path, host: str, port: int, *, threads: int, repack: bool, on_card: CardPlan | None = None
    ) -> list[str]:
        """llama-server's flags.

        Args:
            folder: where it may write what its slots hold.
            host: what it listens on: the path of a Unix socket, or an address.
            port: with an address.
            threads: that compute.
            repack: whether weights may be kept in the order that the CPU's fastest instructions want.
            on_card: what goes on the card; None: llama.cpp decides.
        """
        projector = [] if self.projector is None else ["--mmproj", str(self.projector.absolute())]
        return [
            *("--model", str(self.model.absolute()), *projector),
            *("--host", host, "--port", str(port)),
            *("--parallel", str(self.generator_batch), "--kv-unified"),
            *("--ctx-size", str(self.cells), "--kv-unified-per-slot", str(self.context)),
            *("--batch-size", str(_BATCH), "--ubatch-size", str(_BATCH)),
            *("--threads", str(threads), "--threads-batch", str(threads), "--poll", "0"),
            # What slots hold is all that is kept, so that it can be forgotten.
            *("--cache-ram", "0", "--slot-save-path", f"{folder}/"),
            *("--offline", "--no-ui", "--no-slots", "--no-context-shift"),
            *("--log-verbosity", "3", "--log-colors", "off"),
            *([] if repack else ["--no-repack"]),
            *([] if on_card is None else on_card.flags),
        ]


def environment(key: str = "") -> dict[str, str]:
    """The process's variables: this one's, without those that would change what it does.

    Args:
        key: what its callers have to know, where others can connect to it; here it is seen by this user alone.
    """
    own: Mapping[str, str] = os.environ
    kept = {name: value for name, value in own.items() if not name.startswith(_FOREIGN)}
    return {**_OPENMP, **kept, "HF_HUB_OFFLINE": "1", **({"LLAMA_API_KEY": key} if key else {})}
