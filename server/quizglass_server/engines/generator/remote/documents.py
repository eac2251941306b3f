"""What OpenAI's servers send, as far as it is read; a stranger's, so checked field by field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from quizglass_server.errors import EngineFailed

Read = TypeVar("Read", bound=BaseModel)
_MOST_SHOWN = 300


def _or(default: Any) -> BeforeValidator:
    """Null as what a missing key would be."""
    return BeforeValidator(lambda given: default() if given is None else given)


class TopLogprob(BaseModel):
    """A token that might have been written."""

    token: str
    logprob: float


class TokenLogprob(TopLogprob):
    """A token that was written."""

    top_logprobs: Annotated[list[TopLogprob], _or(list)] = []


class Logprobs(BaseModel):
    """Of all tokens of a piece."""

    content: Annotated[list[TokenLogprob], _or(list)] = []


class Delta(BaseModel):
    """A piece of text; None where there is none, such as at the beginning and while the model thinks."""

    content: str | None = None


class Choice(BaseModel):
    """The only one: no others are asked for."""

    delta: Annotated[Delta, _or(Delta)] = Delta()
    finish_reason: str | None = None
    logprobs: Annotated[Logprobs, _or(Logprobs)] = Logprobs()


class TokenCounts(BaseModel):
    """What was read and written, in tokens."""

    prompt_tokens: Annotated[int, Field(ge=0)] = 0
    completion_tokens: Annotated[int, Field(ge=0)] = 0


class ChatChunk(BaseModel):
    """A chat completion, or a piece of one."""

    model: str = ""
    choices: Annotated[list[Choice], _or(list)] = []
    usage: Annotated[TokenCounts, _or(TokenCounts)] = TokenCounts()
    error: Any = None


class ListedModel(BaseModel):
    """A model that is served."""

    id: str
    owned_by: Annotated[str, _or(str)] = ""
    root: Annotated[str, _or(str)] = ""
    max_model_len: int | None = None
    meta: Mapping[str, Any] | None = None


class ModelList(BaseModel):
    """All of them."""

    data: list[ListedModel]


class Modalities(BaseModel):
    """What a llama-server can be shown."""

    vision: bool = False


class GenerationSettings(BaseModel):
    """Of a llama-server's slots."""

    n_ctx: int | None = None


class Properties(BaseModel):
    """What llama-server says of itself at `/props`."""

    default_generation_settings: GenerationSettings = GenerationSettings()

    media_marker: str = "<__media__>"
    modalities: Modalities = Modalities()
    total_slots: int
    chat_template: str
    bos_token: Annotated[str, _or(str)] = ""


class TokenList(BaseModel):
    """What llama-server cuts a text into."""

    tokens: tuple[int, ...]


def read(kind: type[Read], content: bytes, what: str) -> Read:
    """Read a document.

    Raises:
        EngineFailed: it is none of that kind; `what` begins the message.
    """
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise EngineFailed(f"{what}: what it sent is not as OpenAI's API has it: {place}: {first['msg']}") from None


def reason(content: bytes) -> str:
    """What a server says of a failure, in its own words, shortened."""
    try:
        said = ChatChunk.model_validate_json(content).error
    except ValidationError:
        said = content.decode("utf-8", "replace")
    if isinstance(said, Mapping):
        said = said.get("message", said)
    words = " ".join(str(said or content.decode("utf-8", "replace")).split())
    return words[:_MOST_SHOWN] or "it says no more"
