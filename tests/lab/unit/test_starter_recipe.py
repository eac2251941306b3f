"""What a directory of checkpoints in the starter's layout stands for."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from quizglass_export.checkpoints.files import CLASSIFIER, DECISIONS, ROUTER
from quizglass_export.errors import ExportError
from quizglass_export.recipe.schema import Roles, Samples
from quizglass_export.roles.decider import LinearDecider, SharingDecider
from quizglass_export.roles.shared.entry import Demands
from quizglass_lab.starter.stages.decider import DECISIONS as TRAINED
from quizglass_lab.starter_bundle.recipe import TASKS, starter_recipe
from quizglass_lab.starter_bundle.settings import StarterSettings
from quizglass_server.policies import POLICIES


def roles_of(root: Path, gate: float | None = None) -> Roles:
    settings = StarterSettings(gate=gate)
    file = starter_recipe(root, settings, samples=Samples(), demands=Demands(), quantisation="q8_0", threads=1)
    return file.recipe.roles


def trained_for(root: Path, decisions: object) -> None:
    (root / "planner").mkdir()
    (root / "planner" / DECISIONS).write_text(json.dumps(decisions))


def test_an_adapter_that_says_nothing_plans_alone(tmp_path: Path) -> None:
    roles = roles_of(tmp_path)
    assert roles.tool_router is None
    assert not roles.deciders
    assert roles.generator is not None
    assert set(roles.generator.templates()) == {"answer", "rewrite", "plan"}


def test_the_settings_say_from_which_probability_of_words_a_picture_is_read(tmp_path: Path) -> None:
    for gate in (None, 0.4):
        reader = roles_of(tmp_path, gate).reader
        assert reader is not None
        assert reader.gate == gate


def test_every_decision_of_an_adapter_shares_the_planners_graph(tmp_path: Path) -> None:
    trained_for(tmp_path, {role: list(labels) for role, labels in TRAINED.items()})
    roles = roles_of(tmp_path)
    for role, labels in TRAINED.items():
        if role == "planner":
            continue
        spec = getattr(roles, role) if role in ("tool_router", "verifier") else roles.deciders[role]
        assert isinstance(spec, SharingDecider)
        assert spec.shares == "planner"
        assert spec.prompt == role
        assert [name for name, _ in spec.labels] == list(labels)
        assert [text for _, text in spec.labels] == [f" {letter}" for letter in "ABCDEF"[: len(labels)]]


def test_every_policy_finds_its_tasks_in_a_bundle_of_trained_deciders(tmp_path: Path) -> None:
    trained_for(tmp_path, {role: list(labels) for role, labels in TRAINED.items()})
    (tmp_path / "planner" / ROUTER).write_text("{}")
    roles = roles_of(tmp_path)
    assert isinstance(roles.deciders["search_router"], LinearDecider)
    assert roles.generator is not None
    done = {*roles.generator.templates(), *roles.deciders, *roles.named()}
    assert set(TASKS) <= done
    for policy in POLICIES.values():
        assert set(policy.tasks) <= done, policy.name


def test_what_a_recipe_cannot_say_is_an_error_that_names_the_key(tmp_path: Path) -> None:
    trained_for(tmp_path, {"Next Step": ["yes", "no"]})
    with pytest.raises(ExportError, match=r"roles\.deciders\.Next Step"):
        roles_of(tmp_path)


@pytest.mark.parametrize("domains", [{"food": 1}, ["food", "drinks"], None])
def test_domains_that_have_no_numbers_are_refused(tmp_path: Path, domains: object) -> None:
    folder = tmp_path / "coarse_reranker"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"id2label": domains}))
    (folder / CLASSIFIER).touch()
    with pytest.raises(ExportError, match=r"coarse_reranker/config\.json: id2label must name the domains by number"):
        roles_of(tmp_path)


@pytest.mark.parametrize("labels", [[], ["yes"], "yes", [str(number) for number in range(9)]])
def test_labels_that_no_letters_stand_for_are_refused(tmp_path: Path, labels: object) -> None:
    trained_for(tmp_path, {"entity": labels})
    with pytest.raises(ExportError, match=f"{DECISIONS}: entity: must be a list of 2 to 8 labels"):
        roles_of(tmp_path)
