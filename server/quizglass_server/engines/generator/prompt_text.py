"""A prompt as llama-server's `/completion` takes it.

Without pictures it is a list of texts, each tokenised by itself; one that spells a control token is sent as tokens, so
that the model reads exactly what was written. With pictures llama-server takes one text alone, in which a marker stands
for each picture: control tokens that data spells, or helps to spell, are broken up there.
"""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import normalize

from quizglass_server.engines.generator.control_tokens import ControlTexts
from quizglass_server.engines.generator.prompt import Part, TextPart


def composed(text: str) -> str:
    """With accents composed (NFC), as they are in what models are trained on, and without halves of characters."""
    return normalize("NFC", text).encode("utf-8", "replace").decode()


def with_markers(prompt: Sequence[Part], marker: str, control: ControlTexts) -> str:
    """A prompt with pictures as one text.

    Args:
        prompt: its parts.
        marker: what stands for a picture; data cannot spell it.
        control: the model's control tokens, with the marker.
    """
    # llama.cpp fails where a prompt ends with a picture and there is no text to read behind it.
    closed = prompt if isinstance(prompt[-1], TextPart) else [*prompt, TextPart("\n", trusted=True)]
    runs: list[list[TextPart]] = [[]]
    for part in closed:
        if isinstance(part, TextPart):
            runs[-1].append(part)
        else:
            runs.append([])
    return marker.join(_run(parts, control) for parts in runs)


def _run(parts: Sequence[TextPart], control: ControlTexts) -> str:
    """Texts that stand side by side; a token that is spelled across them is broken up as well."""
    whole = ""
    trusted: list[range] = []
    for part in parts:
        text = composed(part.text)
        if part.trusted:
            trusted.append(range(len(whole), len(whole) + len(text)))
        whole += text
    return whole if len(trusted) == len(parts) else control.broken_up(whole, trusted)
