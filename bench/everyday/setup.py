"""What every section works with: counts, seeds, and the bundle's encoders with a knowledge store of their own."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from quizglass_bundle.files import Bundle
from quizglass_lab.scoring.intervals import wilson_interval
from quizglass_server.domain.entries import PicturedEntry
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.knowledge import KnowledgeBase
from quizglass_server.roles.image_encoder import OnnxImageEncoder
from quizglass_server.roles.load import load_role
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.shared.loading import Loading
from quizglass_server.roles.text_encoder import OnnxTextEncoder

THREADS = 2


@dataclass(frozen=True)
class Setup:
    """What every section works with."""

    quick: bool
    """Small counts, to see that everything runs; the figures mean nothing."""
    workdir: Path
    """Where `quizglass-export everyday` put its files."""
    folder: Path
    """For what the benchmark fetches and makes."""
    adapters: Path
    """Folders `generator` and `planner`, where they are trained."""
    seed: int
    say: Callable[[str], None]
    """Shows what is being done."""

    def count(self, full: int, quick: int) -> int:
        """How many of something."""
        return quick if self.quick else full

    @property
    def bundle(self) -> Path:
        """The bundle that is measured."""
        return self.workdir / "bundle"


@dataclass(frozen=True)
class Encoders:
    """The bundle's, as the server runs them."""

    text: OnnxTextEncoder
    image: OnnxImageEncoder


async def encoders(bundle_folder: Path, threads: int = THREADS) -> Encoders:
    """Load both in this process."""
    bundle, pool = Bundle.load(bundle_folder, hashes=False), EnginePool(1)
    loading = Loading(bundle, pool, PictureFitter(), OnnxOptions(threads, "cpu"))
    text, image = bundle.roles.text_encoder, bundle.roles.image_encoder
    if text is None or image is None:
        raise SystemExit(f"{bundle_folder}: it has not both encoders; run `quizglass-export everyday bundle`")
    return Encoders(
        await pool.run(lambda: load_role("text_encoder", text, loading)),
        await pool.run(lambda: load_role("image_encoder", image, loading)),
    )


@asynccontextmanager
async def knowing(setup: Setup, loaded: Encoders, entries: Iterable[PicturedEntry]) -> AsyncIterator[KnowledgeBase]:
    """A knowledge store of these entries, thrown away afterwards."""

    async def stream() -> AsyncIterator[PicturedEntry]:
        for entry in entries:
            yield entry

    with tempfile.TemporaryDirectory(dir=setup.folder) as home:
        base = await KnowledgeBase.open(Path(home), text_encoder=loaded.text, image_encoder=loaded.image)
        try:
            await base.add(stream())
            await base.settle()
            yield base
        finally:
            await base.close()


def between(hits: int, count: int) -> str:
    """Wilson's interval of a share and what it is of, for a row's name."""
    low, high = wilson_interval(hits, count)
    return f"95 % interval {100 * low:.1f} to {100 * high:.1f}, {count}"
