"""What the everyday bundle's prompts say of tags; without any they are what the adapters were trained on."""

from __future__ import annotations

import random
from itertools import product

import pytest

from quizglass.values import Origin
from quizglass_bundle.inputs.prompts import Prompt, PromptTemplate, filled
from quizglass_export.everyday.build import PROMPTS
from quizglass_lab.everyday.facts import Fact
from quizglass_lab.finetuning.models.chat import Prompts
from quizglass_lab.finetuning.recipes.everyday_generator import NotesTraining
from quizglass_lab.finetuning.recipes.everyday_notes import NoteMaker
from quizglass_lab.finetuning.training.examples import TrainingExample
from quizglass_server.domain.state import State
from quizglass_server.domain.turns import Evidence, Turn
from quizglass_server.steps.prompt_values import prompt_values

REWRITES, ANSWERS = ("base/rewrite",), ("base/answer",)
QUESTION = "What does this animal eat?"
SEEN, FOUND, WORDS = ["koala: A koala on a tree."], ["The koala eats leaves.", "Another note."], "ZOO"
HISTORY = [{"question": "Who?", "answer": "Me."}]
TAG = "Note: kite: Seen in the picture."
EVERY = list(product((SEEN, []), (FOUND, []), (WORDS, ""), (HISTORY, [])))
"""With each of these values and without it."""


def asked(name: str, **values: object) -> list[str]:
    """Lines of the user's last message."""
    template = PromptTemplate.load(PROMPTS / f"{name}.jinja")
    text = "".join(segment.text for segment in template.render(**filled({"question": QUESTION, **values})))
    return text.rpartition("<|im_start|>user\n")[2].split("\n")


def trained(name: str, seen: list[str], found: list[str], words: str, history: list[dict[str, str]]) -> list[str]:
    """The lines of before there were tags."""
    own = name == "base/rewrite"  # its dialogue and words are notes
    shown = seen + (found if name in ANSWERS else [])
    lines = [f"Note: {line}" for line in shown]
    lines += [("Note: printed" if own else "Printed") + f" in the picture: {words}"] if words else []
    for each in history:
        whole = [f"Note: {each['question']} {each['answer']}"]
        lines += whole if own else [f"Asked before: {each['question']}", f"Answered before: {each['answer']}"]
    return [*lines, f"Question: {QUESTION}<|im_end|>", "<|im_start|>assistant", ""]


@pytest.mark.parametrize("name", [*REWRITES, *ANSWERS])
def test_without_tags_they_are_what_they_were(name: str) -> None:
    for seen, found, words, history in EVERY:
        told = asked(name, seen=seen, found=found, words=words, history=history, tags=[])
        assert told == trained(name, seen, found, words, history)


@pytest.mark.parametrize("name", [*REWRITES, *ANSWERS])
def test_a_tag_is_a_note_where_nothing_else_names_the_thing(name: str) -> None:
    for seen, found, words, history in EVERY:
        told = asked(name, seen=seen, found=found, words=words, history=history, tags=["kite"])
        named = bool(seen) or (name in ANSWERS and bool(found))
        assert told == [*([] if named else [TAG]), *trained(name, seen, found, words, history)]


@pytest.mark.parametrize("name", ["taught/answer", "taught/plan"])
def test_those_that_were_taught_to_do_without_notes_do_not_name_tags(name: str) -> None:
    assert "tags" not in PromptTemplate.load(PROMPTS / f"{name}.jinja").names


def test_rewriting_was_taught_to_be_shown_names_and_nothing_of_what_is_known_of_them() -> None:
    named = {"seen": ["koala: A koala. It eats leaves."], "names": ["koala"], "tags": ["kite"]}
    ending = [f"Question: {QUESTION}<|im_end|>", "<|im_start|>assistant", ""]
    assert asked("taught/rewrite", **named) == ["Note: koala: A thing.", *ending]
    assert asked("taught/rewrite", tags=["kite"]) == ["Note: kite: A thing.", *ending]
    assert asked("taught/rewrite") == ending


FACTS = [Fact("animal", "koala", "food", "leaves", "us"), Fact("element", "Zinc", "symbol", "Zn", "us")]


def taught(objective: str) -> list[TrainingExample]:
    """Examples of the recipe, of each fact and wording."""
    by_thing = {fact.thing: [fact] for fact in FACTS}
    maker = NoteMaker(by_thing, sorted(by_thing), 0.0, random.Random(0))
    every = [each for fact in FACTS for each in maker.examples(fact, held_out=False)]
    return [each for each in every if each.objective == objective]


def served(task: str, question: str, *evidence: Evidence) -> Prompt:
    """The prompt as a turn of the server has it filled."""
    values = prompt_values(Turn("0" * 32, question), "", "", State(question).having(list(evidence)), {})
    return PromptTemplate.load(PROMPTS / "taught" / f"{task}.jinja").render(**filled(values))


def trained_prompt(example: TrainingExample) -> Prompt:
    """The prompt as training has it filled."""
    folder = NotesTraining.model_fields["prompts"].default
    assert folder == PROMPTS / "taught"
    return Prompts(folder, sees=False).fill(example.task, example.values, 0)


def test_rewriting_is_taught_with_the_prompts_that_the_server_fills() -> None:
    examples = taught("rewrite")
    assert examples
    for example, thing in zip(examples, ["koala", "Zinc"], strict=True):
        caption = Evidence("1", Origin.IMAGE_SEARCH, "7", thing, f"A {thing}. All that is known of it.")
        assert trained_prompt(example) == served("rewrite", example.values["question"], caption)


def test_answers_are_taught_with_the_prompts_that_the_server_fills() -> None:
    examples = taught("answer")
    assert any(each.values["seen"] for each in examples)
    assert any(each.values["found"] for each in examples)
    for example in examples:
        notes = [
            Evidence(str(at), origin, str(at), *note.split(": ", 1))
            for key, origin in (("seen", Origin.IMAGE_SEARCH), ("found", Origin.TEXT_SEARCH))
            for at, note in enumerate(example.values[key])
        ]
        assert trained_prompt(example) == served("answer", example.values["question"], *notes)
