"""Which types of GGUF files are slow, by their headers."""

from __future__ import annotations

from collections import Counter

from quizglass_export.gguf.header import GgufHeader

SLOW = {"q4_1": ("1.9", "q4_0"), "q5_1": ("2.2", "q8_0")}
"""ggml's types that take a CPU much longer to read a prompt than Q8_0, by the section `types` of `bench.export`: how
many times as long, and what to take instead. The others measured there take at most 1.2 times as long; IQ1 to IQ3 and
TQ were not measured."""
_MUCH = 0.1


def slow_types(header: GgufHeader) -> dict[str, str]:
    """Slow types that hold more than a tenth of a model's bytes, each with what to take instead."""
    sizes: Counter[str] = Counter()
    for tensor in header.tensors.values():
        sizes[tensor.type] += tensor.bytes
    least = _MUCH * sizes.total()
    return {kind: SLOW[kind][1] for kind, size in sorted(sizes.items()) if kind in SLOW and size > least}


def slow_notice(header: GgufHeader) -> str:
    """The same for people; empty where there is nothing to tell."""
    return "; ".join(
        f"{kind.upper()} reads prompts {SLOW[kind][0]} times as slowly as Q8_0; take the same model in {better.upper()}"
        for kind, better in slow_types(header).items()
    )
