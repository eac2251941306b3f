"""Prompts in a model's own chat format, as the template in its GGUF file says.

A bundle's prompts may be written in ChatML: `<|im_start|>system`, `<|im_start|>user`, and `<|im_start|>assistant` where
the answer begins. For a model that was tuned with other markers these are put in their place; all else stays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from transformers.utils.chat_template_utils import render_jinja_template

from quizglass_export.errors import ExportError
from quizglass_export.gguf.header import GgufHeader

_SYSTEM, _USER = "\ue000system\ue001", "\ue000user\ue001"
_TURN = re.compile(r"<\|im_start\|>(system|user|assistant)\n(.*?)(?:<\|im_end\|>\n?|\Z)", re.DOTALL)
_JINJA = re.compile(r"\{[{%#]")
CHATML = "<|im_start|>"
_ONE_QUESTION = 3
"""Turns: the system's, the user's, and the assistant's that is to be written."""


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """What stands before, between and after the parts of a conversation of one question.

    Attributes:
        head: before the system's text.
        middle: between it and the user's.
        tail: after the user's; the answer follows.
        alone: before the user's text where there is no system's.
    """

    head: str
    middle: str
    tail: str
    alone: str

    def rewrite(self, prompt: str) -> str:
        """A ChatML prompt with this format's markers; one with examples in it stays as it is for a model of ChatML.

        Raises:
            ExportError: it is not one system and one user turn, and the format is another one.
        """
        turns = [(match[1], match[2]) for match in _TURN.finditer(prompt)]
        if len(turns) > _ONE_QUESTION and CHATML in self.tail:
            return prompt
        if [role for role, _ in turns] not in (["system", "user", "assistant"], ["user", "assistant"]):
            raise ExportError("its ChatML is not a system's turn (or none), one of the user and the assistant's")
        if prompt[: prompt.index(CHATML)].strip():
            raise ExportError("something stands before its first turn")
        texts, begun = dict(turns), turns[-1][1].removesuffix("\n")
        opening = _joined(self.head, texts["system"], self.middle) if "system" in texts else self.alone
        return _joined(opening, texts["user"], self.tail) + begun + "\n"  # one newline at the end is dropped


def _joined(before: str, text: str, after: str) -> str:
    """In a row; a newline after a block of a template is dropped, so there stand two."""
    return before + text + ("\n" if text.endswith("%}") and after.startswith("\n") else "") + after


def beginning(header: GgufHeader) -> str:
    """The token that a model's texts begin with; empty where it wants none."""
    meta = header.metadata
    wants = meta.get("tokenizer.ggml.add_bos_token", meta.get("tokenizer.ggml.model") == "llama")
    return _token(header, "bos") if wants else ""


def endings(header: GgufHeader) -> tuple[str, ...]:
    """The tokens that a model ends its answers with, as its header names them."""
    return tuple(dict.fromkeys(token for name in ("eos", "eot") if (token := _token(header, name))))


def chat_format(header: GgufHeader, name: str) -> ChatFormat | None:
    """The format that the template in a GGUF file describes; None without a template.

    Args:
        header: of the file.
        name: of the file, for errors.

    Raises:
        ExportError: the template cannot be filled, or loses what is said.
    """
    template = header.metadata.get("tokenizer.chat_template")
    if not isinstance(template, str):
        return None
    user = {"role": "user", "content": _USER}
    try:
        alone, tail = _parts(_filled(template, [user], header), _USER)
        try:
            both = _filled(template, [{"role": "system", "content": _SYSTEM}, user], header)
            head, rest = _parts(both, _SYSTEM)
            middle, tail = _parts(rest, _USER)
        except Exception:  # a model without a system's turn: said before the question
            head, middle = alone, "\n\n"
    except Exception as error:  # what a template computes can fail in any way
        raise ExportError(f"{name}: tokenizer.chat_template cannot be used: {error}") from error
    bos = beginning(header)
    head, alone = (text if text.startswith(bos) else bos + text for text in (head, alone))
    for text in (head, middle, tail, alone):
        if _JINJA.search(text):
            raise ExportError(f"{name}: tokenizer.chat_template writes {text!r}, which a prompt cannot hold")
    return ChatFormat(head, middle, tail, alone)


def _filled(template: str, messages: list[dict[str, Any]], header: GgufHeader) -> str:
    tokens = {f"{name}_token": _token(header, name) for name in ("bos", "eos")}
    rendered, _ = render_jinja_template(
        [messages], chat_template=template, add_generation_prompt=True, enable_thinking=False, **tokens
    )
    return str(rendered[0])


def _parts(text: str, value: str) -> tuple[str, str]:
    if text.count(value) != 1:
        raise ValueError(f"it says a message {text.count(value)} times")
    before, _, after = text.partition(value)
    return before, after


def _token(header: GgufHeader, name: str) -> str:
    tokens, place = header.metadata.get("tokenizer.ggml.tokens"), header.metadata.get(f"tokenizer.ggml.{name}_token_id")
    if not isinstance(tokens, list) or not isinstance(place, int) or not 0 <= place < len(tokens):
        return ""
    return str(tokens[place])
