"""Decides what has to be looked up: by the fine-tuned planner, or by asking the generator for the letter.

Source: "Efficient Multimodal Planning Agent for VQA", its planner and its prompt-based baseline.
"""

from __future__ import annotations

from quizglass_server.domain.turns import Plan, PlanDecision, Turn
from quizglass_server.roles.interfaces import GenerationRequest, Generator, Planner
from quizglass_server.steps.prompt_values import history_values

LETTERS: tuple[tuple[Plan, str], ...] = (
    (Plan.NONE, " A"),
    (Plan.IMAGE, " B"),
    (Plan.TEXT, " C"),
    (Plan.BOTH, " D"),
)
"""The letters of the plan prompt, each one token with its leading space."""


async def plan_by_planner(planner: Planner, turn: Turn, words: str) -> PlanDecision:
    """One prefill pass of the planner; `words` are those read in the picture."""
    return await planner.plan(turn, words)


async def plan_by_prompt(generator: Generator, turn: Turn, words: str) -> PlanDecision:
    """Ask the untuned generator for the letter; the likeliest of the four is the plan."""
    request = GenerationRequest(
        task="plan",
        values={"question": turn.question, "history": history_values(turn), "words": words},
        picture=turn.picture,
    )
    scores = await generator.choose(request, [letter for _, letter in LETTERS])
    probabilities = tuple((plan, score) for (plan, _), score in zip(LETTERS, scores, strict=True))
    return PlanDecision(max(probabilities, key=lambda item: item[1])[0], "prompt", probabilities)
