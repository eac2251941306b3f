"""A turn of any policy on models that no server serves: the same verbs and prompts, without budgets and events.

Policies are the server's own (`quizglass_server.policies`), so what is annotated or measured here is what is served.
Rerankers, detectors, readers and views have no part in it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from quizglass.values import AbstainReason, Exchange, FinishReason, Plan
from quizglass_bundle.inputs.prompts import MOST_ENTRIES
from quizglass_bundle.tuning import Tuning
from quizglass_lab.finetuning.asking.interface import MOST_TOKENS, Ask, AskedModel, letters
from quizglass_lab.finetuning.asking.searching import EvidenceSearch
from quizglass_server.domain.state import Draft, Note, State
from quizglass_server.domain.turns import Evidence, Turn
from quizglass_server.policies import Policy
from quizglass_server.policies.tools import Label
from quizglass_server.steps.abstaining import abstains
from quizglass_server.steps.generate import lines_of
from quizglass_server.steps.language.phrases import asks_by_its_names
from quizglass_server.steps.language.wording import same_wording
from quizglass_server.steps.prompt_values import prompt_values

_SEEN, _FOUND = 1, 2
"""Entries, and passages of each query, that are shown where a policy does not say how many."""
_WIDE = 50
"""Passages of all entries, among which those of some are looked for."""
One = TypeVar("One")
Two = TypeVar("Two")
_LONG = {"think": 256, "reason": 192, "weigh": 96, "reformulate": 128, "split": 128, "complete": 128}
"""Most tokens that are written, by task, for tasks that write more than an answer's MOST_TOKENS."""
_PROMPTS = {"planner": "plan"}
"""Names of prompts, by decider, where the two differ."""


@dataclass(frozen=True, slots=True)
class OfflineModels:
    """What answers, what decides, and where evidence comes from."""

    answerer: AskedModel
    search: EvidenceSearch
    deciders: Mapping[str, AskedModel] = field(default_factory=dict)
    """The model asked for each decision, by the decision's name; the answerer is asked for any other."""


@dataclass(slots=True)
class Spent:
    """What a turn did and cost."""

    calls: Counter[str] = field(default_factory=Counter)
    """Number of calls, by verb or task."""
    prompt_tokens: int = 0
    """Prompt tokens of all that was written or decided."""
    answer_tokens: int = 0
    """Tokens of all that was written."""
    seconds: float = 0.0
    """Seconds spent in models."""
    decisions: list[tuple[str, str]] = field(default_factory=list)
    """(name of the decision, value of the label chosen), in the order in which they were made."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A step that a model was asked for, as training sees it: state in, what was said out."""

    task: str
    values: Mapping[str, Note]
    pictures: tuple[Path, ...]
    said: str
    labels: tuple[str, ...] = ()


class OfflineTurn:
    """The verbs of policies (`quizglass_server.policies.tools.Tools`).

    `words` are those printed in the picture, as far as anybody knows them: no reader looks for them.

    Attributes:
        spent: what the turn cost.
        steps: everything that models were asked, in order.
        drafts: what was written last, by the task.
        evidence: everything that was found.
    """

    def __init__(
        self,
        models: OfflineModels,
        question: str,
        picture: Path | None,
        history: Sequence[tuple[str, str]] = (),
        words: str = "",
    ) -> None:
        self._models, self._picture, self._words = models, picture, words
        exchanges = tuple(Exchange(asked, answered) for asked, answered in history)
        self._turn = Turn("0" * 32, question, history=exchanges)
        self.spent = Spent()
        self.steps: list[Asking] = []
        self.drafts: dict[str, Draft] = {}
        self.evidence: list[Evidence] = []

    def run(self, policy: Policy) -> Draft:
        """Run a policy's whole turn; returns its answer."""

        async def answer() -> Draft:
            return await policy.answer(self)

        return asyncio.run(answer())

    @property
    def reads_entries(self) -> bool:
        """True: captions have no passages behind them, so a chosen entry's own passages are searched for."""
        return True

    @property
    def searches_text(self) -> bool:
        """True: a policy may always search for texts."""
        return True

    @property
    def pictured(self) -> bool:
        """Whether the question came with a picture."""
        return self._picture is not None

    @property
    def sees_pictures(self) -> bool:
        """True: the answering model is shown the picture."""
        return True

    @property
    def finds_pictures(self) -> bool:
        """Whether the prompt that chooses a tool shows entries' pictures."""
        return self._models.answerer.shows_entries("next")

    @property
    def most_rounds(self) -> int | None:
        """None: each policy takes the number of rounds of its paper, for there is no bundle that says another."""
        return None

    @property
    def named(self) -> tuple[str, ...]:
        """Nothing: no detector looks for it, and so a model is asked which object is meant, as training needs."""
        return ()

    def start(self) -> State:
        """The question, with nothing found out yet."""
        return State(self._turn.question)

    def fixed(self, plan: Plan) -> Plan:
        """Note that the policy always follows this plan, and return it."""
        self.spent.decisions.append(("fixed", plan.value))
        return plan

    async def decide(self, labels: type[Label], state: State, *, by: str, otherwise: Label, **also: Note) -> Label:
        """Ask the decider `by`, or the answerer without one, and return the label of the likeliest letter."""
        every = list(labels)
        named = letters(len(every))
        model = self._models.deciders.get(by, self._models.answerer)
        ask = self._ask(model, _PROMPTS.get(by, by), state, also)
        (chosen,) = await asyncio.to_thread(model.choose, [ask], named)
        label = every[chosen.best]
        self._note(ask, named[chosen.best], tuple(named))
        self.spent.prompt_tokens += chosen.prompt_tokens
        self.spent.seconds += chosen.seconds
        self.spent.decisions.append((by, str(label.value)))
        return label

    async def write(self, task: str, state: State, **also: Note) -> Draft:
        """Fill the task's prompt from the state, complete it greedily, and note what that cost."""
        return await self._written(self._ask(self._models.answerer, task, state, also))

    async def from_memory(self) -> Draft:
        """The answer with nothing looked up; without the picture where that only stands in its way, as served."""
        ask = self._ask(self._models.answerer, "answer", self.start(), {})
        draft = await self._written(ask)
        if not (ask.pictures and self.abstains(draft) and asks_by_its_names(self._turn.question)):
            return draft
        again = await self._written(replace(ask, pictures=()))
        return again if self.remembers(again) else draft

    async def _written(self, ask: Ask) -> Draft:
        most = _LONG.get(ask.task, MOST_TOKENS)
        (written,) = await asyncio.to_thread(self._models.answerer.write, [ask], most)
        self._note(ask, written.text)
        self.spent.prompt_tokens += written.prompt_tokens
        self.spent.answer_tokens += written.answer_tokens
        self.spent.seconds += written.seconds
        counts = written.prompt_tokens, written.answer_tokens
        draft = Draft(written.text, written.probabilities, FinishReason.COMPLETE, *counts)
        self.drafts[ask.task] = draft
        return draft

    async def lines(self, task: str, state: State, **also: Note) -> list[str]:
        """Write to the task's prompt as `write` does, and return the lines of the text."""
        return lines_of((await self.write(task, state, **also)).text)

    async def queries(self, task: str, state: State, **also: Note) -> list[str]:
        """Write search queries, one a line, and return them as `lines` does."""
        return await self.lines(task, state, **also)

    async def rewrite(self, state: State) -> list[str]:
        """The question rewritten so that it stands alone: one or more queries."""
        return await self.lines("rewrite", state)

    async def answer(self, state: State, task: str = "answer", **also: Note) -> Draft:
        """Write the answer as `write` does; it is not streamed."""
        return await self.write(task, state, **also)

    async def attempt(self, state: State) -> tuple[Draft, bool]:
        """The answer, and whether it says anything else than the words by which a bundle says that it does not know."""
        draft = await self.answer(state)
        return draft, bool(draft.text) and not same_wording(draft.text, Tuning().abstain)

    def tell(self, draft: Draft, *, provisional: bool = False) -> Draft:
        """The draft, unchanged: it is not sent before the turn ends."""
        return draft

    def refuse(self, draft: Draft, reason: AbstainReason) -> Draft:
        """The draft with why it is not given."""
        return replace(draft, refused=reason)

    async def search_image(
        self, phrases: Sequence[str] = (), limit: int = 0, *, candidates: bool = False
    ) -> list[Evidence]:
        """Search with the whole picture, for `limit` entries or one; no views and no boxes are cut out of it."""
        hits = await asyncio.to_thread(self._models.search.image, self._picture, limit or _SEEN)
        return self._keep("image_search", hits)

    async def disambiguate(self, entries: Sequence[Evidence]) -> list[Evidence]:
        """The evidence as it is: no model describes the picture."""
        return list(entries)

    def show(self, chosen: Sequence[Evidence]) -> list[Evidence]:
        """The evidence, unchanged: there are no events."""
        return list(chosen)

    def expect_answer(self, state: State) -> None:
        """Nothing: there is no prompt to read ahead."""

    async def read_words(self) -> bool:
        """False: printed words are those that the data set has, from the beginning."""
        return False

    async def read_out(self) -> Draft:
        """Empty: nothing reads the picture."""
        return Draft()

    async def tags(self) -> tuple[str, ...]:
        """None: no classifier looks at the picture."""
        return ()

    async def read_entries(self, entries: Sequence[Evidence], query: str, limit: int = 0) -> list[Evidence]:
        """The passages of these entries that a search for the query finds."""
        if not entries:
            return []
        hits = await asyncio.to_thread(self._models.search.text, [query], _WIDE)
        own = [[hit for hit in hits if hit.entry_id == entry.entry_id][: limit or _FOUND] for entry in entries]
        return self._keep("own_passages", [hit for of_one in own for hit in of_one])

    async def own_texts(self, entries: Sequence[Evidence]) -> list[Evidence]:
        """The passages of these entries that a search for the question finds."""
        return await self.read_entries(entries, self.start().question)

    async def quote(self, evidence: Sequence[Evidence], *, printed: bool = False) -> Draft:
        """Nothing: quotes teach no model to write."""
        return Draft()

    async def search_text(self, queries: Sequence[str], limit: int = 0, *, rerank: bool = True) -> list[Evidence]:
        """Search for texts with every query, for `limit` passages in all, or two a query."""
        if not queries:
            return []
        shown = limit or len(set(queries)) * _FOUND
        return self._keep("text_search", await asyncio.to_thread(self._models.search.text, queries, shown))

    async def search_pictures(self, queries: Sequence[str], limit: int = 0) -> list[Evidence]:
        """Entries with a picture whose texts the queries find, for `limit` entries or one."""
        if not queries:
            return []
        hits = await asyncio.to_thread(self._models.search.text, queries, _WIDE)
        pictured = {hit.entry_id: hit for hit in reversed(hits) if hit.picture}
        return self._keep("picture_by_text", list(reversed(pictured.values()))[: limit or _SEEN])

    async def together(self, one: Awaitable[One], two: Awaitable[Two]) -> tuple[One, Two]:
        """One after the other: a model is asked one thing at a time."""
        return await one, await two

    def certain(self, draft: Draft) -> bool:
        """True: every draft counts as certain, since the line over probabilities is fitted on drafts of such turns."""
        return True

    def remembers(self, draft: Draft) -> bool:
        """Whether it says anything: no bundle says how sure it must be."""
        return not self.abstains(draft)

    def guessed(self, queries: Sequence[str]) -> bool:
        """Never: no bundle says how sure memory must be of a name."""
        return False

    def abstains(self, draft: Draft) -> bool:
        """Whether it says that nothing is known, in the words that models use."""
        return abstains(draft.text, Tuning().abstain)

    def rounds(self, most: int, *steps: str) -> Iterator[int]:
        """Numbers of all rounds, 1 to `most`: no budget ends them earlier."""
        yield from range(1, most + 1)

    def extra_round(self, *steps: str) -> AbstractContextManager[bool]:
        """A context that says True: there is always time for one more round."""
        return nullcontext(True)

    def _keep(self, call: str, found: list[Evidence]) -> list[Evidence]:
        self.spent.calls[call] += 1
        self.evidence += found
        return found

    def _ask(self, model: AskedModel, task: str, state: State, also: Mapping[str, Note]) -> Ask:
        shown = () if self._picture is None else (self._picture, *self._entry_pictures(model, task, state))
        return Ask(task, prompt_values(self._turn, self._words, "", state, also), shown)

    def _entry_pictures(self, model: AskedModel, task: str, state: State) -> list[Path]:
        """Pictures of the first lines seen, up to the first line without one, so that pictures and lines match."""
        pictures: list[Path] = []
        for item in (*state.seen, *state.pictured)[:MOST_ENTRIES] if model.shows_entries(task) else ():
            path = self._models.search.picture(item)
            if path is None:
                break
            pictures.append(path)
        return pictures

    def _note(self, ask: Ask, said: str, labels: tuple[str, ...] = ()) -> None:
        self.spent.calls[ask.task] += 1
        self.steps.append(Asking(ask.task, ask.values, ask.pictures, said, labels))  # type: ignore[arg-type]
