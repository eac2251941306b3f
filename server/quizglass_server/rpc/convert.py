"""Domain values to messages, and back. No decisions are made here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from quizglass.v1 import assistant_pb2, knowledge_pb2, types_pb2
from quizglass_server.domain import entries
from quizglass_server.domain import turns as domain
from quizglass_server.errors import InvalidInput
from quizglass_server.rpc import checks

PLANS: dict[domain.Plan, types_pb2.Plan] = {
    domain.Plan.NONE: types_pb2.PLAN_NONE,
    domain.Plan.IMAGE: types_pb2.PLAN_IMAGE,
    domain.Plan.TEXT: types_pb2.PLAN_TEXT,
    domain.Plan.BOTH: types_pb2.PLAN_BOTH,
}
_ORIGINS = {
    domain.Origin.IMAGE_SEARCH: types_pb2.Evidence.ORIGIN_IMAGE_SEARCH,
    domain.Origin.TEXT_SEARCH: types_pb2.Evidence.ORIGIN_TEXT_SEARCH,
    domain.Origin.READ_TEXT: types_pb2.Evidence.ORIGIN_READ_TEXT,
    domain.Origin.MEMORY: types_pb2.Evidence.ORIGIN_MEMORY,
}
_OUTCOMES = {
    domain.VerdictOutcome.SUPPORTED: assistant_pb2.Verdict.OUTCOME_SUPPORTED,
    domain.VerdictOutcome.UNSUPPORTED: assistant_pb2.Verdict.OUTCOME_UNSUPPORTED,
    domain.VerdictOutcome.UNCHECKED: assistant_pb2.Verdict.OUTCOME_UNCHECKED,
    domain.VerdictOutcome.ABSTAINED: assistant_pb2.Verdict.OUTCOME_ABSTAINED,
}
_FINISHES = {
    domain.FinishReason.COMPLETE: assistant_pb2.Done.FINISH_REASON_COMPLETE,
    domain.FinishReason.LENGTH: assistant_pb2.Done.FINISH_REASON_LENGTH,
    domain.FinishReason.BUDGET: assistant_pb2.Done.FINISH_REASON_BUDGET,
    domain.FinishReason.CANCELLED: assistant_pb2.Done.FINISH_REASON_CANCELLED,
}
_ABSTENTIONS = {
    None: assistant_pb2.Done.ABSTAIN_REASON_UNSPECIFIED,
    domain.AbstainReason.MODEL: assistant_pb2.Done.ABSTAIN_REASON_MODEL,
    domain.AbstainReason.NO_EVIDENCE: assistant_pb2.Done.ABSTAIN_REASON_NO_EVIDENCE,
    domain.AbstainReason.BUDGET: assistant_pb2.Done.ABSTAIN_REASON_BUDGET,
    domain.AbstainReason.UNSURE: assistant_pb2.Done.ABSTAIN_REASON_UNSURE,
    domain.AbstainReason.UNSUPPORTED: assistant_pb2.Done.ABSTAIN_REASON_UNSUPPORTED,
    domain.AbstainReason.CONTRADICTED: assistant_pb2.Done.ABSTAIN_REASON_CONTRADICTED,
    domain.AbstainReason.INCOMPLETE: assistant_pb2.Done.ABSTAIN_REASON_INCOMPLETE,
}

_FORMATS: dict[int, str] = {
    knowledge_pb2.TEXT_FORMAT_UNSPECIFIED: "",
    knowledge_pb2.TEXT_FORMAT_PLAIN: "",
    knowledge_pb2.TEXT_FORMAT_MARKDOWN: "markdown",
    knowledge_pb2.TEXT_FORMAT_HTML: "html",
}
_FORMAT_NUMBERS = {
    "": knowledge_pb2.TEXT_FORMAT_UNSPECIFIED,
    "markdown": knowledge_pb2.TEXT_FORMAT_MARKDOWN,
    "html": knowledge_pb2.TEXT_FORMAT_HTML,
}
_MODES: dict[int, entries.SearchMode] = {
    knowledge_pb2.SEARCH_MODE_UNSPECIFIED: entries.SearchMode.HYBRID,
    knowledge_pb2.SEARCH_MODE_HYBRID: entries.SearchMode.HYBRID,
    knowledge_pb2.SEARCH_MODE_VECTORS: entries.SearchMode.VECTORS,
    knowledge_pb2.SEARCH_MODE_KEYWORDS: entries.SearchMode.KEYWORDS,
}
_MAX_FILTERED, _MAX_FILTER_TEXT = 100, 500


def evidence_message(evidence: domain.Evidence) -> types_pb2.Evidence:
    """One piece of evidence."""
    return types_pb2.Evidence(
        id=evidence.id,
        origin=_ORIGINS[evidence.origin],
        entry_id=evidence.entry_id,
        title=evidence.title,
        text=evidence.text,
        search_score=evidence.search_score,
        rerank_score=evidence.rerank_score,
        source=evidence.source,
        used=evidence.used,
        picture_sha256=evidence.picture or b"",
    )


def event_message(event: domain.TurnEvent, elapsed_us: int) -> assistant_pb2.AskResponse:
    """One event of a turn, without its name and number."""
    response = assistant_pb2.AskResponse(elapsed_us=elapsed_us, round=event.round, branch=event.branch)
    match event:
        case domain.Accepted(policy, frames, budget_us):
            accepted = assistant_pb2.Accepted(policy=policy, frame_sha256=frames, budget_us=budget_us)
            response.accepted.CopyFrom(accepted)
        case domain.PlanMade(decision):
            response.plan.CopyFrom(_plan_message(decision))
        case domain.Decided(by, label, decided_by, probabilities):
            scores = [assistant_pb2.LabelScore(label=name, probability=value) for name, value in probabilities]
            decided = assistant_pb2.Decided(by=by, label=label, decided_by=decided_by, scores=scores)
            response.decided.CopyFrom(decided)
        case domain.Queries(task, texts):
            response.queries.CopyFrom(assistant_pb2.Queries(task=task, texts=texts))
        case domain.Provisional(text):
            response.provisional.text = text
        case domain.Confirmed():
            response.confirmed.SetInParent()
        case domain.Withdrawn():
            response.withdrawn.SetInParent()
        case domain.QueryRewritten(text, used):
            response.query.CopyFrom(assistant_pb2.QueryRewritten(text=text, used_image_evidence=used))
        case domain.EvidenceFound(items):
            response.evidence.items.extend(evidence_message(item) for item in items)
            response.evidence.SetInParent()
        case domain.AnswerDelta(text):
            response.answer_delta.text = text
        case domain.Verdict(outcome, smallest, mean, notes):
            response.verdict.CopyFrom(
                assistant_pb2.Verdict(
                    outcome=_OUTCOMES[outcome], min_token_probability=smallest, mean_token_probability=mean, notes=notes
                )
            )
        case domain.Done():
            response.done.CopyFrom(_done_message(event, elapsed_us))
    return response


def _plan_message(decision: domain.PlanDecision) -> assistant_pb2.PlanMade:
    return assistant_pb2.PlanMade(
        plan=PLANS[decision.plan],
        decided_by=decision.decided_by,
        scores=[
            assistant_pb2.PlanScore(plan=PLANS[plan], probability=probability)
            for plan, probability in decision.probabilities
        ],
    )


def _done_message(done: domain.Done, elapsed_us: int) -> assistant_pb2.Done:
    return assistant_pb2.Done(
        answer=done.answer,
        citations=[
            assistant_pb2.Citation(
                evidence_id=c.evidence_id, entry_id=c.entry_id, title=c.title, start=c.start, end=c.end
            )
            for c in done.citations
        ],
        finish_reason=_FINISHES[done.finish_reason],
        abstain_reason=_ABSTENTIONS[done.abstain_reason],
        skipped=[assistant_pb2.SkippedStep(step=s.step, reason=s.reason, round=s.round) for s in done.skipped],
        timings=[
            types_pb2.StageTiming(stage=t.stage, duration_us=t.duration_us, engine_us=t.engine_us, round=t.round)
            for t in done.timings
        ],
        total_us=elapsed_us,
        prompt_tokens=done.prompt_tokens,
        answer_tokens=done.answer_tokens,
        history_left_out=done.history_left_out,
        session=done.session,
        all_prompt_tokens=done.all_prompt_tokens,
    )


def entry_message(entry: entries.Entry) -> knowledge_pb2.Entry:
    """An entry, without picture bytes."""
    return knowledge_pb2.Entry(
        id=entry.id,
        title=entry.title,
        caption=entry.caption,
        kind=entry.kind,
        text=entry.text,
        attributes=entry.attributes,
        source=entry.source,
        picture_sha256=entry.picture_sha256,
        language=entry.language,
        text_format=_FORMAT_NUMBERS[entry.text_format],
        time=entry.time,
        expires_after_s=entry.expires_after_s,
    )


def entry_value(message: knowledge_pb2.Entry) -> entries.PicturedEntry:
    """An entry on its way into the store."""
    return entries.PicturedEntry(
        entries.Entry(
            id=message.id,
            title=message.title,
            caption=message.caption,
            kind=message.kind,
            text=message.text,
            attributes=dict(message.attributes),
            source=message.source,
            language=message.language,
            text_format=_format(message.text_format),
            time=message.time,
            expires_after_s=message.expires_after_s,
        ),
        tuple(message.pictures),
    )


def _format(number: int) -> str:
    """A format's word; one that this server does not know is named by its number, for the entry's checks to refuse."""
    return _FORMATS.get(number, str(number))


def finding_value(request: knowledge_pb2.SearchEntriesRequest) -> entries.Finding:
    """How a search is to be answered.

    Raises:
        InvalidInput: a filter is too long, or the mode is unknown.
    """
    if request.mode not in _MODES:
        raise InvalidInput("mode", f"there is no search mode {request.mode}")
    filter_ = entries.Filter(
        dict(_short_items(request.filter.attributes)),
        _short(request.filter.kinds, "filter.kinds"),
        _short(request.filter.sources, "filter.sources"),
        _short(request.filter.languages, "filter.languages"),
        request.filter.time_from,
        request.filter.time_until,
    )
    return entries.Finding(filter_, _MODES[request.mode], request.per_entry, request.fold_near_duplicates)


def _short(values: Sequence[str], field: str) -> tuple[str, ...]:
    checks.at_most(len(values), _MAX_FILTERED, field)
    return tuple(
        checks.text(value, f"{field}[{number}]", longest=_MAX_FILTER_TEXT) for number, value in enumerate(values)
    )


def _short_items(values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    checks.at_most(len(values), _MAX_FILTERED, "filter.attributes")
    for key, value in values.items():
        yield (
            checks.text(key, "filter.attributes", longest=_MAX_FILTER_TEXT),
            checks.text(value, f"filter.attributes[{key[:60]}]", longest=_MAX_FILTER_TEXT),
        )
