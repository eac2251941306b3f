"""`quizglass chat`: a session on a terminal."""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO

from quizglass.session import (
    Forgotten,
    Interrupted,
    Markup,
    NeedFrame,
    Notice,
    OutputProfile,
    PostureChange,
    Progress,
    Restored,
    Speech,
    SpeechTranscript,
    TurnUpdate,
)
from quizglass.text import plain
from quizglass.values import Done
from quizglass_client.access import Access
from quizglass_client.cli import subcommands
from quizglass_client.cli.ask import picture
from quizglass_client.errors import ClientError, InvalidRequest, ServerUnavailable
from quizglass_client.session.aio import AsyncSession, AsyncTurn
from quizglass_client.session.turns import TurnSaid
from quizglass_client.session.values import LinkLost, LinkRestored
from quizglass_client.session.voice.device import Loudspeaker, Microphone
from quizglass_client.sync import Client
from quizglass_client.terminal.answer import AnswerView
from quizglass_client.terminal.conversation import converse
from quizglass_client.terminal.output import print_json, say, stdout
from quizglass_client.terminal.show import TurnView
from quizglass_client.terminal.speech import as_line
from quizglass_client.terminal.usage import FAILED, OK, UsageError
from quizglass_client.types import AskOptions, Event, PictureLike

_COMMANDS = (
    "/show FILE  another picture   /stop  end the answer   /device battery=12 heat=warm link=poor   /forget   /help   "
    "/quit"
)
_HELP = f"ask; a new question ends the one that runs.  {_COMMANDS}"


def add_commands(commands: subcommands.Subcommands) -> None:
    """Declare `chat`."""
    made = commands.add("chat", chat)
    subcommands.file(
        made.add_argument("pictures", metavar="PICTURE", nargs="*", help="shown before the first question")
    )
    made.add_argument(
        "--voice", action="store_true", help="speak and listen: microphone and loudspeaker of this machine"
    )
    made.add_argument("--policy", default="", help="one that `quizglass capabilities` lists (default: the server's)")
    made.add_argument("--budget", type=float, metavar="SECONDS", help="time to answer in (default: the server's)")
    subcommands.max_tokens(made)
    made.add_argument("--local-only", action="store_true", help="ask only what stays on the server's machine")
    words = 'of an answer, at most; "Go on" says the rest'
    made.add_argument("--words", type=subcommands.count, default=0, metavar="N", help=words)
    made.add_argument(
        "--columns", type=subcommands.count, default=0, metavar="N", help="show answers as on a display so wide"
    )
    made.add_argument("--lines", type=subcommands.count, default=0, metavar="N", help="and of so many lines")
    made.add_argument("--spoken", action="store_true", help="write numbers and units as they are said, without markup")
    made.add_argument("--explain", action="store_true", help="show what was decided and found, and the times")
    made.add_argument(
        "--lead-in",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="say something if nothing is there by then",
    )


def chat(client: Client, arguments: argparse.Namespace) -> int:
    """Answer what is typed, line by line, until the end of the input."""
    arguments.pictures = [picture(name) for name in arguments.pictures]  # a pipe is read once
    return asyncio.run(_chat(arguments))


def _session(arguments: argparse.Namespace) -> AsyncSession:
    access: Access = arguments.access
    return AsyncSession(
        arguments.server,
        output=_output(arguments),
        local_only=arguments.local_only,
        credentials=access.credentials,
        metadata=access.metadata,
    )


async def _chat(arguments: argparse.Namespace) -> int:
    """Returns the exit status: without a terminal, it alone shows a failure."""
    terminal = sys.stdin is not None and sys.stdin.isatty()
    lines = _lines(sys.stdin)
    async with _session(arguments) as session:
        talk = _Talk(session, arguments)
        news = asyncio.create_task(talk.tell_news())
        try:
            for shown in arguments.pictures:
                await talk.show(shown)
            if arguments.voice:
                await talk.converse()
                return FAILED if talk.failed else OK
            if terminal:
                say(_HELP)
            while (line := await lines.get()) is not None and line.strip() != "/quit":
                try:
                    await talk.take(line.strip())
                except (UsageError, InvalidRequest) as error:  # of this line alone
                    talk.fail(str(error))
                if not terminal:
                    await talk.finished()
            await talk.finished()
        finally:
            news.cancel()
            with suppress(asyncio.CancelledError):
                await news
    return FAILED if talk.failed and not terminal else OK


class _Talk:
    """What is typed, and what is shown of it."""

    def __init__(self, session: AsyncSession, arguments: argparse.Namespace) -> None:
        self._session = session
        self._arguments = arguments
        by_segments = _output(arguments) != OutputProfile()
        whole = arguments.explain or by_segments
        self._view = TurnView(stdout(), segments=by_segments) if whole else AnswerView(stdout(), say)
        self._frame = b""
        """Picture that the next question names."""
        self._shown = b""
        """Picture that was shown last."""
        self._turn: AsyncTurn | None = None
        self._telling: asyncio.Task[None] | None = None
        self._told_last = ""
        self.failed = False
        """Whether a line was wrong, or a question was not answered."""

    def fail(self, why: str) -> None:
        """Tell of a line that was wrong, or of a question that failed."""
        self.failed = True
        say(why)

    def _spoken_failed(self, error: ClientError) -> None:
        """Tell of a spoken question that failed; once where the next ones fail for the same reason."""
        if error.message != self._told_last:
            self._told_last = error.message
            self.fail(error.message)

    async def converse(self) -> None:
        """Talk by microphone and loudspeaker, until the program is interrupted."""
        speaker, asked = Loudspeaker(), self._arguments
        options: AskOptions = {"policy": asked.policy, "budget": asked.budget, "max_answer_tokens": asked.max_tokens}
        try:
            with Microphone() as microphone:
                say("listening; speak over an answer to end it, Ctrl-C to leave")
                told = self._print, self._spoken_failed
                await converse(self._session, microphone, microphone.rate_hz, speaker, *told, self._frame, options)
        finally:
            speaker.close()

    async def show(self, shown: PictureLike | None) -> None:
        """Send a picture, which the next question is about."""
        if shown is not None:
            self._frame = self._shown = await self._session.show(shown)

    async def take(self, line: str) -> None:
        """One line that was typed."""
        match line.split(maxsplit=1):
            case []:
                return
            case ["/show", name]:
                await self.show(picture(name))
            case ["/device", state]:
                await self._device(state)
            case ["/help"]:
                say(_HELP)
            case ["/forget"]:
                self._frame = self._shown = b""
                await self._session.forget()
            case ["/stop"]:
                if self._turn is not None:
                    await self._turn.cancel()
            case [word, *_] if word.startswith("/"):
                raise UsageError(f"{line[:40]}: there are {_COMMANDS}")
            case _:
                await self._ask(line)

    async def _device(self, state: str) -> None:
        """How the device is said to be, as in "battery=12 heat=warm"."""
        said = dict(each.partition("=")[::2] for each in state.split())
        battery, heat, link = said.pop("battery", ""), said.pop("heat", ""), said.pop("link", "")
        if said:
            raise UsageError(f"{', '.join(said)}: there are battery, heat and link")
        if battery and not battery.isdecimal():
            raise UsageError(f"battery: {battery!r} is no number of percent")
        await self._session.device(int(battery) if battery else None, heat=heat, link=link)

    async def _ask(self, question: str) -> None:
        asked = self._arguments
        self._turn = await self._session.ask(
            question, frame=self._frame, policy=asked.policy, budget=asked.budget, max_answer_tokens=asked.max_tokens
        )
        self._frame = b""  # later questions are understood after the dialogue
        before = self._telling
        self._telling = asyncio.create_task(self._tell(self._turn, before))

    async def finished(self) -> None:
        """Wait until everything that was asked is answered."""
        if self._telling is not None:
            await self._telling

    async def tell_news(self) -> None:
        """Show what becomes of the link."""
        async for news in self._session.news():
            match news:
                case Forgotten() as gone:
                    kept = ", ".join(each.what for each in gone.kept)
                    say(f"forgotten: {gone.frames} pictures, {gone.exchanges} exchanges; kept: {kept}")
                case PostureChange(posture, reason):
                    say(f"{posture}: {reason}")
                case Notice(turn_over=False, text=text):  # of a picture, say; a turn tells of its own
                    say(text)
                case LinkLost(reason):
                    say(f"the link is lost ({reason}); trying again")
                case LinkRestored(restored, reason, after):
                    if restored is Restored.NONE:
                        self._frame = self._shown  # the server knows no picture that a question could go on from
                    say(f"the link is back after {after:.1f} s, restored: {restored}{f' ({reason})' if reason else ''}")

    async def _tell(self, turn: AsyncTurn, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before
        try:
            async for said in turn:
                self._print(said)
        except ClientError as error:
            if isinstance(error, ServerUnavailable) and not error.reason:
                raise  # the session was given up; what the server says of a question has a reason
            self._view.interrupt()
            self.fail(error.message)

    def _print(self, said: TurnSaid) -> None:
        if self._arguments.json:
            print_json(as_line(said))
            return
        match said:
            case TurnUpdate(event=event, segments=segments):
                if event is not None and not isinstance(event, Done):
                    self._view.event(Event(said.turn_id, said.seq, said.elapsed, event))
                if isinstance(self._view, TurnView):
                    self._view.segments(segments)
                if isinstance(event, Done):
                    self._view.event(Event(said.turn_id, said.seq, said.elapsed, event))
            case SpeechTranscript(text=text, final=True) if text:
                say(f"heard: {plain(text)}")
            case Interrupted():
                self._view.interrupt()
                say("interrupted")
            case NeedFrame() | Progress():
                pass


def _output(arguments: argparse.Namespace) -> OutputProfile:
    """What the answers should look like."""
    markup = Markup.NONE if arguments.spoken else Markup.AS_WRITTEN
    speech = Speech.ENGLISH if arguments.spoken else Speech.AS_WRITTEN
    words, columns, lines, lead_in = arguments.words, arguments.columns, arguments.lines, arguments.lead_in
    return OutputProfile(0, words, lines, columns, markup, speech, lead_in, aloud=arguments.voice)


def _lines(source: TextIO | None) -> asyncio.Queue[str | None]:
    """Lines as they are typed, then None. They are read on a thread that the program does not wait for at its end."""
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    if isinstance(source, TextIOWrapper):
        source.reconfigure(errors="surrogateescape")  # a line that is no text is refused, and ends nothing

    def read() -> None:
        with suppress(RuntimeError):  # the loop has ended before
            with suppress(OSError):  # the terminal is gone
                for line in source or ():
                    loop.call_soon_threadsafe(lines.put_nowait, line)
            loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read, name="typed lines", daemon=True).start()
    return lines
