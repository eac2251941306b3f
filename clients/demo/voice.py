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
from clients.demo.demo import import_folder
from quizglass.session import AnswerAudio, OutputProfile, SpeechTranscript, TurnUpdate
from quizglass.text import escape_unencodable_output, plain
from quizglass.values import AnswerDelta, Done
from quizglass_client import Client, ClientError, Session
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
_RATE = 24_000
"""Samples a second of `pcm`, as OpenAI's API has it."""
_HEAD_BYTES = 44
"""Of a WAV file."""


@dataclass(slots=True)
class Spoken:
    """One question, from the wearer's voice to the answer's.

    Attributes:
        asked: the question.
        question: it as a WAV file.
        heard: its transcript.
        answer: its text; empty: none came.
        sound: of the answer, 16-bit PCM.
        rate_hz: of that.
        transcript_s, words_s, sound_s: from the end of the question to its transcript, to the answer's first words and
            to its first sound.
    """

    asked: Asked
    question: bytes
    heard: str = ""
    answer: str = ""
    sound: bytes = b""
    rate_hz: int = 0
    transcript_s: float = 0.0
    words_s: float = 0.0
    sound_s: float = 0.0

    @property
    def right(self) -> bool:
        """Whether the answer says what is right."""
        return all(word.casefold() in self.answer.casefold() for word in self.asked.right)


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
        with Session(server.target, output=OutputProfile(aloud=True)) as session:
            for asked in QUESTIONS:
                spoken.append(_ask(session, server.web, asked, pictures, args.out))
                _show(console, spoken[-1])
    console.print(f"\nWhat was asked and answered, as sound: {args.out}", highlight=False, soft_wrap=True)
    return 0 if all(each.right for each in spoken) else 1


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


def _ask(session: Session, web: str, asked: Asked, pictures: Path, out: Path) -> Spoken:
    """Say a question about a photograph, and keep what was said on both sides."""
    spoken = Spoken(asked, _wearers_voice(web, asked.question))
    began = time.monotonic()
    for said in session.say(spoken.question, pictures / asked.picture):
        after = time.monotonic() - began
        match said:
            case SpeechTranscript(final=True):
                spoken.heard, spoken.transcript_s = said.text, after
            case TurnUpdate(event=AnswerDelta()):
                spoken.words_s = spoken.words_s or after
            case TurnUpdate(event=Done(answer=answer)):
                spoken.answer, spoken.words_s = answer, spoken.words_s or after
            case AnswerAudio() if said.data:
                spoken.sound_s = spoken.sound_s or after
                spoken.rate_hz = said.rate_hz
                spoken.sound += said.data
    name = Path(asked.photograph).stem
    (out / f"{name}-question.wav").write_bytes(spoken.question)
    (out / f"{name}-answer.wav").write_bytes(_wav(spoken.sound, spoken.rate_hz or _RATE))
    return spoken


def _wearers_voice(web: str, text: str) -> bytes:
    """A question as a WAV file."""
    body = json.dumps({"model": "quizglass", "voice": "default", "input": text, "response_format": "pcm"}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{web}/v1/audio/speech", body, headers)  # noqa: S310 - our own server
    with urllib.request.urlopen(request, timeout=_ANSWER_S) as response:  # noqa: S310
        return _wav(response.read(), _RATE)


def _wav(samples: bytes, rate_hz: int) -> bytes:
    whole = BytesIO()
    with wave.open(whole, "wb") as file:
        file.setparams((1, 2, rate_hz, 0, "NONE", ""))
        file.writeframes(samples)
    return whole.getvalue()


def _show(console: Console, each: Spoken) -> None:
    """What was heard, the answer, and how long each took."""
    console.print()
    head = Text.assemble((plain(each.heard), "bold"), (f"  {each.asked.about}", "dim"))
    console.print(head, soft_wrap=True)
    console.print(Text(plain(each.answer), "green" if each.right else "red"), soft_wrap=True)
    length_s = (len(each.question) - _HEAD_BYTES) / 2 / _RATE
    times = (
        f"{length_s:.1f} s of speech; transcript {each.transcript_s:.2f} s after its end, first words "
        f"{each.words_s:.2f} s, first sound {each.sound_s:.2f} s"
    )
    console.print(Text(times, "dim"), soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
