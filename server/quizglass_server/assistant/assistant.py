"""The transport-neutral core: runs turns by policies and yields their events. Knows no gRPC."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from time import monotonic

from quizglass.values import (
    AbstainReason,
    AnswerDelta,
    AnswerKind,
    Done,
    FinishReason,
    Origin,
    Region,
    TurnEvent,
    Verdict,
    VerdictOutcome,
)
from quizglass_bundle.parts import ANSWER
from quizglass_bundle.tuning import Answers
from quizglass_server.assistant.direct import answer_by_entry, small_talk
from quizglass_server.assistant.recollection import note_remembered, note_unremembered, recall, remember, search_memory
from quizglass_server.assistant.search import search
from quizglass_server.assistant.turn.journal import Journal
from quizglass_server.assistant.turn.lookups import Lookups
from quizglass_server.assistant.turn.picture_context import PictureContext
from quizglass_server.assistant.turn.refusals import language_refusal, unseen_refusal
from quizglass_server.assistant.turn.resources import Resources, once
from quizglass_server.assistant.turn.runner import StepRunner
from quizglass_server.assistant.turn.toolbox import Toolbox
from quizglass_server.config.settings import TurnOptions
from quizglass_server.domain.entries import SearchOptions
from quizglass_server.domain.sightings import SightingHit, SightingQuery
from quizglass_server.domain.state import Draft
from quizglass_server.domain.turns import Evidence, Picture, Turn
from quizglass_server.errors import InvalidInput, QuizglassError, RoleMissing
from quizglass_server.policies import POLICIES, Policy
from quizglass_server.policies.policy import QUOTES
from quizglass_server.policies.table import Has, PolicyStatus, preferred, status_of, survey
from quizglass_server.roles.detector import DETECTOR
from quizglass_server.roles.generator import GENERATOR
from quizglass_server.roles.image_encoder import IMAGE_ENCODER
from quizglass_server.roles.reader import READER
from quizglass_server.scheduling.admission import Admission
from quizglass_server.scheduling.time_left import Budget
from quizglass_server.steps.abstaining import abstains
from quizglass_server.steps.language.intents import Intent, intent_of
from quizglass_server.steps.language.wording import same_wording
from quizglass_server.steps.lookup.parts.detect import around, find_regions
from quizglass_server.steps.lookup.parts.pointing import with_earlier
from quizglass_server.steps.read import find_words
from quizglass_server.steps.verify import Support, judged, told_check, verify

logger = logging.getLogger(__name__)
_ANY = SearchOptions()
_LOOK_AHEAD_S = 10.0
_UNCHECKED = (AnswerKind.FIXED, AnswerKind.GUESSED)
"""No evidence says these: a reply to small talk, and what a picture may show."""
_UNTIL_TOLD = 3
"""Rounds of the event loop after which the last events are on their way: only then is the log written."""


class Assistant:
    """Answers questions about pictures.

    Args:
        resources: models, knowledge and what turns share.
        default_policy: name of the policy used when a request names none; None: the best that can be served.
        admission: how many turns run and wait; whoever calls `run` takes a permit first.
        has: says whether a role, decider or prompt that a policy asks for is there; None: looked up among the models.

    Raises:
        InvalidInput: there is no policy of that name.
    """

    def __init__(
        self,
        resources: Resources,
        default_policy: str | None = None,
        admission: Admission | None = None,
        has: Has | None = None,
    ) -> None:
        self._resources = resources
        self._has = has or self._has_model
        self.admission = admission or Admission(TurnOptions.max_turns, TurnOptions.queue)
        quotes = resources.tuning.answers is Answers.QUOTE
        best = default_policy or preferred(survey(self._has), quotes=quotes) or next(iter(POLICIES))
        default = policy_named(best, POLICIES)
        self.policies: tuple[str, ...] = (default, *(name for name in POLICIES if name != default))

    @property
    def policy_statuses(self) -> tuple[PolicyStatus, ...]:
        """Every policy, the default first, and what it lacks."""
        return tuple(status_of(POLICIES[name], self._has) for name in self.policies)

    async def run(self, turn: Turn, policy: str, budget: Budget, tell: Callable[[TurnEvent], None]) -> None:
        """Run a turn.

        Args:
            turn: the question, its picture decoded.
            policy: one of `policies`; empty for the default.
            budget: time the turn may take, already running.
            tell: takes each event at once, Done last.

        Raises:
            InvalidInput: no such policy, or one that cannot follow the answer's grammar.
            RoleMissing: the bundle has no model for a role that the policy cannot do without.
            EngineLost: an engine died under the turn.
        """
        chosen = POLICIES[policy_named(policy or self.policies[0], POLICIES)]
        self._check_needs(chosen)
        if turn.answer_grammar and QUOTES in chosen.ending:
            raise InvalidInput("answer_grammar", f"policy {chosen.name!r} quotes sentences and writes no JSON")
        await self._run(turn, chosen, budget, Journal(tell, explains=turn.explain))

    def run_out(self, turn: Turn, tell: Callable[[TurnEvent], None]) -> None:
        """Tell the end of a turn whose time ran out before it was admitted: "I don't know", for want of time."""
        journal = Journal(tell)
        journal.emit(self._finish(Draft(), journal))
        logger.info("turn ran out of time while it waited for its place", extra={"turn": turn.id})

    async def look_ahead(self, picture: Picture) -> AsyncGenerator[str, None]:
        """Do for a picture what any question about it begins with; yields each step's name before it begins.

        Printed words are read, the views that an image search uses are embedded, the picture is tagged where a prompt
        shows tags, and the generator prefills it. Turns find all of that in their caches. With a detector, turns search
        by the boxes of the things that their question names: here the boxes of recent subjects are embedded instead.
        """
        resources, models = self._resources, self._resources.models
        turn, journal = Turn("", "", picture), Journal(lambda _: None)
        runner = StepRunner(Budget(_LOOK_AHEAD_S), resources, journal, "looking ahead")
        lookups = Lookups(turn, runner, resources, journal)
        context = PictureContext(turn, runner, resources, journal, lambda: None)
        try:
            yield "read"
            await context.words()
            if models[IMAGE_ENCODER] is not None and resources.knowledge.count():
                yield "embed"
                await lookups.embed_ahead()
            if context.shows_tags:
                yield "tag"
                await context.tags()
            if (generator := models[GENERATOR]) is not None:
                yield "prepare"
                await generator.prepare(picture, await context.ahead())
        finally:
            await runner.end()
            lookups.end()
            context.end()

    async def text_regions(self, picture: Picture) -> list[Region] | None:
        """Where the word gate finds that a picture may show printed words, asked once; None without a reader."""
        reader = self._resources.models[READER]
        if reader is None:
            return None
        return await once(self._resources.text_regions, picture, lambda picture: find_words(reader, picture))

    async def lines_in(self, picture: Picture, part: Region) -> list[Region]:
        """Boxes of the lines of words in a part of a picture; none without a reader."""
        reader = self._resources.models[READER]
        return [] if reader is None else await reader.locate(picture, part)

    async def things_in(self, picture: Picture, question: str) -> list[Region]:
        """Squares around what a question is about, likeliest first; none without a detector."""
        detector = self._resources.models[DETECTOR]
        if detector is None:
            return []
        boxes = await find_regions(detector, picture, question, self._resources.tuning)
        return [around(box, picture) for box in boxes]

    async def forget_prompts(self) -> None:
        """Have the generator keep nothing of prompts and pictures so far, whoever's, in memory or in files."""
        generator = self._resources.models[GENERATOR]
        if generator is not None:
            await generator.forget()

    def usual_s(self, stage: str) -> float:
        """Seconds that a stage of a turn usually takes; 0: that is not known."""
        return self._resources.costs.usual(stage)

    async def search(
        self,
        text: str,
        picture: Picture | None,
        limit: int,
        options: SearchOptions = _ANY,
        more: Sequence[Picture] = (),
    ) -> list[Evidence]:
        """Search the knowledge store outside of any turn; see `search.search`."""
        return await search(self._resources, text, picture, limit, options, more)

    async def search_memory(self, text: str, picture: Picture | None, query: SightingQuery) -> list[SightingHit]:
        """Search the visual memory outside of any turn; see `recollection.search_memory`."""
        return await search_memory(self._resources, text, picture, query)

    def _check_needs(self, policy: Policy) -> None:
        for missing in status_of(policy, self._has).missing:
            raise RoleMissing(missing, f"policy {policy.name!r}", "policy")

    def _has_model(self, part: str) -> bool:
        return self._resources.filling(part) is not None

    async def _run(self, turn: Turn, policy: Policy, budget: Budget, journal: Journal) -> None:
        started = monotonic()
        about = {"turn": turn.id, "policy": policy.name}
        try:
            asked_by = f"policy {policy.name!r}"
            runner = StepRunner(budget, self._resources, journal, asked_by, policy.ending)
            # What has to follow a schema is written by the generator: no sentence, title or fixed reply does.
            intent = Intent.FACT if turn.answer_grammar else intent_of(turn.question)
            fixed = small_talk(intent) or self._foreign(turn, intent)
            recalls = turn.recall and fixed is None
            recalled = await recall(turn, runner, self._resources, journal) if recalls else None
            refused = unseen_refusal(turn, self._resources.models[GENERATOR])
            draft = fixed or recalled or refused or await self._answered(turn, intent, policy, runner, journal)
            if draft is fixed:
                journal.emit(AnswerDelta(draft.text))
        except BaseException as error:
            journal.settle(None)
            journal.close()
            if isinstance(error, asyncio.CancelledError):
                logger.info("turn cancelled", extra=about)
            if isinstance(error, QuizglassError):
                logger.warning("turn failed", extra={**about, "code": error.code, "reason": error.message})
                if turn.remember:
                    remember(turn, None, self._resources, journal)
            raise
        if turn.remember:
            note_unremembered(turn, self._resources, journal)
        done = self._finish(draft, journal, turn.question)
        if turn.remember and recalled is None:
            note_remembered(turn, done, self._resources, journal)
        journal.emit(done)
        told = {
            "plan": journal.plan.value if journal.plan else None,
            "finish": done.finish_reason.value,
            "abstained": done.abstain_reason.value if done.abstain_reason else None,
            "skipped": [f"{skipped.step}:{skipped.reason}" for skipped in done.skipped],
            "ms": round((monotonic() - started) * 1e3, 1),
        }
        try:
            for _ in range(_UNTIL_TOLD):
                await asyncio.sleep(0)
        finally:
            logger.info("turn finished", extra={**about, **told})
            if turn.remember and recalled is None:
                remember(turn, done, self._resources, journal)

    async def _answered(
        self, turn: Turn, intent: Intent, policy: Policy, runner: StepRunner, journal: Journal
    ) -> Draft:
        tasks, later = (ANSWER, *policy.tasks), getattr(policy, "words_later", False)
        published = bool(getattr(policy, "published", False))
        tools_of = partial(Toolbox, words_later=later, published=published)
        if QUOTES in policy.ending:  # no model is shown the dialogue
            turn = _whole(turn)
        async with tools_of(turn, runner, self._resources, journal, tasks) as tools:
            by_entry = IMAGE_ENCODER.name in policy.needs and not published
            direct = await answer_by_entry(intent, tools) if by_entry else None
            return await tools.settled(direct or await tools.judge(await policy.answer(tools)))

    def _foreign(self, turn: Turn, intent: Intent) -> Draft | None:
        """A refusal of a question in another language than the bundle's; what has an intent is in English."""
        return language_refusal(turn, self._resources.tuning.languages) if intent is Intent.FACT else None

    def _finish(self, draft: Draft, journal: Journal, question: str = "") -> Done:
        """Check the answer and tell the verdict; returns the last event, which is still to be told."""
        answer = draft.text.strip()
        abstain = answer if draft.refused is AbstainReason.LANGUAGE else self._resources.tuning.abstain
        abstaining = bool(draft.refused) or abstains(answer, abstain)
        journal.settle(None if abstaining else answer)
        reason = AbstainReason.NONE
        if abstaining:
            reason = draft.refused or _abstain_reason(draft, journal)
            if draft.refused or not answer or same_wording(answer, abstain):
                answer = abstain
            if not journal.answering:
                journal.emit(AnswerDelta(answer))
            support = Support(VerdictOutcome.ABSTAINED)
        elif draft.kind in _UNCHECKED:
            support = Support(VerdictOutcome.UNCHECKED)
        else:
            with journal.stage("verify") as span:
                quoted = draft.kind is AnswerKind.QUOTED
                support = verify(answer, journal.evidence, draft.calculations, question, draft.shown, quoted=quoted)
                support = judged(support, draft.supported)
            journal.ended(span, "", lambda: told_check(answer, support))
        kind = AnswerKind.UNKNOWN if abstaining else draft.kind
        journal.close()
        journal.emit(Verdict(support.outcome, draft.p_min, draft.p_mean, _notes(draft, support), kind))
        return Done(
            answer=answer,
            finish_reason=draft.finish,
            citations=support.citations,
            abstain_reason=reason,
            skipped=tuple(journal.skipped),
            timings=tuple(journal.timings),
            prompt_tokens=draft.prompt_tokens,
            answer_tokens=draft.answer_tokens,
            history_left_out=draft.history_left_out,
            all_prompt_tokens=journal.prompt_tokens,
            all_written_tokens=journal.written_tokens,
        )


def _whole(turn: Turn) -> Turn:
    """A turn whose question leaves out its subject, with the earlier one in front that says it."""
    whole = with_earlier(turn.question, turn.history)
    return turn if whole == turn.question else replace(turn, question=whole, asked_last=turn.question)


def _notes(draft: Draft, support: Support) -> Mapping[str, str]:
    """How the answer came about: what the policy says of it, what was calculated, and which sources state otherwise."""
    notes = {
        "calculated": "; ".join(map(str, draft.calculations)),
        "disputed": _disputed(support),
    }
    return {**draft.notes, **{name: text for name, text in notes.items() if text}}


def _disputed(support: Support) -> str:
    """Each other value with the evidence that has it: "99 crowns [3, 5]; 98 crowns [6]"."""
    having: dict[str, list[str]] = {}
    for dispute in support.disputes:
        having.setdefault(dispute.value, []).append(dispute.evidence_id)
    return "; ".join(f"{value} [{', '.join(ids)}]" for value, ids in having.items())


def _abstain_reason(draft: Draft, journal: Journal) -> AbstainReason:
    """Why nothing is known; what was read in the picture is no search result."""
    if draft.finish is FinishReason.BUDGET and not draft.text.strip():
        return AbstainReason.BUDGET
    shown = any(item.used and item.origin is not Origin.READ_TEXT for item in journal.evidence)
    return AbstainReason.NO_EVIDENCE if journal.searched and not shown else AbstainReason.MODEL


def policy_named(name: str, policies: Collection[str], served: Collection[str] = ()) -> str:
    """A policy's name, which is one of these. Raises InvalidInput, with the nearest name and those that are served."""
    if name in policies:
        return name
    offered = served or policies
    near = get_close_matches(name, offered, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise InvalidInput("policy", f"there is no policy {name[:60]!r}; {hint}choose one of {', '.join(offered)}")
