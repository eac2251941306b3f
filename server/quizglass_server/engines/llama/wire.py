"""Plain types to messages of `quizglass.internal.v1` and back, and the settings both ends of the socket share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quizglass.internal.v1 import generator_pb2 as pb
from quizglass_server.engines.llama.prompt import Finished, Part, PicturePart, Piece, TextPart, Usage

_MAX_MESSAGE_BYTES = 64 << 20
"""A prompt carries its picture as raw pixels: 3 MiB for 1024 x 1024."""
MESSAGE_OPTIONS = (
    ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.enable_http_proxy", 0),
)

_TO_REASON = {"stop": pb.END_REASON_STOP, "length": pb.END_REASON_LENGTH}
_FROM_REASON = {number: name for name, number in _TO_REASON.items()}


def to_segments(prompt: Iterable[Part]) -> list[pb.Segment]:
    """A prompt as messages."""
    return [_to_segment(part) for part in prompt]


def from_segments(segments: Iterable[pb.Segment]) -> list[Part]:
    """A prompt from messages.

    Raises:
        ValueError: a segment has no content.
    """
    return [_from_segment(segment) for segment in segments]


def to_response(items: Sequence[Piece | Finished]) -> pb.GenerateResponse:
    """What a generation gave since the last message."""
    response = pb.GenerateResponse()
    for item in items:
        if isinstance(item, Piece):
            response.tokens.add(text=item.text, probability=item.probability)
        else:
            reason = _TO_REASON.get(item.reason, pb.END_REASON_UNSPECIFIED)
            response.end.CopyFrom(pb.GenerationEnd(reason=reason, usage=to_usage(item.usage)))
    return response


def from_response(response: pb.GenerateResponse) -> list[Piece | Finished]:
    """Tokens of a message, then the end when it holds it."""
    items: list[Piece | Finished] = [Piece(token.text, token.probability) for token in response.tokens]
    if response.HasField("end"):
        reason = _FROM_REASON.get(response.end.reason, "cancelled")
        items.append(Finished(reason, from_usage(response.end.usage)))
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


def _to_segment(part: Part) -> pb.Segment:
    if isinstance(part, TextPart):
        return pb.Segment(text=part.text) if part.trusted else pb.Segment(data=part.text)
    return pb.Segment(picture=pb.Picture(sha256=part.sha256, width=part.width, height=part.height, rgb=part.rgb))


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
