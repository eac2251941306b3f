"""Writes the question as one query, and tells a name that memory guessed in it from one that something told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quizglass_bundle.inputs.prompts import clean
from quizglass_bundle.tuning import Tuning
from quizglass_server.assistant.turn.requests import Requests
from quizglass_server.assistant.turn.runner import StepRunner
from quizglass_server.domain.state import Draft, State
from quizglass_server.roles.generator import GenerationRequest
from quizglass_server.steps.abstaining import abstains
from quizglass_server.steps.generate import write
from quizglass_server.steps.language.naming import has_ungrounded_names, repeats_a_name, with_name
from quizglass_server.steps.language.phrases import says_what
from quizglass_server.steps.language.pronouns import points
from quizglass_server.steps.language.wording import same_wording

REWRITE = "rewrite"
HISTORY = "history"
OWN_QUERIES = ("query", "queries")
"""Values of prompts that the generator wrote itself: a name in them may be a guess."""


class Rewriting:
    """Rewrites one turn's question.

    Args:
        question: as the wearer asked it.
        runner: runs the steps.
        requests: puts the prompt together.
        tuning: by which memory is sure of a name, and the words by which nothing is known.
        published: whether the question is written once, whatever it becomes.
    """

    def __init__(
        self, question: str, runner: StepRunner, requests: Requests, tuning: Tuning, *, published: bool = False
    ) -> None:
        self._published = published
        self._question = question
        self._runner = runner
        self._requests = requests
        self._tuning = tuning
        self._guessed: dict[str, bool] = {}

    async def query(self, state: State) -> str | None:
        """The query, which may be empty; None where the question stands.

        It stands where there is no time for a query, and where its writer has nothing to go by but the question, or
        says that it knows nothing. Where the writer has a name of its own beside what an image search brought, or names
        nothing, it writes again without seeing the picture, and so has to go by that. Where it names what was spoken of
        before and the question points at what is seen ("the car"), it writes again without what was said before. Where
        it has a name of its own still, or compares a thing with itself, it gets the name in the question.
        """
        request = await self._requests.to(REWRITE, state, {})
        if not self._requests.has_more(request):
            return None
        draft = await self._runner.run(write.named(REWRITE), request)
        if not self._published:
            draft, request = await self._written_again(draft, request, state)
        if draft is None or (draft.text and self._abstains(draft)):
            return None
        query = clean(draft.text)
        self._guessed[query] = bool(query) and (repeats_a_name(query) or self._is_guess(draft, request))
        return query

    async def _written_again(
        self, draft: Draft | None, request: GenerationRequest, state: State
    ) -> tuple[Draft | None, GenerationRequest]:
        """The query, written again where that helps, and the request that it was written by."""
        if draft is not None and state.seen and self._is_carried_over(draft, request):
            alone = replace(request, values={**request.values, HISTORY: []})
            again = await self._runner.run(write.named(REWRITE), alone)
            draft = again if again is not None and self._names_what_is_told(again, alone) else draft
        elif draft is not None and state.seen and self._requests.sees(request) and self._is_open(draft, request):
            request = replace(request, pictures=())
            again = await self._runner.run(write.named(REWRITE), request)
            draft = draft if again is None or not again.text.strip() or self._abstains(again) else again
        if draft is not None and self._is_of_another_thing(draft, request, state):
            draft = await self._named(draft, request, state)
        return draft, request

    async def _named(self, draft: Draft, request: GenerationRequest, state: State) -> Draft:
        """The query written again by the question with what was recognised named; the same where that does not help."""
        titles = {entry.title for entry in state.seen}
        asked = with_name(self._question, titles.pop()) if len(titles) == 1 else None
        if asked is None:
            return draft
        named = replace(request, pictures=(), values={**request.values, "question": asked, "seen": []})
        again = await self._runner.run(write.named(REWRITE), named)
        if again is None or not again.text.strip() or self._abstains(again):
            return draft
        return draft if self._is_of_another_thing(again, named, state) else again

    def guessed(self, queries: Sequence[str]) -> bool:
        """Whether one of the rewritten queries has a name that nothing told and memory is not sure of, or one twice."""
        return any(self._guessed.get(query) for query in queries)

    def _is_guess(self, query: Draft, request: GenerationRequest) -> bool:
        return not self._tuning.remembers(query.p_min) and has_ungrounded_names(query.text, _told(request))

    def _is_open(self, query: Draft, request: GenerationRequest) -> bool:
        unsure, stands = not self._tuning.remembers(query.p_min), same_wording(query.text, self._question)
        return (unsure and stands and points(self._question)) or self._has_a_name_of_its_own(query, request)

    def _is_of_another_thing(self, query: Draft, request: GenerationRequest, state: State) -> bool:
        """Whether it compares a thing with itself, or names one that nothing told beside what was recognised."""
        own = bool(state.seen) and self._has_a_name_of_its_own(query, request)
        return own or repeats_a_name(query.text)

    def _has_a_name_of_its_own(self, query: Draft, request: GenerationRequest) -> bool:
        """Whether it names what nothing told, where memory has to be sure; beside a hit such names are rarely right."""
        return self._tuning.memory_accept is not None and has_ungrounded_names(query.text, _told(request))

    def _is_carried_over(self, query: Draft, request: GenerationRequest) -> bool:
        """Whether it names what only the dialogue told, in place of the question's own description."""
        if not request.values.get(HISTORY) or not says_what(self._question):
            return False
        told = _told(request)
        del told[HISTORY]
        return has_ungrounded_names(query.text, told) and not has_ungrounded_names(query.text, _told(request))

    def _names_what_is_told(self, query: Draft, request: GenerationRequest) -> bool:
        if not query.text.strip() or self._abstains(query) or same_wording(query.text, self._question):
            return False
        return not has_ungrounded_names(query.text, _told(request))

    def _abstains(self, draft: Draft) -> bool:
        return abstains(draft.text, self._tuning.abstain)


def _told(request: GenerationRequest) -> dict[str, object]:
    """What a prompt shows and the generator has not written itself."""
    return {name: value for name, value in request.values.items() if name not in OWN_QUERIES}
