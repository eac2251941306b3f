"""What else the starter's generator can be asked: a choice among labels, and answers within a constraint."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from quizglass_server.engines.llama.engine.engine import Engine
from quizglass_server.engines.llama.engine.sampling import Row, Sampler
from quizglass_server.engines.llama.link.prompt import Constraint, RequestRefused, Usage
from quizglass_server.engines.llama.native.model import NativeModel
from tests.support.engines.engine_runs import SMALL_PIECES, Given, drive, finish, prompt
from tests.support.engines.starter_engine import ASKED, STOP, ask


@pytest.fixture
def engine(starter_model: NativeModel) -> Iterator[Engine]:
    made = Engine(starter_model, STOP, SMALL_PIECES)
    yield made
    made.close()


def test_labels_are_as_likely_as_the_model_is_to_say_them(engine: Engine) -> None:
    for asked in ASKED:
        said, _ = ask(engine, asked)
        finish(engine)
        if len(said.pieces) > 1:
            break
    likely = np.cumprod([piece.probability for piece in said.pieces])
    lengths = range(1, len(said.pieces) + 1)
    assert len(lengths) > 1
    given = Given()
    drive(engine, engine.builder.choice(asked, ["".join(said.texts[:length]) for length in lengths], sink=given))
    weights = np.array([likely[length - 1] for length in lengths])
    probabilities, usage = chosen(given)
    np.testing.assert_allclose(probabilities, weights / weights.sum(), atol=1e-2)
    assert usage.generated_tokens == 0


@pytest.mark.parametrize(
    ("constraint", "matches"),
    [
        (Constraint('root ::= "a " ("red car" | "red bus" | "blue bird")'), "a (red car|red bus|blue bird)"),
        (Constraint('root ::= "yes" " please"?'), "yes( please)?"),
        (Constraint('root ::= ("ab" | "cd") [0-9] [0-9]'), "(ab|cd)[0-9]{2}"),
    ],
)
def test_a_constraint_is_kept(engine: Engine, constraint: Constraint, matches: str) -> None:
    given, beside = Given(), ask(engine, ASKED[0])[0]
    drive(engine, engine.builder.generation(ASKED[1], 20, constraint=constraint, sink=given))
    finish(engine)
    assert given.finished.reason == "stop"
    assert re.fullmatch(matches, "".join(given.texts))
    assert beside.finished


@pytest.mark.parametrize(
    ("grammar", "said"), [('root ::= "a" "\\n" "b"', "a\nb"), ('root ::= "a" ("\\n" "b")? "\\n"?', "a")]
)
def test_a_text_that_ends_answers_ends_none_that_is_not_complete(
    starter_model: NativeModel, grammar: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, given = Engine(starter_model, [*STOP, "\n"], SMALL_PIECES), Given()
    (newline,) = starter_model.tokenise("\n", special=True)
    row_of = Sampler._row

    def wants_newline(sampler: Sampler, logits: NDArray[np.float32]) -> Row:
        logits[newline] = logits.max() + 20
        return row_of(sampler, logits)

    monkeypatch.setattr(Sampler, "_row", wants_newline)
    drive(engine, engine.builder.generation(ASKED[1], 20, constraint=Constraint(grammar), sink=given))
    assert given.finished.reason == "stop"
    assert "".join(given.texts) == said
    engine.close()


COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


def test_accents_of_a_grammar_are_composed_unless_they_are_escaped(engine: Engine) -> None:
    for grammar, said in ((DECOMPOSED, COMPOSED), ("cafe\\u0301", DECOMPOSED)):
        given = Given()
        constraint = Constraint(f'root ::= "{grammar}"')
        drive(engine, engine.builder.generation(ASKED[3], 60, constraint=constraint, sink=given))
        assert "".join(given.texts) == said


def test_accents_of_prompts_and_labels_are_composed(engine: Engine) -> None:
    def numbers(word: str) -> tuple[list[int], list[float]]:
        request = engine.builder.choice(prompt(f"Is it a {word}?", seed=None), [word, "no"], sink=(given := Given()))
        drive(engine, request)
        return request.units.ids.tolist(), chosen(given)[0]

    assert numbers(DECOMPOSED) == (numbers(COMPOSED)[0], pytest.approx(numbers(COMPOSED)[1], abs=1e-2))
    with pytest.raises(RequestRefused, match="twice"):
        engine.builder.choice(ASKED[3], [COMPOSED, DECOMPOSED], sink=Given())


def chosen(given: Given) -> tuple[list[float], Usage]:
    """Probabilities of labels, and what finding them out has cost."""
    return cast("tuple[list[float], Usage]", given.items[-1])
