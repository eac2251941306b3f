"""Calls to one server that speaks OpenAI's chat completions: vLLM, SGLang, Triton's frontend, Ray Serve LLM."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from http import HTTPStatus
from math import exp
from time import monotonic
from typing import Any, TypeVar

from quizglass_server.engines.generator.connection import ConnectionLost, HttpConnections, NotHttp, Response
from quizglass_server.engines.generator.constraints import checked
from quizglass_server.engines.generator.prompt import (
    TURN,
    Constraint,
    ConstraintUnusable,
    Finished,
    Part,
    Piece,
    PromptRefused,
    Urgency,
    Usage,
)
from quizglass_server.engines.generator.remote.documents import ChatChunk, Choice, TokenLogprob, read, reason
from quizglass_server.engines.generator.remote.messages import PictureUrls, messages_of
from quizglass_server.engines.generator.sampling import TEMPERATURE
from quizglass_server.errors import BudgetExceeded, EngineFailed, EngineLost, Overloaded
from quizglass_server.scheduling.ledger import handed

COMPLETIONS = "/v1/chat/completions"
MOST_LABELS = 20
"""Most tokens whose probabilities OpenAI's API tells."""
_OF_GRAMMARS = re.compile("grammar|ebnf|structured|guided|parse", re.IGNORECASE)
_SILENT_S = 60.0
_RETRY_S = 1.0
_DATA, _DONE = b"data:", b"[DONE]"
_NO_ROOM = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_NOT_ALLOWED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_UNWANTED = (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY)
Got = TypeVar("Got")


GRAMMAR_KEYS: Mapping[str, Callable[[str], Mapping[str, Any]]] = {
    "structured_outputs": lambda grammar: {"structured_outputs": {"grammar": grammar}},
    "guided_grammar": lambda grammar: {"guided_grammar": grammar},
    "ebnf": lambda grammar: {"ebnf": grammar},
}
"""How a grammar is asked for: of vLLM, of vLLM before 0.12, of SGLang. All of them read GBNF."""


class OpenAiClient:
    """Writes and chooses; nothing can be read ahead.

    Args:
        connections: to the server.
        model: which of its models is asked.
        tells: whether it tells probabilities. Where it does not, those of written tokens are 0.
        more: further keys of each request, that this server knows.
    """

    def __init__(
        self, connections: HttpConnections, model: str, *, tells: bool, more: Mapping[str, Any] | None = None
    ) -> None:
        self._connections = connections
        self.tells = tells
        self._fixed = {"model": model, "temperature": TEMPERATURE, **(more or {})}
        self.grammar = ""
        """Which of `GRAMMAR_KEYS` it follows; empty: none."""
        self._name = str(connections.address)
        self._answers_as = ""
        self._pictures = PictureUrls()

    async def generate(
        self, prompt: Sequence[Part], max_tokens: int, urgency: Urgency = TURN, constraint: Constraint | None = None
    ) -> AsyncGenerator[Piece | Finished, None]:
        """Complete a prompt: pieces as they come, then the end. Closing it ends the connection, and so the work.

        Raises:
            PromptRefused: the server refuses the prompt; in its words.
            ConstraintUnusable: a grammar is to be followed, and it follows none, or not this one.
            Overloaded: it has no room.
            BudgetExceeded: the deadline passed before anything came.
            EngineLost: it cannot be reached, left in the middle, or another model answers.
            EngineFailed: it failed, or sent what is no completion.
        """
        follows: Mapping[str, Any] = {}
        if constraint is not None and constraint.lines == 0:
            if not self.grammar:
                raise ConstraintUnusable(f"{self._name} speaks OpenAI's API and follows no grammar")
            follows = GRAMMAR_KEYS[self.grammar](checked(constraint))
        body = {**follows, "messages": messages_of(prompt, self._pictures), "max_tokens": max_tokens, "stream": True}
        body |= {"stream_options": {"include_usage": True}, "logprobs": self.tells}
        lines = _Lines(constraint.lines) if constraint is not None and constraint.lines else None
        written, usage, ended = 0, Usage(0), ""
        try:
            async with self._asked(body, urgency) as response, aclosing(self._chunks(response, urgency)) as chunks:
                async for chunk in chunks:
                    for choice in chunk.choices[:1]:
                        ended = ended or choice.finish_reason or ""
                        for piece in _pieces(choice):
                            written += 1
                            within = piece.text if lines is None else lines.within(piece.text)
                            if within:
                                yield replace(piece, text=within)
                    counts = chunk.usage
                    usage = Usage(counts.prompt_tokens or usage.prompt_tokens, 0, counts.completion_tokens or written)
                    if lines is not None and lines.done:
                        ended = "stop"
                        break
        except BudgetExceeded:
            if not written:
                raise
            ended = "deadline"
        if not ended:
            raise EngineLost(f"{self._name} ended its answer without saying why; ask again")
        yield Finished(ended if ended in ("length", "deadline") else "stop", usage)

    async def choose(
        self, prompt: Sequence[Part], labels: Sequence[str], urgency: Urgency = TURN
    ) -> tuple[list[float], Usage]:
        """Probability of each label as the beginning of the answer, normalised over the labels.

        A label that is not among the likeliest tokens has less than each of them. Errors as `generate`.
        """
        if not self.tells:
            raise EngineFailed(f"{self._name} tells no probabilities, by which to choose")
        body = {"messages": messages_of(prompt, self._pictures), "max_tokens": 1, "stream": True}
        body |= {"logprobs": True, "top_logprobs": MOST_LABELS, "stream_options": {"include_usage": True}}
        first: TokenLogprob | None = None
        read_tokens = 0
        async with self._asked(body, urgency) as response, aclosing(self._chunks(response, urgency)) as chunks:
            async for chunk in chunks:
                read_tokens = chunk.usage.prompt_tokens or read_tokens
                first = first or next((each for choice in chunk.choices for each in choice.logprobs.content), None)
        if first is not None:
            return _weighed(first, labels), Usage(read_tokens)
        raise EngineFailed(f"{self._name} told no probabilities, by which to choose")

    async def prefill(self, prompt: Sequence[Part], urgency: Urgency) -> Usage:
        """Nothing: OpenAI's API cannot read ahead."""
        return Usage(0)

    async def forget(self) -> None:
        """Nothing: what the other side keeps is its own."""

    @asynccontextmanager
    async def _asked(self, body: Mapping[str, Any], urgency: Urgency) -> AsyncIterator[Response]:
        """The response to a request, which the server has accepted."""
        content = await asyncio.to_thread(_encoded, {**self._fixed, **body})
        handed("generator", len(content))
        with self._named():
            request = self._connections.request("POST", COMPLETIONS, content)
            response = await _within(urgency, request.__aenter__())
            try:
                if not response.ok:
                    constrained = any(key in body for key in GRAMMAR_KEYS)
                    self._refuse(response, await _within(urgency, response.document()), constrained=constrained)
                yield response
            finally:
                await request.__aexit__(None, None, None)

    async def _chunks(self, response: Response, urgency: Urgency) -> AsyncGenerator[ChatChunk, None]:
        """Pieces of a streamed completion; ends where the server says so and not before."""
        with self._named():
            async with aclosing(response.lines()) as lines:
                while True:
                    try:
                        line = await _within(urgency, anext(lines))
                    except StopAsyncIteration:
                        raise EngineLost(f"{self._name} left in the middle of an answer; ask again") from None
                    if not line.startswith(_DATA):
                        continue
                    if (content := line[len(_DATA) :].strip()) == _DONE:
                        async for _ in lines:  # so that the connection is used again
                            pass
                        return
                    yield self._chunk(content)

    def _chunk(self, content: bytes) -> ChatChunk:
        chunk = read(ChatChunk, content, self._name)
        if chunk.error is not None:
            raise EngineFailed(f"{self._name} failed in the middle of an answer: {reason(content)}")
        if chunk.model:
            self._answers_as = self._answers_as or chunk.model
            if chunk.model != self._answers_as:
                raise EngineLost(f"{self._name} now answers as {chunk.model!r}, and did as {self._answers_as!r}")
        return chunk

    def _refuse(self, response: Response, content: bytes, *, constrained: bool) -> None:
        said, status = reason(content), response.status
        if status in _NOT_ALLOWED:
            raise EngineFailed(f"{self._name} refuses the token (status {status}); see generator_token_file")
        if status in _NO_ROOM:
            raise Overloaded(f"{self._name} has no room: {said}", _seconds(response.headers.get("retry-after")))
        if constrained and status in _UNWANTED and _OF_GRAMMARS.search(said):
            raise ConstraintUnusable(f"{self._name} cannot use the grammar: {said}")
        if status in _UNWANTED:
            raise PromptRefused(f"{self._name} says: {said}")
        raise EngineFailed(f"{self._name} failed with status {status}: {said}")

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Errors of the connection as the server's own."""
        try:
            yield
        except ConnectionLost as error:
            raise EngineLost(f"{self._name}: {error}; ask again") from error
        except NotHttp as error:
            raise EngineFailed(f"{self._name} sent what is no response: {error}") from error


class _Lines:
    """Ends an answer after so many lines, for want of a grammar."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._text = ""
        self.done = False

    def within(self, text: str) -> str:
        """What of a further piece of the answer is within its lines: a server may send several tokens as one piece."""
        if self.done:
            return ""
        before = len(self._text)
        self._text += text
        begun = self._text.lstrip()
        if begun.rstrip().count("\n") < self._most:
            return text
        self.done = True
        kept = len(self._text) - len(begun) + len("\n".join(begun.split("\n")[: self._most]))
        return self._text[before:kept]


def _encoded(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


async def _within(urgency: Urgency, awaited: Awaitable[Got]) -> Got:
    """The outcome, if it comes before the deadline; BudgetExceeded if not."""
    left = _SILENT_S if urgency.deadline is None else max(0.0, urgency.deadline - monotonic())
    try:
        async with asyncio.timeout(left):
            return await awaited
    except TimeoutError:
        raise BudgetExceeded("the time ran out before the generator answered") from None


def _pieces(choice: Choice) -> list[Piece]:
    """The tokens of a piece of the answer: each with its probability, if the server gives it."""
    text, tokens = choice.delta.content or "", choice.logprobs.content
    if not text:
        return []
    if "".join(each.token for each in tokens) == text:
        return [Piece(each.token, _probability(each.logprob)) for each in tokens]
    return [Piece(text, min((_probability(each.logprob) for each in tokens), default=0.0))]


def _weighed(token: TokenLogprob, labels: Sequence[str]) -> list[float]:
    """What each label weighs by the likeliest tokens; whether a space is before it is the chat's business."""
    likely: dict[str, float] = {}
    for each in token.top_logprobs or [token]:
        word = each.token.strip()
        likely[word] = likely.get(word, 0.0) + _probability(each.logprob)
    least = min(likely.values(), default=0.0) / 2 or 1e-9
    found = [likely.get(label.strip(), least) for label in labels]
    return [each / sum(found) for each in found]


def _probability(logprob: float) -> float:
    return exp(min(logprob, 0.0)) if logprob == logprob else 0.0


def _seconds(given: str | None) -> float:
    try:
        return min(3600.0, max(0.0, float(given or "")))
    except ValueError:
        return _RETRY_S
