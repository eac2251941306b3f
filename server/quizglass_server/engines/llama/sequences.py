"""The prompts that stay in a model's memory, so that the next one takes over the beginning it shares with them.

A prompt is compared token by token, and a picture in it by its content hash: its placeholder tokens are the same for
everybody's picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quizglass_server.engines.llama.native import NativeModel

Atom = int | bytes
"""A token id, or a picture's content hash."""


@dataclass(slots=True)
class _Kept:
    """A sequence of the model's memory and what it holds."""

    atoms: list[Atom]
    used: int = 0
    """When, as a count of requests."""


class Sequences:
    """As many prompts as the model has sequences; the least recently used one goes first."""

    def __init__(self, model: NativeModel) -> None:
        self._model = model
        self._kept = [_Kept([]) for _ in range(model.options.sequences)]
        self._requests = 0

    def take(self, atoms: list[Atom]) -> tuple[int, int]:
        """A sequence that holds the longest known beginning of a prompt, and the length of that beginning.

        The last atom is always left to do, since its logits are needed. A prompt that shares only its beginning with
        the new one stays as it is: the beginning is shared with the least recently used sequence, which copies
        nothing.
        """
        self._requests += 1
        shared = [_common(kept.atoms, atoms) for kept in self._kept]
        source = max(range(len(self._kept)), key=lambda index: shared[index])
        reused = min(shared[source], len(atoms) - 1)
        oldest = min(range(len(self._kept)), key=lambda index: self._kept[index].used)
        target = source if reused == len(self._kept[source].atoms) and reused else oldest
        if target == source:
            self._cut(target, reused)
        else:
            self._cut(target, 0)
            if reused:
                self._model.share(source, target, self.positions(atoms[:reused]))
                self._kept[target].atoms = atoms[:reused]
        self._kept[target].used = self._requests
        return target, reused

    def extend(self, sequence: int, atoms: Sequence[Atom]) -> None:
        """Note what has been decoded into a sequence."""
        self._kept[sequence].atoms.extend(atoms)

    def trim(self) -> None:
        """Drop what the last request left beyond what was noted: generated tokens, or half a step."""
        last = max(range(len(self._kept)), key=lambda index: self._kept[index].used)
        self._cut(last, len(self._kept[last].atoms))

    def positions(self, atoms: Sequence[Atom]) -> int:
        """How many positions (M-RoPE) a run takes."""
        return len(atoms) + count_pictures(atoms) * (self._model.slot.positions - 1)

    def _cut(self, sequence: int, length: int) -> None:
        kept = self._kept[sequence]
        del kept.atoms[length:]
        self._model.forget(sequence, self.positions(kept.atoms))


def count_pictures(atoms: Sequence[Atom]) -> int:
    """Pictures in a run."""
    return sum(atom.__class__ is bytes for atom in atoms)


def _common(known: list[Atom], wanted: list[Atom]) -> int:
    length = 0
    for left, right in zip(known, wanted, strict=False):
        if left != right:
            break
        length += 1
    return length
