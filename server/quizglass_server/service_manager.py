"""Tells the service manager that started this process how it is: sd_notify(3), by one datagram a message.

Without NOTIFY_SOCKET in the environment, as from a shell, nothing is said.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket

_SOCKET, _WATCHDOG, _WATCHED = "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"
_PINGS = 3
"""In the time after which the manager takes this process for hung."""
logger = logging.getLogger(__name__)


class ServiceManager:
    """The manager that the environment names, which is taken from there: child processes have nothing to say to it."""

    def __init__(self) -> None:
        name, wait_us, watched = (os.environ.pop(each, "") for each in (_SOCKET, _WATCHDOG, _WATCHED))
        self._address = f"\0{name[1:]}" if name.startswith("@") else name
        own = watched in ("", str(os.getpid()))
        self._ping_s = int(wait_us) / 1e6 / _PINGS if own and wait_us.isdecimal() and self._address else 0.0
        self._pinging: asyncio.Task[None] | None = None

    def ready(self, status: str) -> None:
        """Requests are welcome. From now on the manager hears that the event loop turns, if it wants to."""
        self._say("READY=1", f"STATUS={status}")
        if self._ping_s:
            self._pinging = asyncio.create_task(self._ping(), name="watchdog of the service manager")

    def stopping(self, status: str) -> None:
        """The server is about to end; it is pinged for as long as it drains."""
        self._say("STOPPING=1", f"STATUS={status}")

    async def _ping(self) -> None:
        while True:
            self._say("WATCHDOG=1")
            await asyncio.sleep(self._ping_s)

    def _say(self, *assignments: str) -> None:
        if not self._address:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) as link:
            try:
                link.sendto("\n".join(line.replace("\n", " ") for line in assignments).encode(), self._address)
            except BlockingIOError:
                pass  # the manager has much to read: the next ping will do
            except OSError as error:
                logger.warning("the service manager cannot be told", extra={"why": str(error)})
