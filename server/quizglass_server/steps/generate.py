"""Lets the generator answer from the picture and the evidence: M(y | q, k_i, k_t)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from quizglass_server.domain.turns import FinishReason, GenerationEnd, Token, Turn
from quizglass_server.roles.generator import GenerationRequest, Generator
from quizglass_server.steps.prompt_values import history_values, shown
from quizglass_server.steps.streams import closing, complete

_FINISH = {
    "stop": FinishReason.COMPLETE,
    "length": FinishReason.LENGTH,
    "cancelled": FinishReason.CANCELLED,
    "deadline": FinishReason.BUDGET,
}


@dataclass(slots=True)
class Draft:
    """An answer while it is being written."""

    text: str = ""
    probabilities: list[float] = field(default_factory=list)
    """Of every token so far."""
    finish: FinishReason = FinishReason.BUDGET
    """Until the generator says how it ended."""
    prompt_tokens: int = 0
    answer_tokens: int = 0
    history_left_out: int = 0
    """Earlier exchanges, the oldest ones, that the prompt had no room for."""
    supported: bool | None = None
    """What the bundle's verifier says of the whole; None when it was not asked."""

    def add(self, token: Token) -> str:
        """Take a token; returns what it adds to the answer, without white space at the answer's start."""
        self.probabilities.append(token.probability)
        self.answer_tokens = len(self.probabilities)
        new = token.text if self.text else token.text.lstrip()
        self.text += new
        return new

    def close(self, end: GenerationEnd) -> None:
        """Take the end of the generation."""
        self.finish = _FINISH[end.reason]
        self.prompt_tokens, self.answer_tokens = end.prompt_tokens, end.answer_tokens


def answer_request(
    turn: Turn, words: str, seen: Sequence[str], found: Sequence[str], query: str | None, domain: str = ""
) -> GenerationRequest:
    """What the generator is given.

    Args:
        turn: the question.
        words: read in the picture.
        seen, found: evidence lines "<title>: <text>" of the picture and the text search.
        query: the gold query if there is one.
        domain: of the question, as the domain router says; empty without one.
    """
    return GenerationRequest(
        task="answer",
        values={
            "question": turn.question,
            "history": history_values(turn),
            "words": words,
            "seen": list(seen),
            "found": list(found),
            "query": query,
            "domain": domain,
        },
        pictures=shown(turn),
        max_tokens=turn.max_answer_tokens,
    )


async def write(generator: Generator, request: GenerationRequest, draft: Draft) -> AsyncGenerator[str, None]:
    """Fill `draft`, yielding each new piece of text. However it ends, `draft` holds what was written."""

    def shortened(left_out: int) -> None:
        draft.history_left_out = left_out

    async with closing(complete(generator, request, shortened)) as pieces:
        async for piece in pieces:
            if isinstance(piece, GenerationEnd):
                draft.close(piece)
            elif text := draft.add(piece):
                yield text


async def written(generator: Generator, request: GenerationRequest) -> Draft:
    """A whole answer, nothing of it told before it is there."""
    draft = Draft()
    async for _ in write(generator, request, draft):
        pass
    return draft
