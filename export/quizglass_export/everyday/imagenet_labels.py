"""ImageNet's classes in words: the first of the names that WordNet has for each."""

from __future__ import annotations

from pathlib import Path

from quizglass_export.errors import ExportError
from quizglass_export.everyday.weights import LABELS


def write_labels(workdir: Path, path: Path) -> int:
    """Write a label a line, in the order of a classifier's values; returns how many.

    Two classes can have one name: a crane is a bird and a machine.

    Raises:
        ExportError: a class has no name.
    """
    order, names = (workdir / LABELS.folder / name for name in LABELS.files)
    lines = names.read_text(encoding="utf-8").splitlines()
    named = {synset: all_of.split(",")[0].strip() for synset, _, all_of in (line.partition("\t") for line in lines)}
    labels = [named.get(synset, "") for synset in order.read_text(encoding="utf-8").split()]
    if not all(labels):
        raise ExportError(f"{names}: has no name for a class of {order}")
    path.write_text("".join(f"{label}\n" for label in labels), encoding="utf-8")
    return len(labels)
