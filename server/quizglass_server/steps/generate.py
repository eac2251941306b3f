"""Has the generator complete a prompt: silently, or streamed as the answer M(y | q, k_i, k_t)."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

from quizglass.values import FinishReason
from quizglass_bundle.inputs.prompts import clean
from quizglass_server.domain.state import Draft
from quizglass_server.domain.turns import GenerationEnd, StepDetail, Token
from quizglass_server.errors import BudgetExceeded, QuizglassError
from quizglass_server.roles.generator import GenerationRequest, Generator
from quizglass_server.steps.calculator import Calculator
from quizglass_server.steps.shortening import TOO_MUCH, may_be_shorter, shorter
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import prompted, texts

_FINISH = {
    "stop": FinishReason.COMPLETE,
    "length": FinishReason.LENGTH,
    "cancelled": FinishReason.CANCELLED,
    "deadline": FinishReason.BUDGET,
}
_BULLET = re.compile(r"^(?:[-*\u2022]|\d{1,2}[.)])\s+")
_Item = TypeVar("_Item")


class Writing:
    """A draft while it is being written: whatever ends it, `draft` is what there is.

    Args:
        request: what it completes, whose evidence its comparisons are checked against.
    """

    def __init__(self, request: GenerationRequest) -> None:
        self._text = ""
        self._calculator = Calculator(_evidence(request))
        self._begun = False
        self._probabilities: list[float] = []
        self._end: GenerationEnd | None = None
        self.history_left_out = 0

    def add(self, token: Token) -> str:
        """Take a token; returns what it adds to the text, without white space at its start."""
        self._probabilities.append(token.probability)
        new = token.text if self._begun else token.text.lstrip()
        self._begun = self._begun or bool(new)
        return self._added(self._calculator.feed(new))

    def close(self, end: GenerationEnd) -> str:
        """Take the end of the generation; returns what it adds to the text."""
        self._end = end
        return self._added(self._calculator.rest())

    def _added(self, text: str) -> str:
        self._text += text
        return text

    @property
    def draft(self) -> Draft:
        """What was written so far."""
        end = self._end or GenerationEnd("deadline", 0, len(self._probabilities))
        return Draft(
            self._text,
            tuple(self._probabilities),
            _FINISH[end.reason],
            end.prompt_tokens,
            end.answer_tokens,
            self.history_left_out,
            calculations=tuple(self._calculator.calculations),
        )


def _evidence(request: GenerationRequest) -> list[str]:
    """Lines of the evidence that a prompt shows."""
    shown = (request.values.get(name) for name in ("seen", "found"))
    return [line for lines in shown if isinstance(lines, list | tuple) for line in lines if isinstance(line, str)]


def _written(draft: Draft) -> Iterable[StepDetail]:
    """What was written, with the mean probability of its tokens, and how long that is."""
    mean = draft.p_mean if draft.probabilities else None
    tokens = f"{draft.prompt_tokens} read, {draft.answer_tokens} written"
    written = (replace(text, score=mean) for text in texts("text", draft.text))
    return *written, *texts("calculated", *map(str, draft.calculations)), StepDetail("tokens", tokens)


def _told_answer(_: None, request: GenerationRequest, writing: Writing, __: object) -> Telling:
    return _prompted(request), _written(writing.draft)


def _told_draft(draft: Draft | None, request: GenerationRequest) -> Telling:
    return _prompted(request), () if draft is None else _written(draft)


def _prompted(request: GenerationRequest) -> Iterable[StepDetail]:
    return prompted(request.task, request.values, pictures=len(request.pictures))


@step("generate", role="generator", answers=True, told=_told_answer)
async def generate(
    generator: Generator, request: GenerationRequest, writing: Writing, tell: Callable[[str], None]
) -> None:
    """Fill `writing` and tell each new piece of its text.

    Raises:
        BudgetExceeded: the engine ended it for want of time.
        InvalidInput: the prompt is too long even without its dialogue and with one line of evidence.
    """
    await _complete(generator, request, writing, tell)
    if writing.draft.finish is FinishReason.BUDGET:
        raise BudgetExceeded("the answer was ended at its deadline")


@step("write", role="generator", told=_told_draft)
async def write(generator: Generator, request: GenerationRequest) -> Draft:
    """A whole completion, nothing of it told; errors as `generate`, since half a query or reason is none."""
    writing = Writing(request)
    await generate(generator, request, writing, lambda _: None)
    return writing.draft


def lines_of(text: str) -> list[str]:
    """The lines of a text without bullets and numbers, each once, none empty."""
    lines = (clean(_BULLET.sub("", row.strip())) for row in text.splitlines())
    return list(dict.fromkeys(row for row in lines if row))


async def _complete(
    generator: Generator, request: GenerationRequest, writing: Writing, tell: Callable[[str], None]
) -> None:
    """A prompt too long for the model, or for the time, loses the pictures of entries.

    One that is still too long loses its older dialogue, then the last lines of its evidence, never the question.
    """
    refusal: QuizglassError | None = None
    for attempt, left_out in shorter(request):
        begun = False
        try:
            async with _closing(generator.generate(attempt)) as pieces:
                async for piece in pieces:
                    begun, writing.history_left_out = True, left_out
                    text = writing.close(piece) if isinstance(piece, GenerationEnd) else writing.add(piece)
                    if text:
                        tell(text)
            return
        except TOO_MUCH as error:
            if begun or not may_be_shorter(attempt, error):
                raise
            refusal = error
    if refusal is not None:
        raise refusal


@asynccontextmanager
async def _closing(items: AsyncIterator[_Item]) -> AsyncGenerator[AsyncIterator[_Item], None]:
    """Close an iterator at the end: an abandoned stream must stop its engine now, not when memory is collected."""
    try:
        yield items
    finally:
        if isinstance(items, AsyncGenerator):
            await items.aclose()
