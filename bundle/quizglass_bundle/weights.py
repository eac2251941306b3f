"""Files beside an ONNX graph that hold its weights."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

GRAPH = ".onnx"
_TEXTS = (".json", ".jinja", ".md", ".txt")


def weights_beside(graph: str, names: Iterable[str]) -> list[str]:
    """Those of the names in a graph's folder that may be of files with its weights, sorted.

    `NAME.data` holds those of NAME alone. What others call them, the graph alone says: all that are no graphs and no
    texts count.
    """
    there = list(names)
    others = {f"{each}.data" for each in there if each != graph}
    return sorted(each for each in there if each not in others and not each.endswith((GRAPH, *_TEXTS)))


def weight_files(graph: Path) -> list[Path]:
    """The same for a graph on disk. Raises OSError where its folder cannot be read."""
    names = (each.name for each in graph.parent.iterdir() if each.is_file())
    return [graph.with_name(name) for name in weights_beside(graph.name, names)]
