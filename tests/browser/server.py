"""The server that the browser's tests ask: the real port for HTTP before an assistant that does as the question says.

Prints one JSON object a line: first where it is, then what its turns were given and what became of them.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncGenerator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from quizglass import values
from quizglass.values import Region
from quizglass_server.domain import turns as domain
from quizglass_server.errors import Overloaded
from quizglass_server.network.permissions import Permission
from quizglass_server.network.tokens import TokenFile, made
from quizglass_server.scheduling.time_left import Budget
from tests.support.gate import Gate
from tests.support.rpc_fakes import EVENTS, FOUND, png
from tests.support.sessions.speech import SpeechStage
from tests.support.tls import certificate
from tests.support.web import web_serving

PICTURE = png(colour="teal")
SHOWN = replace(FOUND, picture=sha256(PICTURE).digest())
OTHER = replace(FOUND, id="2", title="Other <b>thing</b>", used=False, picture=b"")
SURE = values.Done("I don't know", values.FinishReason.COMPLETE, abstain_reason=values.AbstainReason.NO_EVIDENCE)
PART = Region(0.5, 0.5, 0.75, 0.75)
"""Where the things of questions are in every picture; too small in a thumbnail."""
released = asyncio.Event()


def say(**told: Any) -> None:
    print(json.dumps(told), flush=True)


async def answered(turn: domain.Turn, policy: str, budget: Budget) -> AsyncGenerator[values.TurnEvent, None]:
    """The usual answer, or what the question asks for by its first word."""
    width = turn.picture.width if turn.picture else 0
    say(turn=turn.question, policy=policy, width=width, history=len(turn.history))
    try:
        yield EVENTS[0]
        yield values.StepEnded("plan", "planner", 0.001, 0.02, 0.015)
        match turn.question.split()[0]:
            case "wait":
                yield values.AnswerDelta("so far")
                await asyncio.Event().wait()
            case "hold":
                released.clear()
                yield values.AnswerDelta("first,")
                await released.wait()
                yield values.AnswerDelta(" then second")
                yield values.Done("first, then second", values.FinishReason.COMPLETE)
            case "fail":
                raise Overloaded("8 turns are running", 1.0)
            case "unknown":
                yield SURE
            case "unsupported":
                yield values.EvidenceFound((OTHER,))
                yield values.AnswerDelta("99 crowns")
                yield values.Verdict(values.VerdictOutcome.UNSUPPORTED, 0.5, 0.7)
                yield values.Done("99 crowns", values.FinishReason.COMPLETE)
            case "half":
                yield values.AnswerDelta("He weighs 27 kg.")
                notes = {"unanswered": "When was he born?"}
                yield values.Verdict(values.VerdictOutcome.UNSUPPORTED, 0.0, 0.0, notes, values.AnswerKind.QUOTED)
                yield values.Done("He weighs 27 kg.", values.FinishReason.COMPLETE)
            case "guess":
                yield values.AnswerDelta("It may be a cup.")
                yield values.Verdict(values.VerdictOutcome.UNCHECKED, 0.0, 0.0, kind=values.AnswerKind.GUESSED)
                yield values.Done("It may be a cup.", values.FinishReason.COMPLETE)
            case "printed":
                read = values.Evidence("1", values.Origin.READ_TEXT, "", "", "NO ENTRY", used=True)
                yield values.EvidenceFound((read,))
                yield values.AnswerDelta("NO ENTRY")
                yield values.Verdict(values.VerdictOutcome.SUPPORTED, 0.0, 0.0, kind=values.AnswerKind.QUOTED)
                cited = (values.Citation("1", "", "", 0, 8),)
                yield values.Done("NO ENTRY", values.FinishReason.COMPLETE, cited)
            case "thanks":
                yield values.AnswerDelta("You're welcome.")
                yield values.Verdict(values.VerdictOutcome.UNCHECKED, 0.0, 0.0, kind=values.AnswerKind.FIXED)
                yield values.Done("You're welcome.", values.FinishReason.COMPLETE)
            case "draft":
                yield values.Provisional("a first try")
                yield values.Withdrawn()
                yield values.AnswerDelta("a second one")
                yield values.Done("a second one", values.FinishReason.COMPLETE)
            case kind:
                if kind == "release":
                    released.set()
                yield values.EvidenceFound((SHOWN, OTHER))
                for event in EVENTS[3:]:
                    yield event
    except (asyncio.CancelledError, GeneratorExit):
        say(cancelled=turn.question)
        raise


class FirstGate(Gate):
    """Is shut for the first connection, which it reports, and for no other."""

    async def __call__(self) -> None:
        if not self.reached.is_set():
            say(withheld=True)
            await super().__call__()


def protected(folder: Path) -> dict[str, Any]:
    """Settings of a server with a certificate and a token, which is printed."""
    shown = certificate(folder)
    text, token = made("page", [Permission.ASK, Permission.OPERATE], None)
    other, reader = made("reader", [Permission.READ], None)
    for each in (token, reader):
        TokenFile(folder / "tokens").add(each)
    say(token=text, reader=other)
    return {"tls_cert": shown.path, "tls_key": shown.key, "tokens": folder / "tokens"}


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        network = protected(Path(folder)) if "--protected" in sys.argv else {}
        async with web_serving(
            Path(folder), kind=SpeechStage, web_origins="http://glasses.example", coaching="blur", **network
        ) as served:
            assert isinstance(served.stage, SpeechStage)
            served.stage.hearing.texts = ["spoken, what is it?"]
            served.stage.hearing.gate = FirstGate() if "--withheld" in sys.argv else None
            served.stage.assistant.script = answered
            served.stage.assistant.wordy, served.stage.assistant.things = [], [PART]
            served.stage.knowledge.pictures["velmora"] = [PICTURE]
            scheme = "https" if network else "http"
            say(url=f"{scheme}://localhost:{served.web.port}", port=served.web.port)
            await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
