"""A recogniser and a voice on the server that the `wyoming` package itself has, as a program of its own.

It takes `--uri`, as all such programs do, and a folder, by which a test follows and holds it: `starts` has the process
id of each start, `described` grows by a byte whenever it was asked what it can do, and with a file `hold` there it
stops in the middle of whatever it is asked for, after it has made a file `middle`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

from wyoming.asr import Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.event import Event
from wyoming.info import AsrModel, AsrProgram, Attribution, Describe, Info, TtsProgram, TtsVoice
from wyoming.server import AsyncEventHandler, AsyncServer
from wyoming.tts import Synthesize

WORDS = "What does this cost?"
RATE_HZ = 22_050
_ABOUT: dict[str, Any] = {
    "name": "package",
    "attribution": Attribution("tests", ""),
    "installed": True,
    "description": None,
    "version": "1",
}
_INFO = Info(
    asr=[AsrProgram(**_ABOUT, models=[AsrModel(**_ABOUT, languages=["en"])])],
    tts=[TtsProgram(**_ABOUT, voices=[TtsVoice(**_ABOUT, languages=["en"])])],
)


class _Handler(AsyncEventHandler):
    def __init__(self, folder: Path, blocks_s: float, *args: Any) -> None:
        super().__init__(*args)
        self._folder, self._blocks_s = folder, blocks_s

    async def handle_event(self, event: Event) -> bool:
        if Describe.is_type(event.type):
            with (self._folder / "described").open("a") as file:
                file.write(".")
            await self.write_event(_INFO.event())
        elif AudioStop.is_type(event.type):
            await self._middle()
            await self.write_event(Transcript(WORDS, language="en").event())
            return False  # as recognisers do
        elif Synthesize.is_type(event.type):
            sound = bytes(RATE_HZ // 5)
            await self.write_event(AudioStart(RATE_HZ, 2, 1).event())
            await self.write_event(AudioChunk(RATE_HZ, 2, 1, sound).event())
            await self._middle()
            await self.write_event(AudioChunk(RATE_HZ, 2, 1, sound).event())
            await self.write_event(AudioStop().event())
        return True

    async def _middle(self) -> None:
        if (self._folder / "hold").exists():
            (self._folder / "middle").touch()
        while (self._folder / "hold").exists():  # noqa: ASYNC110  # another process makes and removes it
            await asyncio.sleep(0.01)
        time.sleep(self._blocks_s)  # noqa: ASYNC251  # as a model that computes on the thread that answers


async def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--uri", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--blocks-s", type=float, default=0.0)
    given = parser.parse_args()
    with (given.folder / "starts").open("a") as file:
        file.write(f"{os.getpid()}\n")
    await AsyncServer.from_uri(given.uri).run(partial(_Handler, given.folder, given.blocks_s))


if __name__ == "__main__":
    asyncio.run(_main())
