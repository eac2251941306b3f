"""Training examples: a prompt rendered exactly as the server renders it, and the answer that should follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path

from quizglass_bundle.inputs.prompts import (
    PromptTemplate,
    PromptTokenizer,
    PromptValue,
    Segment,
    SegmentKind,
    Values,
    filled,
)
from quizglass_lab.starter.model.vlm import PICTURE_TOKENS
from quizglass_server.steps.prompt_values import standing, stands_alone, unmatched

PROMPTS = resources.files("quizglass_export") / "prompts"
"""The starter's templates, one a task, named as the task."""
MOST_TOKENS = 480
"""Most tokens of a prompt that is trained on; longer ones are left out."""
LETTERS = "ABCDEF"
"""Labels of decisions, in the order of the policy's enumeration."""


@dataclass(frozen=True)
class Request:
    """What a prompt is made of; `template` is the name of one of PROMPTS."""

    template: str
    question: str
    history: tuple[tuple[str, str], ...] = ()
    words: str | None = None
    seen: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    query: str | None = None
    """The question as it was reformulated last, several queries parted by semicolons."""
    picture: int | None = None
    """Row of the picture store, or None for a prompt without a picture."""
    values: Values = field(default_factory=dict)
    """Further values, by the names that the server gives them: steps, draft, entity, memory ..."""

    def all_values(self) -> Mapping[str, PromptValue]:
        """What the template is filled with, exactly as the server fills it."""
        values: Values = {
            "question": self.question,
            "history": [{"question": question, "answer": answer} for question, answer in self.history],
            "words": self.words or "",
            "seen": list(self.seen),
            "found": list(self.found),
            "query": self.query,
            "queries": self.query.split("; ") if self.query else [],
            "standing": standing(self.values.get("answer"), self.values.get("evidence"), self.words),
            "unmatched": unmatched(self.question, self.values.get("evidence")),
            "stands_alone": stands_alone(self.question),
            **self.values,
        }
        return filled(values)


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
        self.tokenizer_file = tokenizer_folder / "tokenizer.json"
        self._tokens = PromptTokenizer(self.tokenizer_file)
        self._templates: dict[str, PromptTemplate] = {}
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
        pictures = 0 if request.picture is None else 1
        prompt = self._template(request.template).render(pictures=pictures, **request.all_values())
        ids: list[int] = []
        for segment in prompt:
            ids.extend(self._image if segment.kind is SegmentKind.IMAGE else self._piece(segment))
        return tuple(ids)

    def _template(self, name: str) -> PromptTemplate:
        if name not in self._templates:
            source = (PROMPTS / f"{name}.jinja").read_text(encoding="utf-8")
            self._templates[name] = PromptTemplate(source, name)
        return self._templates[name]

    def answer(self, text: str) -> tuple[int, ...]:
        """Token ids of an answer: a space, the text, the end token; so each of several lines."""
        lines = "\n".join(f" {line}" for line in text.splitlines())
        return (*self._piece(Segment(SegmentKind.DATA, lines)), self.end)

    def encode(self, example: Example) -> Encoded:
        """Both halves of an example."""
        request = example.request
        return Encoded(self.prompt(request), self.answer(example.answer), request.picture, example.task)

    def encode_all(self, examples: Sequence[Example]) -> list[Encoded]:
        """Those whose prompt is not too long."""
        return [each for each in map(self.encode, examples) if len(each.prompt) <= MOST_TOKENS]

    def label(self, text: str) -> int:
        """Id of a label that must be one token."""
        return self._tokens.label(text)

    def decode(self, ids: Sequence[int]) -> str:
        """Generated ids to stripped text."""
        return self._tokens.decode(ids).strip()
