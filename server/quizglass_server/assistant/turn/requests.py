"""What the generator is asked in one turn: a task's prompt with its values and the pictures that it shows."""

from __future__ import annotations

from collections.abc import Mapping

from quizglass_server.assistant.turn.lookups import Lookups
from quizglass_server.assistant.turn.picture_context import PictureContext
from quizglass_server.domain.state import Note, State
from quizglass_server.domain.turns import Picture, Turn
from quizglass_server.roles.generator import GenerationRequest, Generator, following
from quizglass_server.steps.language.phrases import asks_by_name
from quizglass_server.steps.language.wording import mentions


class Requests:
    """Puts together what the generator is asked, from what is known of a question by then.

    Args:
        turn: the question.
        generator: whom it is asked of; None where there is none.
        context: values that prompts show.
        lookups: which bring pictures of entries.
        published: whether every answer is written with the picture.
    """

    def __init__(
        self,
        turn: Turn,
        generator: Generator | None,
        context: PictureContext,
        lookups: Lookups,
        *,
        published: bool = False,
    ) -> None:
        self._published = published
        self._turn = turn
        self._generator = generator
        self._context = context
        self._lookups = lookups

    async def to(
        self, task: str, state: State, also: Mapping[str, Note], *, answers: bool = False
    ) -> GenerationRequest:
        """The request to do a task, with the wearer's picture, and those of the entries seen where it shows them.

        With `answers` it is as long at most, and of such a form, as the question wants its answer. It is written
        without the picture where passages are about the thing that the question names, and nothing says that the
        picture shows it: a small model gives the colour of the thing it sees.
        """
        values = await self._context.values(state, also, self.names(task))
        entries = self._generator is not None and self._generator.shows_entries(task)
        if not answers:
            return GenerationRequest(task, values, await self.pictures(state, entries=entries))
        hidden = not self._published and _is_of_another_thing(state)
        shown = () if hidden else await self.pictures(state, entries=entries)
        grammar = self._turn.answer_grammar
        return GenerationRequest(
            task, values, shown, self._turn.max_answer_tokens, following(grammar) if grammar else None
        )

    async def pictures(self, state: State, *, entries: bool) -> tuple[Picture, ...]:
        """The wearer's picture, and where a prompt shows `entries` theirs: of those seen, then of those that a text
        found pictures of. None without the first."""
        frame = self._turn.picture
        if frame is None:
            return ()
        return (frame, *await self._lookups.pictures((*state.seen, *state.pictured))) if entries else (frame,)

    def names(self, task: str) -> frozenset[str]:
        """Names of the values that the prompt of a task shows."""
        return frozenset() if self._generator is None else self._generator.names(task)

    def sees(self, request: GenerationRequest) -> bool:
        """Whether a prompt has a picture that its model sees."""
        return self._generator is not None and self._generator.sees_pictures and bool(request.pictures)

    def has_more(self, request: GenerationRequest) -> bool:
        """Whether a prompt has more than the question: the picture, for a model that sees it, or what it names."""
        if self._generator is None or self._generator.sees_pictures:
            return True
        return any(request.values.get(name) for name in self.names(request.task) - {"question"})


def _is_of_another_thing(state: State) -> bool:
    """Whether passages are about a thing that the question names, and the picture is not known to show it."""
    titles = {passage.title for passage in state.found}
    if not asks_by_name(state.question, titles):
        return False
    return not any(mentions(state.question, entry.title) for entry in state.seen)
