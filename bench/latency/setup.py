"""What every section of the latency benchmark works with."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.progress import Progress

from bench.latency.peer import PeerTree, of_tree
from bench.worlds import Trial, load, prepare
from quizglass_client.local import LocalServer

OURS, PEER = "ours", "peer"


@dataclass(frozen=True)
class Setup:
    """The settings of a run."""

    quick: bool
    """Small counts, to see that everything runs; the figures mean nothing."""
    folder: Path
    bundle: Path
    checkpoints: Path
    seed: int
    things: int
    questions: int
    threads: int
    """Of the planner and its peer."""
    peer: PeerTree | None
    """None: there is none to compare with."""
    photographs: Path
    """Where PyPI's photographs are kept."""
    photograph_bundle: Path
    """What the section `photographs` serves."""
    say: Callable[[str], None]

    def count(self, full: int, quick: int) -> int:
        """How often to repeat something."""
        return quick if self.quick else full

    @property
    def peer_name(self) -> str:
        """The peer in tables."""
        return "" if self.peer is None else self.peer.commit

    @property
    def world(self) -> Path:
        """The folder of the world that is asked about."""
        return self.folder / f"world-{self.seed}-{self.things}"

    def trial(self) -> Trial:
        """The world with its questions."""
        self.say("drawing a world")
        return prepare(self.seed, self.things, self.questions, self.world)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the servers that are compared."""
        return (OURS,) if self.peer is None else (OURS, PEER)

    @contextmanager
    def started(self, name: str, *, empty: bool = False) -> Iterator[LocalServer]:
        """One of them, by its name; `empty`: with a knowledge of its own that begins with nothing."""
        tree = self.peer if name == PEER else None
        knowledge = self.world / ("knowledge" if tree is None else f"knowledge-{tree.commit}")
        if empty:
            knowledge = knowledge.with_name(f"empty-{name}")
            shutil.rmtree(knowledge, ignore_errors=True)
        with ExitStack() as stack:
            with of_tree(tree):
                server = stack.enter_context(LocalServer(self.bundle, knowledge))
            yield server

    @contextmanager
    def server(self, name: str) -> Iterator[LocalServer]:
        """One of them, which knows the world's entries."""
        with self.started(name) as server:
            self.say(f"{name}: import")
            load(server.target, self.world, Progress(disable=True))
            yield server

    @contextmanager
    def servers(self, *, empty: bool = False) -> Iterator[dict[str, LocalServer]]:
        """All of them, beside each other: asked in turn, one idles while the other works."""
        with ExitStack() as stack:
            one = partial(self.started, empty=True) if empty else self.server
            yield {name: stack.enter_context(one(name)) for name in self.names}
