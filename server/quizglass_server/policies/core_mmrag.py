"""CoRe-MMRAG: reconciles what the model remembers with what was found, and what pictures say with what texts say.

    q, i ─┬─ 1  y_int = M(q) ──────────────────────────────────────────────────────────────┬─ 4  y* =
          └─ image search ─ 2  I_tv = argmax r_M(q, {V_i, T_i}) ─ 3  y_ext = M(q, I_tv) ───┘  M(q, y_int, y_ext, I_tv)

The upper and the lower branch run at the same time, over the same picture. In stage 2 the model looks at the pictures
and texts of the first five entries together. The paper asks for all four in one long prompt; here each is a prompt of
its own, so that they share the picture's prefix. A caption stands for an entry's text where it is chosen; of the one
that is chosen, the passages that fit the question are read; unless they stand behind its caption already.

`core-mmrag+` chooses no entry where none fits, has the question rewritten with the name of the one that does, and
writes which side it believes and why before it answers; a side that does not know is not weighed. Memory that knows
nothing beside the picture is asked without it, where the question names all that it asks about. The paper's questions
are all about what their picture shows; wearers also name things that it does not show, and those are searched for by
text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum

from quizglass_server.domain.state import Draft, State
from quizglass_server.domain.turns import Evidence
from quizglass_server.policies.policy import liked
from quizglass_server.policies.tools import Tools
from quizglass_server.steps.language.pronouns import says_this
from quizglass_server.steps.language.wording import mentions, same_wording

TOP_ENTRIES = 5
_FINALLY = "reconcile"
"""The prompt of stage 4."""
RECONCILING = ("weigh", _FINALLY)
"""What stage 4 has the generator write where it gives a reason first."""
_JOINTLY = "select"
"""The decision of which entry it is, by pictures and texts."""
WEIGHED = 2
"""How many passages stage 4 sees: with a third, which mostly tells something else, the starter took the evidence's side
in one of three disputes in which its memory was right."""


class Shown(Enum):
    """Which of the entries found shows what the question is about, in the order in which they were found."""

    FIRST = "1"
    SECOND = "2"
    THIRD = "3"
    FOURTH = "4"
    FIFTH = "5"


class Entry(Enum):
    """The same, or none of them."""

    FIRST = "1"
    SECOND = "2"
    THIRD = "3"
    FOURTH = "4"
    FIFTH = "5"
    NONE = "none"


class CoReMmrag:
    """Answers from memory and from the best entry, and lets the model decide between the two.

    Args:
        name: what clients ask for it by.
        top: how many entries it chooses among; the paper's study has 1, 2 and 5.
    """

    published = True
    needs = ("generator", "image_encoder")
    likes = ("text_encoder", "detector", "reader")
    ending = ("generate",)

    def __init__(self, name: str = "core-mmrag", *, top: int = TOP_ENTRIES) -> None:
        self.name = name
        self._top = top
        self.tasks = (*((_JOINTLY,) if top > 1 else ()), _FINALLY)

    async def answer(self, tools: Tools) -> Draft:
        """The four stages."""
        state = tools.start()
        memory, (chosen, evidence) = await tools.together(tools.from_memory(), from_best(state, tools, self._top))
        said = {"memory": memory.text, "external": evidence.text}
        if memory.text and evidence.text:
            draft = await _integrated(chosen, evidence, said, tools)
        elif memory.text or evidence.text:  # nothing was found, or there was time for one side alone
            draft = tools.tell(evidence if evidence.text else memory)
        else:
            draft = await tools.answer(chosen)
        return _noted(draft, said)


async def from_best(state: State, tools: Tools, top: int = TOP_ENTRIES) -> tuple[State, Draft]:
    """Stages 2 and 3; an empty draft where the picture brings nothing back. Of one entry there is no choice."""
    entries = await tools.search_image(limit=top, candidates=True)
    if not entries:
        return state, Draft()
    chosen = await choose(entries, state, tools, by=_JOINTLY) if top > 1 else entries
    state = await reading(tools.show(chosen), state, tools)
    return state, await tools.write("answer", state)


class CoReMmragPlus:
    """The same, for questions about other things too, and with the reason for the side that is believed."""

    name = "core-mmrag+"
    needs = ("generator", "image_encoder")
    likes = liked(needs, "text_encoder")
    tasks = ("rewrite", _JOINTLY, *RECONCILING)
    ending = ("generate",)

    async def answer(self, tools: Tools) -> Draft:
        """The four stages."""
        state = tools.start()
        memory, (chosen, evidence) = await tools.together(tools.from_memory(), from_evidence(state, tools))
        return await settle(memory, evidence, chosen, tools)


async def from_evidence(state: State, tools: Tools) -> tuple[State, Draft]:
    """Stages 2 and 3; an empty draft where nothing goes with the question."""
    entries = await tools.search_image(limit=TOP_ENTRIES, candidates=True)
    told = await telling(await select(entries, state, tools, by=_JOINTLY), state, tools)
    return told, await tools.write("answer", told) if told.seen or told.found else Draft()


async def choose(entries: Sequence[Evidence], state: State, tools: Tools, by: str) -> list[Evidence]:
    """The entry that the question is about, chosen among the first five at once, not yet shown.

    Args:
        entries: the best first, at least one.
        state: the question.
        tools: of the turn.
        by: name of the decision, and so of the parts of entries that the model is shown.
    """
    label = await tools.decide(Shown, state.having(entries[:TOP_ENTRIES]), by=by, otherwise=Shown.FIRST)
    place = list(Shown).index(label)
    return list(entries[place : place + 1] or entries[:1])


async def select(entries: Sequence[Evidence], state: State, tools: Tools, by: str) -> list[Evidence]:
    """The same where none of the entries may be it.

    Args:
        entries: the best first; the first five count.
        state: the question.
        tools: of the turn.
        by: name of the decision, and so of the parts of entries that the model is shown. Where that is pictures and
            texts, entries with the same picture are distinguished by what they say of how it looks.
    """
    if not entries:
        return []
    if by == _JOINTLY:
        entries = await tools.disambiguate(entries)
    label = await tools.decide(Entry, state.having(entries[:TOP_ENTRIES]), by=by, otherwise=Entry.FIRST)
    place = list(Entry).index(label)
    return [] if label is Entry.NONE else list(entries[place : place + 1])


async def telling(entries: Sequence[Evidence], state: State, tools: Tools) -> State:
    """The state with what to answer from: the entry that was chosen and its texts, or what a text search finds.

    The latter where none was chosen, or where the question rewritten does not name it, so that it is about another
    thing; unless that brings nothing. A question that was not rewritten, and that says "this", is about the entry.
    """
    if not tools.searches_text or (entries and not tools.reads_entries):
        return await reading(tools.show(entries), state, tools, rewritten=True)
    queries = await tools.rewrite(state.having(entries)) or state.asked
    asked = state.asking(queries)
    stands = same_wording(queries[0], state.question) and says_this(state.question)
    about_it = bool(entries) and (stands or any(mentions(queries[0], entry.title) for entry in entries))
    found = [] if about_it else await tools.search_text(queries)
    if found or not entries:
        return asked.having(found)
    asked = asked.having(tools.show(entries))
    return asked.having(await tools.read_entries(entries, queries[0]))


async def reading(
    entries: Sequence[Evidence], state: State, tools: Tools, limit: int = 0, *, rewritten: bool = False
) -> State:
    """The state with entries and what their texts tell of the question, which may be put by what they are called."""
    state = state.having(entries)
    if not entries or not tools.reads_entries:
        return state
    if rewritten:
        state = state.asking(await tools.rewrite(state))
    return state.having(await tools.read_entries(entries, state.asked[0], limit))


async def settle(memory: Draft, evidence: Draft, state: State, tools: Tools) -> Draft:
    """Stage 4: the answer that both give, or the one that the model believes, with both and the reason in its notes.

    A side that does not know contradicts nothing, and leaves it to the other. Where memory does not know, and there was
    no time for the other, one answer from all that was found takes what is left.

    Args:
        memory: y_int.
        evidence: y_ext; empty where there was none.
        state: has what y_ext was written from.
        tools: of the turn.
    """
    said = {"memory": memory.text, "external": evidence.text}
    found = bool(state.seen or state.found)
    if not evidence.text and tools.abstains(memory) and (found or not memory.text):
        draft = await tools.answer(state)
        if draft.text or not memory.text:
            side = "external" if draft.text and found else "memory"
            return replace(draft, notes={**draft.notes, **said, side: draft.text, "believed": side})
    if evidence.text and same_wording(memory.text, evidence.text):
        return tools.tell(replace(memory, notes=said | {"believed": "both"}))
    if tools.abstains(evidence) and (memory.text or not evidence.text):
        return tools.tell(replace(memory, notes={**memory.notes, **said, "believed": "memory"}))
    if tools.abstains(memory):
        return tools.tell(replace(evidence, notes=said | {"believed": "external"}))
    state = replace(state, found=weighed(state.found, evidence.text))
    why = (await tools.write("weigh", state, **said)).text
    draft = _noted(await _integrated(state, evidence, {**said, "reason": why}, tools), said)
    return replace(draft, notes={**draft.notes, "why": why})


async def _integrated(state: State, evidence: Draft, also: Mapping[str, str], tools: Tools) -> Draft:
    """y*; the evidence's answer where no time was left for it."""
    draft = await tools.answer(state, _FINALLY, **also)
    return draft if draft.text else tools.tell(evidence)


def _noted(draft: Draft, said: Mapping[str, str]) -> Draft:
    """The final answer with both sides and the one that it says."""
    sides = [side for side, text in said.items() if same_wording(draft.text, text)]
    believed = "both" if len(sides) > 1 else sides[0] if sides else "neither"
    return replace(draft, notes={**said, "believed": believed})


def weighed(found: Sequence[Evidence], told: str) -> tuple[Evidence, ...]:
    """The passages that stage 4 sees: those that the answer was written from, then those that fit best."""
    return tuple(sorted(found, key=lambda passage: not mentions(passage.text, told))[:WEIGHED])


async def reconcile(state: State, tools: Tools) -> Draft:
    """Stages 1, 3 and 4 as the last step of another policy: memory against everything that it found."""
    if not (state.seen or state.found):
        return await tools.answer(state)
    memory, evidence = await tools.together(tools.from_memory(), tools.write("answer", state))
    return await settle(memory, evidence, state, tools)
