"""Shows an answer for a person: the words as they come, then one line that says where they are from."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.console import Console
from rich.text import Text

from quizglass.text import plain
from quizglass.values import Accepted, AnswerDelta, AnswerKind, Citation, Done, Provisional, Verdict, VerdictOutcome
from quizglass_client.terminal.show import reason_of
from quizglass_client.types import Event

UNCONFIRMED = "not confirmed: nothing that was found says so"
"""What stands under an answer that the evidence does not support."""
NOTHING_STORED = 'nothing is stored yet; quizglass knowledge add photo.jpg "What it is. …"'
"""What stands under "I don't know" where there is nothing that could be looked up, and what to do about it."""


class AnswerView:
    """Prints answers, one after the other, as they come.

    Args:
        console: where to. What is no terminal gets the words of the answer alone.
        warn: receives the warning, apart from the answer, that it is doubtful.
    """

    def __init__(self, console: Console, warn: Callable[[str], None] = lambda _: None) -> None:
        self._console = console
        self._warn = warn
        self._streamed = ""
        self._verdict: Verdict | None = None

    def event(self, event: Event) -> None:
        """Take one event; all but the answer and its check are passed over."""
        match event.payload:
            case Accepted():  # a turn before this may have ended without an answer
                self._streamed, self._verdict = "", None
            case AnswerDelta(text):
                self._stream(text)
            case Provisional(text) if self._console.is_terminal:
                self._line(Text(f"{plain(text)} …", "dim"))
            case Verdict() as verdict:
                self._verdict = verdict
            case Done() as done:
                self._end(done)

    def interrupt(self) -> None:
        """End the line that the answer is streaming on, if it is: something else is to be printed."""
        if self._streamed and not self._streamed.endswith("\n"):
            self._console.print()
            self._streamed += "\n"

    def _stream(self, text: str) -> None:
        text = text if self._streamed else text.lstrip()
        if text:
            self._streamed += text
            self._console.print(Text(plain(text), "bold"), end="", soft_wrap=True)

    def _end(self, done: Done) -> None:
        if plain(self._streamed).strip() != plain(done.answer).strip():  # after an abstention it is another
            self._line(Text(plain(done.answer), "bold"))
        self.interrupt()
        if self._console.is_terminal:
            source = source_of(done, self._verdict)
            self._line(source.append(f"{'  ' if source else ''}{done.total * 1e3:.0f} ms", "dim"))
        elif doubt := _doubt(done, self._verdict):
            self._warn(doubt)
        self._streamed, self._verdict = "", None

    def _line(self, text: Text) -> None:
        self.interrupt()
        self._console.print(text, soft_wrap=True)


def source_of(done: Done, verdict: Verdict | None) -> Text:
    """Where an answer is from, or why there is none, in a line; empty where nothing is to be said of it."""
    if done.abstain_reason:
        empty = any(skipped.reason == "EMPTY_KNOWLEDGE" for skipped in done.skipped)
        return Text(NOTHING_STORED if empty else reason_of(done.abstain_reason), "cyan")
    if doubt := _doubt(done, verdict):
        return Text(doubt, "yellow")
    if verdict is not None and verdict.kind in (AnswerKind.GUESSED, AnswerKind.FIXED):
        return Text()
    return Text(f"from {_named(done.citations)}" if done.citations else "from the model's memory", "dim")


def _doubt(done: Done, verdict: Verdict | None) -> str:
    """Why an answer is not to be relied on; empty where it is, or where there is none."""
    if done.abstain_reason:
        return ""
    if verdict is not None and (unanswered := verdict.notes.get("unanswered")):
        return f"nothing that was found answers: {plain(unanswered)}"
    if verdict is None or verdict.outcome is VerdictOutcome.UNSUPPORTED:
        return UNCONFIRMED
    disputed = verdict.notes.get("disputed")
    return "" if disputed is None else f"others say otherwise: {plain(disputed)}"


def _named(citations: Iterable[Citation]) -> str:
    """What is cited, each once: "Gerda's aloe (aloe.md)"."""
    sources = dict.fromkeys((citation.title, citation.source or citation.entry_id) for citation in citations)
    return plain(", ".join(_place(title, place) for title, place in sources))


def _place(title: str, place: str) -> str:
    if not title:
        return place or "words read in the picture"
    return f"{title} ({place})" if place and place != title else title
