"""Rewrites the question so that it stands alone: the paper's gold query q_g."""

from __future__ import annotations

from collections.abc import Sequence

from quizglass_server.domain.turns import Token, Turn
from quizglass_server.models.prompts import clean
from quizglass_server.roles.generator import GenerationRequest, Generator
from quizglass_server.steps.prompt_values import history_values, shown
from quizglass_server.steps.streams import closing, complete


async def rewrite(generator: Generator, turn: Turn, words: str, seen: Sequence[str], domain: str = "") -> str:
    """The gold query; `seen` are image search results ("<title>: <caption>"), none on the text-only path.

    `domain` is what the domain router says, empty without one.

    Returns:
        One line, empty when the generator wrote nothing.
    """
    request = GenerationRequest(
        task="rewrite",
        values={
            "question": turn.question,
            "history": history_values(turn),
            "words": words,
            "seen": list(seen),
            "domain": domain,
        },
        pictures=shown(turn),
    )
    async with closing(complete(generator, request)) as pieces:
        return clean("".join([piece.text async for piece in pieces if isinstance(piece, Token)]))
