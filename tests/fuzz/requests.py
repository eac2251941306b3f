"""Requests over gRPC: the first byte chooses the method, the rest is its request in its binary form."""

from functools import cache

from quizglass.v1 import assistant_pb2, knowledge_pb2, memory_pb2, session_pb2
from quizglass_server.errors import QuizglassError
from tests.fuzz.served import MANY, Context, Messages, Served, answered

LONGEST_S = 0.25
WORDS = ("\x0a", "\x12", "\x1a", "\x22", "\x2a", "\x32", "\x42", "\x78\x9c", "\x1f\x8b\x08")
METHODS = [
    f"/{service.full_name}/{method.name}"
    for module in (assistant_pb2, knowledge_pb2, memory_pb2, session_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]
_STREAMS = {"AddEntries", "Converse"}
_ENDLESS = "Attach"
"""The method of whose answers the first is enough: others need not come."""


@cache
def served() -> Served:
    """One server for all inputs."""
    return Served()


def enter(data: bytes) -> None:
    """Answer one request."""
    if data:
        served().do(_answer(METHODS[data[0] % len(METHODS)], data[1:]))
        served().rpc.sessions.end()


def close() -> None:
    """Stop the server."""
    served().close()


async def _answer(path: str, raw: bytes) -> None:
    reader, handler, name = served().reader(path), served().handler(path), path.rpartition("/")[2]
    if name in _STREAMS:
        await answered(handler(Messages(reader, [raw, raw]), Context()))
        return
    try:
        request = await reader.message(raw)
    except QuizglassError:
        return
    await answered(handler(request, Context()), 1 if name == _ENDLESS else MANY)
