"""Control tokens of a model whose vocabulary is not known: whatever looks like one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from quizglass_server.engines.generator.control_tokens import ControlTexts

_LOOKS_SPECIAL = re.compile(r"(?=<[^<>\s]+>|\[[A-Z_/]+\]|<｜[^｜]+｜>)(.)", re.DOTALL)


def without_special(text: str) -> str:
    """A text in which nothing looks like a special token of any model: `<s>`, `<|im_end|>`, `[INST]`."""
    return _LOOKS_SPECIAL.sub(r"\1 ", text)


class AnyControlTexts(ControlTexts):
    """As `ControlTexts`, of models in general.

    Args:
        marker: what stands for a picture; nothing that was written may spell it.
    """

    def __init__(self, marker: str) -> None:
        super().__init__([marker] if marker else [])

    def broken_up(self, text: str, trusted: Sequence[range] = ()) -> str:
        """The text with a space behind the first character of everything that looks like a control token in it."""

        def broken(match: re.Match[str]) -> str:
            inside = any(match.start() in place for place in trusted)
            return match[1] if inside else f"{match[1]} "

        return super().broken_up(_LOOKS_SPECIAL.sub(broken, text) if trusted else without_special(text))
