"""What else the starter's generator can be asked: scores, and answers within a constraint."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import cast

import numpy as np
import pytest

from quizglass_server.engines.llama.engine.engine import Engine
from quizglass_server.engines.llama.link.prompt import Constraint, RequestRefused, Scored, Usage
from quizglass_server.engines.llama.native.model import NativeModel
from tests.support.engines.engine_runs import SMALL_PIECES, Given, drive, finish, prompt
from tests.support.engines.starter_engine import ASKED, LONG, STOP, ask


@pytest.fixture
def engine(starter_model: NativeModel) -> Iterator[Engine]:
    made = Engine(starter_model, STOP, SMALL_PIECES)
    yield made
    made.close()


def test_a_score_is_what_the_model_would_have_said(engine: Engine) -> None:
    given, _ = ask(engine, ASKED[0])
    finish(engine)
    scored, chosen = Given(), Given()
    said = "".join(given.texts)
    drive(engine, engine.builder.scoring(ASKED[0], said, sink=scored))
    logs = scored.only(Scored).log_probabilities
    assert len(logs) == len(given.pieces)
    np.testing.assert_allclose(np.exp(logs), [piece.probability for piece in given.pieces], rtol=2e-2)
    labels = [said, LONG[:40], "a"]
    drive(engine, engine.builder.choice(ASKED[0], labels, sink=chosen))
    scores = []
    for label in labels:
        drive(engine, engine.builder.scoring(ASKED[0], label, sink=scored))
        scores.append(sum(scored.only(Scored).log_probabilities))
    weights = np.exp(np.array(scores) - max(scores))
    probabilities, usage = cast("tuple[list[float], Usage]", chosen.items[-1])
    np.testing.assert_allclose(probabilities, weights / weights.sum(), atol=1e-3)
    assert usage.generated_tokens == 0


def test_a_score_longer_than_a_step_gives(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, pieces = Given(), Given()
    drive(engine, engine.builder.scoring(prompt("Say it."), LONG, sink=whole))
    engine.scheduler._rows = engine.model.options.generator_batch + 3
    drive(engine, engine.builder.scoring(prompt("Say it!"), LONG, sink=pieces))
    drive(engine, engine.builder.scoring(prompt("Say it."), LONG, sink=pieces))
    np.testing.assert_allclose(
        pieces.only(Scored).log_probabilities, whole.only(Scored).log_probabilities, rtol=1e-2, atol=1e-2
    )


@pytest.mark.parametrize(
    ("constraint", "matches"),
    [
        (Constraint("labels", ("a red car", "a red bus", "a blue bird")), "a (red car|red bus|blue bird)"),
        (Constraint("labels", ("yes", "yes please")), "yes( please)?"),
        (Constraint("grammar", 'root ::= ("ab" | "cd") [0-9] [0-9]'), "(ab|cd)[0-9]{2}"),
    ],
)
def test_a_constraint_is_kept(engine: Engine, constraint: Constraint, matches: str) -> None:
    given, beside = Given(), ask(engine, ASKED[0])[0]
    drive(engine, engine.builder.generation(ASKED[1], 20, constraint=constraint, sink=given))
    finish(engine)
    assert given.finished.reason == "stop"
    assert re.fullmatch(matches, "".join(given.texts))
    assert beside.finished


def test_a_schema_is_kept(engine: Engine) -> None:
    schema = {
        "type": "object",
        "properties": {"plan": {"enum": ["none", "both"]}, "sure": {"type": "boolean"}},
        "required": ["plan", "sure"],
    }
    given = Given()
    constraint = Constraint("json_schema", json.dumps(schema))
    drive(engine, engine.builder.generation(ASKED[3], 100, constraint=constraint, sink=given))
    value = json.loads("".join(given.texts))
    assert value["plan"] in ("none", "both")
    assert isinstance(value["sure"], bool)


COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


@pytest.mark.parametrize(
    "constraint",
    [
        Constraint("labels", (DECOMPOSED,)),
        Constraint("grammar", f'root ::= "{DECOMPOSED}"'),
        Constraint("json_schema", json.dumps({"const": DECOMPOSED})),
        Constraint("json_schema", json.dumps({"const": DECOMPOSED}, ensure_ascii=False)),
    ],
)
def test_accents_of_a_constraint_are_composed(engine: Engine, constraint: Constraint) -> None:
    given = Given()
    drive(engine, engine.builder.generation(ASKED[3], 60, constraint=constraint, sink=given))
    said = "".join(given.texts)
    assert (json.loads(said) if constraint.kind == "json_schema" else said) == COMPOSED


def test_accents_of_prompts_labels_and_scored_answers_are_composed(engine: Engine) -> None:
    def numbers(word: str) -> tuple[list[int], tuple[float, ...]]:
        scored = Given()
        parts = prompt(f"Is it a {word}?", seed=None)
        drive(engine, engine.builder.scoring(parts, f"a {word}", sink=scored))
        return engine.builder.choice(parts, [word, "no"], sink=scored).units.ids.tolist(), scored.only(
            Scored
        ).log_probabilities

    assert numbers(DECOMPOSED) == (numbers(COMPOSED)[0], pytest.approx(numbers(COMPOSED)[1], abs=1e-2))
    with pytest.raises(RequestRefused, match="twice"):
        engine.builder.choice(ASKED[3], [COMPOSED, DECOMPOSED], sink=Given())
