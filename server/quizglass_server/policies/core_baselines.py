"""What CoRe-MMRAG is compared with; its parametric baseline M(q) is the policy `none`.

one-stage         image search ─ five entries ───────────────────────────► M(q, I_1 ... I_5)
two-stage         image search ─ five entries ─ the best by its text ─────► M(q, I_t)
chain of thought  image search ─ five entries ─ reason ───────────────────► M(q, reason, I_1 ... I_5)
"""

from __future__ import annotations

from quizglass_server.domain.state import Draft
from quizglass_server.policies.core_mmrag import TOP_ENTRIES, select
from quizglass_server.policies.tools import Tools


class OneStage:
    """Answers from the five entries at once."""

    name = "core-one-stage"
    needs = ("generator", "image_encoder")
    likes = ("detector", "domain_router")
    tasks = ()

    async def answer(self, tools: Tools) -> Draft:
        """Search, then answer."""
        return await tools.answer(tools.start().having(await tools.search_image(limit=TOP_ENTRIES)))


class TwoStage:
    """Chooses an entry by the texts alone, then answers from it."""

    name = "core-two-stage"
    needs = ("generator", "image_encoder")
    likes = ("detector", "domain_router")
    tasks = ("select_by_text",)

    async def answer(self, tools: Tools) -> Draft:
        """Search, choose, answer."""
        state = tools.start()
        entries = await tools.search_image(limit=TOP_ENTRIES, candidates=True)
        return await tools.answer(state.having(await select(entries, state, tools, by="select_by_text")))


class ChainOfThought:
    """Writes down what the five entries tell before it answers."""

    name = "core-chain-of-thought"
    needs = ("generator", "image_encoder")
    likes = ("detector", "domain_router")
    tasks = ("reason", "conclude")

    async def answer(self, tools: Tools) -> Draft:
        """Search, reason, answer."""
        state = tools.start().having(await tools.search_image(limit=TOP_ENTRIES))
        reason = await tools.write("reason", state)
        return await tools.answer(state, "conclude", reason=reason.text)
