"""Contenders started side by side for one section, peers checked for equal answers before anything is timed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from bench.engine.contenders.contender import Ask, Contender, complete
from bench.engine.contenders.ours import Ours
from bench.engine.contenders.peers import PeerMissing
from bench.engine.contenders.setup import Setup
from bench.engine.contenders.shapes import Shape
from bench.engine.figures import words
from bench.results import Row

CONTEXT = 2048
"""Tokens of one prompt with its answer; the same for all."""
PROMPT_WORDS, ANSWER_TOKENS = 180, 32
"""About 250 tokens of prompt."""
_CANDIDATES = 400
"""Prompts tried for each that is wanted: the starter ends most answers early."""


@dataclass
class Field:
    """Who runs, and who could not."""

    contenders: list[Contender] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    """Reasons by peer."""

    @property
    def peers(self) -> list[Contender]:
        """All but ours, which comes first."""
        return self.contenders[1:]


@asynccontextmanager
async def running(setup: Setup, shape: Shape, names: Sequence[str]) -> AsyncIterator[Field]:
    """Ours and the named peers on one model, ended afterwards whatever happens."""
    found = Field()
    async with AsyncExitStack() as stack:
        setup.say(f"{shape.name}: starting")
        ours = await Ours.start(shape, setup.threads, CONTEXT)
        stack.push_async_callback(ours.close)
        found.contenders.append(ours)
        for name in names:
            try:
                peer = await setup.peers.start(name, shape)
            except PeerMissing as error:
                found.missing[name] = str(error)
                continue
            stack.push_async_callback(peer.close)
            found.contenders.append(peer)
        yield found


async def compare(field_: Field, shape: Shape, asks: Sequence[Ask]) -> list[Row]:
    """How many of a few prompts each peer completes as ours does, which also warms everybody up.

    A bar only for the starter: random weights are near ties, which any other order of adding up decides. Where ours has
    put a prompt in its memory is such an order, so it has an empty one for each.
    """
    answers = [[await _answer(each, ask) for ask in asks] for each in field_.contenders]
    rows = []
    for peer, theirs in zip(field_.peers, answers[1:], strict=True):
        equal = sum(a.strip() == b.strip() for a, b in zip(answers[0], theirs, strict=True)) / len(asks)
        trained = shape.name == "starter"
        name = f"{shape.name}: answers equal to those of {peer.name}"
        rows.append(Row(name, 100 * equal, "%", bar=">= 100" if trained else "", ok=equal == 1 if trained else None))
    return rows


async def _answer(contender: Contender, ask: Ask) -> str:
    if isinstance(contender, Ours):
        await contender.forget()
    return (await complete(contender, ask)).text


def familiar_prompts(count: int) -> list[Ask]:
    """Short ones in the form the starter was trained on, where it is sure of its answers."""
    return [
        Ask(
            f"<|im_start|>user\nFound: The {words(1, seed)} {words(1, seed + 100)}: it costs {17 * seed + 3} coins\n"
            "Question: How much does it cost?\n<|im_end|>\n<|im_start|>assistant\nAnswer:",
            ANSWER_TOKENS,
        )
        for seed in range(count)
    ]


async def long_prompts(setup: Setup, shape: Shape, count: int, tokens: int = ANSWER_TOKENS) -> list[str]:
    """Prompts that share no beginning and whose greedy answers are as long as wanted.

    They are found with a process of their own, so that no contender has seen them when the timing begins. Random
    weights hardly ever end an answer, so there nothing has to be tried.

    Raises:
        RuntimeError: the model ends nearly every answer early.
    """
    candidates = (words(PROMPT_WORDS, seed) for seed in range(count * _CANDIDATES))
    if not shape.trained:
        return [next(candidates) for _ in range(count)]
    setup.say(f"{shape.name}: looking for {count} prompts with long answers")
    found: list[str] = []
    scout = await Ours.start(shape, setup.threads, CONTEXT)
    try:
        for prompt in candidates:
            if len(found) == count:
                break
            if len((await complete(scout, Ask(prompt, tokens))).times) == tokens:
                found.append(prompt)
    finally:
        await scout.close()
    if len(found) < count:
        raise RuntimeError(f"{shape.name}: only {len(found)} of {count} prompts give {tokens} tokens")
    return found
