"""`python -m bench.voice [--only SECTION ...] [--resume] [--quick]`: measure, print and write results.

Sections start servers of their own on the demo's bundle and notes, with the Whisper and the Piper that `make voice`
fetches; `sound` has the everyday bundle (`make everyday`), and `interruptions` needs no server. --quick runs
everything with small counts and keeps nothing.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from bench import sections
from bench.fingerprints import weights
from bench.sections import Part
from bench.voice.stage import VoiceSetup, served
from quizglass_export.everyday.packages import fetch
from quizglass_export.everyday.quotes import build_quotes
from quizglass_export.everyday.speech import speech_commands
from quizglass_export.everyday.weights import PHOTOGRAPHS

SECTIONS = {
    "transcripts": ("hearing", "transcripts"),
    "words": ("hearing", "words"),
    "answers": ("answers", "answers"),
    "sound": ("answers", "sound"),
    "interruptions": ("interruptions", "interruptions"),
    "cuts": ("sessions", "cuts"),
    "beside": ("beside", "beside"),
    "memory": ("sessions", "memory"),
}
"""Module and function of each, in the order of the table."""
WITHOUT_SERVER = frozenset({"interruptions"})
ON_EVERYDAY = frozenset({"sound"})
FLAGS = {"memory": ("--max-speeches", "1024")}
_LIMIT_S = 7200.0
"""No section may take longer."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sections. Returns 0, or 1 when one failed or a bar was missed."""
    parser = sections.arguments("voice", __doc__, SECTIONS)
    parser.add_argument(
        "--demo", type=Path, default=Path("work/demo"), help="work directory of make voice [%(default)s]"
    )
    parser.add_argument(
        "--everyday", type=Path, default=Path("work/everyday"), help="work directory of make everyday [%(default)s]"
    )
    args = parser.parse_args(arguments)
    folder: Path = args.workdir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    runner = sections.Runner("voice", SECTIONS, args)
    with runner.status() as say:
        demo = args.demo.resolve()
        speech = speech_commands(demo, tell=say)
        fetch(PHOTOGRAPHS, demo, tell=say)
        bundle = build_quotes(demo, tell=say)
        setup = VoiceSetup(args.quick, folder, bundle, say, demo, speech, args.everyday.resolve() / "bundle")
        runner.measure(lambda name: asyncio.run(asyncio.wait_for(_run(name, setup), _LIMIT_S)), bundle=weights(bundle))
    return runner.finish()


async def _run(name: str, setup: VoiceSetup) -> Part:
    module, function = SECTIONS[name]
    section: Callable[..., Awaitable[Part]] = getattr(import_module(f"bench.voice.{module}"), function)
    if name in WITHOUT_SERVER:
        return await section(setup)
    if name in ON_EVERYDAY:
        if not setup.everyday.is_dir():
            raise FileNotFoundError(
                f"no bundle in {setup.everyday}; `make everyday` builds it, --everyday names its folder"
            )
        setup = replace(setup, bundle=setup.everyday)
    async with served(setup, FLAGS.get(name, ())) as stage:
        return await section(setup, stage)


if __name__ == "__main__":
    sys.exit(main())
