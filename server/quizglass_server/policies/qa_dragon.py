"""QA-Dragon: drafts an answer, routes it by what the draft lacks, and gives no answer that it cannot verify.

    q, i ─ domain ─ think (at most 5 steps) ─ draft ─ search router ─┬─ direct ──────────────► the draft
                                                                     ├─ verify ──────────┐
                                                                     └─ RAG ─ tool router ┤
           ┌──────────────────────────────────────────────────────────────────────────────┘
           ├─ image agent   objects ─ the one that is meant ─ crops ─ fused search ─ entity selection
           └─ text agent    split ─ complete ─ fusion search with the entity's name ─ coarse and fine reranking
                    └─ reason ─ answer ─ token probabilities ─ verifier ─┬─ both hold ──► the answer
                                                                         └─ else ───────► "I don't know"

The domain is a value of every prompt. The image agent runs before the text agent where both are wanted. Books,
packages with a logo and plants skip the image agent; calculation and translation skip both.

`qa-dragon+` takes the question's own words for what it means where it has any, and looks up what calculation needs and
the draft does not know. A draft that is to be verified is shown at once, and withdrawn if it does not hold. Before it
refuses, it looks up what the tool router left out, once.

Where the paper says two things: its section 3.2 calls the search router a light classifier, its figure draws a large
model; here it is a decider like any other, given the draft, its trace and their signs (`signs.py`). Its table 1
sends confident drafts to be verified, its text uncertain ones; here it is the confident, the uncertain go to RAG.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from quizglass.values import AbstainReason, Plan
from quizglass_server.domain.state import Draft, State
from quizglass_server.policies.policy import liked
from quizglass_server.policies.tools import Tools
from quizglass_server.steps.language.wording import mentions
from quizglass_server.steps.prompt_values import line
from quizglass_server.steps.signs import features, signs

MOST_STEPS = 5
OBJECT_WORDS = 3
MOST_ENTITIES = 5


class Branch(Enum):
    """What a draft needs."""

    DIRECT = "direct"
    VERIFY = "verify"
    RAG = "rag"


class Subject(Enum):
    """What the trace is about, as far as searches do not help with it."""

    OTHER = "other"
    BOOK = "book"
    LOGO = "logo"
    PLANT = "plant"
    CALCULATION = "calculation"
    TRANSLATION = "translation"


_NO_PICTURE = {Subject.BOOK, Subject.LOGO, Subject.PLANT}
_NO_SEARCH = {Subject.CALCULATION, Subject.TRANSLATION}
_LACKING = {"no_answer", "undetermined"}
"""Signs of a draft that cannot do without a search whatever its subject: what is to be worked out is not known."""
_SECOND_LOOK = ("image_search", "complete", "text_search", "reason", "conclude")
"""What a second look takes."""


class Same(Enum):
    """Whether an entry is what the picture shows."""

    YES = "yes"
    NO = "no"


class Judgement(Enum):
    """What the evidence says of an answer."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"
    INCOMPLETE = "incomplete"

    @classmethod
    def _missing_(cls, value: object) -> Judgement:
        """Of a verifier that says in words of its own what is wrong."""
        return cls.UNSUPPORTED


@dataclass(frozen=True, slots=True)
class Parts:
    """What of QA-Dragon runs: the ablations of its tables leave one part out."""

    domain_router: bool = True
    search_router: bool = True
    """Without: every question goes the way of RAG."""
    tool_router: bool = True
    """Without: picture and text are always searched."""
    splitting: bool = True
    fusion_search: bool = True
    """Without: queries know nothing of the entity."""
    reranking: bool = True
    """Coarse and fine; the text search's own order is kept without them."""
    verifier: bool = True
    text: bool = True
    """Without: the image index is the only source (the paper's single-source task)."""
    additions: bool = False
    """What is ours: see the module."""
    second_look: bool = True
    """Of these, that what the tool router left out is looked up before an answer is refused."""


class QADragon:
    """Drafts, routes, searches, answers, verifies.

    Args:
        name: what clients ask for it by.
        parts: what of it runs.
    """

    ending = ("reason", "conclude")

    def __init__(self, name: str = "qa-dragon", parts: Parts | None = None) -> None:
        self.name = name
        self._parts = parts = parts or Parts()
        self.published = not parts.additions
        self._sources = Plan.BOTH if parts.text else Plan.IMAGE
        self._checking = Plan.TEXT if parts.text else Plan.IMAGE
        self.needs: tuple[str, ...] = ("generator", "image_encoder")
        self.likes: tuple[str, ...] = (*(("domain_router",) if parts.domain_router else ()), "detector", "reader")
        self.tasks: tuple[str, ...] = ("think", "draft", "objects", "object", "entity", "reason", "conclude")
        if parts.text:
            self.needs += ("text_encoder", *(("reranker",) if parts.reranking else ()))
            self.likes += ("coarse_reranker",) if parts.reranking else ()
            self.tasks += (*(("split",) if parts.splitting else ()), "complete")
        self.tasks += ("search_router",) if parts.search_router else ()
        self.tasks += ("tool_router", "subject") if parts.tool_router else ()
        self.tasks += ("verifier",) if parts.verifier else ()

    @classmethod
    def every(cls) -> tuple[QADragon, ...]:
        """The whole, its single-source form, its ablations, and the first step of its ladder; each as published and
        with what is ours."""
        variants = {
            "": Parts(),
            "-image-only": Parts(text=False),
            "-no-domain-router": Parts(domain_router=False),
            "-no-search-router": Parts(search_router=False),
            "-no-tool-router": Parts(tool_router=False),
            "-no-splitting": Parts(splitting=False),
            "-no-fusion-search": Parts(fusion_search=False),
            "-no-reranking": Parts(reranking=False),
            "-no-verifier": Parts(verifier=False),
            "-routers-only": Parts(search_router=False, fusion_search=False),
        }
        published = [cls(f"qa-dragon{suffix}", parts) for suffix, parts in variants.items()]
        ours = [cls(f"qa-dragon{suffix}+", replace(parts, additions=True)) for suffix, parts in variants.items()]
        return (*published, *ours, cls("qa-dragon-no-second-look", Parts(additions=True, second_look=False)))

    async def answer(self, tools: Tools) -> Draft:
        """Draft, route, and what the branch asks for."""
        state = tools.start() if self._parts.domain_router else tools.start().noting(domain="")
        state, draft = await self._draft(state, tools)
        branch = await self._branch(state, tools)
        if branch is Branch.DIRECT and draft.text:
            return tools.tell(draft)
        verified = branch is Branch.VERIFY and bool(draft.text)
        if verified and self._parts.additions:
            tools.tell(draft, provisional=True)
        plan, useful = (self._checking, None) if verified else await self._plan(state, tools)
        state = await self._look_up(plan, state, tools)
        answer, doubt = await self._concluded(plan, state, tools)
        looks_again = self._parts.additions and self._parts.second_look
        if looks_again and answer.text and (doubt or not _told_by(state, answer, tools)):
            answer, doubt = await self._second_look(plan, useful, state, tools) or (answer, doubt)
        if not answer.text:
            return tools.tell(draft) if verified else tools.refuse(draft, AbstainReason.BUDGET)
        return tools.refuse(answer, doubt) if doubt else tools.tell(answer)

    async def _draft(self, state: State, tools: Tools) -> tuple[State, Draft]:
        """D-CoT: the trace, whose first step names the object, then the answer."""
        steps = (await tools.lines("think", state))[:MOST_STEPS]
        state = state.noting(steps=steps)
        draft = await tools.write("draft", state)
        told = signs(draft, steps)
        return state.noting(draft=draft.text, signs=told, **features(draft, told)), draft

    async def _branch(self, state: State, tools: Tools) -> Branch:
        if not self._parts.search_router:
            return Branch.RAG
        return await tools.decide(Branch, state, by="search_router", otherwise=Branch.RAG)

    async def _plan(self, state: State, tools: Tools) -> tuple[Plan, Plan]:
        """The tools that the tool router asks for among those that may help, and those that may help."""
        if not self._parts.tool_router:
            return self._sources, self._sources
        plan, useful = await tools.together(
            tools.decide(Plan, state, by="tool_router", otherwise=Plan.BOTH), self._useful(state, tools)
        )
        return plan.within(useful), useful

    async def _useful(self, state: State, tools: Tools) -> Plan:
        """The searches that may tell something of the trace's subject."""
        if not self._parts.tool_router:
            return self._sources
        subject = await tools.decide(Subject, state, by="subject", otherwise=Subject.OTHER)
        if subject in _NO_SEARCH and not (self._parts.additions and _lacks(state)):
            return Plan.NONE
        return self._sources.within(Plan.TEXT) if subject in _NO_PICTURE else self._sources

    async def _look_up(self, plan: Plan, state: State, tools: Tools) -> State:
        """What the agents of a plan find; the picture first, since queries name what it shows."""
        if plan.searches_image:
            state = await self._image_agent(state, tools)
        return await self._text_agent(state, tools) if plan.searches_text else state

    async def _image_agent(self, state: State, tools: Tools) -> State:
        """Which object is meant, where it is, what it is; the first entry that really is what the picture shows.

        With what is ours: a category alone does not tell one plant from another, so where the question has words of its
        own for what it means, they stand for it, and no objects are listed. Of several that it names, the first entry
        of each is asked about, and queries are not fused with one name.
        """
        asked: Sequence[str] = tools.named if self._parts.additions else ()
        if len(asked) > 1:
            return await self._image_agents(len(asked), state, tools)
        if not asked:
            objects = _short(await tools.lines("objects", state))
            state = state.noting(objects=objects)
            asked = (await tools.lines("object", state))[:1] if len(objects) > 1 else objects
        candidates = await tools.search_image(asked, limit=MOST_ENTITIES, candidates=True)
        for entry in await tools.disambiguate(candidates) if self._parts.additions else candidates:
            candidate = state.having([entry]).noting(entity=entry.title)
            if await tools.decide(Same, candidate, by="entity", otherwise=Same.YES) is Same.YES:
                tools.show([entry])
                return candidate
        return state

    async def _image_agents(self, count: int, state: State, tools: Tools) -> State:
        """The same for several things at once, which the question compares."""
        chosen = []
        for entry in await tools.search_image(limit=count, candidates=True):
            candidate = state.having([entry]).noting(entity=entry.title)
            if await tools.decide(Same, candidate, by="entity", otherwise=Same.YES) is Same.YES:
                chosen.append(entry)
        return state.having(tools.show(chosen))

    async def _text_agent(self, state: State, tools: Tools) -> State:
        """Queries that each stand alone, with the entity's name in them, and what they bring back."""
        plain = state if self._parts.fusion_search else _without_entity(state)
        parts = await tools.queries("split", plain) if self._parts.splitting else []
        queries = await tools.queries("complete", plain.asking(parts or plain.asked))
        state = state.asking(_fused(queries or parts or plain.asked, str(plain.notes.get("entity", ""))))
        return state.having(await tools.search_text(state.queries, rerank=self._parts.reranking))

    async def _concluded(self, plan: Plan, state: State, tools: Tools) -> tuple[Draft, AbstainReason | None]:
        """The answer, with the reason that was written first, and why it may not be given.

        Whether the answer follows from the reason is up to the bundle's prompt `conclude`, which may leave it out.
        """
        reason = (await tools.write("reason", state)).text
        answer = await tools.write("conclude", state, reason=reason)
        answer = replace(answer, notes={"why": reason} if reason else {})
        verified = self._parts.verifier and bool(answer.text)
        return answer, await _doubt(state, answer, reason, plan, tools) if verified else None

    async def _second_look(
        self, plan: Plan, useful: Plan | None, state: State, tools: Tools
    ) -> tuple[Draft, AbstainReason | None] | None:
        """The same once what may help and the plan left out is looked up; None where that finds nothing, or in no time.

        A text search that did not know what the picture shows is made again. Where nothing at all was found, books,
        logos and plants are looked up by picture too.

        Args:
            plan: what was looked up.
            useful: what may help; None: not asked yet; it is asked if there is time to look it up.
            state: what was found.
            tools: of the turn.
        """
        nothing = not (state.seen or state.found)
        if nothing and useful is not Plan.NONE:
            useful = self._sources
        if (useful or self._sources).without(plan) is Plan.NONE:
            return None
        with tools.extra_round(*_SECOND_LOOK) as fits:
            if not fits:
                return None
            useful = useful or await self._useful(state, tools)
            if useful.without(plan) is Plan.NONE:
                return None
            further = replace(state, queries=())
            if not plan.searches_image:
                further = await self._look_up(useful.within(Plan.IMAGE), further, tools)
            if further.seen != state.seen or not plan.searches_text:
                further = await self._look_up(useful.within(Plan.TEXT), further, tools)
            if (further.seen, further.found) == (state.seen, state.found):
                return None
            again, doubt = await self._concluded(useful, further, tools)
            return (again, doubt) if again.text else None


class ThoughtAlone:
    """The paper's baseline without a search: the trace and the draft, which is the answer."""

    name = "qa-dragon-chain-of-thought"
    published = True
    needs = ("generator",)
    likes = ("reader",)
    tasks = ("think", "draft")
    ending = ("draft",)

    async def answer(self, tools: Tools) -> Draft:
        """Think, then answer."""
        steps = (await tools.lines("think", tools.start()))[:MOST_STEPS]
        return tools.tell(await tools.write("draft", tools.start().noting(steps=steps)))


class DirectRag:
    """The paper's baseline without a decision: both searches, of the text one by the question as it was asked."""

    name = "qa-dragon-direct-rag"
    published = True
    needs = ("generator", "image_encoder", "text_encoder")
    likes = liked(needs)
    tasks: tuple[str, ...] = ()
    ending = ("generate",)

    async def answer(self, tools: Tools) -> Draft:
        """Search, then answer."""
        seen, found = await tools.together(tools.search_image(), tools.search_text([tools.start().question]))
        return await tools.answer(tools.start().having(seen).having(found))


_REFUSED = {
    Judgement.UNSUPPORTED: AbstainReason.UNSUPPORTED,
    Judgement.CONTRADICTED: AbstainReason.CONTRADICTED,
    Judgement.INCOMPLETE: AbstainReason.INCOMPLETE,
}


def _lacks(state: State) -> bool:
    """Whether the draft's signs say that it does not know what it would answer with."""
    shown = state.notes.get("signs", ())
    return not isinstance(shown, float) and any(sign in shown for sign in _LACKING)


def _told_by(state: State, answer: Draft, tools: Tools) -> bool:
    """Whether it is an answer: something that passages say, or that is remembered surely."""
    return not tools.abstains(answer) if state.found else tools.remembers(answer)


async def _doubt(state: State, answer: Draft, reason: str, plan: Plan, tools: Tools) -> AbstainReason | None:
    """The dual verifier: why an answer may not be given; None when its tokens and the evidence bear it out.

    Where nothing had to be looked up there is no evidence to ask.
    """
    if not tools.certain(answer):
        return AbstainReason.UNSURE
    if plan is Plan.NONE:
        return None
    evidence = [line(item) for item in (*state.seen, *state.found)]
    judged = await tools.decide(
        Judgement,
        state,
        by="verifier",
        otherwise=Judgement.SUPPORTED,
        answer=answer.text,
        certainty=answer.certainty,
        p_min=answer.p_min,
        p_mean=answer.p_mean,
        reason=reason,
        evidence=evidence,
    )
    return _REFUSED.get(judged)


def _short(objects: Sequence[str]) -> list[str]:
    """Coarse categories: at most three words each."""
    return [" ".join(each.split()[:OBJECT_WORDS]) for each in objects]


def _without_entity(state: State) -> State:
    """What the queries are written from when the entity may not help."""
    return State(state.question, state.queries, notes={k: v for k, v in state.notes.items() if k != "entity"})


def _fused(queries: Sequence[str], entity: str) -> list[str]:
    """Queries with the entity's name in front where it is not in them."""
    return [query if mentions(query, entity) else f"{entity} {query}" for query in queries]
