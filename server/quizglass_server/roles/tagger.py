"""The tagger: a classifier of pictures, whose likely labels are words for what a picture shows.

What it says is a guess of a model and no evidence: prompts may show it, and answers cannot be supported by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quizglass_bundle.inputs.prompts import clean
from quizglass_bundle.parts import TaggerPart
from quizglass_server.domain.turns import Picture
from quizglass_server.errors import BundleError, EngineFailed
from quizglass_server.roles.shared.grids import PictureGraphs
from quizglass_server.roles.shared.loading import Loading, RoleKey
from quizglass_server.roles.shared.logits import checked, softmax

MAX_LABEL_CHARS = 80
"""Longer labels are no words for a prompt."""


class Tagger(Protocol):
    """Names what a picture shows."""

    async def tags(self, picture: Picture) -> list[tuple[str, float]]:
        """The likeliest labels with their probabilities, likeliest first; none where it is sure of nothing."""
        ...


TAGGER = RoleKey[Tagger]("tagger")


class OnnxTagger:
    """Which labels a picture is likely to have."""

    def __init__(self, spec: TaggerPart, loading: Loading) -> None:
        """Load.

        Raises:
            BundleError: a file of the role is damaged, or the model gives other values than there are labels.
        """
        self._spec = spec
        self.labels = read_labels(loading.files.path(spec.labels), spec.labels)
        """Labels in the order of the model's values; some may be there twice."""
        self._graphs = PictureGraphs(spec, spec.output, self._likeliest, loading)
        self.executor = self._graphs.executor
        """What runs it: tensorrt, cuda or cpu."""

    async def tags(self, picture: Picture) -> list[tuple[str, float]]:
        """At most `most` labels of a probability of at least `least`, likeliest first, each once."""
        (tags,) = await self._graphs.rows([picture])
        return tags

    def _likeliest(self, values: NDArray[np.float32], rows: int, name: str) -> list[list[tuple[str, float]]]:
        if values.ndim != 2 or values.shape != (rows, len(self.labels)):
            raise BundleError(
                f"{name}: gives values of shape {list(values.shape)} for {rows} picture(s), and {self._spec.labels} "
                f"has {len(self.labels)} labels: a row of as many values was expected"
            )
        return [self._row(row) for row in self._probabilities(checked(values, values.shape, name), name)]

    def _probabilities(self, values: NDArray[np.float32], name: str) -> NDArray[np.float64]:
        if self._spec.output == "logits":
            return softmax(values)
        if values.min() < -1e-4 or values.max() > 1 + 1e-4:
            raise EngineFailed(f"{name}: probabilities outside 0 to 1; if they are logits, name its output so")
        return values.astype(np.float64)

    def _row(self, probabilities: NDArray[np.float64]) -> list[tuple[str, float]]:
        likeliest = np.argsort(-probabilities, kind="stable")
        tags: dict[str, float] = {}
        for place in likeliest:
            if probabilities[place] < self._spec.least or len(tags) == self._spec.most:
                break
            tags.setdefault(self.labels[place], float(probabilities[place]))
        return list(tags.items())


def read_labels(path: Path, name: str) -> Sequence[str]:
    """The lines of a file of labels, as prompts may show them.

    Raises:
        BundleError: it is no text, or has labels that cannot be shown; names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BundleError(f"{name}: cannot be read: {error}; labels are UTF-8, one a line") from error
    return checked_labels(lines, name)


def checked_labels(lines: Sequence[str], name: str) -> Sequence[str]:
    """Labels as prompts may show them.

    Raises:
        BundleError: one is empty or too long, or there are fewer than two; names the file, or what else has them.
    """
    labels = [clean(line) for line in lines]
    for number, label in enumerate(labels, 1):
        if not label:
            raise BundleError(f"{name}: label {number} is empty; there is one for each of the model's values, in order")
        if len(label) > MAX_LABEL_CHARS:
            raise BundleError(
                f"{name}: label {number} has {len(label)} characters, at most {MAX_LABEL_CHARS}: no label"
            )
    if len(labels) < 2:
        raise BundleError(f"{name}: has {len(labels)} labels; a classifier has two or more, one a line")
    return labels
