"""Typed calls to one llama-server: its native `/completion`, streamed.

A client lives as long as its process. Leaving a call closes its connection, at which llama-server stops. Knows nothing
of starting or restarting.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from cachetools import LRUCache

from quizglass_bundle.hashes import file_sha256
from quizglass_server.engines.generator.connection import (
    MOST_DOCUMENT,
    MOST_LINE,
    Address,
    ConnectionLost,
    HttpConnections,
    NotHttp,
    Response,
)
from quizglass_server.engines.generator.constraints import checked
from quizglass_server.engines.generator.control_tokens import ControlTexts
from quizglass_server.engines.generator.pictures import LARGE, PictureFiles
from quizglass_server.engines.generator.places import ServerPlaces, read_slots
from quizglass_server.engines.generator.prompt import (
    TURN,
    Constraint,
    ConstraintUnusable,
    Finished,
    Part,
    PicturePart,
    Piece,
    PromptRefused,
    TextPart,
    Urgency,
    Usage,
)
from quizglass_server.engines.generator.prompt_text import composed, with_markers
from quizglass_server.engines.generator.replies import (
    GARBAGE,
    Json,
    MemoryFull,
    log_probabilities,
    parsed,
    piece_of,
    raise_failure,
    usage_of,
)
from quizglass_server.engines.generator.sampling import TEMPERATURE
from quizglass_server.errors import BudgetExceeded, EngineFailed, EngineLost, Overloaded
from quizglass_server.scheduling.clock import charge_engine
from quizglass_server.scheduling.ledger import handed, text_size

MAX_LABELS = 64
_LIKELIEST, _MANY, _ALL = 64, 4096, 1 << 20
"""Tokens whose probabilities are asked for when labels are chosen from: first, and where a label is not among those.
All of a large vocabulary are a line of 25 MB."""
_USUAL = {
    "cache_prompt": True,
    "temperature": TEMPERATURE,
    "stream": True,
    # So that it tells of each batch of a prompt: it looks then whether its client has left.
    "return_progress": True,
    "response_fields": ["stop", "stop_type", "tokens_evaluated", "tokens_predicted", "timings"],
}
_ASKED = {"type": "text", "text": "?"}
_SOON_S = 0.5
"""Retry delay of an answer that was ended so that others could go on."""
_TEMPLATES = 512
_HELD = "slots.json"
logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class ServedModel:
    """What has to be known of the model to put prompts to it."""

    control: ControlTexts
    """Every text that may be parsed as a special token, with `marker`."""
    added: ControlTexts
    """Those of them that are parsed in any text (user-defined tokens)."""
    stop: tuple[str, ...] = ()
    """Texts that end an answer."""
    sees: bool = False
    marker: str = "<__media__>"
    """What stands for a picture in a prompt; llama-server makes it up anew at each start."""
    begin: str = ""
    """The text of the token that every prompt begins with; templates may have it too."""
    begins: tuple[int, ...] = ()
    """That token, which the server adds to prompts with pictures by itself."""


class GeneratorClient:
    """Calls to one process.

    Args:
        address: where it listens.
        model: what it serves.
        places: its slots, owned by this client alone.
    """

    def __init__(self, address: Address, model: ServedModel, places: ServerPlaces) -> None:
        self.address = address
        self.pulse = _Pulse()
        self.calls = 0
        """Completions that are under way or wait for a slot."""
        self.on_lost: Callable[[], None] = lambda: None
        """Called when the process has left in the middle, or cannot be reached."""
        self._connections = HttpConnections(address)
        self._model = model
        self._places = places
        self._pictures = PictureFiles()
        self._labels: LRUCache[str, tuple[int, ...]] = LRUCache(16 * MAX_LABELS)
        self._templates: LRUCache[str, tuple[int, ...]] = LRUCache(_TEMPLATES)

    def serve(self, model: ServedModel) -> None:
        """Put prompts to this model from now on."""
        self._model = model

    async def generate(
        self, prompt: Sequence[Part], max_tokens: int, urgency: Urgency = TURN, constraint: Constraint | None = None
    ) -> AsyncGenerator[Piece | Finished, None]:
        """Complete a prompt: pieces as they come, then the end. Closing it stops the engine.

        Raises:
            PromptRefused: the prompt does not fit the model.
            ConstraintUnusable: the constraint cannot be used.
            Overloaded: no room, or others leave no time before the deadline.
            BudgetExceeded: the deadline passed before the first token.
            EngineLost: the process died or hangs.
            EngineFailed: llama.cpp failed on this request, or sends what is no answer.
        """
        if max_tokens < 1:
            raise PromptRefused(f"max_tokens is {max_tokens}; at least 1 token must be asked for")
        body: dict[str, Any] = {"n_predict": max_tokens, "n_probs": 1}
        if constraint is None:
            body |= {"stop": self._model.stop, "preserved_tokens": self._model.stop}
        else:
            body["grammar"] = checked(constraint)
        written = 0
        held: Piece | None = None
        try:
            async with aclosing(self._completed(prompt, body, urgency)) as events:
                async for event in events:
                    # The token that ends an answer comes as one without a text: known when the end has come.
                    if held is not None and not (event.get("stop") and event.get("stop_type") != "limit"):
                        written += 1
                        yield held
                    held = piece_of(event)
                    if held is not None and held.text:
                        written += 1
                        yield held
                        held = None
                    if event.get("stop"):
                        reason = "length" if event.get("stop_type") == "limit" else "stop"
                        yield Finished(reason, usage_of(event))
                        return
        except BudgetExceeded:
            if not written:
                raise
            yield Finished("deadline", Usage(0, generated_tokens=written))

    async def choose(
        self, prompt: Sequence[Part], labels: Sequence[str], urgency: Urgency = TURN
    ) -> tuple[list[float], Usage]:
        """Probability of each label as the continuation, by all its tokens, normalised over the labels.

        Raises:
            PromptRefused: as `generate`, or there are too many labels.
            ConstraintUnusable: a label is empty or there twice.
        """
        tokens = await self._label_tokens(labels)
        scores = [0.0] * len(labels)
        usage = Usage(0)
        for depth in range(max(map(len, tokens))):
            begun = sorted({each[:depth] for each in tokens if len(each) > depth})
            for head in begun:
                here = {
                    place: each[depth]
                    for place, each in enumerate(tokens)
                    if each[:depth] == head and len(each) > depth
                }
                logs, spent = await self._next_token(prompt, head, frozenset(here.values()), urgency)
                usage = Usage(
                    max(usage.prompt_tokens, spent.prompt_tokens), engine_us=usage.engine_us + spent.engine_us
                )
                for place, token in here.items():
                    scores[place] += logs[token]
        weights = [math.exp(score - max(scores)) for score in scores]
        return [weight / sum(weights) for weight in weights], usage

    async def prefill(self, prompt: Sequence[Part], urgency: Urgency) -> Usage:
        """Read the beginning of later prompts; cancelling drops it. Errors as `generate`."""
        usage = Usage(0)
        async with aclosing(self._completed(prompt, {"n_predict": 0}, urgency)) as events:
            async for event in events:
                if event.get("stop"):
                    usage = usage_of(event)
        return usage

    async def templated(self, messages: Sequence[Mapping[str, str]]) -> str:
        """What the model's chat template makes of a conversation, with the beginning of the next answer.

        Raises:
            EngineFailed: it has no such template, or one that refuses this; EngineLost as `generate`.
        """
        body = {"messages": list(messages), "chat_template_kwargs": {"enable_thinking": False}}
        filled = (await self.document("POST", "/apply-template", body)).get("prompt")
        if not isinstance(filled, str):
            raise EngineFailed(GARBAGE)
        return filled

    async def picture_tokens(self, width: int, height: int) -> int | None:
        """How many tokens a picture of this size takes, which is not looked at; None where the server cannot tell."""
        file = await PictureFiles().file(PicturePart(b"blank", width, height, bytes(width * height * 3)))
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{file}"}}
        counts = []
        for content in ([_ASKED], [picture, _ASKED]):
            body = {"messages": [{"role": "user", "content": content}]}
            try:
                found = await self.document("POST", "/v1/chat/completions/input_tokens", body)
            except (EngineFailed, PromptRefused):  # an older one, or a chat template that takes no pictures
                return None
            counts.append(found.get("input_tokens"))
        alone, both = counts
        return both - alone if isinstance(alone, int) and isinstance(both, int) else None

    async def alive(self) -> None:
        """Return if the process answers; EngineLost or EngineFailed if not."""
        await self.document("GET", "/health")

    async def forget(self) -> None:
        """Have it keep nothing of prompts and pictures of the current client's tenant; errors as `generate`."""
        self._pictures.clear()
        self._labels.clear()
        for slot in self._places.forget():
            await self.document("POST", f"/slots/{slot.number}?action=erase", {})

    async def save(self, folder: Path) -> int:
        """Write what its slots hold to files, with `slots.json` last: how many; errors as `generate`, and OSError.

        Args:
            folder: where the server saves slots.
        """
        hashes: dict[int, str] = {}
        for slot in self._places.slots:
            if slot.holds and not slot.tenant:  # of tenants nothing outlives the process
                await self.document("POST", f"/slots/{slot.number}?action=save", {"filename": _slot_file(slot.number)})
                hashes[slot.number] = await asyncio.to_thread(file_sha256, folder / _slot_file(slot.number))
        if hashes:
            (folder / _HELD).write_text(self._places.written(hashes), encoding="utf-8")
        return len(hashes)

    async def restore(self, folder: Path) -> int:
        """Fill its slots with what `save` wrote, and remove it: how many; one that cannot be filled is empty.

        Raises:
            EngineLost: the process died of it.
            EngineFailed: what was saved is damaged.
        """
        try:
            held = read_slots((folder / _HELD).read_text(encoding="utf-8"))
            for number, (_, sha256) in held.items():
                found = await asyncio.to_thread(file_sha256, folder / _slot_file(number))
                if found != sha256 or number not in range(len(self._places.slots)):
                    raise ValueError(_slot_file(number))
        except (OSError, ValueError) as error:
            raise EngineFailed(f"what was saved is damaged: {error}") from error
        for number, (parts, _) in held.items():
            body = {"filename": _slot_file(number)}
            with suppress(EngineFailed, PromptRefused):
                await self.document("POST", f"/slots/{number}?action=restore", body)
                self._places.slots[number].holds = parts
            (folder / _slot_file(number)).unlink()
        (folder / _HELD).unlink()
        return sum(bool(slot.holds) for slot in self._places.slots)

    async def document(self, method: str, path: str, body: Json | None = None) -> Json:
        """A response that is one document. Raises EngineLost, EngineFailed, and PromptRefused where it is refused."""
        async with self._asked(method, path, body) as response:
            found = parsed(await response.document())
            if not response.ok:
                raise_failure(found, response.status, constrained=False)
            return found

    def close(self) -> None:
        """End its idle connections."""
        self._connections.close()

    async def _completed(
        self, prompt: Sequence[Part], body: Json, urgency: Urgency, head: tuple[int, ...] = ()
    ) -> AsyncGenerator[Json, None]:
        """The events of one completion, in the slot that suits it; the last one has `stop`.

        Args:
            prompt: what is completed.
            body: what is asked for.
            urgency: how soon.
            head: tokens behind the prompt, of the answer.

        Raises:
            Overloaded: others needed too much memory beside it after it had begun to answer; before that, it is
                asked again.
        """
        self._check(prompt)
        self.calls += 1
        written = False
        try:
            asked = await self._asking(self._begun(prompt), head)
            for again in (False, True):
                try:
                    async with aclosing(self._in_slot(prompt, body, urgency, asked)) as events:
                        async for event in events:
                            written = written or "completion_probabilities" in event
                            yield event
                    return
                except MemoryFull as error:
                    self._have_fewer()
                    if written or again:
                        raise Overloaded(error.message, _SOON_S) from None
        finally:
            self.calls -= 1

    def _have_fewer(self) -> None:
        """Send fewer requests at once from now on."""
        if self._places.narrow():
            logger.warning(
                "requests at once needed more memory than the generator has: from now on fewer of them run together; "
                "for more, raise generator_cells or lower generator_batch"
            )

    async def _in_slot(
        self, prompt: Sequence[Part], body: Json, urgency: Urgency, asked: Any
    ) -> AsyncGenerator[Json, None]:
        """The same, once there is a slot; raises MemoryFull where requests at once need too much memory."""
        async with self._places.taken_by(prompt, urgency) as slot:
            with self.pulse.counted():
                handed("generator", sum(map(_size, prompt)))
                whole = {**_USUAL, **body, "prompt": asked, "id_slot": slot.number}
                whole |= {"cache_prompt": False} if slot.fresh else {}
                async with aclosing(self._events(whole, urgency.deadline)) as events:
                    with _charged_if_left() as ended:
                        async for event in events:
                            slot.fresh = False
                            if event.get("stop"):
                                ended()
                            yield event

    def _begun(self, prompt: Sequence[Part]) -> Sequence[Part]:
        """The prompt without the token that the server begins it with."""
        begin, first = self._model.begin, prompt[0]
        if begin and isinstance(first, TextPart) and first.trusted and first.text.startswith(begin):
            return [replace(first, text=first.text.removeprefix(begin)), *prompt[1:]]
        return prompt

    async def _asking(self, prompt: Sequence[Part], head: tuple[int, ...]) -> Any:
        """A prompt as the server takes it."""
        pictures = [part for part in prompt if isinstance(part, PicturePart)]
        if not pictures:
            texts = [part for part in prompt if isinstance(part, TextPart)]
            return [*self._model.begins, *[piece for part in texts for piece in await self._read(part)], *head]
        text = with_markers(prompt, self._model.marker, self._model.control)
        if head:
            text += str((await self.document("POST", "/detokenize", {"tokens": head})).get("content", ""))
        return {"prompt_string": text, "multimodal_data": [await self._pictures.file(each) for each in pictures]}

    async def _read(self, part: TextPart) -> Sequence[str | int]:
        """A part of a prompt without pictures: tokens, or a text that spells no control token.

        A list of texts alone would be as many prompts; every prompt has template text, which is tokens here.
        """
        text = composed(part.text)
        if part.trusted:
            if (known := self._templates.get(text)) is None:
                known = self._templates[text] = await self._tokens(text, special=True)
            return known
        if self._model.control.found(text):
            # Those that the vocabulary's maker added are parsed whatever is asked.
            return await self._tokens(self._model.added.broken_up(text))
        return [text]

    async def _tokens(self, text: str, *, special: bool = False) -> tuple[int, ...]:
        """Tokens of a text; none of them is a control token unless `special` says so."""
        body = {"content": text, "add_special": False, "parse_special": special}
        tokens = (await self.document("POST", "/tokenize", body)).get("tokens")
        if not isinstance(tokens, list) or not all(isinstance(each, int) for each in tokens):
            raise EngineFailed(GARBAGE)
        return tuple(tokens)

    async def _label_tokens(self, labels: Sequence[str]) -> list[tuple[int, ...]]:
        if not 0 < len(labels) <= MAX_LABELS:
            raise PromptRefused(f"{len(labels)} labels; 1 to {MAX_LABELS} can be chosen from")
        found: list[tuple[int, ...]] = []
        for label in labels:
            tokens = self._labels.get(label)
            if tokens is None:
                tokens = self._labels[label] = await self._tokens(self._model.added.broken_up(composed(label)))
            found.append(tokens)
        for index, (label, tokens) in enumerate(zip(labels, found, strict=True)):
            if not tokens:
                raise ConstraintUnusable(f"labels[{index}] is empty")
            if tokens in found[:index]:
                raise ConstraintUnusable(f"labels[{index}]: {label!r} is there twice")
        return found

    async def _next_token(
        self, prompt: Sequence[Part], head: tuple[int, ...], wanted: frozenset[int], urgency: Urgency
    ) -> tuple[dict[int, float], Usage]:
        """Logarithms of the probabilities of some tokens behind a prompt and the first tokens of labels."""
        logs: dict[int, float] = {}
        usage = Usage(0)
        for count in (_LIKELIEST, _MANY, _ALL):
            body = {"n_predict": 1, "n_probs": count}
            async with aclosing(self._completed(prompt, body, urgency, head)) as events:
                async for event in events:
                    logs = log_probabilities(event) or logs
                    if event.get("stop"):
                        usage = usage_of(event)
            if wanted <= logs.keys():
                break
        least = min(logs.values(), default=0.0)
        return {token: logs.get(token, least) for token in wanted}, usage

    def _check(self, prompt: Sequence[Part]) -> None:
        if not prompt:
            raise PromptRefused("the prompt is empty; it must end with text")
        for part in prompt:
            if isinstance(part, PicturePart):
                if not self._model.sees:
                    raise PromptRefused(
                        "there is a picture in the prompt, and this model reads text alone; leave it out"
                    )
                if len(part.rgb) != part.width * part.height * 3:
                    raise PromptRefused(f"picture of {len(part.rgb)} bytes, not width x height x 3")

    async def _events(self, body: Json, deadline: float | None) -> AsyncGenerator[Json, None]:
        """Events of one request that is sent now; the last one comes once the response is complete."""
        constrained = "grammar" in body
        async with AsyncExitStack() as stack:
            response = await _by(deadline, stack.enter_async_context(self._asked("POST", "/completion", body)))
            if not response.ok:
                raise_failure(
                    parsed(await _by(deadline, response.document())), response.status, constrained=constrained
                )
            most = MOST_DOCUMENT if body.get("n_probs", 0) > _MANY else MOST_LINE
            batches = await stack.enter_async_context(aclosing(response.batches(most)))
            ended: Json | None = None
            while (batch := await _by(deadline, anext(batches, None))) is not None:
                self.pulse.heard = monotonic()
                for event in (parsed(line[5:]) for line in batch if line.startswith(b"data:")):
                    if "error" in event:
                        raise_failure(event, response.status, constrained=constrained)
                    if event.get("stop"):
                        ended = event
                    else:
                        yield event
            if ended is None:
                raise EngineFailed("the generator failed: its answer ended in the middle")
            yield ended

    @asynccontextmanager
    async def _asked(self, method: str, path: str, body: Json | None = None) -> AsyncIterator[Response]:
        """A request and its response, with the server's own errors."""
        sent = b"" if body is None else await _written(body)
        try:
            async with self._connections.request(method, path, sent) as response:
                yield response
        except ConnectionLost as error:
            if error.ours:
                raise EngineLost(f"the generator process cannot be asked: {error}") from error
            self.on_lost()
            raise EngineLost("the generator process died; it is being restarted, ask again") from error
        except NotHttp as error:
            raise EngineFailed("the generator failed: what it sends is no HTTP response") from error


class _Pulse:
    """When the server was last heard while requests were under way."""

    def __init__(self) -> None:
        self.pending = 0
        self.heard = monotonic()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """A request is under way in the body."""
        if not self.pending:
            self.heard = monotonic()
        self.pending += 1
        try:
            yield
        finally:
            self.pending -= 1


async def _by(deadline: float | None, awaited: Awaitable[T]) -> T:
    """What is awaited, or BudgetExceeded at the deadline."""
    try:
        async with asyncio.timeout(None if deadline is None else max(0.0, deadline - monotonic())):
            return await awaited
    except TimeoutError:
        raise BudgetExceeded("the time ran out before the generator answered") from None


async def _written(body: Json) -> bytes:
    """A request's body; with large pictures it is not written on the event loop."""
    prompt = body.get("prompt")
    pictures = prompt.get("multimodal_data", ()) if isinstance(prompt, dict) else ()
    if sum(map(len, pictures)) < LARGE:
        return json.dumps(body).encode()
    return (await asyncio.to_thread(json.dumps, body)).encode()


@contextmanager
def _charged_if_left() -> Iterator[Callable[[], None]]:
    """Charge the caller for the block's time unless it comes to its end, where the server says what it has cost."""
    began, left = monotonic(), True

    def ended() -> None:
        nonlocal left
        left = False

    try:
        yield ended
    finally:
        if left:
            charge_engine(monotonic() - began)


def _slot_file(number: int) -> str:
    return f"{number}.slot"


def _size(part: Part) -> int:
    """Bytes of a part of a prompt, as it is handed over."""
    return len(part.rgb) if isinstance(part, PicturePart) else text_size(part.text)
