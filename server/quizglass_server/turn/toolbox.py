"""The steps of one turn, bound to its picture, its budget and its journal.

Each step is timed, fitted into what is left of the budget, and left out by name when it does not fit. Policies call
these and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from time import monotonic
from typing import TypeVar

from quizglass_server.domain.turns import (
    AnswerDelta,
    Evidence,
    FinishReason,
    Origin,
    Plan,
    PlanDecision,
    PlanMade,
    QueryRewritten,
    Turn,
    Vector,
)
from quizglass_server.errors import BudgetExceeded, RoleMissing
from quizglass_server.roles.generator import Generator
from quizglass_server.scheduling.budget import Budget
from quizglass_server.scheduling.deadline import due_within
from quizglass_server.steps.generate import Draft, answer_request, write, written
from quizglass_server.steps.lookup.crop import Part, views_of
from quizglass_server.steps.lookup.image_search import embed_views, picture_evidence, search_pictures
from quizglass_server.steps.lookup.rerank import choose, rerank
from quizglass_server.steps.lookup.text_search import search_texts, text_evidence
from quizglass_server.steps.plan import plan_by_decider, plan_by_prompt
from quizglass_server.steps.prompt_values import asked_values, line
from quizglass_server.steps.rewrite import rewrite
from quizglass_server.steps.wording import same_wording
from quizglass_server.turn.journal import Journal
from quizglass_server.turn.optional_roles import Aids
from quizglass_server.turn.resources import Resources
from quizglass_server.turn.step_runner import LAST_STEP, StepRunner

log = logging.getLogger(__name__)

_Role = TypeVar("_Role")

CHEAP_S = 0.05
"""An embedding that usually takes longer is not begun before the plan asks for it."""
_CLOSING_S, _CLOSING_SHARE = 0.05, 0.05
"""Kept back from the generator for the verdict and the last messages: seconds at most, share of the budget at most."""


class Toolbox:
    """The steps of one turn. Use as an async context manager: leaving it ends whatever still runs.

    Args:
        turn: the question.
        budget: time left; no step runs past it.
        resources: what turns share.
        journal: takes events, evidence, timings and skipped steps.
        policy: its name, for errors.
    """

    def __init__(self, turn: Turn, budget: Budget, resources: Resources, journal: Journal, policy: str) -> None:
        self.turn = turn
        self.plan: Plan | None = None
        self._budget = budget
        self._runner = StepRunner(budget, resources.costs, journal)
        self._models = resources.models
        self._aids = Aids(turn, self._runner, resources.models, resources.tuning)
        self._resources = resources
        self._journal = journal
        self._policy = policy
        self._words: asyncio.Task[str] | None = None
        self._untold_words = ""
        self._vectors: asyncio.Task[list[Vector]] | None = None
        self._looks_ahead = False
        self._ahead: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Toolbox:
        self._words = asyncio.create_task(self._read())
        self._aids.begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = [task for task in (self._words, self._vectors, *self._ahead, *self._aids.running) if task is not None]
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                log.debug("a step that was not waited for failed", exc_info=outcome)

    def look_ahead(self) -> None:
        """While the plan is made, begin what is likely to be of use whatever it says; nothing is searched yet.

        The generator looks at the picture, after all else it has to do. While words are read, which holds up the plan
        for long, views are embedded if that is cheap; without words that would only take a core from the planner.
        """
        self._looks_ahead = True
        if self.turn.picture is not None and (generator := self._models.generator) is not None:
            self._ahead.append(asyncio.create_task(generator.prepare(self.turn.picture)))

    def _while_reading(self) -> None:
        if (
            self._looks_ahead
            and self._vectors is None
            and self._models.image_encoder is not None
            and self._resources.knowledge.count() > 0
            and self._resources.costs.usual("detect") + self._resources.costs.usual("embed") <= CHEAP_S
        ):
            self._vectors = asyncio.create_task(self._embed())

    def fixed_plan(self, plan: Plan) -> Plan:
        """Take a plan that needs no decision."""
        return self._announce(PlanDecision(plan, "fixed"))

    async def plan_by_planner(self) -> Plan:
        """Let the planner decide; no lookups when the budget leaves it no time."""
        planner = self._need(self._models.deciders.get("planner"), "planner")
        if self.turn.picture is not None:
            self._ahead.append(asyncio.create_task(planner.look_at(self.turn.picture)))
        words = await self.words()
        decision = await self._runner.run(
            "plan", lambda: plan_by_decider("planner", planner, self.turn, {"words": words})
        )
        return self._announce(decision or PlanDecision(Plan.NONE, "fixed"))

    async def plan_by_prompt(self) -> Plan:
        """Ask the generator for the letter; no lookups when the budget leaves it no time."""
        words = await self.words()
        generator = self._generator()
        decision = await self._runner.run("plan", lambda: plan_by_prompt(generator, self.turn, words))
        return self._announce(decision or PlanDecision(Plan.NONE, "fixed"))

    async def plan_by_tool_router(self, draft: Draft) -> Plan:
        """Ask what a draft answer lacks; no lookups when the budget leaves it no time."""
        words = await self.words()
        router = self._need(self._models.deciders.get("tool_router"), "tool_router")
        values = {"words": words, "draft": draft.text.strip()}
        decision = await self._runner.run("plan", lambda: plan_by_decider("tool_router", router, self.turn, values))
        return self._announce(decision or PlanDecision(Plan.NONE, "fixed"))

    async def words(self) -> str:
        """The words printed in the picture; empty when there are none or they could not be read."""
        if self._words is None:
            raise RuntimeError("the toolbox is not entered")
        return await asyncio.shield(self._words)

    async def search_image(self) -> list[Evidence]:
        """Look the picture up; the evidence the generator is to be shown."""
        if self.turn.picture is None:
            self._journal.skip("image_search", "NO_PICTURE")
            return []
        if self._is_empty("image_search"):
            return []
        if self._vectors is None:
            self._vectors = asyncio.create_task(self._embed())
        if not (vectors := await self._vectors):
            self._journal.skip("image_search", "BUDGET")
            return []
        tuning, knowledge, question = self._resources.tuning, self._resources.knowledge, self.turn.question
        hits = await self._runner.run("image_search", lambda: search_pictures(knowledge, vectors, question, tuning))
        return _shown(self._journal.found(picture_evidence(hits or [], tuning.seen)))

    async def rewrite(self, seen: Sequence[Evidence] = ()) -> str:
        """The gold query; the question itself when there is no time to rewrite it."""
        words = await self.words()
        generator = self._generator()
        lines, domain = [line(evidence) for evidence in seen], await self._aids.domain()
        query = await self._runner.run("rewrite", lambda: rewrite(generator, self.turn, words, lines, domain))
        if query is None:
            return self.turn.question
        if query:
            self._journal.emit(QueryRewritten(query, used_image_evidence=bool(seen)))
        return query

    async def search_text(self, query: str) -> list[Evidence]:
        """Look the gold query up, rerank what comes back; the evidence the generator is to be shown."""
        if not query:
            self._journal.skip("text_search", "NO_QUERY")
            return []
        if self._is_empty("text_search"):
            return []
        tuning, knowledge = self._resources.tuning, self._resources.knowledge
        encoder = self._need(self._models.text_encoder, "text_encoder")
        hits = await self._runner.run(
            "text_search", lambda: search_texts(encoder, knowledge, query, tuning.text_candidates)
        )
        if not hits:
            return []
        passages, dropped = await self._aids.coarse(text_evidence(hits))
        reranker = self._need(self._models.reranker, "reranker")
        ranked = await self._runner.run("rerank", lambda: rerank(reranker, query, passages), optional=True)
        chosen = choose(passages if ranked is None else ranked, tuning, reranked=ranked is not None)
        return _shown(self._journal.found([*chosen, *dropped]))

    async def draft(self) -> Draft:
        """Answer from the picture and memory alone, telling nobody yet; empty when there is no time for it."""
        generator, domain = self._generator(), await self._aids.domain()
        request = answer_request(self.turn, await self.words(), (), (), None, domain)
        return await self._runner.run("draft", lambda: written(generator, request)) or Draft()

    def tell(self, draft: Draft) -> Draft:
        """Give a draft as the answer."""
        self._journal.emit(AnswerDelta(draft.text))
        return draft

    async def generate(
        self, seen: Sequence[Evidence] = (), found: Sequence[Evidence] = (), query: str | None = None
    ) -> Draft:
        """Answer from the picture and the evidence, streaming, at most until the budget ends."""
        draft = Draft()
        seen_lines, found_lines = [line(item) for item in seen], [line(item) for item in found]
        domain = await self._aids.domain()
        request = answer_request(self.turn, await self.words(), seen_lines, found_lines, query, domain)
        left = self._budget.left_s - min(_CLOSING_S, _CLOSING_SHARE * self._budget.total_s)
        if left <= 0:
            self._journal.skip(LAST_STEP, "BUDGET")
            return draft
        started, costs = monotonic(), self._resources.costs
        try:
            with self._journal.stage(LAST_STEP), due_within(left):
                async with asyncio.timeout(left) as limit:
                    async for text in write(self._generator(), request, draft):
                        self._journal.emit(AnswerDelta(text))
        except (TimeoutError, BudgetExceeded) as error:
            if isinstance(error, TimeoutError) and not limit.expired():
                raise
            draft.finish = FinishReason.BUDGET
        if draft.finish is FinishReason.BUDGET:
            costs.was_cut(LAST_STEP, monotonic() - started)
        else:
            costs.took(LAST_STEP, monotonic() - started)
        return draft

    async def judge(self, draft: Draft) -> None:
        """Have the bundle's verifier, if it has one, compare an answer with the evidence shown for it."""
        answer = draft.text.strip()
        if answer and not same_wording(answer, self._resources.tuning.abstain):
            shown = [line(item) for item in self._journal.evidence if item.used and item.origin is not Origin.READ_TEXT]
            said = {"words": await self.words(), "evidence": shown, "answer": answer}
            draft.supported = await self._aids.supported({**asked_values(self.turn), **said})

    def _announce(self, decision: PlanDecision) -> Plan:
        self.plan = decision.plan
        self._journal.emit(PlanMade(decision))
        self._tell_words()
        return decision.plan

    def _tell_words(self) -> None:
        """The plan comes first in a turn's events: words read before it wait for it."""
        if self.plan is not None and self._untold_words:
            self._journal.found([Evidence("", Origin.READ_TEXT, "", "", self._untold_words, used=True)])
            self._untold_words = ""

    async def _read(self) -> str:
        """Words in the picture, which are evidence from the moment the plan is made."""
        picture = self.turn.picture
        if picture is None:
            return ""
        known = self._resources.words.get(picture.sha256)
        if known is None:
            known = await self._aids.words(self._while_reading)
            if known is None:
                return ""
            self._resources.words.put(picture.sha256, known)
        self._untold_words = known
        self._tell_words()
        return known

    async def _embed(self) -> list[Vector]:
        """Vectors of the views that the question is looked up by; none when there is no time for them."""
        picture = self.turn.picture
        if picture is None:
            return []
        encoder = self._need(self._models.image_encoder, "image_encoder")

        async def embed(views: Sequence[Part]) -> list[Vector] | None:
            return await self._runner.run("embed", lambda: embed_views(encoder, picture.pixels, views))

        views = views_of(self.turn.question, self._resources.tuning.views)
        return await self._resources.vectors(picture, (*views, *await self._aids.regions()), embed)

    def _is_empty(self, step: str) -> bool:
        if self._resources.knowledge.count() > 0:
            return False
        self._journal.skip(step, "EMPTY_KNOWLEDGE")
        return True

    def _generator(self) -> Generator:
        return self._need(self._models.generator, "generator")

    def _need(self, model: _Role | None, role: str) -> _Role:
        if model is None:
            raise RoleMissing(role, f"policy {self._policy!r}")
        return model


def _shown(evidence: Sequence[Evidence]) -> list[Evidence]:
    return [item for item in evidence if item.used]
