"""Chooses one of a closed set of labels, in one prefill pass of a decider or of the generator.

Sources: the planner and the prompt-based baseline of "Efficient Multimodal Planning Agent for VQA"; the routers and the
model-based verifier of QA-Dragon.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

from quizglass_server.domain.turns import Picture
from quizglass_server.errors import EngineFailed, QuizglassError
from quizglass_server.models.prompts import Values
from quizglass_server.roles.decider import SUPPORTED, Decider
from quizglass_server.roles.generator import GenerationRequest, Generator
from quizglass_server.steps.shortening import TOO_MUCH, may_be_shorter, shorter
from quizglass_server.steps.step import step


@step("decide")
async def ask_decider(
    decider: Decider, picture: Picture | None, values: Values, labels: Sequence[str]
) -> list[tuple[str, float]]:
    """Each label with its probability, without those of the decider that nobody asks for.

    Raises:
        EngineFailed: it has none of them.
    """
    weighed = await decider.probabilities(picture, values)
    if asked := [(name, probability) for name, probability in weighed if name in labels]:
        return asked
    raise EngineFailed(f"the bundle's decider chooses among {[name for name, _ in weighed]}, not {list(labels)}")


@step("decide", role="generator")
async def ask_letter(
    generator: Generator, request: GenerationRequest, labels: Sequence[str]
) -> list[tuple[str, float]]:
    """Each label with its probability as the prompt's continuation: " A" is the first."""
    letters = [f" {letter}" for letter in ascii_uppercase[: len(labels)]]
    refusal: QuizglassError | None = None
    for attempt, _ in shorter(request):
        try:
            return list(zip(labels, await generator.choose(attempt, letters), strict=True))
        except TOO_MUCH as error:
            if not may_be_shorter(attempt, error):
                raise
            refusal = error
    raise refusal or EngineFailed("nothing was asked")


@step("judge", optional=True, after=True)
async def is_supported(verifier: Decider, picture: Picture | None, values: Values) -> bool:
    """Whether "supported" is likelier than every other judgement of the `answer` by its `evidence`."""
    return max(await verifier.probabilities(picture, values), key=lambda item: item[1])[0] == SUPPORTED
