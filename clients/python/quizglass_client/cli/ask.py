"""`quizglass ask`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

from quizglass.session import SpeechTranscript, TurnUpdate
from quizglass.text import plain
from quizglass.values import Decided, Done, EvidenceFound, PlanMade, Queries, QueryRewritten
from quizglass_client.cli import subcommands
from quizglass_client.errors import ClientError, InvalidRequest, refuses_session
from quizglass_client.files import check_writable, read_file, write_private
from quizglass_client.names.kinds import is_picture
from quizglass_client.session.turns import TurnSaid
from quizglass_client.sync import Client
from quizglass_client.terminal.answer import AnswerView
from quizglass_client.terminal.explain import print_timeline
from quizglass_client.terminal.given import exists, picture_given, picture_on_stdin
from quizglass_client.terminal.output import print_json, say, stdout
from quizglass_client.terminal.show import TurnView
from quizglass_client.terminal.speech import as_line, ask_by_voice
from quizglass_client.terminal.usage import FAILED, OK, UsageError
from quizglass_client.trace.record import FORMATS, Trace
from quizglass_client.types import AskOptions, Event, PictureLike

_IN_STEPS = (PlanMade, Decided, Queries, QueryRewritten, EvidenceFound)
"""Events that tell what the steps tell as well."""

_WITHOUT = 'without a picture: quizglass ask "question"; in a loop over lines: quizglass ask - "question" < /dev/null'
_LONGEST_SESSION = 1 << 20  # bytes; what is too long for the server is for the server to say


def add_commands(commands: subcommands.Subcommands) -> None:
    """Declare `ask`."""
    made = commands.add("ask", ask)
    shown = 'JPEG, PNG, WebP or HEIC file; "-": the one on standard input, if one is there; may be left out'
    subcommands.file(made.add_argument("picture", metavar="PICTURE", help=shown))
    made.add_argument("question", metavar="QUESTION", nargs="*", help="quotes are needed where the shell means ? or *")
    subcommands.scattered(made, "question")
    spoken = "ask what is said in that WAV file, in place of QUESTION"
    subcommands.file(made.add_argument("--say", type=Path, metavar="FILE", help=spoken))
    aloud = "write the answer there as sound, a WAV file"
    subcommands.file(made.add_argument("--speak", type=Path, metavar="FILE", help=aloud))
    made.add_argument("--policy", default="", help="one that `quizglass capabilities` lists (default: the server's)")
    made.add_argument("--budget", type=float, metavar="SECONDS", help="time to answer in (default: the server's)")
    subcommands.max_tokens(made)
    subcommands.file(
        made.add_argument(
            "--session",
            type=Path,
            metavar="FILE",
            help="go on with the dialogue of that file, which is made, and written after every answer",
        )
    )
    made.add_argument("--session-id", default="", metavar="NAME", help="a name of the dialogue, for the memory")
    made.add_argument("--remember", action="store_true", help="let the server remember the picture")
    made.add_argument(
        "--recall", action="store_true", help='let it answer "When did I last see this?" from what it has seen'
    )
    history = "an earlier question about the picture and its answer; repeat, oldest first"
    made.add_argument("--history", action="append", default=[], metavar="Q=A", help=history)
    explain = "show every step with what it was given, what it brought, and when"
    made.add_argument("--explain", action="store_true", help=explain)
    trace = "write the steps there: *.json for programs, *.html a page with crops and evidence"
    subcommands.file(made.add_argument("--trace", type=Path, metavar="FILE", help=trace))


def ask(client: Client, arguments: argparse.Namespace) -> int:
    """Ask, and show the answer as it comes; explained, the turn as it happens, and its steps once it is over."""
    _check_folder("--session", arguments.session)
    if arguments.session is not None:
        check_writable(arguments.session)
    _check_trace(arguments.trace)
    _take_question(arguments)
    about, question = _shown(arguments), " ".join(arguments.question)
    _check_speech(arguments)
    _check_memory(client, arguments)
    if arguments.say is not None or arguments.speak is not None:
        return _by_voice(arguments, question, about)
    told = list[Event]()  # of a turn that is to be explained
    view = TurnView(stdout()) if arguments.explain else AnswerView(stdout(), say)
    with closing(_asked(client, arguments, question, about)) as events:
        try:
            for event in events:
                _tell(event, view, arguments)
                if _explains(arguments):
                    told.append(event)
        except ClientError as error:
            if arguments.session is not None and refuses_session(error):
                arguments.session.unlink()  # the next question begins anew
            raise
        finally:
            view.interrupt()
            if arguments.explain and not arguments.json:
                print_timeline(stdout(), told)
            if arguments.trace is not None and told:  # that of an earlier question stays where this one came to nothing
                Trace(question, told, about).write(arguments.trace)
    return OK


def _by_voice(arguments: argparse.Namespace, question: str, about: PictureLike | None) -> int:
    """Ask in a session, which carries sound."""
    told = list[Event]()
    view = TurnView(stdout()) if arguments.explain else AnswerView(stdout(), say)

    def tell(said: TurnSaid) -> None:
        if arguments.json:
            print_json(as_line(said))
        elif isinstance(said, SpeechTranscript) and said.final:
            say(f"heard: {plain(said.text)}")
        elif isinstance(said, TurnUpdate) and said.event is not None:
            told.append(Event(said.turn_id, said.seq, said.elapsed, said.event))
            _show(told[-1], view, arguments)

    try:
        whole = ask_by_voice(arguments, question, about, _options(arguments), tell)
    finally:
        view.interrupt()
        if arguments.explain:
            print_timeline(stdout(), told)
    return OK if whole else FAILED


def _asked(client: Client, arguments: argparse.Namespace, question: str, about: PictureLike | None) -> Generator[Event]:
    return client.ask(
        question,
        about,
        session=_kept(arguments.session),
        **_options(arguments),
    )


def _options(arguments: argparse.Namespace) -> AskOptions:
    return {
        "history": [_exchange(text) for text in arguments.history],
        "policy": arguments.policy,
        "budget": arguments.budget,
        "max_answer_tokens": arguments.max_tokens,
        "session_id": arguments.session_id,
        "remember": arguments.remember,
        "recall": arguments.recall,
        "explain": _explains(arguments),
    }


def _explains(arguments: argparse.Namespace) -> bool:
    return bool(arguments.explain or arguments.trace)


def _tell(event: Event, view: TurnView | AnswerView, arguments: argparse.Namespace) -> None:
    """Show an event, and keep the session that the last one has."""
    if arguments.json:
        print_json(event)
    else:
        _show(event, view, arguments)
    if arguments.session is not None and isinstance(event.payload, Done):
        write_private(arguments.session, event.payload.session)  # it holds what was said


def _show(event: Event, view: TurnView | AnswerView, arguments: argparse.Namespace) -> None:
    """Show an event, but for what the steps show as well."""
    if not (arguments.explain and isinstance(event.payload, _IN_STEPS)):
        view.event(event)


def _check_speech(arguments: argparse.Namespace) -> None:
    if (arguments.say is not None) == bool(arguments.question):
        raise UsageError("give a question in words, or --say FILE with one that is spoken")
    if (arguments.say or arguments.speak) and (arguments.session or arguments.trace):
        raise UsageError("--session and --trace are for questions and answers in text; leave out --say and --speak")
    if arguments.say is not None and not arguments.say.is_file():
        raise UsageError(f"--say {arguments.say} is no file; give a WAV file")
    _check_folder("--speak", arguments.speak)


def _check_trace(path: Path | None) -> None:
    if path is not None and path.suffix.lower() not in FORMATS:
        raise UsageError(f"--trace {path}: give a file whose name ends in {' or '.join(FORMATS)}")
    _check_folder("--trace", path)


def _check_folder(flag: str, path: Path | None) -> None:
    if path is not None and not path.parent.is_dir():
        raise UsageError(f"{flag} {path}: there is no folder {path.parent}")


def _kept(session: Path | None) -> bytes:
    return read_file(session, _LONGEST_SESSION) if session is not None and session.exists() else b""


def _take_question(arguments: argparse.Namespace) -> None:
    """Take a lone argument that can only be a question as one, without a picture."""
    first = arguments.picture
    told = " " in first.strip() or first.rstrip().endswith("?")
    if told and not (arguments.question or arguments.say or exists(first) or is_picture(Path(first))):
        arguments.picture, arguments.question = None, [first]


def _shown(arguments: argparse.Namespace) -> PictureLike | None:
    """The picture that is asked about; None: none.

    Raises:
        UsageError: it is not there; the message says what to type.
    """
    if arguments.picture is None:
        return None
    if arguments.picture != "-":
        return picture(arguments.picture, _advice(arguments))
    try:
        return picture_on_stdin()
    except InvalidRequest as error:
        raise UsageError(f"{error.message}; {_WITHOUT}") from None


def _advice(arguments: argparse.Namespace) -> str:
    """What to type where the first word is no file."""
    wanted = 'a picture first, or "-" for none'
    words = [arguments.picture, *arguments.question]
    if is_picture(Path(words[0])) or arguments.say is not None:
        return wanted
    shown = next((word for word in words if is_picture(Path(word)) and exists(word)), None)
    asked = " ".join(word for word in words if word != shown)
    meant = shlex.join(["quizglass", "ask", *([shown] if shown else []), asked])
    return f"{wanted}. Or type: {meant}" if " " in asked or asked.endswith("?") else wanted


def _check_memory(client: Client, arguments: argparse.Namespace) -> None:
    """Say that a server without a memory neither remembers nor recalls; it answers all the same."""
    if (arguments.remember or arguments.recall) and not client.capabilities().memory:
        flag = "--remember" if arguments.remember else "--recall"
        say(f"{flag} has no effect: this server has no visual memory; it is started with --memory-directory DIR")


def picture(name: str | None, wanted: str = 'a picture first, or "-" for none') -> PictureLike | None:
    """A picture that is there; "-" is none.

    Raises:
        UsageError: there is no such file.
    """
    return None if name is None or name == "-" else picture_given(name, wanted)


def _exchange(text: str) -> tuple[str, str]:
    question, mark, answer = text.partition("=")
    if not mark or not question.strip():
        raise UsageError(f'--history {text!r} is not of the form "question=answer"')
    return question.strip(), answer.strip()
