"""Prompt templates in the chat format of the model that reads them.

The project's templates are written in ChatML. Of a model that speaks another format, each template is turned into it
by the chat template of its tokenizer, before any value is filled in: what is trained is then a template that a bundle
serves as it is, in which data stays apart from instructions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quizglass_bundle.inputs.prompts import (
    GENERAL_PROMPTS,
    Prompt,
    PromptError,
    PromptTemplate,
    SegmentKind,
    Values,
    filled,
    load_template,
)
from quizglass_export.errors import ExportError

OWN_PROMPTS = Path(__file__).parent.parent / "prompts"
"""What annotation asks and no policy does: to decompose a question, to judge an answer, to choose by picture alone."""
START, END = "<|im_start|>", "<|im_end|>"
_TURN = re.compile(rf"{re.escape(START)}(system|user|assistant)\n(.*?)(?:{re.escape(END)}\n?|\Z)", re.DOTALL)
_PLACE = re.compile("\ue000(\\d+)\ue001")
_SUFFIX = ".jinja"


class Prompts:
    """Templates by task.

    Args:
        folder: of templates, `TASK.jinja`; None: those for general models.
        tokenizer: transformers' tokenizer of the model that reads them; None: ChatML.
        sees: whether the model is given pictures.

    Raises:
        ExportError: the folder has no templates, or the tokenizer knows neither ChatML nor a format of its own.
    """

    def __init__(self, folder: Path | None = None, tokenizer: Any = None, *, sees: bool = True) -> None:
        self.sees = sees
        self._folder = folder or GENERAL_PROMPTS
        self._files, self._served = template_files(folder), tuple(_in(self._folder))
        if not self._served:
            raise ExportError(f"{self._folder}: no templates; give a directory with TASK{_SUFFIX} files")
        self._tokenizer = None if tokenizer is None or _speaks_chatml(tokenizer) else tokenizer
        if self._tokenizer is not None and not getattr(tokenizer, "chat_template", None):
            raise ExportError(
                f"{tokenizer.name_or_path}: its tokenizer knows neither {START} nor a chat template; "
                "add `chat_template` to tokenizer_config.json"
            )
        self._loaded: dict[str, PromptTemplate] = {}

    @property
    def stop(self) -> str:
        """The token that ends an answer."""
        return END if self._tokenizer is None else str(self._tokenizer.eos_token)

    def source(self, task: str) -> str:
        """A template's text in the model's format; ExportError where there is none of that name."""
        if task not in self._files:
            raise ExportError(f"{self._folder}: no template {task}{_SUFFIX}; copy it there")
        try:
            text = self._files[task].read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ExportError(f"{self._files[task]}: not UTF-8: {error.reason} at byte {error.start}") from error
        return text if self._tokenizer is None else _converted(text, self._tokenizer)

    def template(self, task: str) -> PromptTemplate:
        """A template, tried with every value and with none; ExportError where the server would refuse it."""
        if task not in self._loaded:
            if self._tokenizer is None and task in self._files:
                try:
                    load_template(self._files[task], sees=self.sees)
                except PromptError as error:
                    raise ExportError(f"{self._files[task]}: {error}") from error
            self._loaded[task] = PromptTemplate(self.source(task), f"{task}{_SUFFIX}")
        return self._loaded[task]

    def shows_entries(self, task: str) -> bool:
        """Whether a task's prompt shows pictures of entries besides the wearer's own."""
        return self.sees and self.template(task).shows_several

    def fill(self, task: str, values: Values, pictures: int) -> Prompt:
        """A task's prompt; of pictures those that it shows, none for a model that sees none."""
        return self.template(task).render(pictures=pictures if self.sees else 0, **filled(values))

    def save(self, folder: Path) -> None:
        """Write every template that a bundle serves, in the model's format, for `prompts` of its recipe."""
        folder.mkdir(parents=True, exist_ok=True)
        for task in self._served:
            (folder / f"{task}{_SUFFIX}").write_text(self.source(task), encoding="utf-8")


def template_files(folder: Path | None) -> dict[str, Path]:
    """Every template by its task: those of a folder (None: for general models), and those that annotation asks by."""
    return _in(OWN_PROMPTS) | _in(folder or GENERAL_PROMPTS)


def _in(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(folder.glob(f"*{_SUFFIX}"))}


def chat_messages(prompt: Prompt, pictures: Mapping[int, str]) -> list[dict[str, Any]]:
    """A ChatML prompt as messages of a chat API, without the beginning of the answer that it may end with.

    Args:
        prompt: a filled template.
        pictures: URL of each picture by its place.
    """
    # Turns are separated before any data is put in, so that none of it can open one.
    places = enumerate(prompt)
    text = "".join(each.text if each.kind is SegmentKind.TEXT else f"\ue000{at}\ue001" for at, each in places)
    messages: list[dict[str, Any]] = []
    for role, content in _TURN.findall(text) or [("user", text)]:
        if role != "assistant":
            messages.append({"role": role, "content": _parts(content, prompt, pictures)})
    return messages


def _parts(content: str, prompt: Prompt, pictures: Mapping[int, str]) -> str | list[dict[str, Any]]:
    """A turn's text, or its texts and pictures; data and pictures stand in `content` as places in the prompt."""
    parts: list[dict[str, Any]] = []
    text = ""
    for index, piece in enumerate(_PLACE.split(content)):
        segment = prompt[int(piece)] if index % 2 else None
        if segment is None or segment.kind is SegmentKind.DATA:
            text += piece if segment is None else segment.text
            continue
        parts += [{"type": "text", "text": before}] if (before := _unmarked(text)) else []
        parts.append({"type": "image_url", "image_url": {"url": pictures[segment.picture]}})
        text = ""
    last = _unmarked(text)
    if not parts:
        return last
    return [*parts, {"type": "text", "text": last}] if last else parts


def _unmarked(text: str) -> str:
    """A text without marks of turns, nor such as come about where others are taken out: endpoints may parse them."""
    while (less := text.replace(START, "").replace(END, "")) != text:
        text = less
    return text.strip()


def _speaks_chatml(tokenizer: Any) -> bool:
    return {START, END} <= set(tokenizer.get_vocab())


def _converted(source: str, tokenizer: Any) -> str:
    turns = _TURN.findall(source)
    if not turns or turns[-1][0] != "assistant":
        raise ExportError("a template that is no ChatML cannot be turned into another format; write it in the model's")
    messages = [{"role": role, "content": content} for role, content in turns[:-1]]
    try:
        head = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    except Exception as error:  # a chat template may refuse system turns
        if messages[0]["role"] != "system":
            raise ExportError(f"{tokenizer.name_or_path}: its chat template cannot be used: {error}") from error
        system, first, *rest = messages
        merged = [{"role": "user", "content": f"{system['content']}\n{first['content']}"}, *rest]
        head = tokenizer.apply_chat_template(merged, tokenize=False, add_generation_prompt=True)
    begun = turns[-1][1].strip("\n")
    # One newline at a template's end is dropped when it is rendered; one that the format ends with has to stay.
    return f"{head}{begun}" + ("\n" if not begun and head.endswith("\n") else "")
