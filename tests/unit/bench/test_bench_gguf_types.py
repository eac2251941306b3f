"""The rows of the benchmark of GGUF types; nothing is timed here."""

import pytest

pytest.importorskip("torch")

from bench.export.gguf_types import PROMPT, WRITTEN, rows


def test_types_stand_beside_the_peer_by_their_medians() -> None:
    table = {row.name: row for row in rows({"q8_0": [(2.0, 1.0)] * 3, "q4_1": [(9.0, 9.0), (4.0, 2.0), (4.0, 2.0)]})}
    first, speed = table[f"Q4_1: first token after {PROMPT}"], table["Q4_1: tokens a second"]
    assert (first.value, first.peer, first.peer_value, first.ratio) == (4.0, "Q8_0", 2.0, 2.0)
    assert (speed.value, speed.ratio) == (WRITTEN / 2, 0.5)
    assert table["Q8_0: tokens a second"].peer == ""
