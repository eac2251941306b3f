"""Reads the body of a chat: which question it asks, about which picture, after which dialogue.

A chat brings its whole dialogue each time. The last message is the question, pairs of earlier ones are the history, the
latest picture is what it is about. What has no effect here is collected in `ignored`; what would change the answer and
cannot be done is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from quizglass.session import Question
from quizglass.values import Exchange
from quizglass_server.assistant.asking import MAX_ANSWER_TOKENS, MAX_EXCHANGE_CHARS
from quizglass_server.decoding.picture_cache import PictureCache
from quizglass_server.domain.doubts import DOUBTS
from quizglass_server.errors import InvalidInput
from quizglass_server.rpc.requests.json_text import has_at_most
from quizglass_server.web.chat.faults import body_fault, outside_content, part_fault
from quizglass_server.web.chat.pictures import ChatPicture, check_picture_url, encoded_picture
from quizglass_server.web.chat.schemas.conversion import ANY_OBJECT

DEFAULT_MODEL = "quizglass"
"""The server's default policy, by another name."""
DOUBT_APART = "\n\n"
"""What parts an answer from the doubt that follows it."""
MOST_VALUES = 50_000
"""Values and keys of a body, counted before it is parsed."""
_MOST_MESSAGES, _MOST_PARTS, _MOST_UNREAD = 512, 64, 64
"""Messages of a chat, parts of a message, and names in a body that are not known here."""
_SHOWN = 64
"""Characters of a name that errors repeat."""
_HARMLESS: Mapping[str, tuple[Any, ...]] = {
    "n": (1,),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "stop": ([], ""),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "logit_bias": ({},),
    "modalities": (["text"],),
    "audio": (),
    "prediction": (),
    "web_search_options": (),
}
"""What cannot be done, and the values with which it asks for nothing."""
_OF_MESSAGES = frozenset(
    {"role", "content", "name", "refusal", "tool_calls", "function_call", "annotations", "audio", "images"}
)
"""Names that a message has, in a question or in an answer that comes back."""


class _StreamOptions(BaseModel):
    include_usage: bool = False


class _Schema(BaseModel):
    schema_: dict[str, Any] = Field(alias="schema")


class _ResponseFormat(BaseModel):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: _Schema | None = None


class _Body(BaseModel):
    """What is read of a body; the rest is in `model_extra`."""

    model_config = ConfigDict(extra="allow")

    model: str = ""
    messages: list[dict[str, Any]] = Field(min_length=1, max_length=_MOST_MESSAGES)
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    budget_ms: int | None = Field(None, ge=1)
    response_format: _ResponseFormat | None = None


@dataclass(frozen=True, slots=True)
class ChatSound:
    """Speech of a question."""

    data: str
    """A WAV file in base64."""
    place: str
    """Where in the body it is."""


@dataclass(frozen=True, slots=True)
class Chat:
    """What a body asks."""

    question: Question
    picture: ChatPicture | None
    answer_schema: str
    """JSON schema that the answer has to follow, as it came; empty: it is plain text."""
    stream: bool
    usage: bool
    """Whether a stream ends with the numbers of tokens."""
    ignored: tuple[str, ...]
    """Names of fields without effect."""
    places: Mapping[str, str]
    """Where in the body a field of the question came from."""
    answer_grammar: str = ""
    """Grammar of the answers that the schema allows, once it was worked out."""
    spoken: tuple[ChatSound, ...] = ()
    """Speech of the question, until it was heard."""
    heard: str = ""
    """What was heard in it."""


def read_chat(body: bytes, most_history: int, pictures: PictureCache) -> Chat:
    """What a body asks.

    Args:
        body: JSON, as OpenAI's API describes it.
        most_history: exchanges that a question may have; earlier ones are left out.
        pictures: decodes pictures, later.

    Raises:
        InvalidInput: it is wrong, or asks for what cannot be done; its place in the body is named.
    """
    if not has_at_most(MOST_VALUES, body):
        raise InvalidInput("body", f"has more than {MOST_VALUES} values and keys")
    told = _parsed(body)
    ignored = _unread(told.model_extra or {})
    dialogue = _Dialogue()
    for number, message in enumerate(told.messages):
        dialogue.add(message, f"messages[{number}]")
    text, place = dialogue.last()
    history = dialogue.exchanges[-most_history:] if most_history else []
    places = dialogue.places(len(history)) | {"question": place, "policy": "model", "answer_grammar": "response_format"}
    if len(history) < len(dialogue.exchanges):
        ignored.append("messages (the oldest)")
    question = Question(
        question=text,
        history=tuple(history),
        budget=(told.budget_ms or 0) / 1e3,
        policy="" if told.model == DEFAULT_MODEL else told.model,
        max_answer_tokens=min(told.max_completion_tokens or told.max_tokens or 0, MAX_ANSWER_TOKENS),
    )
    return Chat(
        question,
        dialogue.pictured(pictures),
        _schema(told.response_format),
        bool(told.stream),
        told.stream_options is not None and told.stream_options.include_usage,
        (*ignored, *dialogue.ignored),
        places,
        spoken=dialogue.spoken(),
    )


def _parsed(body: bytes) -> _Body:
    try:
        return _Body.model_validate_json(body)
    except ValidationError as error:
        raise body_fault(error) from None


def _unread(extra: Mapping[str, Any]) -> list[str]:
    """Names of given fields without effect.

    Raises:
        InvalidInput: it should have one.
    """
    for name, value in extra.items():
        if value is not None and name in _HARMLESS and value not in _HARMLESS[name]:
            raise InvalidInput(name, "is not supported here; leave it out")
    unread = [name[:_SHOWN] for name, value in extra.items() if value is not None and name not in _HARMLESS]
    if len(unread) > _MOST_UNREAD:
        raise InvalidInput("body", f"has {len(unread)} names that are not known here; {_MOST_UNREAD} at most")
    return unread


def _schema(wanted: _ResponseFormat | None) -> str:
    if wanted is None or wanted.type == "text":
        return ""
    if wanted.type == "json_object":
        return ANY_OBJECT
    if wanted.json_schema is None:
        raise InvalidInput("response_format.json_schema", "is missing; give the schema")
    return json.dumps(wanted.json_schema.schema_, ensure_ascii=False)


def _undoubted(answer: str) -> str:
    """An earlier answer without the doubt that was sent behind it, which is none of its words."""
    said = answer.rstrip()
    for doubt in DOUBTS:
        said = said.removesuffix(f"{DOUBT_APART}{doubt}")
    return said if len(said) < len(answer.rstrip()) else answer


@dataclass
class _Dialogue:
    """Messages as they come, in pairs of question and answer."""

    exchanges: list[Exchange] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    _picture: tuple[str, str] | None = None
    """URL of the latest picture, and its place."""
    _asked: list[str] = field(default_factory=list)
    _spoken: list[ChatSound] = field(default_factory=list)
    """Speech of the latest question."""
    _place: str = ""
    _unread: set[str] = field(default_factory=set)
    """Names of messages without effect, with the first place of each."""
    _places: list[tuple[str, str]] = field(default_factory=list)
    """Where question and answer of each exchange came from."""

    def add(self, message: Mapping[str, Any], place: str) -> None:
        """Take the next message.

        Raises:
            InvalidInput: it cannot be understood.
        """
        role = message.get("role")
        if message.get("name"):
            self.ignored.append(f"{place}.name")
        self._leave_out(message, place)
        if role in ("system", "developer"):
            self.ignored.append(f"{place} ({role})")
        elif role == "user":
            self._asked.append(self._read(message.get("content"), f"{place}.content"))
            self._place = f"{place}.content"
        elif role == "assistant":
            self._answer(message, place)
        else:
            told = f"{str(role)[:40]!r} is no role that is taken here: system, developer, user or assistant"
            raise InvalidInput(f"{place}.role", told)

    def last(self) -> tuple[str, str]:
        """The question and its place.

        Raises:
            InvalidInput: there is none.
        """
        if not self._asked:
            raise InvalidInput("messages", "the last message has to be the user's")
        text = "\n".join(filter(None, self._asked))
        if not text and self._picture is not None and not self._spoken:
            raise InvalidInput(self._place, "has a picture and no text; ask something about it")
        return text, self._place

    def spoken(self) -> tuple[ChatSound, ...]:
        """The speech that belongs to the question."""
        return tuple(self._spoken)

    def pictured(self, pictures: PictureCache) -> ChatPicture | None:
        """The picture that the question is about, if there is one.

        Raises:
            InvalidPicture: it is not base64.
        """
        if self._picture is None:
            return None
        return ChatPicture(encoded_picture(*self._picture), self._picture[1], pictures)

    def places(self, latest: int) -> dict[str, str]:
        """Where the latest exchanges came from, by the fields of a question."""
        places: dict[str, str] = {}
        for number, (asked, answered) in enumerate(self._places[len(self._places) - latest :]):
            places |= {f"history[{number}].question": asked, f"history[{number}].answer": answered}
        return places

    def _leave_out(self, message: Mapping[str, Any], place: str) -> None:
        """Name what of a message has no effect.

        Raises:
            InvalidInput: it should have one, or is too much.
        """
        if message.get("images"):
            raise outside_content(f"{place}.images")
        for name, value in message.items():
            if value and name not in _OF_MESSAGES and name not in self._unread:
                self._unread.add(name)
                self.ignored.append(f"{place}.{name[:_SHOWN]}")
        if len(self._unread) > _MOST_UNREAD:
            raise InvalidInput(place, f"more than {_MOST_UNREAD} names of messages are not known here")

    def _answer(self, message: Mapping[str, Any], place: str) -> None:
        if message.get("tool_calls"):
            raise InvalidInput(f"{place}.tool_calls", "tools are not supported here")
        content = message.get("content") or message.get("refusal") or ""
        answer = _undoubted(self._read(content, f"{place}.content", pictures=False))
        if not self._asked:
            self.ignored.append(f"{place} (assistant, before any question)")
            return
        asked = "\n".join(filter(None, self._asked))
        if asked:
            self._exchange(asked, answer, f"{place}.content")
        elif not self._spoken:
            self.ignored.append(f"{self._place} (no text)")  # a picture that another model was shown
        self.ignored += [sound.place for sound in self._spoken]  # it was heard when it was asked
        self._asked, self._spoken = [], []

    def _exchange(self, asked: str, answer: str, place: str) -> None:
        if len(answer) > MAX_EXCHANGE_CHARS:  # as those of this server may be; the dialogue has to go on
            self.ignored.append(f"{place} (beyond {MAX_EXCHANGE_CHARS} characters)")
        self.exchanges.append(Exchange(asked, answer[:MAX_EXCHANGE_CHARS]))
        self._places.append((self._place, place))

    def _read(self, content: Any, place: str, *, pictures: bool = True) -> str:
        """The text of a message; its picture becomes the dialogue's."""
        if isinstance(content, str):
            return content
        if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
            raise InvalidInput(place, "must be a text or a list of parts")
        if len(content) > _MOST_PARTS:
            raise InvalidInput(place, f"has {len(content)} parts; {_MOST_PARTS} at most")
        texts, shown = [], 0
        for number, part in enumerate(content):
            here = f"{place}[{number}]"
            match part:
                case {"type": "text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
                    texts.append(text)
                case {"type": "image_url", "image_url": str() | {"url": str()} as image} if pictures:
                    shown += 1
                    if shown > 1:
                        raise InvalidInput(here, "a question is about one picture; leave the others out")
                    self._show(image, f"{here}.image_url")
                case {"type": "input_audio", "input_audio": {"data": str(data), **more}} if pictures:
                    if more.get("format") != "wav":
                        raise InvalidInput(f"{here}.input_audio.format", "has to be wav, the only kind that is taken")
                    self._spoken.append(ChatSound(data, f"{here}.input_audio.data"))
                case _:
                    raise part_fault(part, here, answers=not pictures)
        return "\n".join(texts)

    def _show(self, image: str | Mapping[str, Any], place: str) -> None:
        """Take a picture, whose address is in an object, or stands alone as some programs write it."""
        if isinstance(image, str):
            self._picture = image, place
        else:
            self._picture = image["url"], f"{place}.url"
            if image.get("detail") not in (None, "auto"):
                self.ignored.append(f"{place}.detail")
        check_picture_url(*self._picture)
