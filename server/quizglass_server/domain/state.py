"""What a turn knows so far, and what it has written: the values that policies pass from step to step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from quizglass.values import AbstainReason, AnswerKind, FinishReason, Origin
from quizglass_server.domain.calculations import Calculation
from quizglass_server.domain.turns import Evidence

Note = str | float | Sequence[str]
"""What a prompt can show, or a decision can weigh, under a name of its own."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer or another text: what the generator wrote for one prompt, or words of the evidence."""

    text: str = ""
    """The text, with the results of calculations filled in."""
    probabilities: tuple[float, ...] = ()
    """Probability of every token, 0 to 1."""
    finish: FinishReason = FinishReason.BUDGET
    prompt_tokens: int = 0
    answer_tokens: int = 0
    history_left_out: int = 0
    """Earlier exchanges, the oldest ones, that the prompt had no room for."""
    supported: bool | None = None
    """Whether the verifier says that the evidence supports it; None: it was not asked."""
    refused: AbstainReason | None = None
    """Why it is not given as the answer; None when it is."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """What a policy says of how it came about: the two sides of a conflict, which was believed, why."""
    calculations: tuple[Calculation, ...] = ()
    """What the calculator worked out for it."""
    shown: tuple[str, ...] = ()
    """Ids of the evidence of searches that its prompt had, in order."""
    kind: AnswerKind = AnswerKind.WRITTEN
    """Where its words come from."""

    @property
    def p_min(self) -> float:
        """The least token probability, 0 to 1; 0 where nothing was written."""
        return min(self.probabilities, default=0.0)

    @property
    def certainty(self) -> str:
        """The least token probability in percent, as prompts show it."""
        return f"{100 * self.p_min:.0f}"

    @property
    def p_mean(self) -> float:
        """The mean token probability, 0 to 1; 0 where nothing was written."""
        return sum(self.probabilities) / len(self.probabilities) if self.probabilities else 0.0


@dataclass(frozen=True, slots=True)
class State:
    """What a policy has found out in a turn (CogPlanner's S_t), immutable.

    Prompts and decisions are filled from it, together with what is given from the start: the question, the dialogue,
    the words read in the picture and the domain.
    """

    question: str
    """The question as it was asked (Q_0)."""
    queries: tuple[str, ...] = ()
    """The question as it was last reformulated (Q_t); empty: it was not."""
    seen: tuple[Evidence, ...] = ()
    """What image searches brought back and the generator is shown (k_i)."""
    found: tuple[Evidence, ...] = ()
    """What text searches brought back and the generator is shown (k_t)."""
    pictured: tuple[Evidence, ...] = ()
    """Entries whose pictures a text search brought back; the wearer's picture need not show them."""
    notes: Mapping[str, Note] = field(default_factory=dict)
    """Anything else that prompts show under these names: a draft, the object asked about, what memory said."""

    @property
    def asked(self) -> tuple[str, ...]:
        """The queries, or the question where there are none."""
        return self.queries or (self.question,)

    @property
    def shown(self) -> tuple[str, ...]:
        """Ids of the evidence, what text searches brought first, each search's in the order of prompts."""
        return tuple(item.id for item in (*self.found, *self.seen, *self.pictured))

    def asking(self, queries: Sequence[str]) -> State:
        """The same state with these queries; without any it stays as it is."""
        return replace(self, queries=tuple(queries) or self.queries)

    def having(self, evidence: Sequence[Evidence]) -> State:
        """The same state with more evidence (D_t), each text of an entry once, the newest first.

        The newest evidence is what the last query asked for, and generators heed most what they are shown first.
        """
        known = {(item.origin, item.entry_id, item.text) for item in (*self.seen, *self.found)}
        new = [item for item in evidence if (item.origin, item.entry_id, item.text) not in known]
        seen = tuple(item for item in new if item.origin is Origin.IMAGE_SEARCH)
        found = tuple(item for item in new if item.origin is Origin.TEXT_SEARCH)
        return replace(self, seen=seen + self.seen, found=found + self.found)

    def picturing(self, entries: Sequence[Evidence]) -> State:
        """The same state with pictures that a text found, each entry once, the newest first."""
        known = {item.entry_id for item in self.pictured}
        new = tuple(item for item in entries if item.entry_id not in known)
        return replace(self, pictured=new + self.pictured)

    def noting(self, **notes: Note) -> State:
        """The same with notes added or replaced."""
        return replace(self, notes={**self.notes, **notes})
