"""What a policy may do: the verbs of a turn."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from typing import Protocol, TypeVar

from quizglass.values import AbstainReason, Plan
from quizglass_server.domain.state import Draft, Note, State
from quizglass_server.domain.turns import Evidence

Label = TypeVar("Label", bound=Enum)
One = TypeVar("One")
Two = TypeVar("Two")


class Tools(Protocol):
    """The verbs of a turn: timed, fitted into the budget, and told to the client with their round and branch.

    What no longer fits into the budget is left out, and named in `done.skipped`; each verb says what it returns then.
    """

    @property
    def reads_entries(self) -> bool:
        """Whether `read_entries` brings anything: not where the bundle shows passages behind the captions anyway."""
        ...

    @property
    def searches_text(self) -> bool:
        """Whether `search_text` can bring anything: not where a bundle has no text encoder."""
        ...

    @property
    def pictured(self) -> bool:
        """Whether the question came with a picture."""
        ...

    @property
    def sees_pictures(self) -> bool:
        """Whether the generator is shown the picture, and could say what is in it."""
        ...

    @property
    def finds_pictures(self) -> bool:
        """Whether `search_pictures` is of use: a prompt shows what it brings (`pictured`)."""
        ...

    @property
    def most_rounds(self) -> int | None:
        """Most rounds of a policy that leaves their number to the bundle; None: the bundle does not say."""
        ...

    @property
    def named(self) -> tuple[str, ...]:
        """What the question names of the picture, a few words each ("the red car"); "it" and "this" name nothing."""
        ...

    def start(self) -> State:
        """The question, with nothing found out yet."""
        ...

    def fixed(self, plan: Plan) -> Plan:
        """Take a plan that needs no decision, and tell of it."""
        ...

    async def decide(self, labels: type[Label], state: State, *, by: str, otherwise: Label, **also: Note) -> Label:
        """Choose one of a closed set in one prefill pass.

        Args:
            labels: an enumeration of strings; its values are the labels of the decider. Others that this has count as
                what the enumeration makes of them (`_missing_`), or else not at all.
            state: fills the prompt.
            by: name of the decider; without a decider of that name, of the generator's prompt that asks for it. There
                the labels are lettered " A", " B", ... in the order of the enumeration.
            otherwise: taken when there is no time to decide.
            also: further values of the prompt.
        """
        ...

    async def write(self, task: str, state: State, **also: Note) -> Draft:
        """Complete the generator's prompt of that name without events; empty when there is no time for it."""
        ...

    async def from_memory(self) -> Draft:
        """The answer with nothing looked up, without events; empty when there is no time for it.

        Where it abstains and the question asks about nothing but what it names, the answer without the picture, which
        may show another thing; if the model is as sure of that as the bundle asks of answers from memory.
        """
        ...

    async def lines(self, task: str, state: State, **also: Note) -> list[str]:
        """Complete such a prompt to lines: each once, none empty; none at all when there is no time for it."""
        ...

    async def queries(self, task: str, state: State, **also: Note) -> list[str]:
        """Complete such a prompt to lines that are asked next; the state's own queries when there is no time for it."""
        ...

    async def rewrite(self, state: State) -> list[str]:
        """The question as one query that stands alone.

        The state's own queries where there is no time for it, nothing to go by but the question, or where the generator
        answers that it does not know; none where it writes nothing.
        """
        ...

    def guessed(self, queries: Sequence[str]) -> bool:
        """Whether a rewritten query has a name that is a guess of the generator.

        That is one which neither the wearer nor any evidence told, and of which the generator is less sure than the
        bundle asks of answers from memory.
        """
        ...

    def expect_answer(self, state: State) -> None:
        """Say what the answer is likely to be written from: its prompt is read beside what is done meanwhile."""
        ...

    async def answer(self, state: State, task: str = "answer", **also: Note) -> Draft:
        """Complete such a prompt and stream it to the wearer as the answer, at most until the budget ends.

        Empty where there is no time for it: also where the engine has no room and the policy has a draft in hand,
        which it can tell instead.
        """
        ...

    async def attempt(self, state: State) -> tuple[Draft, bool]:
        """As `answer`, but an answer that says nothing is kept back.

        That is one that abstains in the bundle's words, or that no passage backs and that is less sure than the bundle
        asks of answers from memory.

        Returns:
            The draft, and whether it was sent; an empty one was not.
        """
        ...

    def tell(self, draft: Draft, *, provisional: bool = False) -> Draft:
        """Give a draft as the answer.

        A provisional one is shown at once, and confirmed or withdrawn by what the policy gives in the end.
        """
        ...

    def refuse(self, draft: Draft, reason: AbstainReason) -> Draft:
        """Say "I don't know" instead of giving a draft, with the reason, unless it has one of its own."""
        ...

    async def search_image(
        self, phrases: Sequence[str] = (), limit: int = 0, *, candidates: bool = False
    ) -> list[Evidence]:
        """Look the picture up: by the parts that show what the phrases name where a detector finds any, else by views.

        Args:
            phrases: things, a few words each; none: what the question names.
            limit: how many entries to show; 0: the bundle's own number.
            candidates: whether the policy chooses among them; they count as shown only if `show` says so.
        """
        ...

    async def disambiguate(self, entries: Sequence[Evidence]) -> list[Evidence]:
        """Candidates, but of those whose pictures match the wearer's alike the ones first that say what is seen.

        As they are where none do, or nothing says what is seen. Entries shown at once are distinguished so already.
        """
        ...

    def show(self, chosen: Sequence[Evidence]) -> list[Evidence]:
        """Take some of the candidates of a search: answers are written from them, checked by them and may cite them."""
        ...

    async def tags(self) -> tuple[str, ...]:
        """What the tagger says that the picture may show, likeliest first.

        None where the bundle has no tagger, or no label is likely enough.
        """
        ...

    async def read_words(self) -> bool:
        """Read the picture's printed words, where they were left unread: of a policy whose `words_later` is true, asked
        what does not seem to be about words.

        Returns:
            Whether there are any, which prompts show from now on; false where they were read before.
        """
        ...

    async def read_out(self) -> Draft:
        """The picture's printed words as the answer; empty where there are none, or nothing reads them."""
        ...

    async def read_entries(self, entries: Sequence[Evidence], query: str, limit: int = 0) -> list[Evidence]:
        """What entries that a search brought back tell: passages of their own, those that fit the query best.

        Args:
            entries: what the search brought back; if empty, nothing is read.
            query: what is asked of them.
            limit: how many passages of each to show; 0: as many as the bundle shows of a text search.
        """
        ...

    async def own_texts(self, entries: Sequence[Evidence]) -> list[Evidence]:
        """What entries that a search brought back say of themselves, as candidates for `quote` and `show`: of a short
        text all of it, of a long one the passages that fit the question best."""
        ...

    async def quote(self, evidence: Sequence[Evidence], *, printed: bool = False) -> Draft:
        """The sentence or two of evidence that answer the question, word for word; the evidence counts as shown then.

        Empty where none reaches the bundle's `quote_accept`, and where there is no time.

        Args:
            evidence: whose sentences are weighed.
            printed: whether lines of words in the picture are weighed, too, which are read now if they were not so far.
        """
        ...

    async def search_text(self, queries: Sequence[str], limit: int = 0, *, rerank: bool = True) -> list[Evidence]:
        """Look all queries up at the same time, rerank each passage for the query that found it, and merge.

        Args:
            queries: each stands alone; without any the search is left out.
            limit: how many passages to show; 0: the bundle's own number.
            rerank: whether the rerankers, coarse and fine, choose and order them; the search's own order otherwise.
        """
        ...

    async def search_pictures(self, queries: Sequence[str], limit: int = 0) -> list[Evidence]:
        """Look up pictures by what they are to show: entries that have one and whose title and texts fit the queries.

        Args:
            queries: what the pictures are to show; without any the search is left out.
            limit: how many entries to show; 0: as many as the bundle shows of an image search.
        """
        ...

    async def together(self, one: Awaitable[One], two: Awaitable[Two]) -> tuple[One, Two]:
        """Two branches at the same time; if one fails, the other ends."""
        ...

    def certain(self, draft: Draft) -> bool:
        """Whether a draft's least and mean token probability reach the bundle's thresholds; true without any."""
        ...

    def remembers(self, draft: Draft) -> bool:
        """Whether a draft that no passage backs may be told.

        It has to say something, and its least token probability has to reach the bundle's threshold, if it has one.
        """
        ...

    def abstains(self, draft: Draft) -> bool:
        """Whether a draft is empty or says that nothing is known."""
        ...

    def rounds(self, most: int, *steps: str) -> Iterator[int]:
        """1, 2, ... while the usual cost of these and of later steps still fits; events carry the number,
        counted on from the rounds before.

        Args:
            most: how many rounds at most.
            steps: what a round takes.
        """
        ...

    def extra_round(self, *steps: str) -> AbstractContextManager[bool]:
        """A block that is a round of its own: whether it fits, as in `rounds`; events within carry the next number."""
        ...
