"""What CoRe-MMRAG is compared with; its parametric baseline M(q) is the policy `none`.

one-stage         image search ─ five entries ───────────────────────────► M(q, I_1 ... I_5)
two-stage         image search ─ five entries ─ the best by its text ─────► M(q, I_t)
chain of thought  image search ─ five entries ─ reason ───────────────────► M(q, reason, I_1 ... I_5)

An entry is its caption and its text: two passages of the one that is chosen, the best one of each of the five.
"""

from __future__ import annotations

from quizglass_server.domain.state import Draft, State
from quizglass_server.policies.core_mmrag import TOP_ENTRIES, reading, select, telling
from quizglass_server.policies.policy import liked
from quizglass_server.policies.tools import Tools


class OneStage:
    """Answers from the five entries at once."""

    name = "core-one-stage"
    needs = ("generator", "image_encoder")
    likes = ("text_encoder", "detector", "reader")
    tasks = ("rewrite",)
    ending = ("generate",)

    async def answer(self, tools: Tools) -> Draft:
        """Search, then answer."""
        return await tools.answer(await _with_all(tools))


class TwoStage:
    """Chooses an entry by the texts alone, then answers from it."""

    name = "core-two-stage"
    needs = ("generator", "image_encoder")
    likes = liked(needs, "text_encoder")
    tasks = ("rewrite", "select_by_text")
    ending = ("generate",)

    async def answer(self, tools: Tools) -> Draft:
        """Search, choose, answer."""
        state = tools.start()
        entries = await tools.search_image(limit=TOP_ENTRIES, candidates=True)
        chosen = await select(entries, state, tools, by="select_by_text")
        return await tools.answer(await telling(chosen, state, tools))


class ChainOfThought:
    """Writes down what the five entries tell before it answers by that.

    Its last prompt is not QA-Dragon's `conclude`, which a bundle may have leave the reason out.
    """

    name = "core-chain-of-thought"
    needs = ("generator", "image_encoder")
    likes = ("text_encoder", "detector", "reader")
    tasks = ("rewrite", "reason", "conclude_from_reason")
    ending = ("generate",)

    async def answer(self, tools: Tools) -> Draft:
        """Search, reason, answer."""
        state = await _with_all(tools)
        reason = await tools.write("reason", state)
        return await tools.answer(state, "conclude_from_reason", reason=reason.text)


async def _with_all(tools: Tools) -> State:
    """The question with five entries, of each the caption and the passage that fits best."""
    return await reading(await tools.search_image(limit=TOP_ENTRIES), tools.start(), tools, 1)
