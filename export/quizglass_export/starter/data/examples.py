"""Training examples: a prompt rendered exactly as the server renders it, and the answer that should follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

from quizglass_export.starter.model.vlm import PICTURE_TOKENS
from quizglass_server.models.prompts import PromptTemplate, PromptTokenizer, Segment, SegmentKind

TEMPLATES = ("plan", "rewrite", "answer")
MOST_TOKENS = 400


@dataclass(frozen=True)
class Request:
    """What a prompt is made of; `template` is the name of one of TEMPLATES."""

    template: str
    question: str
    history: tuple[tuple[str, str], ...] = ()
    words: str | None = None
    seen: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    query: str | None = None
    picture: int | None = None
    """Row of the picture store, or None for a prompt without a picture."""


@dataclass(frozen=True)
class Example:
    """A request and the text that should follow; `task` is for reports only."""

    request: Request
    answer: str
    task: str


@dataclass(frozen=True)
class Encoded:
    """Token ids of a prompt (the picture's slot filled with pads) and of the answer with its end token."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]
    picture: int | None
    task: str


class Encoder:
    """Requests to token ids, through the templates shipped with the bundle."""

    def __init__(self, tokenizer_folder: Path) -> None:
        self._tokens = PromptTokenizer(tokenizer_folder / "tokenizer.json")
        folder = resources.files("quizglass_export.starter") / "prompts"
        self._templates = {
            name: PromptTemplate((folder / f"{name}.jinja").read_text(encoding="utf-8"), name) for name in TEMPLATES
        }
        token = self._tokens.token_id
        self.pad = token("<|image_pad|>")
        self.end = token("<|im_end|>")
        self.filler = token("<|endoftext|>")
        self._image = (token("<|vision_start|>"), *[self.pad] * PICTURE_TOKENS, token("<|vision_end|>"))
        self._piece = lru_cache(maxsize=200_000)(self._encode_piece)

    def _encode_piece(self, segment: Segment) -> tuple[int, ...]:
        return tuple(self._tokens.encode((segment,)))

    def prompt(self, request: Request) -> tuple[int, ...]:
        """Token ids of a request."""
        prompt = self._templates[request.template].render(
            pictures=0 if request.picture is None else 1,
            question=request.question,
            history=[{"question": question, "answer": answer} for question, answer in request.history],
            words=request.words,
            seen=list(request.seen),
            found=list(request.found),
            query=request.query,
        )
        ids: list[int] = []
        for segment in prompt:
            ids.extend(self._image if segment.kind is SegmentKind.IMAGE else self._piece(segment))
        return tuple(ids[:MOST_TOKENS])

    def answer(self, text: str) -> tuple[int, ...]:
        """Token ids of an answer: a space, the text, the end token."""
        return (*self._piece(Segment(SegmentKind.DATA, f" {text}")), self.end)

    def encode(self, example: Example) -> Encoded:
        """Both halves of an example."""
        request = example.request
        return Encoded(self.prompt(request), self.answer(example.answer), request.picture, example.task)

    def label(self, text: str) -> int:
        """Id of a label that must be one token."""
        return self._tokens.label(text)

    def decode(self, ids: Sequence[int]) -> str:
        """Generated ids to stripped text."""
        return self._tokens.decode(ids).strip()
