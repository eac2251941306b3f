"""The sources of knowledge beside the store, for one turn: asked at the same time as it, and mixed with its finds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from quizglass_server.assistant.turn.journal import Journal
from quizglass_server.assistant.turn.resources import Resources
from quizglass_server.assistant.turn.runner import StepRunner
from quizglass_server.domain.entries import EntryHit
from quizglass_server.domain.turns import Evidence, Turn, Vector
from quizglass_server.knowledge.sources.guarded import GuardedSource
from quizglass_server.knowledge.sources.mixing import mixed
from quizglass_server.roles.text_encoder import TEXT_ENCODER
from quizglass_server.scheduling.at_once import at_once
from quizglass_server.steps.lookup.image_search import ask_picture_source
from quizglass_server.steps.lookup.text_search import ask_source

Found = TypeVar("Found")
VectorsOfPicture = Callable[[], Awaitable[Sequence[Vector]]]


class Outside:
    """The sources of one turn.

    Args:
        turn: the question and its picture, and whether it may leave this machine.
        runner: runs the searches, each within its own time, and notes those that failed.
        resources: the sources, and the text encoder.
        journal: takes those that are not asked.
    """

    def __init__(self, turn: Turn, runner: StepRunner, resources: Resources, journal: Journal) -> None:
        self._turn = turn
        self._runner = runner
        self._resources = resources
        self._journal = journal
        self._lost: set[str] = set()
        """Those that failed in this turn: further queries do not wait for them."""

    def that_find(self, kind: str) -> list[GuardedSource]:
        """Those that this turn may still ask by "text" or by "image"; those that may not be are noted as NOT_LOCAL."""
        allowed = []
        for source in self._resources.sources.that_find(kind):
            if source.name in self._lost:
                continue
            if source.open and not (source.remote and self._turn.stays_here):
                allowed.append(source)
            else:
                self._journal.skip(source.step, "NOT_LOCAL")
        return allowed

    async def texts(self, query: str, own: Awaitable[list[Evidence]], most: int) -> list[Evidence]:
        """The store's passages for a query and those of sources, best first by rank and trust, at most so many."""
        encoder = self._resources.models[TEXT_ENCODER]
        if not (sources := self.that_find("text")):
            return await own

        async def ask(source: GuardedSource) -> list[Evidence] | None:
            return await self._runner.run_on(source, ask_source.named(source.step), encoder, query)

        found = await at_once([own, *map(ask, sources)])
        return self._mixed(found, sources, lambda item: f"{item.title}\n{item.text}")[:most]

    async def pictures(
        self, own: Awaitable[list[EntryHit] | None], vectors: VectorsOfPicture, least: float
    ) -> list[EntryHit] | None:
        """Entries that look like the picture and what sources have of it, best first by rank and trust.

        Args:
            own: looks the picture up in the store; None: there was no time.
            vectors: of the parts that the picture is looked up by.
            least: the cosine below which nothing counts.
        """
        sources, picture = self.that_find("image"), self._turn.picture
        if not sources or picture is None:
            return await own

        async def ask(source: GuardedSource) -> list[EntryHit] | None:
            if not (sought := await vectors()):
                return None
            step = ask_picture_source.named(source.step)
            return await self._runner.run_on(source, step, sought, self._turn.question, picture, least)

        found = await at_once([own, *map(ask, sources)])
        if all(each is None for each in found):
            return None
        return self._mixed(found, sources, lambda hit: hit.entry.id)

    def _mixed(
        self, found: Sequence[list[Found] | None], sources: Sequence[GuardedSource], key: Callable[[Found], str]
    ) -> list[Found]:
        self._lost |= {source.name for source, each in zip(sources, found[1:], strict=True) if each is None}
        trusts = [1.0, *(source.terms.trust for source in sources)]
        return mixed([(trust, each or []) for trust, each in zip(trusts, found, strict=True)], key)
