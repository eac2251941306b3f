"""Several generators elsewhere that serve one model: which of them is asked, and what happens when one fails.

Each is looked at every few seconds, and before a question when none is left. One that serves another model than the
first was found to is not asked.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from time import monotonic
from typing import TypeVar

from quizglass_server.config.generator_address import GeneratorAddress
from quizglass_server.config.settings import GivenOptions
from quizglass_server.config.token_file import token_of
from quizglass_server.engines.generator.client import GeneratorClient
from quizglass_server.engines.generator.connection import Address
from quizglass_server.engines.generator.prompt import TURN, Constraint, Finished, Part, Piece, Urgency, Usage
from quizglass_server.engines.generator.remote.server import Facts, RemoteServer
from quizglass_server.errors import BudgetExceeded, EngineFailed, EngineLost, Overloaded, QuizglassError, SettingsError

_LOOK_EVERY_S = 5.0
_BEHIND_S = 60.0
"""Seconds for which one that let a deadline pass without a word is asked after the others."""
_SAME_MOMENT_S = 0.05
"""Before its deadline a caller may end its wait by a clock of its own."""
_SAME_S = 1.0
"""Seconds within which no server is replaced: a model takes longer to load."""
logger = logging.getLogger(__name__)
Got = TypeVar("Got")


class RemoteGenerators:
    """The servers of `generator_url`, asked as one process would be.

    Args:
        options: their addresses, credentials and model.
    """

    executor = "elsewhere"

    def __init__(self, options: GivenOptions) -> None:
        token = token_of(options.generator_token_file, "generator_token_file", " of ASCII")
        headers = {"Authorization": f"Bearer {token}"} if token else None
        self._servers = [
            RemoteServer(address, _reached(address, headers), options.generator_model)
            for address in options.generator_url
        ]
        self._facts: Facts | None = None
        self._looking: asyncio.Task[None] | None = None
        self.on_change: Callable[[], None] = lambda: None

    @property
    def ready(self) -> bool:
        """Whether any of them can be asked."""
        return any(server.up for server in self._servers)

    @property
    def facts(self) -> Facts:
        """What they are, as the first that was reached said."""
        assert self._facts is not None, "they have been started"
        return self._facts

    @property
    def notice(self) -> str:
        """What is lost with them, and which are not asked; empty where nothing is."""
        down = [f"{server.address} is not asked: {server.why}" for server in self._servers if not server.up]
        return "; ".join([*_lost(self.facts), *down])

    async def start(self) -> None:
        """Find out what they are.

        Raises:
            EngineLost, EngineFailed: none of them can be asked; says why of each.
            SettingsError: it is not said which of several models is to be asked.
        """
        await asyncio.gather(*(self._look_at(server) for server in self._servers))
        if not self.ready:
            raise EngineFailed("; ".join(f"generator_url: {server.why}" for server in self._servers))
        self._looking = asyncio.create_task(self._look_on())

    async def client(self, deadline: float | None = None) -> RemoteGenerators:
        """Itself, once one of them can be asked. Raises EngineLost."""
        if not self.ready:
            left = _LOOK_EVERY_S if deadline is None else deadline - monotonic()
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, left)):
                    await asyncio.gather(*(self._look_at(server) for server in self._servers))
        if not self.ready:
            raise EngineLost("; ".join(server.why for server in self._servers))
        return self

    async def generate(
        self, prompt: Sequence[Part], max_tokens: int, urgency: Urgency = TURN, constraint: Constraint | None = None
    ) -> AsyncGenerator[Piece | Finished, None]:
        """Complete a prompt; another server takes over as long as nothing has been written. Errors as a client's."""
        refusal: QuizglassError | None = None
        for server in self._by_load():
            begun = False
            try:
                with self._counted(server):
                    await self._look_again(server)
                    async with aclosing(server.asked.generate(prompt, max_tokens, urgency, constraint)) as stream:
                        async for item in stream:
                            begun = True
                            yield item
                return
            except (BudgetExceeded, asyncio.CancelledError):
                if not begun:
                    _put_behind(server, urgency)
                raise
            except (EngineLost, EngineFailed, Overloaded) as error:
                if begun:
                    raise
                refusal = error
        raise refusal or EngineLost("no generator can be reached")

    async def choose(
        self, prompt: Sequence[Part], labels: Sequence[str], urgency: Urgency = TURN
    ) -> tuple[list[float], Usage]:
        """Probability of each label, normalised over the labels; errors as `generate`."""
        return await self._first(lambda server: server.asked.choose(prompt, labels, urgency), urgency)

    async def prefill(self, prompt: Sequence[Part], urgency: Urgency) -> Usage:
        """Have the server that would be asked read a beginning, where it can; errors as `generate`."""
        return await self._first(lambda server: server.asked.prefill(prompt, urgency), urgency)

    async def templated(self, messages: Sequence[Mapping[str, str]]) -> str | None:
        """What the model's chat template makes of a conversation; None where servers fill it themselves."""
        if not self.facts.native:
            return None

        async def ask(server: RemoteServer) -> str:
            assert isinstance(server.asked, GeneratorClient)
            return await server.asked.templated(messages)

        return await self._first(ask)

    async def picture_tokens(self, width: int, height: int) -> int | None:
        """How many tokens a picture of this size takes; None where servers do not tell."""
        if not self.facts.native:
            return None

        async def ask(server: RemoteServer) -> int | None:
            assert isinstance(server.asked, GeneratorClient)
            return await server.asked.picture_tokens(width, height)

        return await self._first(ask)

    async def forget(self) -> None:
        """Have each keep nothing of prompts and pictures, as far as it lets itself be told: it is not this server's."""
        for server in self._servers:
            if server.up:
                with suppress(EngineFailed, EngineLost):
                    await server.asked.forget()

    async def close(self) -> None:
        """End connections, and look no more."""
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking
        for server in self._servers:
            server.close()

    async def _first(self, ask: Callable[[RemoteServer], Awaitable[Got]], urgency: Urgency = TURN) -> Got:
        """What the first server that does not fail brings."""
        refusal: QuizglassError | None = None
        for server in self._by_load():
            try:
                with self._counted(server):
                    await self._look_again(server)
                    return await ask(server)
            except (BudgetExceeded, asyncio.CancelledError):
                _put_behind(server, urgency)
                raise
            except (EngineLost, EngineFailed, Overloaded) as error:
                refusal = error
        raise refusal or EngineLost("no generator can be reached")

    def _by_load(self) -> list[RemoteServer]:
        """Those that can be asked, the least busy first, of equals the one that is named first; silent ones last."""
        now, up = monotonic(), (server for server in self._servers if server.up)
        return sorted(up, key=lambda server: (server.behind_until > now, server.running))

    @contextmanager
    def _counted(self, server: RemoteServer) -> Iterator[None]:
        """While it works on a request; one that is lost meanwhile is not asked until it has been looked at."""
        server.running += 1
        try:
            yield
        except EngineLost as error:
            named = str(server.address) in error.message
            self._set(server, error.message if named else f"{server.address} was lost in the middle; ask again")
            raise EngineLost(server.why) from error
        finally:
            server.running -= 1

    async def _look_again(self, server: RemoteServer) -> None:
        """See whether a llama-server is still the same, unless that was seen a moment ago; EngineLost if not.

        Others tell in each answer which model gives it.
        """
        if self.facts.native and monotonic() - server.looked > _SAME_S:
            await self._look_at(server)
        if not server.up:
            raise EngineLost(server.why)

    async def _look_on(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            await asyncio.gather(*(self._look_at(server) for server in self._servers))

    async def _look_at(self, server: RemoteServer) -> None:
        try:
            known = server.facts
            identity = (await server.become_known()).identity if known is None else await server.look()
        except SettingsError:
            if self._facts is None:
                raise
            self._set(server, f"{server.address} serves several models now")
            return
        except QuizglassError as error:
            self._set(server, error.message)
            return
        self._facts = self._facts or server.facts
        server.looked = monotonic()
        if identity == self.facts.identity:
            self._set(server, "")
            return
        self._set(
            server,
            f"{server.address} serves {identity[0]!r}, and the generator was {self.facts.model!r} at the start, with "
            "other prompts and limits; have it serve that again, or restart this server",
        )

    def _set(self, server: RemoteServer, why: str) -> None:
        """Whether a server is asked, and why not; told where it changes."""
        was, server.why = server.why, why
        if bool(was) == bool(why):
            return
        if why:
            logger.warning("a generator is not asked", extra={"generator": str(server.address), "why": why})
        else:
            logger.info("a generator is asked", extra={"generator": str(server.address)})
        self.on_change()


def _put_behind(server: RemoteServer, urgency: Urgency) -> None:
    """Ask it after the others for a while if the deadline of a request has passed; else the caller has left."""
    if urgency.deadline is not None and monotonic() > urgency.deadline - _SAME_MOMENT_S:
        server.behind_until = monotonic() + _BEHIND_S


def _lost(facts: Facts) -> Iterator[str]:
    told = {
        "choose": "labels cannot be chosen by probabilities",
        "probabilities": "every answer counts as unsure",
        "grammar": "no grammar is followed",
        "prefix": "nothing is read ahead",
    }
    if facts.lacks:
        yield f"the generator speaks OpenAI's API: {', '.join(told[each] for each in facts.lacks)}"


def _reached(address: GeneratorAddress, headers: dict[str, str] | None) -> Address:
    tls = ssl.create_default_context() if address.scheme == "https" else None
    return Address(host=address.host, port=address.port, tls=tls, headers=headers, path=address.path)
