"""One question asked of a policy, by a running server or by models that no server serves, with all that is scored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from quizglass.values import Decided, Evidence, Origin, PlanMade, Queries, QueryRewritten
from quizglass_client import Client, InvalidRequest, ServerError
from quizglass_client.types import Answer, Event
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.asking.interface import AskedModel
from quizglass_lab.finetuning.asking.offline_turn import OfflineModels, OfflineTurn
from quizglass_lab.finetuning.asking.searching import EvidenceSearch, RecordedSearch, ServerSearch
from quizglass_lab.finetuning.asking.served import served_turn
from quizglass_lab.finetuning.recipes.questions import picture_file, printed_words
from quizglass_lab.reporting.answers.answered import AnswerLine, Decision, FoundEntry, Stage, each_once
from quizglass_lab.scoring.answers import refuses
from quizglass_server.policies import POLICIES

ORACLE = "oracle"
"""Is asked as `both` with the evidence that the benchmark records."""
_SEARCHES: Mapping[str, Literal["image", "text"]] = {Origin.IMAGE_SEARCH: "image", Origin.TEXT_SEARCH: "text"}
_MEMORY = "memory"
"""What decides a plan before the policy begins: the visual memory answers."""
_QUERIES = ("reformulate", "rewrite")
"""Prompts that put the question anew."""
_CHOICES = ("select", "select_by_text")
"""Decisions for one of the entries of a picture search."""


_OF_QUESTIONS = ("picture", "frames", "question", "history")
"""Beginnings of the fields of a request that are a question's own; others are the same with every question."""
FAILED = "failed"
"""The note of an answer that the server did not give, with the reason; it counts as a refusal."""


def served_line(sample: Sample, *, client: Client, pictures: Path, policy: str, budget: float) -> AnswerLine:
    """A turn of a running server.

    Args:
        sample: the question.
        client: of the server.
        pictures: folder for pictures that the benchmark has as bytes.
        policy: its name.
        budget: seconds.

    A question that the server cannot take, such as one with a damaged picture, or whose turn fails twice, has no answer
    and a note.

    Raises:
        ClientError: the server cannot be reached, or had no room for long.
        ExportError: the question's picture is not at hand.
    """
    picture = picture_file(sample, pictures)
    ask = partial(
        served_turn, client, sample.asked, picture, sample.history, policy=policy, budget=budget, explain=True
    )
    try:
        events = _asked(ask)
    except (InvalidRequest, ServerError) as error:
        if isinstance(error, InvalidRequest) and not error.field.startswith(_OF_QUESTIONS):
            raise
        failed = {"id": sample.id, "answer": "", "refused": True, "notes": {FAILED: str(error)}}
        return AnswerLine.model_validate(failed)
    answer = Answer.of(events)
    timed = [timing.stage for timing in answer.done.timings]
    images, texts = timed.count("image_search"), timed.count("text_search")
    return AnswerLine(
        id=sample.id,
        answer=answer.text,
        refused=answer.abstained,
        found=each_once(_entries(answer.evidence)) if images or texts else None,
        image_searches=images,
        text_searches=texts,
        prompt_tokens=answer.done.all_prompt_tokens,
        answer_tokens=answer.done.answer_tokens,
        written_tokens=answer.done.all_written_tokens,
        seconds=answer.done.total,
        plan=str(answer.plan.plan or "") if answer.plan and answer.plan.decided_by != _MEMORY else "",
        decisions=tuple(_decisions(events)),
        queries=tuple(_queries(events)),
        stages=tuple(
            Stage(name=step.name, seconds=step.duration, started=step.started, round=step.round)
            for step in answer.steps
            if not step.reason
        ),
        notes=dict(answer.verdict.notes) if answer.verdict else {},
    )


def _asked(ask: Callable[[], list[Event]]) -> list[Event]:
    """A turn; once more where it failed within the server, as where a process of the generator ended."""
    try:
        return ask()
    except ServerError:
        return ask()


def _entries(evidence: Iterable[Evidence]) -> Iterable[FoundEntry]:
    for item in evidence:
        if item.origin in _SEARCHES:
            yield FoundEntry(id=item.entry_id, source=item.source, search=_SEARCHES[item.origin], used=item.used)


def _decisions(events: Sequence[Event]) -> Iterable[Decision]:
    for event in events:
        if isinstance(event.payload, Decided):
            yield Decision(by=event.payload.by, label=event.payload.label)
        elif isinstance(event.payload, PlanMade) and event.payload.plan:
            yield Decision(by=event.payload.decided_by, label=str(event.payload.plan))


def _queries(events: Sequence[Event]) -> Iterable[tuple[str, ...]]:
    for event in events:
        if isinstance(event.payload, Queries) and event.payload.task in _QUERIES:
            yield event.payload.texts
        elif isinstance(event.payload, QueryRewritten):
            yield (event.payload.text,)


@dataclass(frozen=True, slots=True)
class OfflineAsking:
    """What answers and decides where no server does."""

    model: AskedModel
    deciders: Mapping[str, AskedModel]
    pictures: Path
    """Folder for pictures that the benchmark has as bytes, and for those of entries."""
    client: Client | None
    """Of a server that searches; None: evidence is what the question's record has."""


def offline_line(sample: Sample, *, asking: OfflineAsking, policy: str) -> AnswerLine:
    """A turn of models that no server serves; the oracle's with the evidence that is recorded.

    Raises:
        ExportError: the question's picture is not at hand.
    """
    search: EvidenceSearch = RecordedSearch(sample.image_answer, sample.evidence, (*sample.entries, "")[0])
    if asking.client is not None and policy != ORACLE:
        search = ServerSearch(asking.client, asking.pictures)
    models = OfflineModels(asking.model, search, asking.deciders)
    picture = picture_file(sample, asking.pictures)
    turn = OfflineTurn(models, sample.asked, picture, sample.history, printed_words(sample))
    draft = turn.run(POLICIES["both" if policy == ORACLE else policy])
    calls, decisions = turn.spent.calls, turn.spent.decisions
    plans = dict(decisions)
    looked_for = not isinstance(search, RecordedSearch) and (calls["image_search"] or calls["text_search"])
    return AnswerLine(
        id=sample.id,
        answer="" if draft.refused else draft.text,
        refused=bool(draft.refused) or refuses(draft.text),
        found=each_once(_with_choice(_entries(turn.evidence), decisions)) if looked_for else None,
        image_searches=calls["image_search"],
        text_searches=calls["text_search"],
        prompt_tokens=turn.spent.prompt_tokens,
        answer_tokens=draft.answer_tokens,
        written_tokens=turn.spent.answer_tokens,
        seconds=turn.spent.seconds,
        plan=next((plans[by] for by in ("planner", "plan", "fixed") if by in plans), ""),
        decisions=tuple(Decision(by=by, label=label) for by, label in decisions),
        queries=tuple(tuple(step.said.splitlines()) for step in turn.steps if step.task in _QUERIES),
        notes=dict(draft.notes),
    )


def _with_choice(entries: Iterable[FoundEntry], decisions: Sequence[tuple[str, str]]) -> Iterable[FoundEntry]:
    """The entries, that which a policy chose among those found by picture marked as used."""
    chosen = next((label for by, label in decisions if by in _CHOICES), "")
    place = 0
    for entry in entries:
        place += entry.search == "image"
        yield entry.model_copy(update={"used": True}) if chosen == str(place) else entry
