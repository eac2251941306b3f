"""Keeps text of strangers text: in data no token that steers a model can be spelled.

llama-server parses special tokens in all text that it is given. So every text of the vocabulary that is one is broken
up by a space where it stands in data: tokens of the types control, unknown and user-defined, which are parsed whatever
is asked, and those that look like one and that llama.cpp therefore treats as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat

_NORMAL, _USER_DEFINED, _UNUSED, _BYTE = 1, 4, 5, 6
"""Types of tokens in GGUF."""
_LOOKS = re.compile(r"<[^<>\s]+>|\[[^\[\]\s]+\]|_<[^<>\s]+>|<｜[^｜]+｜>", re.DOTALL)
"""Of all that llama.cpp overrides the type of, whatever the file says."""


def control_texts(tokens: Sequence[str], types: Sequence[int]) -> list[str]:
    """Texts of a vocabulary that may be parsed as special tokens.

    Args:
        tokens: texts by token id.
        types: GGUF's types by token id; where it ends early, the rest are normal.
    """
    return [
        text
        for text, kind in _typed(tokens, types)
        if kind not in (_NORMAL, _UNUSED, _BYTE) or (kind == _NORMAL and _LOOKS.fullmatch(text))
    ]


def added_texts(tokens: Sequence[str], types: Sequence[int]) -> list[str]:
    """Those that are parsed whether or not special tokens are to be: the user-defined ones; arguments as above."""
    return [text for text, kind in _typed(tokens, types) if kind == _USER_DEFINED]


def _typed(tokens: Sequence[str], types: Sequence[int]) -> Iterator[tuple[str, int]]:
    return zip(tokens, chain(types, repeat(_NORMAL)))  # noqa: B905 - the second one never ends


class ControlTexts:
    """The control tokens of one model, by their texts.

    Args:
        texts: as `control_texts` gives them.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = frozenset(text for text in texts if text.strip())
        self._lengths = sorted({len(text) for text in self.texts}, reverse=True)
        firsts = "".join(sorted({text[0] for text in self.texts}))
        self._first = re.compile(f"[{re.escape(firsts)}]") if firsts else None
        self._spaced = any(" " in text for text in self.texts)

    def found(self, text: str) -> bool:
        """Whether any control token is spelled in a text."""
        return self.broken_up(text) != text

    def broken_up(self, text: str, trusted: Sequence[range] = ()) -> str:
        """The text with a space behind the first character of each control token in it.

        Args:
            text: what a model is to read.
            trusted: places of template text in it; a token that lies in one of them alone is left.
        """
        once = self._pass(text, trusted)
        # A space may complete a token that has one; whoever writes such a vocabulary has no trusted ones.
        while self._spaced and not trusted and (again := self._pass(once)) != once:
            once = again
        return once

    def _pass(self, text: str, trusted: Sequence[range] = ()) -> str:
        if self._first is None:
            return text
        pieces: list[str] = []
        done = 0
        for match in self._first.finditer(text):
            at = match.start()
            spelled = (text[at : at + size] for size in self._lengths)
            found = next((each for each in spelled if each in self.texts), "")
            if not found or any(at in place and at + len(found) - 1 in place for place in trusted):
                continue
            pieces.append(text[done:at])
            # A token of one character cannot be broken up.
            pieces.append(f"{text[at]} " if len(found) > 1 else " ")
            done = at + 1
        return "".join([*pieces, text[done:]])
