"""A LOCAL_ONLY session from its beginning to its end; prints which addresses Python's sockets were pointed at.

Run as a program, in a network namespace of its own where that is permitted: a hook on audit events cannot be removed.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import socket
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

from quizglass_client import AsyncSession
from tests.support.rpc_fakes import png, serving

EVENTS = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname")
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _UP = 0x8913, 0x8914, 1
seen: list[str] = []


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event in EVENTS:
        address = arguments[1] if event in EVENTS[:3] else arguments[0]
        if (
            address is not None
        ):  # none: over a socket that is connected already, which was reported before, or has no name
            seen.append(f"{event} {address}")


def loopback_up() -> None:
    """In a new namespace there is nothing but the loopback, and that is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(control, _SIOCGIFFLAGS, request))
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _UP))


async def talk(folder: Path) -> str:
    async with serving(folder) as stage, AsyncSession(stage.target, local_only=True) as session:
        await session.answer("What is this?", png())
        text = (await session.answer("And this?")).text
        await session.forget()
        return text


if __name__ == "__main__":
    if "--alone" in sys.argv:
        loopback_up()
    sys.addaudithook(watch)
    with tempfile.TemporaryDirectory() as place:
        answer = asyncio.run(talk(Path(place)))
    told = list(seen)
    socket.getaddrinfo("localhost", 1)  # the hook sees what it is to see
    print(json.dumps({"answer": answer, "told": told, "seen": len(seen) > len(told)}))
