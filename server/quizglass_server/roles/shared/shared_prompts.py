"""Inputs of scorers whose prompts share a beginning: it is run once, and its keys and values are given to the rest.

With a packed graph (see `packing`) it is part of the rest's run instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quizglass_bundle.inputs.prompts import Prompt, SegmentKind
from quizglass_bundle.parts import TextScorer
from quizglass_server.engines.onnx.batcher import Batcher
from quizglass_server.engines.onnx.session import OnnxSession, Signature
from quizglass_server.errors import BundleError
from quizglass_server.roles.shared.batching import CARD_LIMITS, LIMITS, UNPADDED, prompt_ranges
from quizglass_server.roles.shared.loading import Loading
from quizglass_server.roles.shared.packing import packed, packed_ranges, pays

ROWS, ALONE = "quizglass.rows", "alone"
"""What an exporter notes in a model whose rows must not be padded to share a run (`quantise` of quizglass_export)."""

States = NDArray[np.float32]
"""Keys and values of a beginning: float32 [L, 2, H, P, D]."""


@dataclass(frozen=True, eq=False, slots=True)
class PromptPart:
    """A prompt, or a piece of one."""

    ids: list[int]
    """At least one token."""
    past: States | None = None
    """Keys and values of the tokens before it."""
    keep: bool = False
    """Whether its own keys and values are wanted."""

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False, slots=True)
class PartResult:
    """What running one part gave."""

    logits: NDArray[np.float32]
    """float32 [R], after its last token."""
    states: States | None = None
    """When they were wanted, of all of its positions; those of its past are not repeated."""


class SharingScorer:
    """Runs parts of prompts; a model without the inputs `past` and `keep` takes whole prompts only, and packs those
    that begin alike where it has a second graph for that.
    """

    @classmethod
    def shared(cls, spec: TextScorer, loading: Loading) -> SharingScorer:
        """The model of a file, loaded once for all roles that say the same of it."""
        return loading.once((cls, spec.model, spec.max_tokens), lambda: cls(spec, loading))

    def __init__(self, spec: TextScorer, loading: Loading) -> None:
        """Load a text scorer.

        Raises:
            BundleError: a file of it is damaged, or takes a past of another form.
        """
        stepped = spec.pad_to == "steps"
        free = frozenset(() if stepped else ("past", "keep"))
        signature = Signature("logits", prompt_ranges(spec.max_tokens), free=free, stepped=stepped)
        path = loading.files.path(spec.model)
        self._session = session = OnnxSession(path, signature, loading.how)
        self.name = session.name
        self.executor = session.executor
        """What runs it: tensorrt, cuda or cpu."""
        self.shares = {"past", "keep"} <= session.inputs
        """Whether beginnings can be shared."""
        self._alike = session.notes.get(ROWS) == ALONE
        """Whether a run may hold rows of one shape only."""
        if self.shares:
            self._dims = _dimensions(session)
        self._packed: OnnxSession | None = None
        if spec.packed is not None:
            signature = Signature("logits", packed_ranges(spec.max_tokens), stepped=stepped)
            self._packed = OnnxSession(loading.files.path(spec.packed), signature, loading.how)
        self.packs = self._packed is not None
        """Whether prompts of one run that begin alike cost less for it."""
        limits = UNPADDED if self._alike else CARD_LIMITS if self.packs and self.executor == "cuda" else LIMITS
        self.batcher = Batcher[PromptPart, PartResult](loading.pool, self.run, len, limits, prompts=True)
        """Runs parts together with those of other callers."""

    def run(self, parts: Sequence[PromptPart]) -> list[PartResult]:
        """Run some parts together, as far as the model takes them together.

        Raises:
            EngineFailed: ONNX Runtime failed.
        """
        if not self._alike:
            return self._together(parts)
        places: dict[tuple[int, int], list[int]] = {}
        for place, part in enumerate(parts):
            places.setdefault((len(part.ids), _before(part)), []).append(place)
        results: dict[int, PartResult] = {}
        for group in places.values():
            results |= zip(group, self._together([parts[place] for place in group]), strict=True)
        return [results[place] for place in range(len(parts))]

    def _together(self, parts: Sequence[PromptPart]) -> list[PartResult]:
        if not self.shares:
            return [PartResult(row) for row in self._logits(parts)]
        before = max(map(_before, parts))
        kept = max(before + len(part.ids) if part.keep else 0 for part in parts)
        inputs = _padded(parts, before) | {"past": self._pasts(parts, before), "keep": np.array(kept, np.int64)}
        logits, present = self._session.run_for(["logits", "present"], inputs)
        return [
            PartResult(
                logits[row], present[:, :, row, :, before : before + len(part.ids)].copy() if part.keep else None
            )
            for row, part in enumerate(parts)
        ]

    def _logits(self, parts: Sequence[PromptPart]) -> NDArray[np.float32]:
        """float32 [B, R] of whole prompts."""
        if self._packed is not None and len(parts) > 1:
            inputs = packed([part.ids for part in parts])
            if pays(inputs):
                return self._packed.run(inputs)
        return self._session.run(_padded(parts, 0))

    def _pasts(self, parts: Sequence[PromptPart], length: int) -> NDArray[np.float32]:
        """float32 [L, 2, B, H, P, D], padded at the end."""
        layers, heads, size = self._dims
        pasts = np.zeros((layers, 2, len(parts), heads, length, size), np.float32)
        for row, part in enumerate(parts):
            if part.past is not None:
                pasts[:, :, row, :, : part.past.shape[3]] = part.past
        return pasts


def _dimensions(session: OnnxSession) -> tuple[int, int, int]:
    """Layers, heads and size of a head, as the input `past` declares them: [L, 2, B, H, P, D]."""
    shape = session.shape("past")
    match [size if isinstance(size, int) else None for size in shape]:
        case [int(layers), _, _, int(heads), _, int(size)]:
            return layers, heads, size
    raise BundleError(
        f"{session.name}: past has shape {shape}, not [layers, 2, batch, heads, length, size] with numbers for layers, "
        "heads and size; export it again"
    )


def _before(part: PromptPart) -> int:
    """Tokens of its past."""
    return 0 if part.past is None else part.past.shape[3]


def _padded(parts: Sequence[PromptPart], before: int) -> dict[str, NDArray[np.generic]]:
    """Ids int64 [B, S] and mask [B, before + S], padded on the right of past and part."""
    longest = max(len(part.ids) for part in parts)
    ids = np.zeros((len(parts), longest), np.int64)
    mask = np.zeros((len(parts), before + longest), np.int64)
    for row, part in enumerate(parts):
        ids[row, : len(part.ids)] = part.ids
        mask[row, : _before(part)] = 1
        mask[row, before : before + len(part.ids)] = 1
    return {"input_ids": ids, "attention_mask": mask}


def before_data(prompt: Prompt, text: str) -> Prompt:
    """The segments before the last piece of data that is `text`: prompts with another text there begin alike."""
    positions = [at for at, each in enumerate(prompt) if each.kind is SegmentKind.DATA and each.text.strip() == text]
    return prompt[: positions[-1]] if positions else ()
