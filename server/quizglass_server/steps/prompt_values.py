"""The dialogue and the evidence, as prompt templates take them."""

from __future__ import annotations

from quizglass_server.domain.turns import Evidence, Picture, Turn
from quizglass_server.models.prompts import PromptValue


def asked_values(turn: Turn) -> dict[str, PromptValue]:
    """What every prompt may name of the question itself."""
    return {"question": turn.question, "history": history_values(turn)}


def shown(turn: Turn) -> tuple[Picture, ...]:
    """The pictures that prompts show."""
    return () if turn.picture is None else (turn.picture,)


def history_values(turn: Turn) -> list[dict[str, str]]:
    """Earlier exchanges, oldest first."""
    return [{"question": exchange.question, "answer": exchange.answer} for exchange in turn.history]


def line(evidence: Evidence) -> str:
    """Evidence as models read it: "<title>: <text>", or whichever of the two there is."""
    return f"{evidence.title}: {evidence.text}" if evidence.title and evidence.text else evidence.title or evidence.text
