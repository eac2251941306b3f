"""Shows a turn on a terminal while it happens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from quizglass.session import Segment, SegmentState
from quizglass.text import plain
from quizglass.values import (
    Accepted,
    AnswerDelta,
    Citation,
    Confirmed,
    Decided,
    Done,
    Evidence,
    EvidenceFound,
    Plan,
    PlanMade,
    Provisional,
    Queries,
    QueryRewritten,
    SkippedStep,
    Verdict,
    Withdrawn,
)
from quizglass_client.types import Event

_LABEL_WIDTH = 9
_ORIGINS = {"image_search": "image", "text_search": "text", "read_text": "read", "memory": "memory"}
_SEGMENTS = {
    SegmentState.UNKNOWN: ("?", "dim"),
    SegmentState.DRAFT: ("draft", "dim"),
    SegmentState.CONFIRMED: ("says", "bold"),
    SegmentState.RETRACTED: ("no:", "yellow"),
}
_OUTCOMES = {"supported": "green", "unsupported": "yellow", "unchecked": "dim", "abstained": "cyan"}


def marked(answer: str, citations: Iterable[Citation]) -> str:
    """The answer with the id of the evidence, as in "45 crowns [2]", after each part that it supports."""
    marks: dict[int, list[str]] = {}
    for citation in citations:
        ids = marks.setdefault(min(max(citation.end, 0), len(answer)), [])
        if citation.evidence_id not in ids:
            ids.append(citation.evidence_id)
    for end in sorted(marks, reverse=True):
        answer = f"{answer[:end]} {''.join(f'[{name}]' for name in marks[end])}{answer[end:]}"
    return answer


class TurnView:
    """Prints the events of turns, one after the other, as they come.

    Args:
        console: where to.
        segments: whether answers are shown by their segments, as a device would say or show them, and not as they are
            written.
    """

    def __init__(self, console: Console, *, segments: bool = False) -> None:
        self._console = console
        self._by_segments = segments
        self._streamed = ""

    def event(self, event: Event) -> None:
        """Show one event."""
        if self._by_segments and isinstance(event.payload, AnswerDelta | Provisional | Confirmed | Withdrawn):
            return
        match event.payload:
            case Accepted() as accepted:
                self._streamed = ""
                self._line(
                    "turn", Text(plain(f"{event.turn_id[:8]}  {accepted.policy}, {accepted.budget:.3g} s"), "dim")
                )
            case PlanMade() as made:
                self._line("plan", _plan(made))
            case Decided() as decided:
                self._line("decided", Text.assemble(_decided(decided), (_where(event), "dim")))
            case Queries(task, texts):
                written = plain("; ".join(texts)) or "nothing"
                self._line("wrote", Text.assemble(written, (f"  for {plain(task)}{_where(event)}", "dim")))
            case Provisional(text):
                self._line("draft", Text.assemble((plain(text), "bold"), ("  may still be taken back", "dim")))
            case Confirmed():
                self._line("draft", Text("is the answer", "green"))
            case Withdrawn():
                self._line("draft", Text("is taken back", "yellow"))
            case QueryRewritten() as query:
                how = "  (knowing what the picture shows)" if query.used_image_evidence else ""
                self._line("query", Text.assemble(plain(query.text), (how, "dim")))
            case EvidenceFound(items):
                self.interrupt()
                self._console.print(Padding(evidence_table(items), (0, 0, 0, _LABEL_WIDTH), expand=False))
            case AnswerDelta(text):
                self._stream(text)
            case Verdict() as verdict:
                self.interrupt()
                self._line("check", _verdict(verdict))
                for name, text in verdict.notes.items():
                    self._line("", Text.assemble((f"{plain(name)}: ", "dim"), plain(text)))
            case Done() as done:
                self.interrupt()
                self._done(done)

    def segments(self, segments: Sequence[Segment]) -> None:
        """Show pieces of an answer, where it is shown by them."""
        for segment in segments if self._by_segments else ():
            label, style = _SEGMENTS[segment.state]
            if segment.lead_in:
                label, style = "lead-in", "dim"
            elif segment.doubt:
                label, style = "doubt", "yellow"
            shown = "\n".join(segment.lines) or segment.text.strip() or f"segment {segment.index}"
            for at, line in enumerate(shown.splitlines()):
                self._line("" if at else label, Text(plain(line), style))

    def interrupt(self) -> None:
        """End the line that the answer is streaming on, if it is: something else is to be printed."""
        if self._streamed and not self._streamed.endswith("\n"):
            self._console.print()
            self._streamed += "\n"

    def _stream(self, text: str) -> None:
        if not self._streamed:
            text = text.lstrip()
            if not text:
                return
            self._console.print(_label("answer"), end="")
        self._streamed += text
        self._console.print(Text(plain(text), "bold"), end="", soft_wrap=True)

    def _done(self, done: Done) -> None:
        # Deltas carry no citations, and after an abstention they are not the answer.
        if done.citations or (not self._by_segments and plain(self._streamed).strip() != plain(done.answer).strip()):
            self._line(
                "cited" if done.citations else "answer", Text(plain(marked(done.answer, done.citations)), "bold")
            )
        for citation in _once(done.citations):
            where = f"{citation.title}  {citation.entry_id}".strip() or "words read in the picture"
            self._line("", Text(plain(f"[{citation.evidence_id}] {where}"), "dim"))
        if done.abstain_reason:
            self._line("because", Text(reason_of(done.abstain_reason), "cyan"))
        if done.finish_reason not in ("", "complete"):
            self._line("ended", Text(f"by {done.finish_reason}", "yellow"))
        if done.skipped:
            self._line("skipped", Text(plain(", ".join(map(_skipped, done.skipped))), "yellow"))
        if done.history_left_out:
            self._line("history", Text(f"the oldest {done.history_left_out} did not fit and were left out", "yellow"))
        self._line("time", _times(done))
        self._streamed = ""

    def _line(self, label: str, text: Text) -> None:
        self.interrupt()
        self._console.print(Text.assemble(_label(label), text), soft_wrap=True)


def evidence_table(items: Sequence[Evidence]) -> Table:
    """Evidence with its scores; what the generator was shown stands out."""
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    for title in ("", "from", "title", "text"):
        table.add_column(title, overflow="fold", ratio=1 if title == "text" else None)
    for title in ("search", "rerank"):
        table.add_column(title, justify="right", no_wrap=True)
    for item in items:
        table.add_row(
            Text(plain(f"[{item.id}]")),
            Text(_ORIGINS.get(item.origin, item.origin or "?")),
            Text(plain(item.title)),
            Text(plain(_shortened(item.text))),
            "" if item.origin == "read_text" else f"{item.search_score:.2f}",
            f"{item.rerank_score:.2f}" if item.rerank_score else "",
            style="" if item.used else "dim",
        )
    return table


def _label(word: str) -> Text:
    return Text(f"{word:<{_LABEL_WIDTH}}", "dim")


def _plan(made: PlanMade) -> Text:
    text = Text.assemble(("unknown" if made.plan is None else made.plan.value, "bold magenta"))
    if made.decided_by:
        text.append(f"  by {plain(made.decided_by)}", "dim")
    shares = [(plan, made.probabilities[plan]) for plan in Plan if plan in made.probabilities]
    for plan, probability in shares:
        text.append(f"  {plan.value} ", "dim")
        text.append(f"{probability:.2f}", "bold" if plan is made.plan else "dim")
    return text


def _decided(decided: Decided) -> Text:
    text = Text.assemble((plain(decided.label), "bold magenta"))
    how = "" if decided.decided_by in ("", decided.by) else f" ({plain(decided.decided_by)})"
    text.append(f"  by {plain(decided.by)}{how}", "dim")
    for label, probability in decided.probabilities.items():
        text.append(f"  {plain(label)} ", "dim")
        text.append(f"{probability:.2f}", "bold" if label == decided.label else "dim")
    return text


def _where(event: Event) -> str:
    """Round and branch, where there are several."""
    branch = f"  branch {plain(event.branch)}" if event.branch else ""
    return f"  round {event.round}{branch}" if event.round else branch


def _verdict(verdict: Verdict) -> Text:
    text = Text(verdict.outcome or "?", _OUTCOMES.get(verdict.outcome, ""))
    if verdict.mean_token_probability:
        lowest, mean = verdict.min_token_probability, verdict.mean_token_probability
        text.append(f"  token probability {mean:.2f}, lowest {lowest:.2f}", "dim")
    return text


def _skipped(step: SkippedStep) -> str:
    return f"{step.step} ({step.reason.lower()}{f', round {step.round}' if step.round else ''})"


def _times(done: Done) -> Text:
    text = Text(f"{done.total * 1e3:.0f} ms")
    for stage in done.timings:
        text.append(f"  {plain(stage.stage)} {stage.duration * 1e3:.0f}", "dim")
    return text


def _once(citations: Iterable[Citation]) -> list[Citation]:
    return list({citation.evidence_id: citation for citation in citations}.values())


def reason_of(reason: str) -> str:
    """Why there is no answer, for people."""
    reasons = {
        "model": "the model does not know, having seen what there was",
        "no_evidence": "nothing relevant enough was found",
        "budget": "the time ran out",
        "unsure": "the model was not sure enough of its answer",
        "unsupported": "the evidence does not support what was written",
        "contradicted": "the evidence contradicts what was written",
        "incomplete": "what was written does not answer the whole question",
        "language": "the question is in a language that these models do not answer in",
    }
    return reasons.get(reason, reason)


def _shortened(text: str, longest: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"
