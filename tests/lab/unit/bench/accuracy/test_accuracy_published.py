"""Systems as their papers publish them, each beside its twin and the default."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import render
from bench.accuracy.sections import published
from bench.accuracy.several import Turns
from quizglass_server.policies import POLICIES as SERVED
from tests.support.benchmarks.accuracy_turns import QUESTIONS, by_name, record, right

_IN_README = ("planning-agent", "cogplanner-sequential", "omnisearch", "core-mmrag", "qa-dragon")


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


def test_the_table_that_readme_links_says_which_form_it_has_and_of_which_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "RESULTS", tmp_path)
    names = ("adaptive", "qa-dragon", "qa-dragon+", "core-mmrag-top-1")
    asked = [
        Turns(one, dict.fromkeys(names, record("?", total_ms=9)) | {"qa-dragon+": right(one, total_ms=9)})
        for one in QUESTIONS
    ]
    told = {"planning": {"questions": 1200}, "published": dict(published.part({7: asked}, names).data)}
    sections = {
        "planning": {"versions": {"quizglass": "0.1.0"}, "seeds": [5, 6]},
        "published": {"versions": {"quizglass": "0.2.0"}, "seeds": [7]},
    }
    row = {"name": "accuracy, adaptive (95 % interval 90.0 to 91.0)", "value": 90.5}
    (tmp_path / "accuracy.json").write_text(json.dumps({"data": told, "sections": sections, "rows": [row]}))
    told_about, _, lines = render.letter().partition("\n\n")
    about, (head, _, default, dragon) = " ".join(told_about.split()), lines.splitlines()
    assert "right on 90.5 % of 1,200 questions about the worlds 5, 6 with version 0.1.0" in about
    assert f"and on 0 % (0) of {len(QUESTIONS)} about the worlds 7 with version 0.2.0" in about
    assert f"| right of {len(QUESTIONS)}, % |" in head
    assert default.startswith("| adaptive, the default | 0 |  | 0 |")
    assert dragon.startswith("| QA-Dragon | 0 → 100 | +100.0 to +100.0 | 0 → 0 |")


def test_readme_has_the_measured_figures_of_the_published_systems() -> None:
    shares = json.loads((render.RESULTS / "accuracy.json").read_text())["data"]["published"]["policies"]
    said = re.findall(r"([\w-]+) (\d+)→(\d+)", (render.ROOT / "README.md").read_text(encoding="utf-8"))
    forms = dict(zip(("agent", "CogPlanner", "OmniSearch", "CoRe-MMRAG", "QA-Dragon"), _IN_README, strict=True))
    right_of = {name: share["right, %"] for name, share in shares.items()}
    assert said == [
        (title, f"{right_of[form]:.0f}", f"{right_of[published.twin(form) or '']:.0f}") for title, form in forms.items()
    ]


def test_every_published_system_is_asked_with_the_twin_that_it_has() -> None:
    ablations = {name for name in SERVED if name.startswith("qa-dragon-")}
    assert ablations & {*published.PUBLISHED} == {"qa-dragon-chain-of-thought", "qa-dragon-direct-rag"}
    letters = {name for name, policy in SERVED.items() if getattr(policy, "published", False)} - ablations
    assert letters <= {*published.PUBLISHED}
    alone = [name for name in published.PUBLISHED if published.twin(name) is None]
    assert {name.rpartition("-top-")[0] for name in alone if "-top-" in name} == {"core-mmrag", "core-one-stage"}
    assert published.twin("no-search") == "none"
    assert not [name for name in published.PUBLISHED if f"{name}+" in SERVED and published.twin(name) != f"{name}+"]
