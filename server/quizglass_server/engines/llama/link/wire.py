"""Plain types to messages of `quizglass.internal.v1` and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import monotonic

from quizglass.internal.v1 import generator_pb2 as pb
from quizglass_server.engines.llama.link.prompt import (
    Constraint,
    Finished,
    Part,
    PicturePart,
    Piece,
    Terms,
    TextPart,
    Usage,
    Vitals,
)

_TO_REASON = {
    "stop": pb.END_REASON_STOP,
    "length": pb.END_REASON_LENGTH,
    "cancelled": pb.END_REASON_CANCELLED,
    "deadline": pb.END_REASON_DEADLINE,
}
_FROM_REASON = {number: name for name, number in _TO_REASON.items()}


def to_segments(prompt: Iterable[Part], known: Callable[[bytes], bool] = lambda _: False) -> list[pb.Segment]:
    """A prompt as messages; pictures whose hash is `known` to the other end go without their pixels."""
    return [_to_segment(part, known) for part in prompt]


def from_segments(segments: Iterable[pb.Segment]) -> list[Part]:
    """A prompt from messages; a picture may be without its pixels.

    Raises:
        ValueError: a segment has no content.
    """
    return [_from_segment(segment) for segment in segments]


def to_terms(terms: Terms) -> pb.Terms:
    """Terms as a message: the deadline becomes the time left from now."""
    if terms.deadline is None:
        return pb.Terms(priority=terms.priority)
    return pb.Terms(priority=terms.priority, time_left_us=max(0, round((terms.deadline - monotonic()) * 1e6)))


def from_terms(message: pb.Terms) -> Terms:
    """Terms from a message: the time left counts from now."""
    if not message.HasField("time_left_us"):
        return Terms(message.priority)
    return Terms(message.priority, monotonic() + message.time_left_us / 1e6)


def to_constraint(constraint: Constraint | None) -> pb.Constraint | None:
    """A constraint as a message."""
    match constraint:
        case None:
            return None
        case Constraint("labels", tuple(labels)):
            return pb.Constraint(labels=pb.Labels(labels=labels))
        case Constraint("grammar", str(grammar)):
            return pb.Constraint(grammar=grammar)
        case Constraint("json_schema", str(schema)):
            return pb.Constraint(json_schema=schema)
    raise ValueError(f"a constraint of kind {constraint.kind} cannot have this value")


def from_constraint(request: pb.GenerateRequest) -> Constraint | None:
    """The constraint of a request; None for free text."""
    match request.constraint.WhichOneof("kind"):
        case "labels":
            return Constraint("labels", tuple(request.constraint.labels.labels))
        case "grammar":
            return Constraint("grammar", request.constraint.grammar)
        case "json_schema":
            return Constraint("json_schema", request.constraint.json_schema)
    return None


def to_response(items: Sequence[Piece | Finished]) -> pb.GenerateResponse:
    """What a generation gave since the last message."""
    response = pb.GenerateResponse()
    for item in items:
        if isinstance(item, Piece):
            response.tokens.add(text=item.text, probability=item.probability)
        else:
            end = response.end
            end.reason = _TO_REASON.get(item.reason, pb.END_REASON_UNSPECIFIED)
            end.usage.CopyFrom(to_usage(item.usage))
            end.min_probability, end.mean_probability = item.min_probability, item.mean_probability
    return response


def from_response(response: pb.GenerateResponse) -> list[Piece | Finished]:
    """Tokens of a message, then the end when it holds it."""
    items: list[Piece | Finished] = [Piece(token.text, token.probability) for token in response.tokens]
    if response.HasField("end"):
        end = response.end
        reason = _FROM_REASON.get(end.reason, "cancelled")
        items.append(Finished(reason, from_usage(end.usage), end.min_probability, end.mean_probability))
    return items


def to_usage(usage: Usage) -> pb.Usage:
    """What a request cost, as a message."""
    return pb.Usage(
        prompt_tokens=usage.prompt_tokens,
        reused_tokens=usage.reused_tokens,
        generated_tokens=usage.generated_tokens,
        engine_us=usage.engine_us,
        encoded_picture=usage.encoded_picture,
    )


def from_usage(usage: pb.Usage) -> Usage:
    """What a request cost, from a message."""
    return Usage(
        usage.prompt_tokens,
        usage.reused_tokens,
        usage.generated_tokens,
        usage.engine_us,
        usage.encoded_picture,
    )


_SAME = (
    *("busy", "active", "waiting", "cells_used", "cells", "decode_steps", "encoded_pictures", "kept"),
    *("reused_tokens", "prefilled_tokens", "prefill_us", "piece", "encoding_us", "encode_us"),
)
"""Fields of vitals that travel as they are."""


def to_vitals(vitals: Vitals) -> pb.Vitals:
    """Vitals as a message: the last sign of life becomes the silence since."""
    silent = max(0, round((monotonic() - vitals.beat) * 1e6))
    same = {name: getattr(vitals, name) for name in _SAME}
    return pb.Vitals(silent_us=silent, step_us=vitals.step_us, **same)


def from_vitals(message: pb.Vitals) -> Vitals:
    """Vitals from a message; the last sign of life is given in this process's clock."""
    same = {name: getattr(message, name) for name in _SAME}
    return Vitals(beat=monotonic() - message.silent_us / 1e6, step_us=tuple(message.step_us), **same)


def _to_segment(part: Part, known: Callable[[bytes], bool]) -> pb.Segment:
    if isinstance(part, TextPart):
        return pb.Segment(text=part.text) if part.trusted else pb.Segment(data=part.text)
    rgb = b"" if known(part.sha256) else part.rgb
    return pb.Segment(picture=pb.Picture(sha256=part.sha256, width=part.width, height=part.height, rgb=rgb))


def _from_segment(segment: pb.Segment) -> Part:
    match segment.WhichOneof("content"):
        case "text":
            return TextPart(segment.text, trusted=True)
        case "data":
            return TextPart(segment.data, trusted=False)
        case "picture":
            picture = segment.picture
            return PicturePart(picture.sha256, picture.width, picture.height, picture.rgb)
        case _:
            raise ValueError("a segment without content")
