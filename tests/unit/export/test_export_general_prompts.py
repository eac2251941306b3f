"""The prompts for general models: one for every task of every policy, filled with everything and with nothing."""

from __future__ import annotations

import shutil
from enum import Enum
from pathlib import Path
from string import ascii_uppercase

import pytest

from quizglass.values import Plan
from quizglass_bundle.inputs.prompts import GENERAL_PROMPTS, PromptValue, SegmentKind, load_template
from quizglass_export.recipe.read import read_recipe
from quizglass_server.policies import POLICIES
from quizglass_server.policies.cogplanner import Action
from quizglass_server.policies.cogplanner_baselines import Grade
from quizglass_server.policies.core_mmrag import Entry
from quizglass_server.policies.omnisearch import NextOrPictures
from quizglass_server.policies.qa_dragon import Branch, Judgement, Same, Subject

TEMPLATES = sorted(path for path in GENERAL_PROMPTS.glob("*.jinja") if path.stem != "rerank")
DECISIONS: dict[str, type[Enum]] = {
    "plan": Plan,
    "act": Action,
    "grade": Grade,
    "next": NextOrPictures,
    "select": Entry,
    "select_by_text": Entry,
    "search_router": Branch,
    "tool_router": Plan,
    "subject": Subject,
    "entity": Same,
    "verifier": Judgement,
}
EVERYTHING: dict[str, PromptValue] = {
    "question": "How much does this cost?",
    "history": [{"question": "What is this?", "answer": "Velmora"}],
    "words": "SALE 1974",
    "domain": "vehicles",
    "seen": ["Velmora: a red car", "Tagrin: a blue boat"],
    "found": ["Velmora: The Velmora costs 45 crowns."],
    "pictured": ["Orvex: a green bus"],
    "query": "How much does the Velmora cost?",
    "draft": "40 crowns",
    "steps": ["It is a red car.", "Its price cannot be determined."],
    "signs": ["number"],
    "objects": ["car", "boat"],
    "entity": "Velmora",
    "answer": "44 crowns",
    "reason": "The article tells the price.",
    "memory": "41 crowns",
    "external": "42 crowns",
    "tool": "image",
    "evidence": ["Velmora: The Velmora costs 45 crowns."],
}
NOTHING: dict[str, PromptValue] = {name: "" if isinstance(value, str) else [] for name, value in EVERYTHING.items()}


def text(path: Path, values: dict[str, PromptValue], *, pictures: int = 1) -> str:
    segments = load_template(path, sees=True).render(pictures=pictures, **values)
    return "".join("<picture>" if each.kind is SegmentKind.IMAGE else each.text for each in segments)


def test_there_is_a_prompt_for_every_task_of_every_policy() -> None:
    tasks = {task for policy in POLICIES.values() for task in policy.tasks}
    assert tasks | {"answer"} == {path.stem for path in TEMPLATES}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_prompt_can_be_filled_with_everything_and_with_nothing(path: Path) -> None:
    whole, bare = text(path, EVERYTHING), text(path, NOTHING, pictures=0)
    assert whole.count("<picture>") == (0 if path.stem == "select_by_text" else 1)
    assert "How much does this cost?" in whole
    assert "<picture>" not in bare
    assert "[]" not in bare
    assert "\n\n" not in bare.removesuffix("\n")
    for shown in (whole, bare):
        assert shown.startswith("<|im_start|>system\n")
        assert shown.endswith(("<|im_start|>assistant\n", "<|im_start|>assistant\nLetter:"))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_decision_offers_a_letter_for_each_label_and_no_other_prompt_does(path: Path) -> None:
    shown = text(path, EVERYTHING)
    labels = list(DECISIONS.get(path.stem, ()))
    choice = shown.partition("Choose one letter:")[2]
    offered = [letter for letter in ascii_uppercase if f"\n{letter} " in choice]
    assert offered == list(ascii_uppercase[: len(labels)])
    assert shown.endswith("Letter:") == bool(labels)


def test_an_entry_is_chosen_by_its_picture_too_where_there_is_one() -> None:
    shown = text(GENERAL_PROMPTS / "select.jinja", EVERYTHING, pictures=3)
    assert "Entry 1: <picture> Velmora: a red car\nEntry 2: <picture> Tagrin: a blue boat\n" in shown
    assert shown.count("<picture>") == 3


@pytest.mark.parametrize(
    "task",
    [
        *("answer", "reformulate", "act", "again", "grade", "next", "ask", "reason", "conclude"),
        *("conclude_from_reason", "weigh", "reconcile"),
    ],
)
def test_entries_are_shown_with_their_pictures_as_far_as_there_are_any(task: str) -> None:
    path = GENERAL_PROMPTS / f"{task}.jinja"
    assert load_template(path, sees=True).shows_several
    captions = text(path, EVERYTHING)
    assert "\nThe picture may show: Velmora: a red car\nThe picture may show: Tagrin: a blue boat\n" in captions
    some = text(path, EVERYTHING, pictures=2)
    assert some == captions.replace("show: Velmora:", "show: <picture> Velmora:")
    assert text(path, EVERYTHING, pictures=3) == some.replace("show: Tagrin:", "show: <picture> Tagrin:")


@pytest.mark.parametrize("task", ["rewrite", "plan", "think", "draft", "object", "objects", "select_by_text"])
def test_other_prompts_ask_for_no_pictures_of_entries(task: str) -> None:
    assert not load_template(GENERAL_PROMPTS / f"{task}.jinja", sees=True).shows_several


def test_a_recipe_takes_them_for_every_task(tmp_path: Path) -> None:
    head = 'format = 1\nname = "general"\nversion = "1"\nprompts = "general"\n'
    (tmp_path / "bundle.toml").write_text(
        f'{head}[roles.generator]\ncheckpoint = "model"\nprompts = {{ weigh = "" }}\n'
    )
    generator = read_recipe(tmp_path / "bundle.toml").recipe.roles.generator
    assert generator is not None
    assert set(generator.templates()) == {path.stem for path in TEMPLATES} - {"weigh"}


def test_a_recipe_takes_those_of_a_training_for_every_task_that_it_has(tmp_path: Path) -> None:
    shutil.copytree(GENERAL_PROMPTS, tmp_path / "r32" / "prompts")
    (tmp_path / "r32" / "prompts" / "next.jinja").unlink()
    head = 'format = 1\nname = "trained"\nversion = "1"\nprompts = "r32/prompts"\n'
    (tmp_path / "bundle.toml").write_text(
        f'{head}[roles.generator]\ncheckpoint = "model"\nprompts = {{ weigh = "", plan = "mine" }}\n'
    )
    generator = read_recipe(tmp_path / "bundle.toml").recipe.roles.generator
    assert generator is not None
    assert generator.templates() == {
        path.stem: path.stem for path in TEMPLATES if path.stem not in ("weigh", "next")
    } | {"plan": "mine"}


@pytest.mark.parametrize(
    ("task", "values"),
    [
        ("think", {"words", "history", "domain"}),
        ("draft", {"steps"}),
        ("search_router", {"draft", "steps", "signs"}),
        ("tool_router", {"draft", "steps"}),
        ("object", {"objects"}),
        ("complete", {"query", "entity", "seen"}),
        ("verifier", {"answer", "reason", "evidence"}),
        ("reconcile", {"memory", "external", "reason", "seen"}),
        ("reformulate", {"query", "seen", "found"}),
        ("again", {"answer", "found"}),
        ("ask", {"tool"}),
    ],
)
def test_a_prompt_shows_what_its_task_is_about(task: str, values: set[str]) -> None:
    whole = text(GENERAL_PROMPTS / f"{task}.jinja", EVERYTHING)
    for name in values:
        assert text(GENERAL_PROMPTS / f"{task}.jinja", EVERYTHING | {name: NOTHING[name]}) != whole, name


@pytest.mark.parametrize(
    ("domain", "names"),
    [("vehicles", "make"), ("Plants and Gardening", "species"), ("food", "dish"), ("Text Understanding", "read what")],
)
def test_thinking_has_instructions_and_an_example_by_domain(domain: str, names: str) -> None:
    think = GENERAL_PROMPTS / "think.jinja"
    told = text(think, EVERYTHING | {"domain": domain}).partition("<|im_end|>")[0]
    assert names in told
    assert told.count("An example: ") == 1
    for plain in ("", "other"):
        assert "An example: " not in text(think, EVERYTHING | {"domain": plain})
