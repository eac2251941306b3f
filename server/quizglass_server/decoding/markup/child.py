"""The process that converts markup: one text a line in, its blocks a line out, until its input ends.

It bounds itself before it reads anything, so that no text can take more than its share of the machine: it gives way to
the server, has so much memory and no more, and is ended by the system when one text has had its time on the processor.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
from typing import Any

from quizglass_server.containment import contain
from quizglass_server.decoding.markup.blocks import Block, blocks
from quizglass_server.parent_death import die_with_parent

READY = b"ready\n"
US_A_CHARACTER = 15.0
"""Processor time for one text, beside a second: five times what ordinary Markdown takes, as much as a table of short
cells does."""

_CPU_S = 1.0
_MEMORY = 1 << 30
_IDLE_S = 60.0
_GIVE_WAY = 10  # added to the niceness of the server


def main(us_a_character: float) -> None:
    """Convert until the input ends, or nothing has come for a minute."""
    die_with_parent(os.getppid())
    _bound()
    blocks("", "markdown")  # what it loads late is loaded
    contain()
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
    while select.select([sys.stdin], [], [], _IDLE_S)[0] and (line := sys.stdin.buffer.readline()):
        text, text_format = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, _CPU_S + us_a_character * 1e-6 * len(text))
        answer = json.dumps(packed(blocks(text, text_format))).encode("ascii")
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.buffer.write(answer + b"\n")
        sys.stdout.buffer.flush()


def packed(converted: list[Block]) -> list[object]:
    """Blocks as JSON values: the headings once each, then for every block the numbers of its headings and its text."""
    numbers = {
        heading: number for number, heading in enumerate({h: None for block in converted for h in block.headings})
    }
    return [list(numbers), [[[numbers[heading] for heading in block.headings], block.text] for block in converted]]


def unpacked(answer: list[Any]) -> list[Block]:
    """The blocks that were packed."""
    headings, converted = answer
    return [Block(tuple(headings[number] for number in above), text) for above, text in converted]


def _bound() -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    os.nice(_GIVE_WAY)


if __name__ == "__main__":
    main(float(sys.argv[1]))
