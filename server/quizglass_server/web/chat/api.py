"""The applications of `/v1/chat/completions` and `/v1/models`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import replace
from typing import Any

from quizglass_server.assistant.asking import Asking, TurnRequest
from quizglass_server.errors import InvalidInput, QuizglassError, needed, reported
from quizglass_server.network.login import current_login
from quizglass_server.observe import metrics
from quizglass_server.roles.speech import Hearing
from quizglass_server.scheduling.allowances import check_engines
from quizglass_server.web.chat.completion import Completion
from quizglass_server.web.chat.reading import ChatReader
from quizglass_server.web.chat.request import DEFAULT_MODEL, Chat
from quizglass_server.web.http.asgi import Receive, Scope, Send, respond_json, while_connected
from quizglass_server.web.http.bodies import uncompressed
from quizglass_server.web.http.gate import Route
from quizglass_server.web.http.problems import problem, respond_problem
from quizglass_server.web.speech.sounds import decoded, heard

_MODELS = "/v1/models/"
_STREAM = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]


class ChatApi:
    """Answers chats.

    Args:
        asking: what checks questions and runs their turns, for the tenant of the current caller.
        reader: reads chats.
        running: counts what runs, and refuses what must not.
        policies: that can be asked for, the default first.
        listed: those of them that the list of models shows.
        quoting: those of them that quote, and write no JSON.
        bundle: name and version of the models.
        most_bytes: of a body.
        hearing: recognises speech; None: nothing does.
    """

    def __init__(
        self,
        asking: Callable[[], AbstractAsyncContextManager[Asking]],
        reader: ChatReader,
        running: Callable[[str], AbstractContextManager[None]],
        policies: tuple[str, ...],
        listed: Collection[str],
        quoting: Collection[str],
        bundle: str,
        most_bytes: int,
        hearing: Hearing | None = None,
    ) -> None:
        self._asking = asking
        self._hearing = hearing
        self._running = running
        self._bundle = bundle
        self._most_bytes = most_bytes
        self._reader = reader
        about = {"object": "model", "created": int(time.time()), "owned_by": "quizglass"}
        self._models = {name: {"id": name, **about} for name in (DEFAULT_MODEL, *policies)}
        self._listed = (DEFAULT_MODEL, *(name for name in policies if name in listed))
        self._quoting = frozenset(quoting)

    def routes(self) -> dict[str, Route]:
        """What answers requests, by path."""
        models = {"object": "list", "data": [self._models[name] for name in self._listed]}
        return {
            "/v1/chat/completions": Route(self.complete, ("POST",), self._most_bytes),
            "/v1/models": Route(_says(models), ("GET",)),
            f"{_MODELS}*": Route(self._model, ("GET",)),
        }

    async def complete(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one chat; a client that goes away ends its turn.

        Raises:
            TurnedAway: its body is compressed.
        """
        bodies = [await uncompressed(scope, receive)]  # the turn does not hold it
        sending, places = _Sending(send), dict[str, str]()
        try:
            with self._running("chat"):
                chat = await self._reader.chat(bodies.pop())
                places |= chat.places
                await while_connected(receive, self._answer(chat, sending))
        except Exception as error:
            known = reported(error, "chat").with_traceback(None)  # whose frames hold the body
            metrics.REFUSALS.add(known.code)
            await sending.problem(known, places)

    async def _model(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Say what a model is."""
        name = scope["path"].removeprefix(_MODELS)
        if (model := self._models.get(name)) is not None:
            await respond_json(send, 200, model)
        else:
            await respond_problem(send, self._no_model(name), {"policy": "model"})

    async def _answer(self, chat: Chat, sending: _Sending) -> None:
        chat = await self._reader.with_grammar(await self._heard(chat))
        async with self._asking() as asking:
            await self._answered(chat, asking, sending)

    async def _answered(self, chat: Chat, asking: Asking, sending: _Sending) -> None:
        question = chat.question
        policy, budget = self._policy(asking, question.policy), asking.budget(question.budget)
        asked = TurnRequest(replace(asking.turn(question), answer_grammar=chat.answer_grammar), policy, budget)
        self._check_writes(chat, policy)
        completion = Completion(chat, asked.turn.id, policy, self._bundle)
        async with asking.events(asked, chat.picture, lambda turn, told, done: done) as events:
            async for event in events:
                # Nothing is sent before the first words: what fails until then can be told by a status, and a client
                # on the same machine takes no core from the engines.
                current_login().check()
                if (text := completion.take(event)) and chat.stream:
                    await sending.piece(completion.chunk(text))
        if chat.stream:
            await sending.end(*completion.last_chunks())
        else:
            await sending.whole(completion.whole())

    def _check_writes(self, chat: Chat, policy: str) -> None:
        """Raises InvalidInput: JSON is asked for of a policy that quotes."""
        if chat.answer_grammar and policy in self._quoting:
            writing = ", ".join(name for name in self._listed[1:] if name not in self._quoting)
            remedy = f"choose one of {writing}" if writing else "serve a bundle with a generator"
            raise InvalidInput("answer_grammar", f"model {policy!r} quotes sentences and writes no JSON; {remedy}")

    def _policy(self, asking: Asking, model: str) -> str:
        """The policy that a model's name stands for; empty: the default one. Raises InvalidInput: there is none."""
        try:
            return asking.policy(model)
        except InvalidInput:
            raise self._no_model(model) from None

    def _no_model(self, name: str) -> InvalidInput:
        offered = ", ".join(self._listed)
        return InvalidInput("policy", f"there is no model {name[:60]!r}; choose one of {offered}")

    async def _heard(self, chat: Chat) -> Chat:
        """A chat with what is said in it in words.

        Raises:
            InvalidInput: nothing is said in it, and nothing was written.
            RoleMissing: nothing recognises speech here.
            QuotaExceeded: the caller's engine time is used up.
        """
        if not chat.spoken:
            return chat
        check_engines()
        hearing = needed(self._hearing, "hearing", chat.spoken[0].place)
        texts = [
            (await heard(hearing, decoded(sound.data, sound.place), "", sound.place)).text for sound in chat.spoken
        ]
        words = " ".join(filter(None, texts))
        question = "\n".join(filter(None, (chat.question.question, words)))
        if not question:
            raise InvalidInput(chat.spoken[0].place, "no words are heard in it")
        return replace(chat, question=replace(chat.question, question=question), spoken=(), heard=words)


class _Sending:
    """The response, in one piece or as a stream."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def whole(self, content: Mapping[str, Any]) -> None:
        """Send one object."""
        await respond_json(self._send, 200, content)

    async def piece(self, content: Mapping[str, Any]) -> None:
        """Send one object of a stream; the first begins it."""
        if not self.begun:
            self.begun = True
            await self._send({"type": "http.response.start", "status": 200, "headers": _STREAM})
        await self._send({"type": "http.response.body", "body": _event(content), "more_body": True})

    async def end(self, *contents: Mapping[str, Any]) -> None:
        """Send the last objects of a stream."""
        for content in contents:
            await self.piece(content)
        await self._send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})

    async def problem(self, error: QuizglassError, places: Mapping[str, str]) -> None:
        """Say what went wrong, in a stream that has begun as its last event."""
        if not self.begun:
            await respond_problem(self._send, error, places)
            return
        await self.piece(problem(error, places))
        await self._send({"type": "http.response.body", "body": b""})


def _event(content: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(content, ensure_ascii=False)}\n\n".encode()


def _says(content: Mapping[str, Any]) -> Any:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await respond_json(send, 200, content)

    return app
