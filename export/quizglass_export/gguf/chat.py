"""A model's own chat format, as the template in its GGUF file says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from transformers.utils.chat_template_utils import render_jinja_template

from quizglass_bundle.inputs.prompts import CONVERSATION, ChatFormat, read_format
from quizglass_export.errors import ExportError
from quizglass_export.gguf.header import GgufHeader


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
    system, user = CONVERSATION
    try:
        alone = _filled(template, [user], header)
        try:
            both = _filled(template, [system, user], header)
        except Exception:  # a model without a system's turn
            both = None
        return read_format(alone, both, beginning(header))
    except Exception as error:  # what a template computes can fail in any way
        raise ExportError(f"{name}: tokenizer.chat_template cannot be used: {error}") from error


def _filled(template: str, messages: Sequence[Mapping[str, str]], header: GgufHeader) -> str:
    tokens = {f"{name}_token": _token(header, name) for name in ("bos", "eos")}
    rendered, _ = render_jinja_template(
        [list(messages)], chat_template=template, add_generation_prompt=True, enable_thinking=False, **tokens
    )
    return str(rendered[0])


def _token(header: GgufHeader, name: str) -> str:
    tokens, place = header.metadata.get("tokenizer.ggml.tokens"), header.metadata.get(f"tokenizer.ggml.{name}_token_id")
    if not isinstance(tokens, list) or not isinstance(place, int) or not 0 <= place < len(tokens):
        return ""
    return str(tokens[place])
