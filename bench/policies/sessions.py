"""What a session goes through: a restart, another server, its end, flipped bits; and whether follow-ups resolve.

Servers here are processes of their own, on snapshots of the world's knowledge, with the starter's own decisions.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL.Image import Image

from bench.policies.stage import PLENTY_S, Setup, Stage
from bench.results import Row, at_least
from bench.sections import Part
from quizglass_client import Client, Dialogue, InvalidRequest, NotFound
from quizglass_client.local import LocalServer
from quizglass_lab.pocketworld.dataset import SCENE_SIZE
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.scenes import make_scene
from quizglass_lab.pocketworld.world import Thing, World
from quizglass_server.knowledge.repair.backup import snapshot

WEIGHS = "How much does it weigh?"
TTL_S = 1

Pair = tuple[Thing, Thing]


async def run(setup: Setup, stage: Stage) -> Part:
    """Pairs of things of one kind that no model knows by heart."""
    pairs = _pairs(stage.trial.world, setup.seed, setup.count(200, 4))
    with TemporaryDirectory() as folder:
        one, another = Path(folder) / "one", Path(folder) / "another"
        for copy in (one, another):
            await asyncio.to_thread(snapshot, stage.trial.folder / "knowledge", copy)
        # On this thread, which the end of the benchmark interrupts; nothing else is to be done meanwhile.
        rows = _token(setup, pairs, one, another)
        rows += _follow_ups(setup, pairs, one)
    return Part(rows, {"pairs": len(pairs)})


def _pairs(world: World, seed: int, count: int) -> list[Pair]:
    told = [thing for thing in world.things if not thing.recognised and {"price", "weight"} <= set(thing.facts)]
    pairs: list[Pair] = []
    for kind in sorted({thing.kind for thing in told}):
        alike = [thing for thing in told if thing.kind == kind]
        random.Random(seed).shuffle(alike)
        pairs += zip(alike[::2], alike[1::2], strict=False)
    random.Random(seed).shuffle(pairs)
    return pairs[:count]


def _shown(*things: Thing) -> Image:
    return draw_scene(make_scene(things, random.Random(things[0].id)), SCENE_SIZE)


def _token(setup: Setup, pairs: Sequence[Pair], one: Path, another: Path) -> list[Row]:
    things = [thing for thing, _ in pairs]
    with _serving(setup, one, "--session-ttl-s", str(TTL_S)) as client:
        short = _named(client, things[0])
    time.sleep(TTL_S)
    with _serving(setup, one) as client:
        setup.say("sessions: before the restart")
        tokens = [_named(client, thing) for thing in things]
        before = _weighed(client, tokens, things)
    rows = []
    shutil.copy(one / "session.key", another)
    for where, knowledge in (("after a restart", one), ("on another server with the key", another)):
        setup.say(f"sessions: {where}")
        with _serving(setup, knowledge) as client:
            taken = [_refusal(client, token) == "" for token in tokens]
            right = _weighed(client, tokens, things)
        name = f"session {where}: goes on"
        rows.append(at_least(name, 100 * sum(taken) / len(taken), "%", 100))
        rows.append(Row(f'session {where}: "{WEIGHS}" right', right, "%", "before", before))
    with _serving(setup, one) as client:
        ended = _refusal(client, short) == "SESSION_EXPIRED"
        rows.append(at_least("session after its end: refused as SESSION_EXPIRED", 100 * ended, "%", 100))
        setup.say("sessions: flipped bits")
        refusals = [_refusal(client, flipped) for flipped in _flipped(tokens[0])]
    named = [refusal in ("SESSION_FORGED", "SESSION_UNKNOWN_KEY") for refusal in refusals]
    name = f"session with one of its {len(named)} bits flipped: refused by name"
    return [*rows, at_least(name, 100 * sum(named) / len(named), "%", 100)]


def _follow_ups(setup: Setup, pairs: Sequence[Pair], knowledge: Path) -> list[Row]:
    other, whole, it, history = 0, 0, 0, 0
    with _serving(setup, knowledge) as client:
        for number, (one, two) in enumerate(pairs, 1):
            setup.say(f"sessions: follow-ups, pair {number} of {len(pairs)}")
            picture = _shown(one, two)
            left, right = (f"How much does the {one.kind} on the {side} cost?" for side in ("left", "right"))
            first = client.answer(left, picture, budget=PLENTY_S)
            other += Dialogue(client, first.session).answer("And the other one?").text == two.facts["price"]
            whole += client.answer(right, picture, budget=PLENTY_S).text == two.facts["price"]
            it += Dialogue(client, first.session).answer(WEIGHS).text == one.facts["weight"]
            told = client.answer(WEIGHS, picture, history=[(left, first.text)], budget=PLENTY_S)
            history += told.text == one.facts["weight"]
    share = 100 / len(pairs)
    return [
        Row('"And the other one?" right, by the session', other * share, "%", "the whole question", whole * share),
        Row(f'"{WEIGHS}" right, by the session', it * share, "%", "by history and picture", history * share),
    ]


@contextmanager
def _serving(setup: Setup, knowledge: Path, *flags: str) -> Iterator[Client]:
    with LocalServer(setup.bundle, knowledge, flags=flags) as server, Client(server.target, timeout=PLENTY_S) as client:
        yield client


def _named(client: Client, thing: Thing) -> bytes:
    return client.answer(f"What is this {thing.kind} called?", _shown(thing), budget=PLENTY_S).session


def _weighed(client: Client, tokens: Sequence[bytes], things: Sequence[Thing]) -> float:
    """Percent of the things whose weight is known."""
    right = 0
    for token, thing in zip(tokens, things, strict=True):
        try:
            answer = client.answer(WEIGHS, session=token, budget=PLENTY_S)
        except NotFound:  # its picture is needed and no longer held: sent again, as the SDK's dialogues do
            answer = client.answer(WEIGHS, _shown(thing), session=token, budget=PLENTY_S)
        right += answer.text == thing.facts["weight"]
    return 100 * right / len(things)


def _refusal(client: Client, token: bytes) -> str:
    """Why a session is not taken; empty when it is."""
    try:
        client.answer("Who founded Jolawex?", session=token, policy="none", budget=PLENTY_S)
    except InvalidRequest as error:
        return error.reason
    return ""


def _flipped(token: bytes) -> list[bytes]:
    number, size = int.from_bytes(token, "big"), len(token)
    return [(number ^ (1 << bit)).to_bytes(size, "big") for bit in range(8 * size)]
