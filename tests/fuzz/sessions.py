"""Messages of a session: each behind two bytes with its length, after one that opens it."""

from collections.abc import Iterator
from functools import cache

from quizglass.v1 import session_pb2
from tests.fuzz.served import Context, Messages, Served, answered

LONGEST_S = 0.25
WORDS = (
    "\x00\x02\x62\x00",
    "\x00\x02\x6a\x00",
    "\x00\x04\x5a\x02\x0a\x00",
    "\x1a",
    "\x22",
    "\x2a",
    "\x32",
    "\x3a",
    "\x42",
)
_CONVERSE = "/quizglass.v1.SessionService/Converse"
_OPEN = session_pb2.ClientMessage(open=session_pb2.Open(holder=bytes(16))).SerializeToString()


@cache
def served() -> Served:
    """One server for all inputs."""
    return Served()


def enter(data: bytes) -> None:
    """Send everything and read the answers, none of which may be a failure of the server."""
    converse, messages = served().handler(_CONVERSE), Messages(served().reader(_CONVERSE), [_OPEN, *pieces(data)])
    heard = served().do(answered(converse(messages, Context())))
    served().rpc.sessions.end()
    told = [each.notice for each in map(_message, heard) if each.HasField("notice")]
    assert not [notice for notice in told if notice.reason == "UNEXPECTED"], told


def close() -> None:
    """Stop the server."""
    served().close()


def pieces(data: bytes) -> Iterator[bytes]:
    """The messages in an input; the last may be cut off."""
    at = 0
    while at < len(data):
        end = at + 2 + int.from_bytes(data[at : at + 2], "big")
        yield data[at + 2 : end]
        at = end


def _message(heard: object) -> session_pb2.ServerMessage:
    return heard if isinstance(heard, session_pb2.ServerMessage) else session_pb2.ServerMessage.FromString(bytes(heard))
