"""Decides what has to be looked up: by the fine-tuned planner, or by asking the generator for the letter.

Source: "Efficient Multimodal Planning Agent for VQA", its planner and its prompt-based baseline.
"""

from __future__ import annotations

from quizglass_server.domain.turns import Plan, PlanDecision, Turn
from quizglass_server.models.prompts import Values
from quizglass_server.roles.decider import Decider
from quizglass_server.roles.generator import GenerationRequest, Generator
from quizglass_server.steps.prompt_values import asked_values, shown

LETTERS: tuple[tuple[Plan, str], ...] = (
    (Plan.NONE, " A"),
    (Plan.IMAGE, " B"),
    (Plan.TEXT, " C"),
    (Plan.BOTH, " D"),
)
"""The letters of the plan prompt, each one token with its leading space."""


async def plan_by_decider(by: str, decider: Decider, turn: Turn, values: Values) -> PlanDecision:
    """One prefill pass of the decider of that name, whose labels are plans."""
    weighed = await decider.probabilities(turn.picture, {**asked_values(turn), **values})
    probabilities = tuple((Plan(name), probability) for name, probability in weighed)
    return PlanDecision(max(probabilities, key=lambda item: item[1])[0], by, probabilities)


async def plan_by_prompt(generator: Generator, turn: Turn, words: str) -> PlanDecision:
    """Ask the untuned generator for the letter; the likeliest of the four is the plan."""
    request = GenerationRequest(
        task="plan",
        values={**asked_values(turn), "words": words},
        pictures=shown(turn),
    )
    scores = await generator.choose(request, [letter for _, letter in LETTERS])
    probabilities = tuple((plan, score) for (plan, _), score in zip(LETTERS, scores, strict=True))
    return PlanDecision(max(probabilities, key=lambda item: item[1])[0], "prompt", probabilities)
