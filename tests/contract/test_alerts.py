"""Alert rules, dashboard and runbook: they name metrics that there are, and Prometheus' own tool tries the rules."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from quizglass_server.observe.metrics import EVERY

ROOT = Path(__file__).parents[2]
ALERTS, DASHBOARD = ROOT / "deploy" / "alerts", ROOT / "deploy" / "grafana" / "quizglass.json"
RULES = yaml.safe_load((ALERTS / "quizglass.yaml").read_text())["groups"][0]["rules"]
PANELS = json.loads(DASHBOARD.read_text())["panels"]
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]]
_NAME = re.compile(r"\b(?:quizglass|process)_\w+")
_SUFFIX = re.compile(r"_(bucket|sum|count)$")
_LABEL = re.compile(r"(\w+)=\"")
_ANOTHER = frozenset({"job", "instance"})
"""Labels that Prometheus adds."""


@pytest.mark.parametrize("query", [*(rule["expr"] for rule in RULES), *QUERIES])
def test_every_metric_and_label_of_a_query_is_one_of_the_servers(query: str) -> None:
    names = set(_NAME.findall(query))
    ours = {name if name in EVERY else _SUFFIX.sub("", name) for name in names if name.startswith("quizglass_")}
    assert ours <= set(EVERY)
    assert names or query.startswith("up{")
    labels = {label for name in ours for label in EVERY[name].labels} | _ANOTHER
    assert set(_LABEL.findall(query)) <= labels


def test_every_metric_but_what_describes_is_on_the_dashboard() -> None:
    shown = {_SUFFIX.sub("", name) if name not in EVERY else name for each in QUERIES for name in _NAME.findall(each)}
    assert set(EVERY) - shown == {"quizglass_build_info", "quizglass_knowledge_entries"}


def test_the_runbook_has_a_section_for_each_alert_and_for_no_other() -> None:
    text = (ROOT / "docs" / "runbook.md").read_text()
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE))
    assert list(sections) == [rule["alert"] for rule in RULES]
    for rule in RULES:
        assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"
        for part in ("*It means*", "*Look at*", "*Do*"):
            assert part in sections[rule["alert"]], rule["alert"]


def test_panels_have_names_of_their_own_and_lie_beside_each_other() -> None:
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    assert len({panel["title"] for panel in PANELS}) == len(PANELS)
    cells = [
        (x, y)
        for panel in PANELS
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert all(x < 24 for x, _ in cells)


@pytest.fixture
def promtool() -> str:
    tool = shutil.which("promtool")
    if tool is None:
        pytest.skip("Prometheus' tool is not installed: apt install prometheus")
    return tool


def test_every_rule_fires_where_it_should_and_nowhere_else(promtool: str) -> None:
    command = [promtool, "test", "rules", ALERTS / "quizglass.test.yaml"]
    tried = subprocess.run(command, capture_output=True, text=True, cwd=ALERTS, check=False)
    assert tried.returncode == 0, tried.stdout + tried.stderr
    every = (ALERTS / "quizglass.test.yaml").read_text()
    assert all(every.count(rule["alert"]) >= 2 for rule in RULES)


def test_the_queries_of_the_dashboard_can_be_read(promtool: str, tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{number}", "expr": query.replace("$__rate_interval", "5m")}
        for number, query in enumerate(QUERIES)
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    tried = subprocess.run([promtool, "check", "rules", file], capture_output=True, text=True, check=False)
    assert tried.returncode == 0, tried.stdout + tried.stderr
