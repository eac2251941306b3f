"""Whether a tenant gets anything for ids, hashes and tokens of another tenant, be they known to it or guessed."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from shutil import rmtree

from bench.hostile.sections import Setup
from bench.network.serving import Access, client_of, protected, serving
from bench.results import Row
from bench.sections import Part
from quizglass_client import AsyncClient, Entry
from quizglass_client.errors import ClientError
from quizglass_client.local import LocalServer

_TENANTS = ("anna", "bert")
_MAY = "ask,read,write,memory"
_CANARY = "zebracanary"
_ENTRIES = 100
"""That the one tenant has, numbered: a guessed number is often one of them."""
_TOKENS = 10
"""Guesses at an access token: after 20 in a minute the server hears no more of them."""
_SEED = 7

Ask = Callable[[], Awaitable[object]]
"""Makes a request; what it gives counts as something unless it is empty."""


@dataclass(frozen=True)
class _Had:
    """What names a tenant's things."""

    entry: str
    picture: bytes
    """SHA-256 of one of an entry."""
    frame: bytes
    """SHA-256 of one that was asked about."""
    turn: str
    walk: str
    dialogue: bytes
    """Goes on where an answer ended."""

    def guessed(self, coin: random.Random) -> _Had:
        """The same with another entry's number, and a bit or a letter changed in all else."""
        return _Had(
            _entry(coin.randrange(_ENTRIES)),
            _bit(self.picture, coin),
            _bit(self.frame, coin),
            _letter(self.turn, coin),
            f"walk-{coin.randrange(10)}",
            _bit(self.dialogue, coin),
        )


async def run(setup: Setup) -> Part:
    """Bert asks by all names of Anna's things, then guesses; beside it Anna, who has to get every one of them."""
    access = await asyncio.to_thread(protected, setup)
    tokens = {name: access.add(name, _MAY, "--tenant", name) for name in _TENANTS}
    places = {"--tenants": setup.folder / "guesses-tenants", "--memory-directory": setup.folder / "guesses-memory"}
    for place in places.values():
        rmtree(place, ignore_errors=True)
    flags = [str(each) for flag in places.items() for each in flag]
    coin, asked, given, own = random.Random(_SEED), Counter[str](), Counter[str](), Counter[str]()
    async with serving(setup, "guesses", flags, access) as (server, stock):
        anna, bert = (client_of(server, access, tokens[name]) for name in _TENANTS)
        async with anna, bert:
            had = await _kept(anna, next(stock)[1])
            rounds = [had, *(had.guessed(coin) for _ in range(setup.count(200, 5)))]
            for number, names in enumerate(rounds):
                setup.say(f"requests with what another tenant has: round {number + 1} of {len(rounds)}")
                await ask_all(_requests(bert, names), asked, given)
            await ask_all(_by_token(server, access, tokens["anna"]), asked, given)
            await ask_all(_requests(anna, had), Counter(), own)
    rows = judged(asked, given, own, len(_requests(anna, had)))
    return Part(rows, {"asked": dict(asked), "returned": dict(given), "of the tenant itself": dict(own)})


def judged(asked: Counter[str], given: Counter[str], own: Counter[str], whole: int) -> list[Row]:
    """Whether the other tenant got nothing, and the tenant itself all.

    Args:
        asked: requests of the other tenant, by name.
        given: those of them that returned something.
        own: requests of the tenant itself that returned something.
        whole: how many the tenant itself made.
    """
    total = given.total()
    told = "requests with another tenant's ids, hashes and tokens, known and guessed, that returned something"
    return [
        Row(told, total, f"of {asked.total()}", bar="0", ok=total == 0 < asked.total()),
        Row("the same of the tenant itself", own.total(), f"of {whole}", bar="all", ok=own.total() == whole > 0),
    ]


async def _kept(client: AsyncClient, picture: bytes) -> _Had:
    """Fill a tenant: entries with pictures, a turn that is remembered, a dialogue."""
    text = f"The {_CANARY} is in the garden."
    entries = [Entry(_entry(number), f"Thing {number}", text=text) for number in range(_ENTRIES)]
    await client.add_entries([replace(entries[0], pictures=(picture,)), *entries[1:]])
    told = await client.answer(f"Where is the {_CANARY}?", picture, session_id="walk-7", remember=True, budget=60)
    async with asyncio.timeout(60):
        while not (seen := await client.memory.search()):  # noqa: ASYNC110  # it is written after its turn
            await asyncio.sleep(0.05)
    shown = (await client.get_entry(_entry(0))).picture_sha256[0]
    return _Had(_entry(0), shown, seen[0].frame_sha256, seen[0].id, "walk-7", told.done.session)


def _requests(client: AsyncClient, had: _Had) -> Mapping[str, Ask]:
    """A request by each name, those that change something last."""

    async def searched() -> object:
        return [hit for hit in await client.search(_CANARY, limit=100) if _CANARY in f"{hit.title} {hit.text}"]

    async def forgotten() -> object:
        return (await client.memory.forget(session_id=had.walk)).sightings

    return {
        "entry by its id": lambda: client.get_entry(had.entry),
        "picture by its hash": lambda: client.get_picture(had.picture),
        "search for its words": searched,
        "sightings by words": lambda: client.memory.search(text=_CANARY),
        "sightings by a walk": lambda: client.memory.search(session_id=had.walk),
        "sightings by a frame's hash": lambda: client.memory.search(frame=had.frame),
        "thumbnail by its turn's id": lambda: client.memory.thumbnail(had.turn),
        "question with a dialogue's token": lambda: client.answer(
            "And how old is it?", session=had.dialogue, budget=60
        ),
        "sightings that are forgotten": forgotten,
        "entry that is deleted": lambda: client.delete_entry(had.entry),
    }


def _by_token(server: LocalServer, access: Access, token: str) -> Mapping[str, Ask]:
    """Requests with the id of a token that is valid, and a secret that is not its own."""

    async def ask(guess: str) -> object:
        async with client_of(server, access, guess) as client:
            return await client.get_entry(_entry(0))

    front = token[: token.index("_", 3) + 1]
    guesses = (f"{front}{secrets.token_urlsafe(32)}" for _ in range(_TOKENS))
    return {f"access token, guess {number}": partial(ask, guess) for number, guess in enumerate(guesses)}


async def ask_all(requests: Mapping[str, Ask], asked: Counter[str], given: Counter[str]) -> None:
    """Make each request, and count which were made and which returned something; a refusal returns nothing."""
    for name, request in requests.items():
        asked[name] += 1
        with suppress(ClientError):
            given[name] += bool(await request())


def _entry(number: int) -> str:
    return f"thing-{number:03}"


def _letter(text: str, coin: random.Random) -> str:
    at = coin.randrange(len(text))
    return f"{text[:at]}{coin.choice([each for each in '0123456789abcdef' if each != text[at]])}{text[at + 1 :]}"


def _bit(data: bytes, coin: random.Random) -> bytes:
    at = coin.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << coin.randrange(8)]) + data[at + 1 :]
