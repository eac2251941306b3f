"""The example of an explained turn in docs/explain.md is what the starter bundle does and the command prints."""

import re
from difflib import unified_diff
from pathlib import Path

import pytest

from bench.explained import FILE, explained, masked

_SCORE = re.compile(r"\b[01]\.\d\d$|\b[01]\.\d\d(?=  )", re.MULTILINE)
_TOLERANCE = 0.02


def test_the_example_is_what_is_printed(starter_bundle: Path, tmp_path: Path) -> None:
    written = masked(FILE.read_text(encoding="utf-8"))
    printed = masked(explained(tmp_path, starter_bundle))
    before, after = (_SCORE.sub("#", text).splitlines() for text in (written, printed))
    difference = "\n".join(unified_diff(before, after, FILE.name, "printed", lineterm=""))
    assert not difference, f"run: python -m bench.explained && python -m bench.render\n{difference}"
    scores = [[float(score) for score in _SCORE.findall(text)] for text in (written, printed)]
    assert scores[1] == pytest.approx(scores[0], abs=_TOLERANCE)
