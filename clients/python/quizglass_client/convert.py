"""Messages to the SDK's values, and back. Shared by the sync and the async client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from quizglass.v1 import assistant_pb2, knowledge_pb2, types_pb2
from quizglass_client import types
from quizglass_client.errors import InvalidRequest
from quizglass_client.pictures import encode

_LONGEST_BUDGET_S = 86_400.0


class _Enum(Protocol):
    def items(self) -> Sequence[tuple[str, int]]: ...


def _words(enum: _Enum, prefix: str) -> dict[int, str]:
    """Words of an enum's values, as the SDK shows them; nothing for the unspecified one."""
    words = {number: name.removeprefix(prefix).lower() for name, number in enum.items()}
    return words | {0: ""}


_PLANS = {
    types_pb2.PLAN_NONE: types.Plan.NONE,
    types_pb2.PLAN_IMAGE: types.Plan.IMAGE,
    types_pb2.PLAN_TEXT: types.Plan.TEXT,
    types_pb2.PLAN_BOTH: types.Plan.BOTH,
}
# A value that a later server sends and this table lacks is shown as "".
_ORIGINS = _words(types_pb2.Evidence.Origin, "ORIGIN_")
_OUTCOMES = _words(assistant_pb2.Verdict.Outcome, "OUTCOME_")
_FINISHES = _words(assistant_pb2.Done.FinishReason, "FINISH_REASON_")
_ABSTENTIONS = _words(assistant_pb2.Done.AbstainReason, "ABSTAIN_REASON_")
_FORMATS = _words(knowledge_pb2.TextFormat, "TEXT_FORMAT_") | {knowledge_pb2.TEXT_FORMAT_PLAIN: ""}
_FORMAT_NUMBERS = {"": 0} | {name: number for number, name in _FORMATS.items() if name}
_MODE_NUMBERS = {name: number for number, name in _words(knowledge_pb2.SearchMode, "SEARCH_MODE_").items()}


def ask_request(
    question: str,
    picture: bytes | None,
    history: Sequence[tuple[str, str]],
    policy: str,
    budget: float | None,
    session: bytes,
    session_id: str,
    remember: bool = False,
    recall: bool = False,
) -> assistant_pb2.AskRequest:
    """One question; `picture` is encoded, `budget` in seconds.

    Raises:
        InvalidRequest: the budget is not a time, or a text cannot be sent.
    """
    return assistant_pb2.AskRequest(
        question=sendable(question, "question"),
        frames=[types_pb2.Frame(encoded=picture)] if picture is not None else [],
        history=[
            assistant_pb2.Exchange(
                question=sendable(asked, f"history[{i}].question"), answer=sendable(answered, f"history[{i}].answer")
            )
            for i, (asked, answered) in enumerate(history)
        ],
        policy=sendable(policy, "policy"),
        budget_us=0 if budget is None else _microseconds(budget),
        session_id=sendable(session_id, "session_id"),
        session=session,
        memory=assistant_pb2.MemoryUse(remember=remember, recall=recall) if remember or recall else None,
    )


def _microseconds(budget: float) -> int:
    # On the wire 0 means "no wish", so it cannot be what somebody wishes.
    if not 0 < budget <= _LONGEST_BUDGET_S:
        raise InvalidRequest.of("budget_us", f"{budget} is not between 0 and {_LONGEST_BUDGET_S:.0f} seconds")
    return max(1, round(budget * 1e6))


def sendable(value: str, field: str) -> str:
    """A text as it can be sent. Raises InvalidRequest when it cannot."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest.of(field, f"character {error.start} is no Unicode character (a lone surrogate)") from error
    return value


def seconds(value: int, field: str) -> int:
    """A number of seconds as it can be sent; the server judges it. Raises InvalidRequest when it cannot."""
    if not -(1 << 63) <= value < 1 << 63:
        raise InvalidRequest.of(field, f"{value} is too large for a number of seconds")
    return value


def event(message: assistant_pb2.AskResponse) -> types.Event | None:
    """One event; None for a kind that this version of the SDK does not know."""
    payload = _payload(message)
    if payload is None:
        return None
    elapsed = message.elapsed_us / 1e6
    return types.Event(message.turn_id, message.seq, elapsed, payload, message.round, message.branch)


def _payload(message: assistant_pb2.AskResponse) -> types.Payload | None:
    match message.WhichOneof("event"):
        case "accepted":
            accepted = message.accepted
            return types.Accepted(accepted.policy, tuple(accepted.frame_sha256), accepted.budget_us / 1e6)
        case "plan":
            scores = {_plan(score.plan): score.probability for score in message.plan.scores}
            return types.PlanMade(_plan(message.plan.plan), message.plan.decided_by, scores)
        case "decided":
            decided = message.decided
            by_label = {score.label: score.probability for score in decided.scores}
            return types.Decided(decided.by, decided.label, decided.decided_by, by_label)
        case "queries":
            return types.Queries(message.queries.task, tuple(message.queries.texts))
        case "provisional":
            return types.Provisional(message.provisional.text)
        case "confirmed":
            return types.Confirmed()
        case "withdrawn":
            return types.Withdrawn()
        case "query":
            return types.QueryRewritten(message.query.text, message.query.used_image_evidence)
        case "evidence":
            return types.EvidenceFound(tuple(evidence(item) for item in message.evidence.items))
        case "answer_delta":
            return types.AnswerDelta(message.answer_delta.text)
        case "verdict":
            verdict = message.verdict
            outcome = _OUTCOMES.get(verdict.outcome, "")
            smallest, mean = verdict.min_token_probability, verdict.mean_token_probability
            return types.Verdict(outcome, smallest, mean, dict(verdict.notes))
        case "done":
            return _done(message.done)
        case _:
            return None


def _plan(plan: types_pb2.Plan) -> types.Plan:
    return _PLANS.get(plan, types.Plan.UNKNOWN)


def _done(done: assistant_pb2.Done) -> types.Done:
    return types.Done(
        answer=done.answer,
        finish_reason=_FINISHES.get(done.finish_reason, ""),
        abstain_reason=_ABSTENTIONS.get(done.abstain_reason, ""),
        citations=tuple(types.Citation(c.evidence_id, c.entry_id, c.title, c.start, c.end) for c in done.citations),
        skipped={step.step: step.reason for step in done.skipped},
        timings=tuple(types.StageTiming(t.stage, t.duration_us / 1e6, t.engine_us / 1e6) for t in done.timings),
        total=done.total_us / 1e6,
        prompt_tokens=done.prompt_tokens,
        answer_tokens=done.answer_tokens,
        history_left_out=done.history_left_out,
        all_prompt_tokens=done.all_prompt_tokens,
        session=done.session,
    )


def evidence(message: types_pb2.Evidence) -> types.Evidence:
    """One piece of evidence."""
    return types.Evidence(
        id=message.id,
        origin=_ORIGINS.get(message.origin, ""),
        entry_id=message.entry_id,
        title=message.title,
        text=message.text,
        search_score=message.search_score,
        rerank_score=message.rerank_score,
        source=message.source,
        used=message.used,
        picture=message.picture_sha256 or None,
    )


def entry(message: knowledge_pb2.Entry) -> types.Entry:
    """An entry as the server has it."""
    return types.Entry(
        id=message.id,
        title=message.title,
        caption=message.caption,
        kind=message.kind,
        text=message.text,
        attributes=dict(message.attributes),
        source=message.source,
        picture_sha256=tuple(message.picture_sha256),
        language=message.language,
        text_format=_FORMATS.get(message.text_format, ""),
        time=message.time,
        expires_after=message.expires_after_s,
    )


def add_request(value: types.Entry, side: int) -> knowledge_pb2.AddEntriesRequest:
    """One entry to add, its pictures no larger than `side` pixels a side.

    Raises:
        InvalidRequest: a picture cannot be read, or a text cannot be sent.
    """
    return knowledge_pb2.AddEntriesRequest(
        entry=knowledge_pb2.Entry(
            id=sendable(value.id, "id"),
            title=sendable(value.title, "title"),
            caption=sendable(value.caption, "caption"),
            kind=sendable(value.kind, "kind"),
            text=sendable(value.text, "text"),
            attributes=dict(_attributes(value.attributes)),
            source=sendable(value.source, "source"),
            language=sendable(value.language, "language"),
            text_format=_number(value.text_format, "text_format", _FORMAT_NUMBERS),
            time=seconds(value.time, "time"),
            expires_after_s=seconds(value.expires_after, "expires_after_s"),
            pictures=[encode(picture, side, f"pictures[{i}]") for i, picture in enumerate(value.pictures)],
        )
    )


def _attributes(attributes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key, value in attributes.items():
        yield sendable(key, "attributes"), sendable(value, f"attributes[{key}]")


def search_request(
    text: str,
    pictures: Sequence[bytes],
    limit: int,
    filter: types.Filter | None,
    per_entry: bool,
    fold_near_duplicates: bool,
    mode: str,
) -> knowledge_pb2.SearchEntriesRequest:
    """A search by text, by encoded pictures of one thing, or by both.

    Raises:
        InvalidRequest: the text cannot be sent, or the limit is no number of results.
    """
    if not 1 <= limit <= 100:
        raise InvalidRequest.of("limit", f"{limit} is not between 1 and 100")
    return knowledge_pb2.SearchEntriesRequest(
        text=sendable(text, "text"),
        picture=pictures[0] if pictures else b"",
        more_pictures=pictures[1:],
        limit=limit,
        filter=None if filter is None else _filter(filter),
        per_entry=per_entry,
        fold_near_duplicates=fold_near_duplicates,
        mode=_number(mode, "mode", _MODE_NUMBERS),
    )


def _filter(wanted: types.Filter) -> knowledge_pb2.EntryFilter:
    return knowledge_pb2.EntryFilter(
        attributes=dict(_attributes(wanted.attributes)),
        kinds=[sendable(kind, "filter.kinds") for kind in wanted.kinds],
        sources=[sendable(source, "filter.sources") for source in wanted.sources],
        languages=[sendable(language, "filter.languages") for language in wanted.languages],
        time_from=seconds(wanted.time_from, "filter.time_from"),
        time_until=seconds(wanted.time_until, "filter.time_until"),
    )


def _number(word: str, field: str, numbers: Mapping[str, int]) -> Any:  # an enum's number
    if word not in numbers:
        known = ", ".join(repr(name) for name in numbers if name)
        raise InvalidRequest.of(field, f"there is no {word!r}; choose one of {known}")
    return numbers[word]


def deleted(entry_id: str, message: knowledge_pb2.DeleteEntryResponse) -> types.Deleted:
    """The receipt of a deletion."""
    return types.Deleted(entry_id, message.sequence, message.chunks, message.pictures)


def entry_id(value: str) -> str:
    """An id as it can be sent.

    Raises:
        InvalidRequest: it cannot.
    """
    return sendable(value, "id")


def capabilities(message: assistant_pb2.GetCapabilitiesResponse) -> types.Capabilities:
    """What the server can do."""
    limits = message.limits
    return types.Capabilities(
        server_version=message.server_version,
        bundle=message.bundle,
        policies=tuple(message.policies),
        roles=tuple(
            types.Role(r.role, r.engine, r.executor, r.ready, r.sees_pictures, r.notice) for r in message.roles
        ),
        limits={field.name: float(getattr(limits, field.name)) for field in limits.DESCRIPTOR.fields},
        entries=message.entries,
        useful_picture_side=message.useful_picture_side,
        memory=message.memory,
        knowledge=message.knowledge.backend or "local",  # older servers do not say
        knowledge_ready=message.knowledge.ready or not message.HasField("knowledge"),
        not_served={each.name: tuple(each.missing) for each in message.policy_capabilities if not each.servable},
    )
