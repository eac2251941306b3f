"""What a chat is answered with, made of a turn's events: one completion, or the chunks of a stream.

Citations are annotations of the kind `url_citation`; what OpenAI's API has no word for is in `quizglass`. That an
answer is doubtful is said in its words as well, which are all that most clients show.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from quizglass.values import (
    AnswerDelta,
    Confirmed,
    Done,
    Evidence,
    EvidenceFound,
    FinishReason,
    PlanMade,
    Provisional,
    TurnEvent,
    Verdict,
)
from quizglass_server.domain.doubts import doubt_of
from quizglass_server.web.chat.request import DOUBT_APART, Chat

_JSON_BEGINS = ("{", "[", '"', "-", *"0123456789", "true", "false", "null")
_FINISH = {FinishReason.LENGTH: "length", FinishReason.BUDGET: "length"}


class Completion:
    """The answer to one chat while it comes.

    Args:
        chat: what was asked.
        turn_id: of the turn that answers.
        policy: that answers.
        bundle: name and version of the models.
    """

    def __init__(self, chat: Chat, turn_id: str, policy: str, bundle: str) -> None:
        self._chat = chat
        self._common = {
            "id": f"chatcmpl-{turn_id}",
            "created": int(time.time()),
            "model": policy,
            "system_fingerprint": bundle,
        }
        self._turn_id = turn_id
        self._evidence: dict[str, Evidence] = {}
        self._plan: PlanMade | None = None
        self._verdict: Verdict | None = None
        self._proposed = ""
        self._told = ""
        self._sent = 0
        """Characters of it that were given out."""
        self._begun = False
        """Whether the first chunk of a stream was made, which names its role."""
        self._done: Done | None = None

    def take(self, event: TurnEvent) -> str:
        """Take an event; returns what it adds to the answer.

        Where the answer is to be JSON, all but an object is given out at its end, when it is clear that it is JSON.
        """
        new = ""
        match event:
            case EvidenceFound():
                self._evidence |= {item.id: item for item in event.items}
            case PlanMade():
                self._plan = event
            case AnswerDelta():
                new = event.text
            case Provisional():
                self._proposed = event.text
            case Confirmed() if not self._told:
                new = self._proposed
            case Verdict():
                self._verdict = event
            case Done():
                self._done = event
                new = self._rest(event.answer) + self._doubt()
        self._told += new if self._told else new.lstrip()
        if self._chat.answer_schema and self._done is None and not self._told.startswith("{"):
            return ""
        piece = self._told[self._sent :]
        self._sent = len(self._told)
        return piece

    def whole(self) -> dict[str, Any]:
        """The completion, once the turn is done."""
        done = self._end()
        message = {"role": "assistant", **self._said(done.answer + self._doubt()), "annotations": self._annotations()}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._finish()}
        return {
            **self._common,
            "object": "chat.completion",
            "choices": [choice],
            "usage": self._usage(),
            "quizglass": self._about(),
        }

    def chunk(self, text: str) -> dict[str, Any]:
        """The chunk for a piece of the answer."""
        return self._chunk(self._said(text))

    def last_chunks(self) -> Iterator[dict[str, Any]]:
        """The chunks that end a stream, once the turn is done."""
        yield self._chunk({"annotations": self._annotations()}, self._finish()) | {"quizglass": self._about()}
        if self._chat.usage:
            yield {**self._common, "object": "chat.completion.chunk", "choices": [], "usage": self._usage()}

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        if not self._begun:
            self._begun, delta = True, {"role": "assistant", **delta}
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if self._chat.usage else {}
        return {**self._common, "object": "chat.completion.chunk", "choices": [choice], **usage}

    def _rest(self, answer: str) -> str:
        """What the told pieces lack of the answer; one that they do not begin follows them on a line of its own."""
        told = self._told.strip()
        if answer.startswith(told):
            return answer[len(told) :]
        return f"\n\n{answer}"

    def _doubt(self) -> str:
        """What follows the words of a doubtful answer; nothing behind JSON, which programs read."""
        doubt = "" if self._chat.answer_schema else doubt_of(self._verdict)
        return f"{DOUBT_APART}{doubt}" if doubt else ""

    def _said(self, text: str) -> dict[str, Any]:
        """A text as the answer; as a refusal where it should have been JSON and is none, such as "I don't know"."""
        if self._chat.answer_schema and self._done is not None and not _is_json(self._done):
            return {"content": None, "refusal": text.strip()}
        return {"content": text, "refusal": None}

    def _annotations(self) -> list[dict[str, Any]]:
        return [
            {
                "type": "url_citation",
                "url_citation": {
                    "start_index": citation.start,
                    "end_index": citation.end,
                    "title": citation.title,
                    "url": self._address(citation.evidence_id, citation.entry_id),
                },
            }
            for citation in self._end().citations
        ]

    def _address(self, evidence: str, entry: str) -> str:
        """Where an entry came from, if that is an address; else a name for it, or for the picture of words in it."""
        source = self._evidence[evidence].source if evidence in self._evidence else ""
        if source.startswith(("https://", "http://")):
            return source
        return f"urn:quizglass:entry:{entry}" if entry else "urn:quizglass:picture"

    def _finish(self) -> str:
        return _FINISH.get(self._end().finish_reason, "stop")

    def _usage(self) -> dict[str, int]:
        read, written = self._end().prompt_tokens, self._end().answer_tokens
        return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}

    def _about(self) -> dict[str, Any]:
        done = self._end()
        return {
            "turn_id": self._turn_id,
            "plan": self._plan.plan if self._plan else None,
            "verdict": self._checked(),
            "abstain_reason": done.abstain_reason or None,
            "skipped": [{"step": each.step, "reason": each.reason} for each in done.skipped],
            "ignored": list(self._chat.ignored),
            **({"heard": self._chat.heard} if self._chat.heard else {}),
        }

    def _checked(self) -> dict[str, Any] | None:
        verdict = self._verdict
        if verdict is None:
            return None
        return {"outcome": verdict.outcome, "kind": verdict.kind or None, "notes": dict(verdict.notes)}

    def _end(self) -> Done:
        if self._done is None:
            raise RuntimeError("the turn is not done")
        return self._done


def _is_json(done: Done) -> bool:
    """Whether an answer is JSON; one that was cut off, whether it began as JSON."""
    if done.finish_reason in _FINISH:
        return done.answer.startswith(_JSON_BEGINS)
    try:
        json.loads(done.answer)
    except (ValueError, RecursionError):
        return False
    return True
