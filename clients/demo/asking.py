"""Asks the demo's questions, judges the answers, and shows them to a person."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from clients.demo.album import Asked
from quizglass.text import plain
from quizglass.values import AnswerDelta, AnswerKind, Done, EvidenceFound, VerdictOutcome
from quizglass_client import Answer, Client, Event
from quizglass_client.terminal.answer import source_of

_PICTURE, _TEXT, _NOTHING = "picture", "text", "nothing"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a question.

    Attributes:
        asked: the question.
        picture: the file that was shown; None: none.
        answer: the whole turn.
        first_words: seconds until the first words of the answer were there.
        looked_up: what the answer's thing was found by: "picture", "text" or "nothing".
    """

    asked: Asked
    picture: Path | None
    answer: Answer
    first_words: float
    looked_up: str

    @property
    def right(self) -> bool:
        """Whether the answer says what is right, and the server stands by it; or refuses what nothing answers."""
        if not self.asked.right:
            return self.answer.abstained
        verdict = self.answer.verdict
        stands = verdict is not None and (
            verdict.outcome is VerdictOutcome.SUPPORTED or verdict.kind is AnswerKind.GUESSED
        )
        return stands and all(word.casefold() in self.answer.text.casefold() for word in self.asked.right)

    def values(self) -> dict[str, object]:
        """For programs."""
        return {
            "question": self.asked.question,
            "picture": None if self.picture is None else str(self.picture),
            "answer": self.answer.text,
            "source": source_of(self.answer.done, self.answer.verdict).plain,
            "right": self.right,
            "expected": list(self.asked.right) or None,
            "looked_up": self.looked_up,
            "first_words_s": round(self.first_words, 4),
            "total_s": round(self.answer.done.total, 4),
        }


def ask(client: Client, asked: Asked, picture: Path | None) -> Outcome:
    """Ask one question.

    Raises:
        ClientError: the server cannot be reached or refuses it.
    """
    began, first, events = time.monotonic(), None, list[Event]()
    for event in client.ask(asked.question, picture):
        if first is None and isinstance(event.payload, AnswerDelta | Done):
            first = time.monotonic() - began
        events.append(event)
    found = {
        item.origin for event in events if isinstance(event.payload, EvidenceFound) for item in event.payload.items
    }
    looked_up = _PICTURE if "image_search" in found else _TEXT if found else _NOTHING
    return Outcome(asked, picture, Answer.of(events), first or 0.0, looked_up)


def show(console: Console, outcome: Outcome) -> None:
    """Three lines: the picture and the question, the answer, where it is from and how long it took."""
    console.print()
    head = Text.assemble((plain(outcome.asked.question), "bold"))
    if outcome.picture is None:
        head.append("  no picture", "dim")
    else:
        link = outcome.picture.absolute().as_uri()
        head.append("  ").append(str(outcome.picture), f"dim link {link}")
    console.print(head, soft_wrap=True)
    console.print(Text(plain(outcome.answer.text), "" if outcome.answer.abstained else "green"), soft_wrap=True)
    line = source_of(outcome.answer.done, outcome.answer.verdict)
    line.append(f"{'  ' if line else ''}{outcome.answer.done.total * 1e3:.0f} ms", "dim")
    if not outcome.right:
        expected = ", ".join(outcome.asked.right) or "that it does not know"
        line.append(f"  not right: expected {expected}", "red")
    console.print(line, soft_wrap=True)


def table(outcomes: Sequence[Outcome]) -> Table:
    """How many answers of each kind are right, what was looked up for them, and when their first words came."""
    made = Table(box=None, pad_edge=False)
    made.add_column("asked", no_wrap=True)
    for name in ("right", "looked up", "first words, median"):
        made.add_column(name, justify="right", no_wrap=True)
    for kind in dict.fromkeys(outcome.asked.about for outcome in outcomes):
        made.add_row(kind, *_row([outcome for outcome in outcomes if outcome.asked.about == kind]))
    made.add_row("all", *_row(outcomes), style="bold")
    return made


def _row(outcomes: Sequence[Outcome]) -> tuple[str, str, str]:
    counts = Counter(each.looked_up for each in outcomes)
    looked_up = ", ".join(f"{name} {count}" for name, count in counts.most_common())
    median = statistics.median(each.first_words for each in outcomes)
    return f"{sum(each.right for each in outcomes)} of {len(outcomes)}", looked_up, f"{median * 1e3:.0f} ms"
