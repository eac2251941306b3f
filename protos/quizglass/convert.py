"""Values to messages and back, for server and client alike. No decisions are made here.

A dataclass and a message correspond by their names. A field `x` of a value is `x` of the message, or `x_us` in
microseconds, `x_s` or `x_sha256`; probabilities are a message's `scores`. What only one of the two has stays behind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cache, partial
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from quizglass import session, values
from quizglass.v1 import assistant_pb2, session_pb2

V = TypeVar("V")
M = TypeVar("M", bound=Message)

_SUFFIXES = ("", "_us", "_s", "_sha256")
_RENAMED = {"probabilities": "scores"}
_UNSAID = {"TEXT_FORMAT_PLAIN"}
"""Names of an enumeration that mean what is meant when nothing is said."""


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    """Of the value."""
    wire: str
    """Of the message."""
    read: Callable[[Any], Any]
    """The value's content from the message's."""
    write: Callable[[Any], Any]
    may_be_missing: bool = False
    """Whether the message can say that it has none, which is None."""


def to_message(value: Any, kind: type[M]) -> M:
    """A dataclass's value as a message; fields that are None are left out."""
    return kind(
        **{
            each.wire: each.write(content)
            for each in _fields(type(value), kind)
            if (content := getattr(value, each.name)) is not None
        }
    )


def to_value(message: Message, kind: type[V], **more: Any) -> V:
    """A message as a value of a dataclass, with `more` that the message does not say."""
    said = {
        each.name: None
        if each.may_be_missing and not message.HasField(each.wire)
        else each.read(getattr(message, each.wire))
        for each in _fields(kind, type(message))
    }
    return kind(**said, **more)


def event_message(event: values.TurnEvent, elapsed_us: int) -> assistant_pb2.AskResponse:
    """One event of a turn, microseconds after its beginning; without the turn's name and the event's number."""
    if isinstance(event, values.Done):
        event = replace(event, total=elapsed_us / 1e6)
    response = assistant_pb2.AskResponse(elapsed_us=elapsed_us, round=event.round, branch=event.branch)
    name, kind = _EVENTS[type(event).__name__]
    getattr(response, name).CopyFrom(to_message(event, kind))
    return response


def event_value(message: assistant_pb2.AskResponse) -> values.TurnEvent | None:
    """One event of a turn; None for a kind that this version does not know."""
    name = message.WhichOneof("event")
    if name is None:
        return None
    content = getattr(message, name)
    kind: type[values.TurnEvent] = getattr(values, content.DESCRIPTOR.name)
    return to_value(content, kind, round=message.round, branch=message.branch)


def event_name(event: values.TurnEvent) -> str:
    """What the contract calls an event."""
    return _EVENTS[type(event).__name__][0]


def client_message(said: session.ClientSaid, number: int = 0) -> session_pb2.ClientMessage:
    """What a client says in a session, under a number of its choice."""
    name, kind = _CLIENT[type(said).__name__]
    message = session_pb2.ClientMessage(id=number)
    getattr(message, name).CopyFrom(to_message(said, kind))
    return message


def client_value(message: session_pb2.ClientMessage) -> session.ClientSaid | None:
    """What a client says; None for a kind that this version does not know."""
    said: session.ClientSaid | None = _said(message)
    return said


def server_message(said: session.ServerSaid, seq: int, state: bytes = b"") -> session_pb2.ServerMessage:
    """What a server says in a session, under its number there, with what the session can be continued with."""
    name, kind = _SERVER[type(said).__name__]
    content = _turn_update(said) if isinstance(said, session.TurnUpdate) else to_message(said, kind)
    message = session_pb2.ServerMessage(seq=seq, state=state)
    getattr(message, name).CopyFrom(content)
    return message


def server_value(message: session_pb2.ServerMessage) -> session.ServerSaid | None:
    """What a server says; None for a kind that this version does not know."""
    if message.WhichOneof("message") != "turn":
        said: session.ServerSaid | None = _said(message)
        return said
    update, event = message.turn, message.turn.event
    segments = tuple(to_value(each, session.Segment) for each in update.segments)
    return session.TurnUpdate(
        update.ask_id,
        event.turn_id,
        event.seq,
        event.elapsed_us / 1e6,
        event_value(event),
        segments,
        _FAULT_NAMES.get(update.fault, session.CaptureFault.NONE),
        update.advice,
    )


def said_name(said: session.ClientSaid | session.ServerSaid) -> str:
    """What the contract calls a message of a session."""
    name = type(said).__name__
    return (_CLIENT.get(name) or _SERVER[name])[0]


def _turn_update(said: session.TurnUpdate) -> session_pb2.TurnUpdate:
    segments = [to_message(each, session_pb2.Segment) for each in said.segments]
    if said.event is None:
        return session_pb2.TurnUpdate(ask_id=said.ask_id, segments=segments)
    event = event_message(said.event, round(said.elapsed * 1e6))
    event.turn_id, event.seq = said.turn_id, said.seq
    fault: Any = _FAULTS.get(said.fault.value, 0)
    return session_pb2.TurnUpdate(ask_id=said.ask_id, event=event, segments=segments, fault=fault, advice=said.advice)


def _said(message: Message) -> Any:
    name = message.WhichOneof("message")
    if name is None:
        return None
    content = getattr(message, name)
    return to_value(content, getattr(session, content.DESCRIPTOR.name))


def capabilities_value(message: assistant_pb2.GetCapabilitiesResponse) -> values.Capabilities:
    """What a server can do."""
    return values.Capabilities(
        server_version=message.server_version,
        bundle=message.bundle,
        policies=tuple(message.policies),
        roles=tuple(to_value(role, values.RoleCapability) for role in message.roles),
        limits={limit.name: getattr(message.limits, limit.name) for limit in message.limits.DESCRIPTOR.fields},
        entries=message.entries,
        useful_picture_side=message.useful_picture_side,
        memory=message.memory,
        knowledge=message.knowledge.backend or "local",
        knowledge_ready=message.knowledge.ready if message.HasField("knowledge") else True,
        not_served={each.name: tuple(each.missing) for each in message.policy_capabilities if not each.servable},
        works_without={
            each.name: tuple(each.without) for each in message.policy_capabilities if each.servable and each.without
        },
        languages=tuple(message.languages),
        may=tuple(message.may),
        sources=tuple(to_value(each, values.SourceCapability) for each in message.sources),
        answers=message.answers,
    )


@cache
def words(enum: EnumDescriptor) -> Mapping[str, int]:
    """The word of each number of an enumeration; what is unsaid is the empty one."""
    prefix = re.sub(r"(?<!^)(?=[A-Z])", "_", enum.name).upper() + "_"
    named = {each.name.removeprefix(prefix).lower(): each.number for each in enum.values if each.number}
    return {"": 0} | named


def _oneof(message: type[Message], name: str) -> dict[str, tuple[str, type[Message]]]:
    choices: Any = message.DESCRIPTOR.oneofs_by_name[name].fields
    return {each.message_type.name: (each.name, GetMessageClass(each.message_type)) for each in choices}


_EVENTS = _oneof(assistant_pb2.AskResponse, "event")
"""Name of an event's class to its field and message."""
_FAULTS = words(session_pb2.CaptureFault.DESCRIPTOR)
_FAULT_NAMES = {number: session.CaptureFault(word) for word, number in _FAULTS.items()}
_CLIENT = _oneof(session_pb2.ClientMessage, "message")
_SERVER = _oneof(session_pb2.ServerMessage, "message")


def _common(value: type, message: type[Message]) -> tuple[_Field, ...]:
    """What a dataclass and a class of messages have in common."""
    wire: Mapping[str, Any] = message.DESCRIPTOR.fields_by_name
    hints = get_type_hints(value)
    both = []
    for name in (each.name for each in fields(value)):
        there = next(
            (wire[found] for suffix in _SUFFIXES if (found := f"{_RENAMED.get(name, name)}{suffix}") in wire), None
        )
        if there is not None:
            missing = there.has_presence and NoneType in get_args(hints[name])
            hint = get_args(hints[name])[0] if missing else hints[name]
            both.append(_Field(name, there.name, *_both_ways(hint, there), missing))
    return tuple(both)


_fields: Callable[[Any, Any], tuple[_Field, ...]] = cache(_common)


def _both_ways(hint: Any, field: FieldDescriptor) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """How a field's content is read and written, of a value's type `hint`."""
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return dict, dict
    if field.message_type is not None and field.is_repeated and get_origin(hint) is not tuple:
        return _pairs(get_args(hint), GetMessageClass(field.message_type))
    if field.is_repeated:
        read, write = _one(get_args(hint)[0], field)
        return lambda items: tuple(map(read, items)), lambda items: list(map(write, items))
    return _one(hint, field)


def _one(hint: Any, field: FieldDescriptor) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    if field.message_type is not None:
        return partial(to_value, kind=hint), partial(to_message, kind=GetMessageClass(field.message_type))
    if field.enum_type is not None:
        return _choice(hint, field.enum_type)
    if field.name.endswith("_us"):
        return lambda us: us / 1e6, lambda seconds: round(seconds * 1e6)
    return _same, _same


def _choice(hint: Any, enum: EnumDescriptor) -> tuple[Callable[[int], Any], Callable[[str], int]]:
    numbers = words(enum)
    kind, *others = get_args(hint) or (hint,)
    if issubclass(kind, StrEnum):
        members = {numbers[member.value]: member for member in kind if member.value in numbers}
        unsaid = None if others else next(iter(kind))
        return lambda number: members.get(number, unsaid), lambda member: numbers.get(member, 0)
    texts = {number: word for word, number in numbers.items()}
    texts |= {enum.values_by_name[name].number: "" for name in _UNSAID & set(enum.values_by_name)}
    # A number that this version does not know is shown as such, for who reads the value to judge.
    return lambda number: texts.get(number, str(number)), lambda word: numbers[word]


def _pairs(types: tuple[Any, ...], message: type[Message]) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """A mapping as messages of two fields, its key and its value; keys of a later version stay behind."""
    key: Any
    content: Any
    key, content = message.DESCRIPTOR.fields
    read, write = _one(types[0] | None if key.enum_type is not None else types[0], key)

    def mapping(items: Any) -> dict[Any, Any]:
        pairs = ((read(getattr(each, key.name)), getattr(each, content.name)) for each in items)
        return {known: value for known, value in pairs if known is not None}

    return mapping, lambda given: [message(**{key.name: write(k), content.name: v}) for k, v in given.items()]


def _same(content: Any) -> Any:
    return content
