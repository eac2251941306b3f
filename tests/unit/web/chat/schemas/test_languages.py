"""Patterns and ranges of numbers: a text is in the language exactly when the pattern or the bounds say so."""

import re
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.web.chat.schemas.expressions import Matching
from quizglass_server.web.chat.schemas.languages import contains
from quizglass_server.web.chat.schemas.limits import Effort, SchemaRefused
from quizglass_server.web.chat.schemas.numbers import Numbers
from quizglass_server.web.chat.schemas.patterns import pattern

ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", r"\W", r"[^\d]", r"\.", "\u00e9", "(?:a)", "-"])
PIECES = st.recursive(
    st.builds(lambda atom, times: atom + times, ATOMS, st.sampled_from(["", "*", "+", "?", "{2}", "{1,2}", "*?"])),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map("".join)
        | st.builds(lambda one, two, times: f"({one}|{two}){times}", inner, inner, st.sampled_from(["", "*", "?"]))
    ),
    max_leaves=5,
)
PATTERNS = st.builds(lambda begin, piece, end: begin + piece + end, st.sampled_from(["", "^"]), PIECES, st.just("")) | (
    PIECES.map(lambda piece: f"^{piece}$")
)
TEXTS = st.text("ab1-.\u00e9_ ", max_size=7)


@given(PATTERNS, TEXTS)
def test_a_text_matches_a_pattern_as_python_says(source: str, text: str) -> None:
    language = Matching(pattern(source, "pattern"), Effort())
    # A shorthand of ECMA-262 has ASCII alone, so less is matched where another alphabet comes in.
    if contains(language, text):
        assert re.search(source, text)
    elif text.isascii() or "\\" not in source:
        assert not re.search(source, text)


@given(st.text("()[]{}|*+?^$\\.ab,-1:<=!dwxu", max_size=12))
def test_any_text_is_a_pattern_or_refused(source: str) -> None:
    try:
        pattern(source, "pattern")
    except SchemaRefused:
        return
    re.compile(source)


BOUNDS = st.none() | st.decimals(-300, 300, places=2) | st.integers(-50, 50).map(Decimal)
VALUES = st.decimals(-310, 310, places=3) | st.integers(-310, 310).map(Decimal)


@given(BOUNDS, st.booleans(), BOUNDS, st.booleans(), st.booleans(), st.lists(VALUES, min_size=1, max_size=9))
def test_a_number_is_written_exactly_when_it_is_within_its_bounds(
    least: Decimal | None, above: bool, most: Decimal | None, below: bool, whole: bool, values: list[Decimal]
) -> None:
    language = Numbers(whole, least, above, most, below).language("", Effort())
    for value in [*values, *(bound for bound in (least, most) if bound is not None)]:
        written = f"{value:f}"
        within = (least is None or value > least or (value == least and not above)) and (
            most is None or value < most or (value == most and not below)
        )
        wanted = within and (not whole or "." not in written) and not (value == 0 and written.startswith("-"))
        if value != 0 or not written.startswith("-"):
            assert contains(language, written) == wanted, written


@given(st.integers(1, 60), st.integers(-10_000, 10_000))
def test_multiples_are_written_and_no_others(divisor: int, value: int) -> None:
    language = Numbers(divisors=frozenset({divisor})).language("", Effort())
    assert contains(language, str(value)) == (value % divisor == 0)
