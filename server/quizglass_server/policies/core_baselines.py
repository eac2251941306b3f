"""What CoRe-MMRAG is compared with; its parametric baseline M(q) is the policy `none`.

one-stage         image search ─ five entries ───────────────────────────► M(q, I_1 ... I_5)
two-stage         image search ─ five entries ─ the best by its text ─────► M(q, I_t)
chain of thought  image search ─ five entries ─ reason ───────────────────► M(q, reason, I_1 ... I_5)

An entry is its caption and its text: of the one that is chosen the passages that fit the question best, one of each of
the five. The forms with a "+" rewrite the question with the entries' names for that.
"""

from __future__ import annotations

from quizglass_server.domain.state import Draft, State
from quizglass_server.policies.core_mmrag import TOP_ENTRIES, choose, reading, select, telling
from quizglass_server.policies.policy import liked
from quizglass_server.policies.tools import Tools

_BY_TEXT = "select_by_text"
"""The decision of which entry it is, by texts alone."""


class OneStage:
    """Answers from the five entries at once.

    Args:
        name: what clients ask for it by.
        published: as in the paper; otherwise with the question rewritten.
        top: how many entries; the paper's study has 1, 2 and 5.
    """

    needs = ("generator", "image_encoder")
    likes = ("text_encoder", "detector", "reader")
    ending = ("generate",)

    def __init__(self, name: str = "core-one-stage", *, published: bool = True, top: int = TOP_ENTRIES) -> None:
        self.name = name
        self.published = published
        self._top = top
        self.tasks: tuple[str, ...] = () if published else ("rewrite",)

    async def answer(self, tools: Tools) -> Draft:
        """Search, then answer."""
        return await tools.answer(await _with_all(tools, rewritten=not self.published, top=self._top))


class TwoStage:
    """Chooses an entry by the texts alone, then answers from it.

    Args:
        name: what clients ask for it by.
        published: as in the paper; otherwise none of the entries may be it, and other things are searched for by text.
    """

    needs = ("generator", "image_encoder")
    ending = ("generate",)

    def __init__(self, name: str = "core-two-stage", *, published: bool = True) -> None:
        self.name = name
        self.published = published
        self.likes = ("text_encoder", "detector", "reader") if published else liked(self.needs, "text_encoder")
        self.tasks = (*(() if published else ("rewrite",)), _BY_TEXT)

    async def answer(self, tools: Tools) -> Draft:
        """Search, choose, answer."""
        state = tools.start()
        entries = await tools.search_image(limit=TOP_ENTRIES, candidates=True)
        if not self.published:
            chosen = await select(entries, state, tools, by=_BY_TEXT)
            return await tools.answer(await telling(chosen, state, tools))
        chosen = await choose(entries, state, tools, by=_BY_TEXT) if entries else []
        return await tools.answer(await reading(tools.show(chosen), state, tools))


class ChainOfThought:
    """Writes down what the five entries tell before it answers by that.

    Its last prompt is not QA-Dragon's `conclude`, which a bundle may have leave the reason out.

    Args:
        name: what clients ask for it by.
        published: as in the paper; otherwise with the question rewritten.
    """

    needs = ("generator", "image_encoder")
    likes = ("text_encoder", "detector", "reader")
    ending = ("generate",)

    def __init__(self, name: str = "core-chain-of-thought", *, published: bool = True) -> None:
        self.name = name
        self.published = published
        self.tasks = (*(() if published else ("rewrite",)), "reason", "conclude_from_reason")

    async def answer(self, tools: Tools) -> Draft:
        """Search, reason, answer."""
        state = await _with_all(tools, rewritten=not self.published)
        reason = await tools.write("reason", state)
        return await tools.answer(state, "conclude_from_reason", reason=reason.text)


async def _with_all(tools: Tools, *, rewritten: bool, top: int = TOP_ENTRIES) -> State:
    """The question with so many entries, of each the caption and the passage that fits best."""
    entries = await tools.search_image(limit=top)
    return await reading(entries, tools.start(), tools, 1, rewritten=rewritten)
