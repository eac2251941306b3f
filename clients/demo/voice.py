"""`make voice`: three questions about photographs, spoken, heard, answered and spoken again, all on this machine.

Fetches the demo's bundle and photographs, a Whisper and a Piper voice (once), and starts a server that starts both.
Piper's voice is the wearer's, too: no microphone is needed. Prints what was heard, the answers and the times, and
leaves the sound of both sides as WAV files. Ends with status 1 if something failed or an answer is not right, and with
130 if it is stopped before.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
import wave
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.markup import escape
from rich.rule import Rule
from rich.text import Text

from clients.demo.album import Asked, write_album
from clients.demo.asking import Outcome, ask
from clients.demo.demo import import_folder
from quizglass.text import escape_unencodable_output, plain
from quizglass_client import Client, ClientError
from quizglass_client.local import LocalServer
from quizglass_export.errors import ExportError
from quizglass_export.everyday.packages import fetch
from quizglass_export.everyday.quotes import build_quotes
from quizglass_export.everyday.speech import speech_commands
from quizglass_export.everyday.weights import PHOTOGRAPHS
from quizglass_export.long_work import STOPPED, stopping

QUESTIONS = (
    Asked("a cat", "How often does she get wet food?", ("one pouch", "seven in the morning"), "chelsea.png"),
    Asked("a flower", "When do I have to water it?", ("twice a week", "in the morning"), "flower.jpg"),
    Asked("a rocket", "How tall is it?", ("70 metres",), "rocket.jpg"),
)
_READY_S, _ANSWER_S = 180.0, 120.0


@dataclass(frozen=True, slots=True)
class Spoken:
    """One question, from the wearer's voice to the answer's.

    Attributes:
        outcome: the turn, asked with the words that were heard.
        heard: the transcript.
        question_s, answer_s: how long question and answer are as sound.
        transcript_s: from the end of the question to its transcript.
        first_sound_s: from the answer's text to its first sound.
    """

    outcome: Outcome
    heard: str
    question_s: float
    answer_s: float
    transcript_s: float
    first_sound_s: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it. Returns the exit status."""
    escape_unencodable_output()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workdir", type=Path, default=Path("work/demo"), help="where everything is put [%(default)s]")
    parser.add_argument("--bundle", type=Path, help="another bundle to ask (default: one is built)")
    parser.add_argument("--out", type=Path, default=Path(".run/voice"), help="folder for the sound [%(default)s]")
    args = parser.parse_args(arguments)
    console = Console()
    try:
        with stopping():
            return _run(args, console)
    except (ExportError, ClientError, subprocess.CalledProcessError, OSError) as error:
        told = error.read().decode() if isinstance(error, urllib.error.HTTPError) else str(error)
        console.print(f"[red]The demo failed:[/] {escape(told)}", highlight=False, soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        return STOPPED


def _run(args: argparse.Namespace, console: Console) -> int:
    def tell(line: str) -> None:
        console.print(line, highlight=False, soft_wrap=True)

    console.print(Rule("quizglass: asked by voice"))
    workdir: Path = args.workdir
    speech = speech_commands(workdir, tell=tell)
    fetch(PHOTOGRAPHS, workdir, tell=tell)
    bundle = args.bundle or build_quotes(workdir, tell=tell)
    notes, pictures = write_album(workdir)
    args.out.mkdir(parents=True, exist_ok=True)
    log = workdir / "server.log"
    tell(f"Starting quizglass-server on {bundle} with a recogniser and a voice (log: {log})")
    with (
        TemporaryDirectory(prefix="knowledge-", dir=workdir) as knowledge,
        LocalServer(bundle, knowledge, flags=("--web-port", "0", *speech.flags()), log=log) as server,
    ):
        import_folder(server.target, notes)
        with Client(server.target, timeout=_ANSWER_S) as client:
            _wait_for_speech(client)
            spoken = []
            for asked in QUESTIONS:
                spoken.append(_ask(client, server.web, asked, pictures, args.out))
                _show(console, spoken[-1])
    console.print(f"\nWhat was asked and answered, as sound: {args.out}", highlight=False, soft_wrap=True)
    return 0 if all(each.outcome.right for each in spoken) else 1


def _wait_for_speech(client: Client) -> None:
    """Wait until both are loaded. Raises ExportError: they are not, in time."""
    due = time.monotonic() + _READY_S
    while True:
        waiting = [role for role in client.capabilities().roles if role.role in ("hearing", "voice") and not role.ready]
        if not waiting:
            return
        if time.monotonic() > due:
            raise ExportError(f"{waiting[0].role} does not serve: {waiting[0].notice}")
        time.sleep(0.2)


def _ask(client: Client, web: str, asked: Asked, pictures: Path, out: Path) -> Spoken:
    name = Path(asked.photograph).stem
    question, _ = _spoken(web, asked.question)
    (out / f"{name}-question.wav").write_bytes(question)
    began = time.monotonic()
    heard = _heard(web, question)
    transcript_s = time.monotonic() - began
    outcome = ask(client, Asked(asked.about, heard, asked.right, asked.photograph), pictures / asked.picture)
    answer, first_sound_s = _spoken(web, outcome.answer.text)
    (out / f"{name}-answer.wav").write_bytes(answer)
    return Spoken(outcome, heard, _seconds(question), _seconds(answer), transcript_s, first_sound_s)


def _spoken(web: str, text: str) -> tuple[bytes, float]:
    """A text as a WAV file, and seconds until its first sound came."""
    body = json.dumps({"model": "quizglass", "voice": "default", "input": text, "response_format": "wav"}).encode()
    request = urllib.request.Request(  # noqa: S310 - our own server
        f"{web}/v1/audio/speech", body, {"Content-Type": "application/json"}
    )
    began = time.monotonic()
    with urllib.request.urlopen(request, timeout=_ANSWER_S) as response:  # noqa: S310
        first = response.read(1024)
        first_s = time.monotonic() - began
        return _with_sizes(first + response.read()), first_s


def _heard(web: str, wav: bytes) -> str:
    """What is said in a WAV file."""
    mark = uuid.uuid4().hex
    head = 'Content-Disposition: form-data; name="file"; filename="question.wav"'
    body = f"--{mark}\r\n{head}\r\n\r\n".encode() + wav + f"\r\n--{mark}--\r\n".encode()
    request = urllib.request.Request(  # noqa: S310
        f"{web}/v1/audio/transcriptions", body, {"Content-Type": f"multipart/form-data; boundary={mark}"}
    )
    with urllib.request.urlopen(request, timeout=_ANSWER_S) as response:  # noqa: S310
        return str(json.load(response)["text"])


def _with_sizes(wav: bytes) -> bytes:
    """A WAV file that came as a stream, with its true length."""
    with wave.open(BytesIO(wav)) as file:
        parameters, samples = file.getparams(), file.readframes(len(wav))
    whole = BytesIO()
    with wave.open(whole, "wb") as file:
        file.setparams(parameters)
        file.writeframes(samples)
    return whole.getvalue()


def _seconds(wav: bytes) -> float:
    with wave.open(BytesIO(wav)) as file:
        return float(file.getnframes()) / file.getframerate()


def _show(console: Console, each: Spoken) -> None:
    """What was heard, the answer, and how long each took."""
    outcome = each.outcome
    console.print()
    console.print(Text.assemble((plain(each.heard), "bold"), (f"  {outcome.picture}", "dim")), soft_wrap=True)
    console.print(Text(plain(outcome.answer.text), "green" if outcome.right else "red"), soft_wrap=True)
    times = (
        f"{each.question_s:.1f} s of speech, transcript after {each.transcript_s:.2f} s, answer after "
        f"{outcome.answer.done.total:.2f} s, its first sound after {each.first_sound_s:.2f} s"
    )
    console.print(Text(times, "dim"), soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
