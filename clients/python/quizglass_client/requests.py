"""Requests of the SDK as messages, checked for what cannot be sent; for both clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from google.protobuf.descriptor import EnumDescriptor

from quizglass.convert import words
from quizglass.v1 import assistant_pb2, knowledge_pb2, memory_pb2, types_pb2
from quizglass.values import Filter
from quizglass_client.channel import MAX_SENT_BYTES
from quizglass_client.errors import InvalidRequest
from quizglass_client.pictures import encode
from quizglass_client.types import Entry, PictureLike

Moment = int | datetime
"""Seconds since 1970, or a time; one without a time zone is in this machine's."""
_LONGEST_BUDGET_S = 86_400.0
_NAME_BYTES = 32
"""Of a picture's SHA-256, which it is called by."""


def ask(
    question: str,
    picture: bytes | None,
    session: bytes = b"",
    *,
    history: Sequence[tuple[str, str]] = (),
    policy: str = "",
    budget: float | None = None,
    max_answer_tokens: int = 0,
    session_id: str = "",
    remember: bool = False,
    recall: bool = False,
    explain: bool = False,
) -> assistant_pb2.AskRequest:
    """One question; `picture` is encoded, the rest as in `AskOptions`.

    Raises:
        InvalidRequest: the budget is not a time, a number cannot be one of tokens, or a text cannot be sent.
    """
    return assistant_pb2.AskRequest(
        question=sendable(question, "question"),
        frames=[types_pb2.Frame(encoded=picture)] if picture is not None else [],
        history=list(_exchanges(history)),
        policy=sendable(policy, "policy"),
        budget_us=0 if budget is None else _microseconds(budget),
        max_answer_tokens=_tokens(max_answer_tokens),
        session_id=sendable(session_id, "session_id"),
        session=session,
        memory=assistant_pb2.MemoryUse(remember=remember, recall=recall) if remember or recall else None,
        explain=explain,
    )


def _microseconds(budget: float) -> int:
    if not isinstance(budget, int | float):
        raise InvalidRequest.of("budget", f"{_kind(budget)} is no number of seconds")
    # On the wire 0 means "no wish", so it cannot be a wish.
    if not 0 < budget <= _LONGEST_BUDGET_S:
        raise InvalidRequest.of("budget", f"{budget} is not above 0 and at most {_LONGEST_BUDGET_S:.0f} seconds")
    return max(1, round(budget * 1e6))


def _tokens(most: int) -> int:
    """The server knows how many it can write, and judges it."""
    if not isinstance(most, int):
        raise InvalidRequest.of("max_answer_tokens", f"{_kind(most)} is no whole number")
    if not 0 <= most < 1 << 31:
        raise InvalidRequest.of("max_answer_tokens", f"{most} is no number of tokens; 0 is as many as the bundle says")
    return most


def sendable(value: str, field: str) -> str:
    """A text as it can be sent. Raises InvalidRequest when it cannot."""
    if not isinstance(value, str):
        raise InvalidRequest.of(field, f"{_kind(value)} is no text; give a str")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest.of(field, f"character {error.start} is no Unicode character (a lone surrogate)") from error
    return value


def _kind(value: object) -> str:
    """The type of an argument, for errors: programs whose types are not checked give anything."""
    return "None" if value is None else type(value).__name__


def _exchanges(history: Sequence[tuple[str, str]]) -> Iterator[assistant_pb2.Exchange]:
    for i, exchange in enumerate(history):
        if isinstance(exchange, str) or len(exchange) != 2:
            raise InvalidRequest.of(f"history[{i}]", "is no pair of a question and its answer")
        asked, answered = exchange
        yield assistant_pb2.Exchange(
            question=sendable(asked, f"history[{i}].question"), answer=sendable(answered, f"history[{i}].answer")
        )


def picture_name(name: bytes) -> bytes:
    """What a picture that was shown is called. Raises InvalidRequest: it cannot be that."""
    if not isinstance(name, bytes):
        raise InvalidRequest.of("frame", f"{_kind(name)} is no name of a picture; give what `show` returned")
    if len(name) != _NAME_BYTES:
        raise InvalidRequest.of("frame", f"{len(name)} bytes are no name of a picture; give what `show` returned")
    return name


def seconds(value: int, field: str) -> int:
    """A number of seconds as it can be sent; the server judges it. Raises InvalidRequest when it cannot."""
    if not -(1 << 63) <= value < 1 << 63:
        raise InvalidRequest.of(field, f"{value} is too large for a number of seconds")
    return value


def add(value: Entry, side: int) -> knowledge_pb2.AddEntriesRequest:
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
            text_format=_number(value.text_format, "text_format", knowledge_pb2.TextFormat.DESCRIPTOR),
            time=seconds(value.time, "time"),
            expires_after_s=seconds(value.expires_after, "expires_after_s"),
            pictures=list(_pictures(value.pictures, side)),
        )
    )


def _pictures(pictures: Sequence[PictureLike], side: int) -> Iterator[bytes]:
    """Encoded one after the other, and no more of them than can be sent. Raises InvalidRequest."""
    size = 0
    for number, picture in enumerate(pictures):
        encoded = encode(picture, side, f"pictures[{number}]")
        size += len(encoded)
        if size > MAX_SENT_BYTES:
            much = f"pictures[0] to pictures[{number}] have {size} bytes, an entry {MAX_SENT_BYTES} at most; send fewer"
            raise InvalidRequest.of("pictures", much)
        yield encoded


def _attributes(attributes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key, value in attributes.items():
        yield sendable(key, "attributes"), sendable(value, f"attributes[{key}]")


def search(
    text: str,
    pictures: Sequence[bytes],
    limit: int,
    filter: Filter | None,
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
        mode=_number(mode, "mode", knowledge_pb2.SearchMode.DESCRIPTOR),
    )


def _filter(wanted: Filter) -> knowledge_pb2.EntryFilter:
    return knowledge_pb2.EntryFilter(
        attributes=dict(_attributes(wanted.attributes)),
        kinds=[sendable(kind, "filter.kinds") for kind in wanted.kinds],
        sources=[sendable(source, "filter.sources") for source in wanted.sources],
        languages=[sendable(language, "filter.languages") for language in wanted.languages],
        time_from=seconds(wanted.time_from, "filter.time_from"),
        time_until=seconds(wanted.time_until, "filter.time_until"),
    )


def _number(word: str, field: str, enum: EnumDescriptor) -> Any:  # of an enum, whose type is an alias of int
    numbers = words(enum)
    if word not in numbers:
        known = ", ".join(repr(name) for name in numbers if name)
        raise InvalidRequest.of(field, f"there is no {word!r}; choose one of {known}")
    return numbers[word]


def sighting_filter(session_id: str, frame: bytes, since: Moment, until: Moment) -> memory_pb2.SightingFilter:
    """Which sightings are meant.

    Raises:
        InvalidRequest: it cannot be sent.
    """
    return memory_pb2.SightingFilter(
        time_from=_seconds(since, "filter.time_from"),
        time_until=_seconds(until, "filter.time_until"),
        session_id=sendable(session_id, "filter.session_id"),
        frame_sha256=frame,
    )


def search_memory(
    picture: bytes | None,
    words: str,
    limit: int,
    order: str,
    filter_: memory_pb2.SightingFilter,
    least_score: float,
) -> memory_pb2.SearchMemoryRequest:
    """A search by an encoded picture, by text, or for the latest.

    Raises:
        InvalidRequest: it cannot be sent.
    """
    if not 1 <= limit <= 100:
        raise InvalidRequest.of("limit", f"{limit} is not between 1 and 100")
    return memory_pb2.SearchMemoryRequest(
        picture=picture or b"",
        text=sendable(words, "text"),
        filter=filter_,
        limit=limit,
        order=_number(order, "order", memory_pb2.SightingOrder.DESCRIPTOR),
        least_score=least_score,
    )


def forget(filter_: memory_pb2.SightingFilter, everything: bool) -> memory_pb2.ForgetMemoryRequest:
    """What is to be forgotten."""
    return memory_pb2.ForgetMemoryRequest(filter=filter_, everything=everything)


def _seconds(moment: Moment, field: str) -> int:
    since = int(moment.timestamp()) if isinstance(moment, datetime) else moment
    if since < 0:
        raise InvalidRequest.of(field, f"{since} is no time in seconds since 1970")
    return seconds(since, field)
