"""`quizglass walk`: replays a recorded walk over a shaped link, and reports the times that the wearer perceives."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from rich.table import Table

from quizglass.session import FrameState, FrameStatus, Interrupted, SegmentState, TurnUpdate
from quizglass_client.access import Access, Metadata
from quizglass_client.cli import subcommands
from quizglass_client.errors import ClientError
from quizglass_client.session.aio import AsyncSession, AsyncTurn
from quizglass_client.session.shaping import LinkProfile, ShapingProxy
from quizglass_client.session.turns import TurnSaid
from quizglass_client.sync import Client
from quizglass_client.terminal.output import print_json, stdout
from quizglass_client.terminal.usage import OK, UsageError

_KINDS = {"link": dict, "frame": str, "ask": str, "cancel": bool, "cut": bool}
_MORE = {"frame": str, "name": str, "thumbnail": int}
_PROFILE = tuple(each.name for each in fields(LinkProfile))


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a walk: seconds from its beginning, what happens, and more about it."""

    at: float
    kind: str
    value: Any
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Perceived:
    """One question as its wearer perceives it, in seconds."""

    question: str
    outcome: str = ""
    first_segment: float | None = None
    """From the question to the first segment that can be said."""
    upload: float = 0.0
    """Of that: waiting for the question's frame to be there."""
    total: float = 0.0

    @property
    def answering(self) -> float | None:
        """To the first segment, without the upload."""
        return None if self.first_segment is None else max(0.0, self.first_segment - self.upload)


def read_walk(path: Path) -> list[Step]:
    """The steps of a walk, a JSON object a line.

    Raises:
        UsageError: a line is wrong; it is named.
    """
    steps: list[Step] = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if line.strip():
            try:
                steps.append(_step(json.loads(line), path.parent))
            except json.JSONDecodeError as error:
                raise UsageError(f"{path}:{number}: is not JSON: {error.msg} at character {error.colno}") from None
            except (ValueError, TypeError) as error:
                raise UsageError(f"{path}:{number}: {error}") from None
            if len(steps) > 1 and steps[-1].at < steps[-2].at:
                raise UsageError(f"{path}:{number}: at: {steps[-1].at:g} is before the line above")
    if not steps:
        raise UsageError(f"{path}: has no steps")
    return steps


def _step(line: Any, folder: Path) -> Step:
    kinds = [kind for kind in ("ask", "link", "cancel", "cut", "frame") if isinstance(line, dict) and kind in line]
    if not kinds:
        raise ValueError(f"is no object with one of {', '.join(_KINDS)}")
    kind, at = kinds[0], line.get("at")
    if not _is_number(at):
        raise ValueError("at: give seconds from the beginning, 0 or more")
    if not isinstance(line[kind], _KINDS[kind]):
        raise ValueError(f"{kind}: is no {_KINDS[kind].__name__}")
    value = line[kind]
    if kind == "frame":
        value = folder / value
        if not value.is_file():
            raise ValueError(f"frame: there is no file {value}")
    if kind == "link":
        if unknown := set(value) - set(_PROFILE):
            raise ValueError(f"link: {', '.join(sorted(unknown))} is none of {', '.join(_PROFILE)}")
        if wrong := [name for name, number in value.items() if not _is_number(number)]:
            raise ValueError(f"link.{wrong[0]}: give a number, 0 or more")
        value = LinkProfile(**value)
    more = {name: line[name] for name in _MORE if name in line}
    if wrong := [name for name, each in more.items() if type(each) is not _MORE[name]]:
        raise ValueError(f"{wrong[0]}: is no {_MORE[wrong[0]].__name__}")
    return Step(float(at), kind, value, more)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value < math.inf


def add_commands(commands: subcommands.Subcommands) -> None:
    """Declare `walk`."""
    made = commands.add("walk", walk)
    what = "JSON lines; docs/session.md says what they hold"
    subcommands.file(made.add_argument("file", metavar="FILE", type=Path, help=what))


def walk(client: Client, arguments: argparse.Namespace) -> int:
    """Replay it and report."""
    steps = read_walk(arguments.file)
    host, _, port = client.target.rpartition(":")
    if not port.isdigit():
        raise UsageError(f"{client.target}: a walk needs a server at host:port")
    access: Access = arguments.access
    if access.credentials is not None:
        raise UsageError("a walk goes through a proxy on this machine, which no certificate names; leave --tls out")
    told = asyncio.run(replay(steps, host, int(port), access.metadata))
    if arguments.json:
        for each in told:
            print_json({**asdict(each), "answering": each.answering})
    else:
        stdout().print(_table(told))
    return OK


async def replay(steps: Sequence[Step], host: str, port: int, metadata: Metadata = ()) -> list[Perceived]:
    """Each question of a walk, as it was perceived; `metadata` goes with every link."""
    proxy = ShapingProxy(host.strip("[]"), port)
    async with proxy.serving() as link, AsyncSession(link.target, metadata=metadata) as session:
        walker = _Walker(link, session)
        arrivals = asyncio.create_task(walker.watch())
        began = time.monotonic()
        try:
            for step in steps:
                await asyncio.sleep(max(0.0, step.at - (time.monotonic() - began)))
                await walker.take(step)
            await asyncio.gather(*walker.telling)
        finally:
            arrivals.cancel()
        return walker.told


class _Walker:
    def __init__(self, link: ShapingProxy, session: AsyncSession) -> None:
        self.told: list[Perceived] = []
        self.telling: list[asyncio.Task[None]] = []
        self._link = link
        self._session = session
        self._frames: dict[str, bytes] = {}
        self._there: dict[bytes, float] = {}
        self._turn: AsyncTurn | None = None

    async def watch(self) -> None:
        """Note when frames are there."""
        async for news in self._session.news():
            if isinstance(news, FrameStatus) and news.state is FrameState.HELD:
                self._there.setdefault(news.sha256, time.monotonic())

    async def take(self, step: Step) -> None:
        """One step."""
        match step.kind:
            case "link":
                self._link.profile = step.value
            case "cut":
                self._link.cut()
            case "frame":
                name = step.more.get("name", step.value.name)
                self._frames[name] = await self._session.show(step.value, thumbnail=step.more.get("thumbnail", 0))
            case "cancel" if self._turn is not None:
                await self._turn.cancel()
            case "ask":
                await self._ask(step)

    async def _ask(self, step: Step) -> None:
        name = step.more.get("frame", "")
        if name and name not in self._frames:
            raise UsageError(f"ask at {step.at:g}: no frame {name!r} was shown before")
        frame, began = self._frames.get(name, b""), time.monotonic()
        self._turn = await self._session.ask(step.value, frame=frame)
        self.told.append(Perceived(step.value))
        self.telling.append(asyncio.create_task(self._tell(self.told[-1], self._turn, frame, began)))

    async def _tell(self, told: Perceived, turn: AsyncTurn, frame: bytes, began: float) -> None:
        try:
            async for said in turn:
                if isinstance(said, Interrupted):
                    told.outcome = "interrupted"
                elif told.first_segment is None and _confirms(said):
                    told.first_segment = time.monotonic() - began
        except ClientError as error:
            told.outcome = f"failed: {error.reason or error.message}"
        told.outcome = told.outcome or "answered"
        told.total = time.monotonic() - began
        told.upload = max(0.0, self._there.get(frame, began) - began)


def _confirms(said: TurnSaid) -> bool:
    return isinstance(said, TurnUpdate) and any(each.state is SegmentState.CONFIRMED for each in said.segments)


def _table(told: Sequence[Perceived]) -> Table:
    table = Table("question", "outcome", "first words s", "upload s", "without upload s", "all s")
    for each in told:
        seconds = (each.first_segment, each.upload, each.answering, each.total)
        table.add_row(each.question, each.outcome, *("-" if s is None else f"{s:.2f}" for s in seconds))
    return table
