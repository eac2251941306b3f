"""Asks the bundle's verifier whether the evidence supports an answer: QA-Dragon's model-based check."""

from __future__ import annotations

from quizglass_server.roles.interfaces import SUPPORTED, Answered, Verifier


async def is_supported(verifier: Verifier, answered: Answered) -> bool:
    """Whether "supported" is likelier than every other judgement."""
    return max(await verifier.check(answered), key=lambda item: item[1])[0] == SUPPORTED
