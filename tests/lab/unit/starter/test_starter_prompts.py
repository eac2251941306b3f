"""What the starter is trained on is, token for token, what a server makes of the same turn."""

from pathlib import Path

import numpy as np
import pytest

from quizglass.values import Exchange, Origin
from quizglass_bundle.inputs.prompts import PromptTokenizer, filled, load_template
from quizglass_lab.starter.data.examples import LETTERS, PROMPTS, Encoder, Example, Request
from quizglass_lab.starter.model.tokenizer import build_tokenizer
from quizglass_lab.starter.model.vlm import PICTURE_TOKENS
from quizglass_lab.starter.stages.decider import DECISIONS
from quizglass_lab.starter_bundle.recipe import TASKS
from quizglass_server.domain.state import State
from quizglass_server.domain.turns import Evidence, Picture, Turn
from quizglass_server.policies import POLICIES
from quizglass_server.steps.prompt_values import prompt_values

TEMPLATES = sorted(Path(str(PROMPTS)).glob("*.jinja"))
NOTES = {
    "steps": ["red car", "the name cannot be determined"],
    "draft": "I don't know",
    "objects": ["car", "boat"],
    "entity": "Velmora",
    "answer": "45 crowns",
    "reason": "The Velmora costs 45 crowns.",
    "memory": "44 crowns",
    "external": "45 crowns",
    "tool": "text",
    "evidence": ["Velmora: The Velmora costs 45 crowns."],
    "domain": "vehicle",
    "passage": "Velmora: The Velmora costs 45 crowns.",
}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    folder = tmp_path_factory.mktemp("tokenizer")
    build_tokenizer(folder)
    return Encoder(folder)


def evidence(origin: Origin, title: str, text: str) -> Evidence:
    return Evidence(id="1", origin=origin, entry_id="e", title=title, text=text)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_request_is_encoded_as_the_server_encodes_the_turn(path: Path, encoder: Encoder) -> None:
    seen = (evidence(Origin.IMAGE_SEARCH, "Velmora", "Velmora is a red car."),)
    found = (evidence(Origin.TEXT_SEARCH, "Velmora", "The Velmora costs 45 crowns."),)
    history = (("What is this called?", "Velmora"),)
    picture = Picture(b"1" * 32, np.zeros((4, 4, 3), np.uint8))
    turn = Turn("0" * 32, "What does it cost?", picture, tuple(Exchange(*each) for each in history))
    state = State(turn.question, ("How much does the Velmora cost?", "Who made it?"), seen, found, notes=NOTES)
    template = load_template(path, sees=True)
    values = filled(prompt_values(turn, "open today", NOTES["domain"], state, {}))
    tokens = PromptTokenizer(encoder.tokenizer_file)
    picture_tokens = [
        tokens.token_id("<|vision_start|>"),
        *[encoder.pad] * PICTURE_TOKENS,
        tokens.token_id("<|vision_end|>"),
    ]
    served = tokens.encode(template.render(pictures=1, **values), picture_tokens)
    request = Request(
        path.stem,
        turn.question,
        history,
        "open today",
        ("Velmora: Velmora is a red car.",),
        ("Velmora: The Velmora costs 45 crowns.",),
        "How much does the Velmora cost?; Who made it?",
        0,
        NOTES,
    )
    assert list(encoder.prompt(request)) == served


def test_every_task_of_a_policy_has_a_prompt_and_a_model() -> None:
    stems = {path.stem for path in TEMPLATES}
    done = {"answer", "rewrite", "plan", "search_router", *TASKS, *DECISIONS}
    for policy in POLICIES.values():
        assert set(policy.tasks) <= done, policy.name
    assert done - {"planner", "search_router"} <= stems


def test_each_line_begins_as_the_first_does(encoder: Encoder) -> None:
    first, second = "Who made the Velmora?", "Where was Ana Brint born?"
    together = encoder.answer(f"{first}\n{second}")
    assert together[: len(encoder.answer(first)) - 1] == encoder.answer(first)[:-1]
    assert together[-len(encoder.answer(second)) :] == encoder.answer(second)


def test_letters_are_one_token_each(encoder: Encoder) -> None:
    assert len({encoder.label(f" {letter}") for letter in LETTERS}) == len(LETTERS)


def test_a_prompt_that_is_too_long_is_left_out(encoder: Encoder) -> None:
    long = Example(Request("answer", "What is it?", found=("Velmora: It is red. " * 200,)), "red", "long")
    short = Example(Request("answer", "What is it?"), "red", "short")
    assert [each.task for each in encoder.encode_all([long, short])] == ["short"]


@pytest.mark.parametrize(
    ("question", "found", "told"),
    [
        ("What does the car cost?", True, False),
        ("What does it cost?", True, True),
        ("What does the car cost?", False, True),
    ],
)
def test_beside_passages_an_answer_to_what_stands_alone_is_not_shown_the_dialogue(
    question: str, found: bool, told: bool
) -> None:
    path = next(path for path in TEMPLATES if path.stem == "answer")
    turn = Turn("0" * 32, question, None, (Exchange("How much is the boat?", "67 crowns"),))
    passages = (evidence(Origin.TEXT_SEARCH, "Velmora", "The Velmora costs 45 crowns."),) if found else ()
    state = State(question, ("How much does the Velmora cost?",), (), passages)
    values = filled(prompt_values(turn, "", "", state, {}))
    shown = "".join(segment.text for segment in load_template(path, sees=True).render(pictures=0, **values))
    assert ("67 crowns" in shown) is told
