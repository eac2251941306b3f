"""One generator elsewhere: what it is found to be, how it is asked, and whether it still is what it was."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from quizglass_server.config.generator_address import GeneratorAddress
from quizglass_server.engines.generator.client import GeneratorClient, ServedModel
from quizglass_server.engines.generator.connection import Address, ConnectionLost, HttpConnections, NotHttp
from quizglass_server.engines.generator.places import ServerPlaces
from quizglass_server.engines.generator.prompt import (
    Constraint,
    ConstraintUnusable,
    Finished,
    Part,
    PicturePart,
    Piece,
    PromptRefused,
    TextPart,
    Urgency,
)
from quizglass_server.engines.generator.remote.control import AnyControlTexts
from quizglass_server.engines.generator.remote.documents import (
    ListedModel,
    ModelList,
    Properties,
    TokenList,
    read,
    reason,
)
from quizglass_server.engines.generator.remote.openai import OpenAiClient
from quizglass_server.errors import BudgetExceeded, EngineFailed, EngineLost, SettingsError

MODELS, PROPERTIES, TOKENS = "/v1/models", "/props", "/tokenize"
_BEGINNING = b'{"content": "", "add_special": true}'
"""Asks for the tokens that every prompt begins with: llama-server adds them to texts, and not to lists of tokens."""
_LOOK_S = 5.0
"""Seconds that a look at a server may take."""
_TRY_S = 120.0
"""Seconds that its first answer may take: some load the model then."""
_SIDE = 64
_TAKES_SETTINGS = frozenset({"vllm", "sglang"})
"""Servers, by how they sign their models, that take settings of the chat template."""
_GRAMMARS_OF = {"vllm": ("structured_outputs", "guided_grammar"), "sglang": ("ebnf",)}
"""Which of `GRAMMAR_KEYS` are tried with each of them. What a server does not know it may ignore without a word."""
_PROVED = "qzx-17"
_PROOF = Constraint(f'root ::= "{_PROVED}"')
_NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}
_IDENTITY = ("n_params", "n_vocab", "size")
_QUEUE = 64


@dataclass(frozen=True)
class Facts:
    """What a server is."""

    model: str
    """Name of the model that is asked."""
    identity: tuple[object, ...]
    """Differs where another model is served, even by the same name where the server tells more."""
    native: bool
    """Whether it is llama-server, with calls of its own for grammars and for reading ahead."""
    sees: bool
    tells: bool = True
    """Whether it tells probabilities."""
    grammar: str = ""
    """How it is asked to follow a grammar, where it speaks OpenAI's API; empty: it follows none."""
    context: int | None = None
    """Tokens of prompt and answer together; None: it does not say."""

    @property
    def lacks(self) -> tuple[str, ...]:
        """What cannot be done with it: "choose", "probabilities", "grammar", "prefix"."""
        if self.native:
            return ()
        probabilities = () if self.tells else ("choose", "probabilities")
        return (*probabilities, *(() if self.grammar else ("grammar",)), "prefix")


class RemoteServer:
    """One of them.

    Args:
        address: where it is.
        reached: the same, for connections.
        model: which of its models is to be asked; empty: its only one.
    """

    def __init__(self, address: GeneratorAddress, reached: Address, model: str) -> None:
        self.address = address
        self.facts: Facts | None = None
        self.why = "it has not been asked yet"
        """Why it is not asked; empty while it is."""
        self.running = 0
        """Requests that it works on."""
        self.behind_until = 0.0
        """`time.monotonic()` until which others are asked before it, since it let a deadline pass in silence."""
        self.client: OpenAiClient | GeneratorClient | None = None
        self.looked = 0.0
        """`time.monotonic()` of when it was last seen to be what it is."""
        self._marker = ""
        self._wanted = model
        self._reached = reached
        self._connections = HttpConnections(reached)

    @property
    def up(self) -> bool:
        """Whether it can be asked."""
        return not self.why and self.client is not None

    @property
    def asked(self) -> OpenAiClient | GeneratorClient:
        """How it is asked; EngineLost where it cannot be."""
        if self.client is None:
            raise EngineLost(self.why)
        return self.client

    async def look(self) -> tuple[object, ...]:
        """What identifies the model that it serves now.

        Raises:
            EngineLost: it cannot be reached, or does not answer.
            EngineFailed: it answers with something else, or has no such model.
            SettingsError: it serves several, and which is not said.
        """
        if self.facts is not None and self.facts.native:
            # Each start of a llama-server makes up another marker: with the same it is the same process.
            properties = await self._properties()
            if properties is not None and properties.media_marker == self._marker:
                return self.facts.identity
            return (await self.become_known()).identity
        listed = read(ModelList, await self._document(MODELS), str(self.address)).data
        return _identity(self._chosen(listed))

    async def become_known(self) -> Facts:
        """Find out what it is and can do. Raises as `look`."""
        listed = self._chosen(read(ModelList, await self._document(MODELS), str(self.address)).data)
        identity = _identity(listed)
        properties = await self._properties()
        if properties is not None:
            begins = read(TokenList, await self._document(TOKENS, _BEGINNING), str(self.address)).tokens
            self._marker = properties.media_marker
            self.client = self._native(properties, begins)
            identity = (*identity, "llama-server")
            context = properties.default_generation_settings.n_ctx
            sees = properties.modalities.vision
            self.facts = Facts(listed.id, identity, native=True, sees=sees, context=context)
        else:
            self.facts = await self._tried(listed, identity)
        return self.facts

    def close(self) -> None:
        """End its idle connections."""
        self._connections.close()
        if isinstance(self.client, GeneratorClient):
            self.client.close()

    async def _document(self, path: str, body: bytes = b"") -> bytes:
        """What is there, or what is made of a body."""
        try:
            async with (
                asyncio.timeout(_LOOK_S),
                self._connections.request("POST" if body else "GET", path, body) as response,
            ):
                content = await response.document()
        except TimeoutError:
            raise EngineLost(f"{self.address} does not answer within {_LOOK_S:g} s") from None
        except ConnectionLost as error:
            raise EngineLost(f"{self.address}: {error}") from error
        except NotHttp as error:
            raise EngineFailed(f"{self.address} sent what is no response: {error}") from error
        if not response.ok:
            told = f"{self.address} answers {path} with status {response.status}: {reason(content)}"
            hint = "; see generator_token_file" if response.status in (401, 403) else ""
            raise EngineFailed(told + hint)
        return content

    def _chosen(self, listed: list[ListedModel]) -> ListedModel:
        names = ", ".join(each.id for each in listed[:8]) or "none"
        if self._wanted:
            found = next((each for each in listed if each.id == self._wanted), None)
            if found is None:
                raise EngineFailed(f"{self.address} does not serve generator_model {self._wanted!r}; it serves {names}")
            return found
        if len(listed) != 1:
            raise SettingsError(f"generator_model: required, since {self.address} serves {names}; name one of them")
        return listed[0]

    async def _properties(self) -> Properties | None:
        """What llama-server says of itself; None where it is none."""
        try:
            content = await self._document(PROPERTIES)
            return read(Properties, content, str(self.address))
        except EngineFailed:
            return None

    def _native(self, properties: Properties, begins: tuple[int, ...]) -> GeneratorClient:
        marker, sees = properties.media_marker, properties.modalities.vision
        any_, begin = AnyControlTexts(marker), properties.bos_token if begins else ""
        served = ServedModel(any_, any_, sees=sees, marker=marker, begin=begin, begins=begins)
        return GeneratorClient(self._reached, served, ServerPlaces(max(1, properties.total_slots), _QUEUE))

    async def _tried(self, listed: ListedModel, identity: tuple[object, ...]) -> Facts:
        """Ask one question, with a picture and for probabilities, and without what it does not understand."""
        more: Mapping[str, Any] = _NO_THINKING if listed.owned_by.lower() in _TAKES_SETTINGS else {}
        refusal: Exception | None = None
        for sees, tells in ((True, True), (False, True), (True, False), (False, False)):
            client = self._openai(listed, tells, more)
            try:
                told = await _probability(client, sees=sees)
            except (PromptRefused, EngineFailed) as error:
                refusal = error
                continue
            except BudgetExceeded:
                raise EngineLost(f"{self.address} does not answer a question within {_TRY_S:g} s") from None
            tells = told and tells
            client = client if told == client.tells else self._openai(listed, tells, more)
            grammar = await _grammar_followed(client, _GRAMMARS_OF.get(listed.owned_by.lower(), ()))
            self.client = client
            context = listed.max_model_len
            return Facts(listed.id, identity, native=False, sees=sees, tells=tells, grammar=grammar, context=context)
        raise EngineFailed(f"{self.address} answers no question: {refusal}")

    def _openai(self, listed: ListedModel, tells: bool, more: Mapping[str, Any]) -> OpenAiClient:
        return OpenAiClient(self._connections, listed.id, tells=tells, more=more)


async def _grammar_followed(client: OpenAiClient, keys: Sequence[str]) -> str:
    """By which key the server follows a grammar: it writes what it never would without; empty where it does not."""
    for client.grammar in keys:
        written = ""
        try:
            urgency = Urgency(deadline=monotonic() + _TRY_S)
            async for item in client.generate([TextPart("Hello.", trusted=False)], 16, urgency, _PROOF):
                written += item.text if isinstance(item, Piece) else ""
        except (PromptRefused, ConstraintUnusable, EngineFailed, BudgetExceeded):
            continue
        if written.strip() == _PROVED:
            return client.grammar
    client.grammar = ""
    return ""


async def _probability(client: OpenAiClient, *, sees: bool) -> bool:
    """Whether an answer comes with probabilities."""
    rgb = np.full((_SIDE, _SIDE, 3), 128, np.uint8).tobytes()
    picture = PicturePart(b"a grey picture", _SIDE, _SIDE, rgb)
    prompt: list[Part] = [*([picture] if sees else []), TextPart("What is this?", trusted=False)]
    told = False
    async for item in client.generate(prompt, 4, Urgency(deadline=monotonic() + _TRY_S)):
        if isinstance(item, Piece):
            told = told or item.probability > 0
        elif isinstance(item, Finished):
            break
    return told


def _identity(listed: ListedModel) -> tuple[object, ...]:
    meta = listed.meta or {}
    return (listed.id, listed.root, listed.max_model_len, *(meta.get(key) for key in _IDENTITY))
