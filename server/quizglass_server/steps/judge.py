"""Asks the bundle's verifier whether the evidence supports an answer: QA-Dragon's model-based check."""

from __future__ import annotations

from quizglass_server.domain.turns import Picture
from quizglass_server.models.prompts import Values
from quizglass_server.roles.decider import SUPPORTED, Decider


async def is_supported(verifier: Decider, picture: Picture | None, values: Values) -> bool:
    """Whether "supported" is likelier than every other judgement."""
    return max(await verifier.probabilities(picture, values), key=lambda item: item[1])[0] == SUPPORTED
