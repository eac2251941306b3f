"""Entry point of `quizglass-server` and `python -m quizglass_server`: installs signal handlers, then imports the rest.

That takes a while, in which a signal to stop ends the process, as it does while models are loaded. Signals that mean
nothing to a server never end it. Once there is a server, `app.serve` handles signals.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType

_INTERRUPTED = 130
_STOPPING = ("SIGTERM", "SIGINT", "SIGXCPU", "SIGPWR")
_MEANINGLESS = ("SIGHUP", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGUSR1", "SIGUSR2", "SIGIO", "SIGSTKFLT")
"""Their default is to end the process: a terminal that is closed, a timer or a script that meant another process."""


def main() -> int:
    """Run the command; returns the exit status."""
    _take_signals()
    # What is imported and loaded stays. Looking for garbage in it, again and again, is a quarter of a start.
    gc.disable()
    from quizglass_server.cli import main as command

    status = command()
    # The event loop is gone and has put the system's own handlers back; the interpreter may still wait for threads.
    _take_signals()
    return status


def _take_signals() -> None:
    for name in _STOPPING:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _leave)
    meaningless = {getattr(signal, name) for name in _MEANINGLESS if hasattr(signal, name)}
    if hasattr(signal, "SIGRTMIN"):
        meaningless |= set(range(signal.SIGRTMIN, signal.SIGRTMAX + 1))
    for number in meaningless:
        signal.signal(number, signal.SIG_IGN)


def _leave(number: int, frame: FrameType | None) -> None:
    """There is nothing to stop yet, or nothing any more."""
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
