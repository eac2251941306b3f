"""Systems as their papers publish them, each beside its twin and the default."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import render
from bench.accuracy.sections import published
from bench.accuracy.several import Turns
from quizglass_server.policies import POLICIES as SERVED
from tests.support.benchmarks.accuracy_turns import QUESTIONS, by_name, record, right


def test_a_published_system_stands_beside_its_plus_and_the_default_with_intervals_of_the_differences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "RESULTS", tmp_path)
    assert "Not measured yet" in render.published()
    searching: dict[str, Any] = {"searches": {"image_search": 0, "text_search": 1}}
    names = ("adaptive", "omnisearch", "omnisearch+", "core-mmrag-top-1")
    asked = [
        Turns(
            one, dict.fromkeys(names, record("?", total_ms=9)) | {"omnisearch+": right(one, total_ms=18, **searching)}
        )
        for one in QUESTIONS
    ]
    nothing = replace(QUESTIONS[0], answer="I don't know", group=None)
    asked.append(Turns(nothing, dict.fromkeys(names, record("?", total_ms=9))))
    told = published.part({7: asked[:12], 8: asked[12:]}, names)
    rows = by_name(list(told.rows))
    row = rows["right, omnisearch+ minus omnisearch"]
    assert (row.value, row.peer_value, row.name) == (
        100,
        0,
        f"{row.name.partition(' (')[0]} (95 % interval 100.0 to 100.0)",
    )
    assert rows["right, adaptive minus core-mmrag-top-1"].value == 0
    assert rows["right, both minus always-both"].peer == "not measured: one of them is not served"
    assert rows["right, adaptive minus always-both"].value is None
    assert told.data["worlds"] == {"7": 12, "8": 12}
    assert told.data["policies"]["omnisearch+"]["right in each world, %"] == [100, 100]
    (tmp_path / "accuracy.json").write_text(json.dumps({"data": {"published": told.data}}))
    head, _, default, line, alone = render.published().splitlines()
    assert "in the worlds 7 (12); 8 (12)" in head
    assert default.startswith("| `adaptive` | 0 | 0; 0 |  |  | 0 |")
    assert line.startswith(
        "| `omnisearch` → `omnisearch+` | 0 → 100 | 0; 0 → 100; 100 | +100.0 to +100.0 | +0.0 to +0.0 | 0 → 0 |"
    )
    assert line.endswith("| 0 → 0.96 | 0 → 1.344 | 9 → 18 | 10 → 10 | 4 → 4 |")
    assert alone.startswith("| `core-mmrag-top-1` | 0 | 0; 0 |  | +0.0 to +0.0 | 0 |")
    with pytest.raises(ValueError, match="no question with an answer"):
        published.part({7: asked[-1:]}, names)


def test_every_published_system_is_asked_with_the_twin_that_it_has() -> None:
    ablations = {name for name in SERVED if name.startswith("qa-dragon-")}
    assert ablations & {*published.PUBLISHED} == {"qa-dragon-chain-of-thought", "qa-dragon-direct-rag"}
    letters = {name for name, policy in SERVED.items() if getattr(policy, "published", False)} - ablations
    assert letters <= {*published.PUBLISHED}
    alone = [name for name in published.PUBLISHED if published.twin(name) is None]
    assert {name.rpartition("-top-")[0] for name in alone if "-top-" in name} == {"core-mmrag", "core-one-stage"}
    assert published.twin("no-search") == "none"
    assert not [name for name in published.PUBLISHED if f"{name}+" in SERVED and published.twin(name) != f"{name}+"]
