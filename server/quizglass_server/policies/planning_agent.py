"""The planning agent of "Efficient Multimodal Planning Agent for VQA".

One decision per question, made by a fine-tuned vision-language model before anything else runs:

    A (c1)  nothing    ─────────────────────────────────────────────►  M(y | q)
    B (c3)  picture    ─ image search ─ k_i ────────────────────────►  M(y | q, k_i)
    C (c2)  text       ─ rewrite q ─ q_g ─ text search ─ k_t ───────►  M(y | q, k_t)
    D (c4)  both       ─ image search ─ k_i ─ rewrite q, k_i ─ q_g
                          ─ text search ─ k_t ──────────────────────►  M(y | q, k_i, k_t)
"""

from __future__ import annotations

from quizglass_server.domain.turns import Plan
from quizglass_server.steps.generate import Draft
from quizglass_server.turn.toolbox import Toolbox


class PlanningAgent:
    """Looks up what the planner says is needed, and nothing else."""

    name = "planning-agent"
    needs = ("planner", "generator", "image_encoder", "text_encoder", "reranker")

    async def answer(self, tools: Toolbox) -> Draft:
        """Decide, then follow the plan."""
        tools.look_ahead()
        return await follow(await tools.plan_by_planner(), tools)


async def follow(plan: Plan, tools: Toolbox) -> Draft:
    """The four paths of the figure."""
    k_i = await tools.search_image() if plan.searches_image else []
    if not plan.searches_text:
        return await tools.generate(k_i)
    q_g = await tools.rewrite(k_i)
    k_t = await tools.search_text(q_g)
    return await tools.generate(k_i, k_t, q_g)
