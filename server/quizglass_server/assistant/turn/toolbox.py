"""The verbs of policies (`policies.tools.Tools`) for one turn: each runs steps and reports their results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from typing import Any, TypeVar

from quizglass.values import (
    AbstainReason,
    AnswerDelta,
    Decided,
    FinishReason,
    Plan,
    PlanMade,
    Queries,
    QueryRewritten,
)
from quizglass_bundle.inputs.prompts import Values
from quizglass_bundle.parts import ANSWER
from quizglass_server.assistant.turn.answer_check import AnswerCheck
from quizglass_server.assistant.turn.branches import in_branches, in_rounds
from quizglass_server.assistant.turn.journal import Journal
from quizglass_server.assistant.turn.lookups import Lookups
from quizglass_server.assistant.turn.picture_context import TAGS, PictureContext
from quizglass_server.assistant.turn.refusals import colour_refusal
from quizglass_server.assistant.turn.requests import Requests
from quizglass_server.assistant.turn.resources import Resources
from quizglass_server.assistant.turn.rewriting import REWRITE, Rewriting
from quizglass_server.assistant.turn.runner import StepRunner
from quizglass_server.domain.state import Draft, Note, State
from quizglass_server.domain.turns import Evidence, Picture, Turn
from quizglass_server.roles.decider import SELECTING, VERIFIER, Decider
from quizglass_server.roles.generator import GENERATOR, GenerationRequest, Generator, lines
from quizglass_server.roles.text_encoder import TEXT_ENCODER
from quizglass_server.steps.abstaining import AbstentionFilter, abstains, begins_to_abstain
from quizglass_server.steps.decide import ask_decider, ask_letter, likeliest, planned, selected
from quizglass_server.steps.generate import Writing, generate, lines_of, write
from quizglass_server.steps.language.phrases import ANYTHING, asks_by_its_names, phrases_of
from quizglass_server.steps.lookup.matching import evidence_odds
from quizglass_server.steps.read import asks_to_read, words_may_tell

Label = TypeVar("Label", bound=Enum)
One = TypeVar("One")
Two = TypeVar("Two")
_Weighing = Coroutine[Any, Any, list[tuple[str, float]] | None]

ANSWERS = (ANSWER, "draft", "conclude")
"""Prompts whose completion may become the answer: they get its limit of tokens, and its grammar if there is one."""
LOOK = "think"
"""Prompt whose first line says what is seen."""
PICTURED = "pictured"
"""Value of prompts: entries whose pictures a text found."""
LIST = lines(12)
"""Constraint on what the generator writes as a list."""


class Toolbox:
    """The verbs of one turn; it begins at once to look for printed words in the picture.

    Use as an async context manager: leaving it ends whatever still runs.

    Args:
        turn: the question.
        runner: runs the steps.
        resources: what turns share.
        journal: takes events, evidence and skipped steps.
        tasks: what the policy may have the generator write.
        words_later: whether printed words are left unread until `read_words`, unless the question may be about them.
        published: whether the verbs leave out what no paper has: names followed from text to text, tags, queries and
            answers that are written again, pictures that prompts leave out, and quotes in place of answers.
    """

    def __init__(
        self,
        turn: Turn,
        runner: StepRunner,
        resources: Resources,
        journal: Journal,
        tasks: Sequence[str] = (ANSWER, REWRITE),
        *,
        words_later: bool = False,
        published: bool = False,
    ) -> None:
        self._published = published
        self._turn = turn
        self._runner = runner
        self._resources = resources
        self._journal = journal
        self._tasks = tasks
        self._lookups = Lookups(turn, runner, resources, journal, self._look, published=published)
        self._looks_ahead = False
        self._reading_ahead: asyncio.Task[None] | None = None
        self._last_round = 0
        self._context = PictureContext(
            turn, runner, resources, journal, self._while_reading, words_later=words_later, published=published
        )
        generator = resources.models[GENERATOR]
        self._requests = Requests(turn, generator, self._context, self._lookups, published=published)
        about = turn, runner, resources, journal, self._context, self._requests, self._lookups
        self._check = AnswerCheck(*about, published=published)
        self._rewriting = Rewriting(turn.question, runner, self._requests, resources.tuning, published=published)

    async def __aenter__(self) -> Toolbox:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.end()
        self._lookups.end()
        self._context.end()
        self._reading_ahead = None

    @property
    def reads_entries(self) -> bool:
        """Whether `read_entries` brings anything: not where passages stand behind captions."""
        return not self._resources.tuning.own_passages

    @property
    def searches_text(self) -> bool:
        """Whether anything can be searched by text."""
        resources = self._resources
        return resources.models[TEXT_ENCODER] is not None or bool(resources.sources.that_find("text"))

    @property
    def pictured(self) -> bool:
        """Whether the question came with a picture."""
        return self._turn.picture is not None

    @property
    def sees_pictures(self) -> bool:
        """Whether the generator sees the picture."""
        generator = self._resources.models[GENERATOR]
        return generator is not None and generator.sees_pictures

    @property
    def finds_pictures(self) -> bool:
        """Whether a prompt shows pictures that a text finds, and there is anything to search by text."""
        return self.searches_text and self._resources.models.prompts_name(PICTURED)

    @property
    def most_rounds(self) -> int | None:
        """Most rounds of a policy that leaves their number to the bundle; None: that does not say."""
        return self._resources.tuning.rounds

    @property
    def named(self) -> tuple[str, ...]:
        """What the question names of the picture."""
        return tuple(phrase for phrase in phrases_of(self._turn.question) if phrase != ANYTHING)

    def start(self) -> State:
        """The question, with nothing found out yet."""
        return State(self._turn.question)

    def fixed(self, plan: Plan) -> Plan:
        """Take a plan that needs no decision."""
        self._journal.emit(PlanMade(plan, "fixed"))
        return plan

    async def decide(self, labels: type[Label], state: State, *, by: str, otherwise: Label, **also: Note) -> Label:
        """Choose one of a closed set, by the decider of that name or else by the generator's prompt."""
        self._look_ahead()
        self._check.verified |= by == VERIFIER
        label, weighed, decided_by = await self._decided(labels, state, by, also)
        if label is Plan.NONE or label is Plan.TEXT:
            words = self._context.unread and words_may_tell(self._turn.question)
            if words and await self.read_words():
                label, weighed, decided_by = await self._decided(labels, state, by, also)
        label, decided_by = (otherwise, "fixed") if label is None else (label, decided_by)
        if isinstance(label, Plan) and not label.searches_image:
            self._lookups.drop_guess()
        self._tell_decision(by, label, decided_by, weighed)
        return label

    async def _decided(
        self, labels: type[Label], state: State, by: str, also: Mapping[str, Note]
    ) -> tuple[Label | None, Sequence[tuple[str, float]], str]:
        """The label, None where there is no time to decide; what each was given, and what decided."""
        name = "plan" if labels is Plan else by
        decider = self._resources.models.deciders.get(by)
        if decider is None:
            request = await self._requests.to(by, state, also)
            names = [str(label.value) for label in labels]
            weighed = await self._runner.run(ask_letter.named(name), request, names)
        else:
            step = ask_decider.named(name, role=by)
            shown = await self._requests.pictures(state, entries=decider.shows_several)

            def ask(values: Values) -> _Weighing:
                return self._runner.run_on(decider, step, shown, values, labels)

            weighed = await self._weighed(decider, ask, state, also)
        if weighed is None:
            return None, (), ""
        chosen = self._chosen(labels, state, by, weighed, also)
        return labels(chosen), weighed, "prompt" if decider is None else by

    def _chosen(
        self,
        labels: type[Enum],
        state: State,
        by: str,
        weighed: Sequence[tuple[str, float]],
        also: Mapping[str, Note],
    ) -> str:
        """The likeliest label; where ours is added, as the bundle's thresholds have it."""
        if self._published:
            return max(weighed, key=lambda each: each[1])[0]
        tuning, matched = self._resources.tuning, 0.0
        if labels is Plan:
            return planned(weighed, tuning.none_accept)
        if by in SELECTING:
            return selected(weighed)
        if by == VERIFIER:
            evidence = (*state.seen, *state.found)
            matched = evidence_odds(state.question, evidence, self._journal.evidence, tuning)
        return likeliest(weighed, tuning, _p_min(also), matched)

    async def write(self, task: str, state: State, **also: Note) -> Draft:
        """Complete a prompt without events; empty when there is no time for it."""
        self._look_ahead()
        self._expect_other(task)
        answers = task in ANSWERS
        request = await self._requests.to(task, state, also, answers=answers)
        return replace(await self._written(request, answers=answers), shown=state.shown)

    async def from_memory(self) -> Draft:
        """The answer with nothing looked up, without events; without the picture where that only stands in its way."""
        self._look_ahead()
        request = await self._requests.to(ANSWER, self.start(), {}, answers=True)
        draft = await self._written(request, answers=True)
        stands = self._published or not (draft.text and self.abstains(draft) and request.pictures)
        if stands or not asks_by_its_names(self._turn.question):
            return draft
        again = await self._written(replace(request, pictures=()), answers=True)
        return again if self.remembers(again) else draft

    async def _written(self, request: GenerationRequest, *, answers: bool) -> Draft:
        """What a prompt is completed to; empty when there is no time for it, a refusal where it cannot tell."""
        ungrounded = self._ungrounded(request) if answers else None
        if ungrounded is not None:
            return ungrounded
        task = request.task
        draft = await self._runner.run(write.named("draft" if task == ANSWER else task), request) or Draft()
        self._runner.has_answer |= answers and bool(draft.text)
        return draft

    async def lines(self, task: str, state: State, **also: Note) -> list[str]:
        """The lines of a completion; none when there is no time for it."""
        return await self._listed(task, state, also) or []

    async def queries(self, task: str, state: State, **also: Note) -> list[str]:
        """The lines of a completion as what is asked next; what the state asks when there is no time for it."""
        lines = await self._listed(task, state, also)
        return list(state.asked) if lines is None else lines

    async def rewrite(self, state: State) -> list[str]:
        """The question as one query; what the state asks when there is no time for it.

        See `Rewriting.query`, which says when the question stands as it is.
        """
        query = await self._rewriting.query(state)
        if query is None:
            return list(state.asked)
        if not query:
            return []
        self._journal.emit(QueryRewritten(query, used_image_evidence=bool(state.seen)))
        return [query]

    def guessed(self, queries: Sequence[str]) -> bool:
        """Whether one of the queries that were written names what nothing told and memory is not sure of."""
        return self._rewriting.guessed(queries)

    async def _listed(self, task: str, state: State, also: Mapping[str, Note]) -> list[str] | None:
        """The lines of a completion, told as they are; None when there is no time for it."""
        self._expect_other(task)
        request = replace(await self._requests.to(task, state, also), constraint=LIST)
        draft = await self._runner.run(write.named(task), request)
        if draft is None:
            return None
        lines = lines_of(draft.text)
        self._journal.emit(Queries(task, tuple(lines)))
        return lines

    async def answer(self, state: State, task: str = ANSWER, **also: Note) -> Draft:
        """Complete a prompt and stream it as the answer, at most until the budget ends."""
        tuning = self._resources.tuning
        if tuning.quote_accept is None or self._published:
            return await self._streamed(task, state, also, self._say)
        abstaining = AbstentionFilter(tuning.abstain, self._say)  # a quote may take the place of "I don't know"
        draft = await self._streamed(task, state, also, abstaining.add)
        abstaining.end(sure=bool(draft.text))
        return draft

    async def attempt(self, state: State) -> tuple[Draft, bool]:
        """As `answer`, but the bundle's words by which nothing is known are not told, nor what memory is not sure of;
        and whether anything was."""
        tuning, backed = self._resources.tuning, bool(state.found)
        whole = tuning.memory_accept is not None and not backed
        abstaining = AbstentionFilter(tuning.abstain, self._say, whole=whole)
        draft = await self._streamed(ANSWER, state, {}, abstaining.add)
        return draft, abstaining.end(sure=backed or self.remembers(draft))

    async def _streamed(self, task: str, state: State, also: Mapping[str, Note], say: Callable[[str], None]) -> Draft:
        """What a prompt is completed to, each piece said as it is written; a refusal where it cannot tell.

        Empty where it was cut off in the middle of saying that nothing is known: "I don't" is no answer.
        """
        request = await self._requests.to(task, state, also, answers=True)
        writing = Writing(request)
        ungrounded = self._ungrounded(request)
        if ungrounded is not None:
            return ungrounded
        await self._runner.run(generate, request, writing, say)
        draft = replace(writing.draft, shown=state.shown)
        if draft.finish is not FinishReason.COMPLETE and begins_to_abstain(draft.text, self._resources.tuning.abstain):
            draft = replace(draft, text="")
        self._runner.has_answer |= bool(draft.text)
        return draft

    def _ungrounded(self, request: GenerationRequest) -> Draft | None:
        """A refusal where nothing in a prompt can tell the answer."""
        return colour_refusal(self._turn, self._resources.models[GENERATOR], request.values)

    def _say(self, text: str) -> None:
        if not self._resources.tuning.checks_first:
            self._journal.emit(AnswerDelta(text))

    async def settled(self, draft: Draft) -> Draft:
        """A policy's draft as it is sent, or a quote in its place (`AnswerCheck.settled`)."""
        return await self._check.settled(draft)

    async def quote(self, evidence: Sequence[Evidence], *, printed: bool = False) -> Draft:
        """The sentences that answer the question, word for word; empty where none does."""
        return await self._check.quote(evidence, printed=printed)

    async def judge(self, draft: Draft) -> Draft:
        """The draft with what models say of its support (`AnswerCheck.judge`)."""
        return await self._check.judge(draft)

    def tell(self, draft: Draft, *, provisional: bool = False) -> Draft:
        """Give a draft as the answer, or show it until the turn's end says whether it is."""
        if provisional:
            self._journal.propose(draft.text)
        elif draft.text:
            self._say(draft.text)
        return draft

    def refuse(self, draft: Draft, reason: AbstainReason) -> Draft:
        """Say "I don't know" instead of giving a draft, for the reason that it has itself, if it has one."""
        return replace(draft, refused=draft.refused or reason)

    async def search_image(
        self, phrases: Sequence[str] = (), limit: int = 0, *, candidates: bool = False
    ) -> list[Evidence]:
        """Look the picture up; the evidence the generator is to be shown, or what the policy chooses that from."""
        self._journal.searched = True
        self._look_ahead()
        if any(TAGS in self._requests.names(task) for task in self._tasks):
            self._context.begin_tagging()  # beside the embedding: prompts may show tags where nothing is recognised
        return await self._lookups.image(phrases, limit, candidates=candidates)

    async def disambiguate(self, entries: Sequence[Evidence]) -> list[Evidence]:
        """Entries, but of those whose pictures match alike the ones first that say what the generator sees."""
        return await self._lookups.disambiguate(entries)

    async def _look(self) -> str:
        """What the generator says first when it thinks about the question: what it sees of the subject.

        Empty where it does not see, has no such prompt, or there is no time.
        """
        if not self._requests.names(LOOK):
            return ""
        request = await self._requests.to(LOOK, self.start(), {})
        if not self._requests.sees(request):
            return ""
        draft = await self._runner.run(write.named("look"), replace(request, constraint=lines(1)))
        return "" if draft is None else draft.text.strip()

    def show(self, chosen: Sequence[Evidence]) -> list[Evidence]:
        """Take some of the candidates of a search as what the generator is shown."""
        return self._journal.found([replace(item, used=True) for item in chosen])

    async def tags(self) -> tuple[str, ...]:
        """What a classifier says that the picture may show; none without one."""
        return await self._context.tags()

    async def read_words(self) -> bool:
        """Read the picture's printed words where they were left unread; whether there are any."""
        return self._context.unread and bool(await self._context.read())

    async def read_out(self) -> Draft:
        """The picture's printed words as the answer, or the part of them that is asked for; empty where there are none,
        or nothing reads them."""
        return await self._check.printed()

    async def read_entries(self, entries: Sequence[Evidence], query: str, limit: int = 0) -> list[Evidence]:
        """What entries that were found by picture tell of a query; the generator is to be shown all of it."""
        return await self._lookups.own(entries, query, limit)

    async def own_texts(self, entries: Sequence[Evidence]) -> list[Evidence]:
        """What entries that were found by picture say of themselves, to be quoted."""
        return await self._lookups.own_texts(entries)

    async def search_text(self, queries: Sequence[str], limit: int = 0, *, rerank: bool = True) -> list[Evidence]:
        """Look queries up and rerank what comes back; the evidence the generator is to be shown."""
        self._journal.searched = True
        return await self._lookups.text(queries, limit, reranked=rerank)

    async def search_pictures(self, queries: Sequence[str], limit: int = 0) -> list[Evidence]:
        """Look up pictures of the things that the queries name; the entries the generator is to be shown."""
        self._journal.searched = True
        return await self._lookups.pictured(queries, limit)

    async def together(self, one: Awaitable[One], two: Awaitable[Two]) -> tuple[One, Two]:
        """Two branches at the same time; if one fails, the other ends."""
        work: tuple[Awaitable[Any], Awaitable[Any]] = (one, two)
        first, second = await in_branches(work)
        return first, second

    def certain(self, draft: Draft) -> bool:
        """Whether a draft's least and mean token probability reach the bundle's thresholds; true without any."""
        tuning = self._resources.tuning
        if tuning.line is not None and not tuning.line.reached(draft.p_min, draft.p_mean):
            return False
        return draft.p_min >= (tuning.p_min or 0.0) and draft.p_mean >= (tuning.p_mean or 0.0)

    def remembers(self, draft: Draft) -> bool:
        """Whether a draft that no passage backs may be told."""
        return not self.abstains(draft) and self._resources.tuning.remembers(draft.p_min)

    def abstains(self, draft: Draft) -> bool:
        """Whether a draft says that nothing is known, in the bundle's words or in those that models use."""
        return abstains(draft.text, self._resources.tuning.abstain)

    def rounds(self, most: int, *steps: str) -> Iterator[int]:
        """1, 2, ... while the usual cost of these steps and of answering still fits."""
        before = self._last_round
        with in_rounds() as current:
            try:
                for number in range(1, most + 1):
                    current.set(before + number)
                    if not self._runner.fits(steps, further=number > 1):
                        return
                    self._last_round = before + number
                    self._runner.next_round = steps if number < most else ()
                    yield number
            finally:
                self._runner.next_round = ()

    @contextmanager
    def extra_round(self, *steps: str) -> Iterator[bool]:
        """A block that is a round of its own; whether these steps and answering still fit."""
        with in_rounds() as current:
            current.set(self._last_round + 1)
            fits = self._runner.fits(steps, further=False)
            self._last_round += fits
            yield fits

    async def _weighed(
        self, decider: Decider, ask: Callable[[Values], _Weighing], state: State, also: Mapping[str, Note]
    ) -> list[tuple[str, float]] | None:
        """A decider's probabilities.

        While words are still looked for in the picture, it is asked as if there were none, and again if some are found
        that its prompt shows.
        """
        guessed = await self._context.without_words(state, also, decider.needs)
        if guessed is None:
            if self._turn.picture is not None:
                self._runner.begin(decider.look_at(self._turn.picture))
            return await ask(await self._context.values(state, also, decider.needs))
        early = self._runner.begin(ask(guessed))
        values = await self._context.values(state, also, decider.needs)
        if all(values.get(name) == guessed.get(name) for name in decider.needs):
            return await early
        early.cancel()
        return await ask(values)

    def _tell_decision(self, by: str, label: Enum, decided_by: str, weighed: Sequence[tuple[str, float]]) -> None:
        if isinstance(label, Plan):
            plans = {Plan(name): probability for name, probability in weighed}
            self._journal.emit(PlanMade(label, decided_by, plans))
        else:
            self._journal.emit(Decided(by, str(label.value), decided_by, dict(weighed)))

    def _look_ahead(self) -> None:
        """While something is decided or the picture is looked up, begin what is likely to be needed after that.

        The generator prefills the picture when it has nothing else to do and the word gate has ended, whose core it
        takes: decider or detector keep the other. While words are read, which delays decisions for long, views are
        embedded if that is cheap; without words to read, that would only take a core from the decider.
        """
        if self._looks_ahead:
            return
        self._looks_ahead = True
        if self._turn.picture is not None and (generator := self._resources.models[GENERATOR]) is not None:
            self._runner.begin(self._prepare(generator, self._turn.picture))

    async def _prepare(self, generator: Generator, picture: Picture) -> None:
        """Have the generator read the picture, and the question behind it where no words may come between them, nor a
        domain that is not found out for other prompts."""
        await self._context.judged()
        if self._context.reads or self._context.routes(self._requests.names(ANSWER)):
            await generator.prepare(picture)
        else:
            await self._read_ahead(generator, self.start())

    def expect_answer(self, state: State) -> None:
        """Have the generator read the answer's prompt beside what is done meanwhile, when it has nothing else to do."""
        generator = self._resources.models[GENERATOR]
        if generator is not None:
            self._reading_ahead = self._runner.begin(self._read_ahead(generator, state))

    async def _read_ahead(self, generator: Generator, state: State) -> None:
        request = await self._requests.to(ANSWER, state, {}, answers=True)
        if self._ungrounded(request) is None:
            await generator.read_ahead(request)

    def _expect_other(self, task: str) -> None:
        """What was expected is not what follows."""
        if task != ANSWER and self._reading_ahead is not None:
            self._reading_ahead.cancel()

    def _while_reading(self) -> None:
        if self._looks_ahead and not asks_to_read(self._turn.question):  # such questions seldom have it looked up
            self._lookups.embed_if_cheap()


def _p_min(noted: Mapping[str, Note]) -> float | None:
    """Of an answer that is judged, the least token probability; None: nothing is said of it."""
    p_min = noted.get("p_min")
    return p_min if isinstance(p_min, float) else None
