"""The dialogue and the evidence, as prompt templates take them."""

from __future__ import annotations

from quizglass_server.domain.turns import Evidence, Turn


def history_values(turn: Turn) -> list[dict[str, str]]:
    """Earlier exchanges, oldest first."""
    return [{"question": exchange.question, "answer": exchange.answer} for exchange in turn.history]


def line(evidence: Evidence) -> str:
    """Evidence as models read it: "<title>: <text>", or whichever of the two there is."""
    return f"{evidence.title}: {evidence.text}" if evidence.title and evidence.text else evidence.title or evidence.text
