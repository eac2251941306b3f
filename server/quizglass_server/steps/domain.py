"""Names the domain of a question about a picture, which prompts may take up: QA-Dragon's domain router."""

from __future__ import annotations

from quizglass_server.domain.turns import Picture
from quizglass_server.roles.domain_router import DomainRouter


async def domain_of(router: DomainRouter, picture: Picture, question: str) -> str:
    """The likeliest domain's name."""
    return max(await router.domains(picture, question), key=lambda item: item[1])[0]
