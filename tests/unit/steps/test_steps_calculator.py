"""Workings between marks become their results, however the text is cut; everything else stays as it was written."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.steps.calculator import LONGEST, Calculator, calculate, worked_out

TEXTS = st.text(st.sampled_from(list("<>mostlea0123456789+-*/., AB\n")), max_size=60)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("<<1991-1952>> years", "39 years"),
        ("It is <<1991-1952>> years older.", "It is 39 years older."),
        ("<<3*111>> crowns", "333 crowns"),
        ("<< 2 + 3 * 4 >>", "14"),
        ("<<10/4>>", "2.5"),
        ("<<2/3>>", "0.6667"),
        ("<<0.1+0.2>>", "0.3"),
        ("<<30-45>>", "-15"),
        ("<<5-5>>", "0"),
        ("<<1-1.00001>>", "0"),
        ("<<100*10>>", "1000"),
        ("<<most Velmora 761, Tandric 435>>", "Velmora"),
        ("<<least Velmora 761, Tandric 435>>", "Tandric"),
        ("<<most the old bridge 7.5, Brenn 12>>", "Brenn"),
        ("<<most Velmora 5, Tandric 5, Brenn 4>>", "Velmora and Tandric"),
        ("<<1,200+300.5>> crowns", "1500.5 crowns"),
        ("<<1,200,000/1,000>>", "1200"),
        ("<<most Velmora 1,200, Tandric 435>>", "Velmora"),
        ("<<least Velmora 1,200,Tandric 12,000.5>>", "Velmora"),
        ("<<1+1>> and <<2+2>>", "2 and 4"),
    ],
)
def test_what_is_marked_is_worked_out(written: str, shown: str) -> None:
    assert worked_out(written) == shown


@pytest.mark.parametrize(
    "text",
    [
        "a << b >> c",
        "<<12>>",
        "<<1/0>>",
        "<<1+>>",
        "<<1++2>>",
        "<<2**9>>",
        "<<most Velmora 5>>",
        "<<most Velmora, Tandric 4>>",
        "<<most 5, 4>>",
        "<<1234567890123+1>>",
        "<<1+1+1+1+1+1+1+1+1>>",
        "<<1,20+3>>",
        "<<1,2000+3>>",
        "<<__import__('os')>>",
        "<<1+1",
        "1 < 2",
        "<",
        "",
        f"<<1+{' ' * LONGEST}1>>",
        f"<<{'1' * 2 * LONGEST}",
    ],
)
def test_what_is_no_working_stays(text: str) -> None:
    assert worked_out(text) == text


@given(TEXTS, st.lists(st.integers(0, 60)))
def test_a_text_in_pieces_says_the_same_as_the_whole(text: str, cuts: list[int]) -> None:
    calculator, places = Calculator(), [0, *sorted(cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(places)]
    assert "".join(map(calculator.feed, pieces)) + calculator.rest() == worked_out(text)


@given(st.lists(st.integers(0, 10**12 - 1), min_size=2, max_size=8), st.randoms())
def test_arithmetic_is_exact(numbers: list[int], random: object) -> None:
    signs = [random.choice("+-*") for _ in numbers[1:]]  # type: ignore[attr-defined]
    working = str(numbers[0]) + "".join(f"{sign}{number}" for sign, number in zip(signs, numbers[1:], strict=True))
    calculation = calculate(working)
    assert calculation is not None
    assert Fraction(calculation.result) == eval(working)
    assert [operand.number for operand in calculation.operands] == [str(number) for number in numbers]


def test_text_before_a_working_is_not_held_back() -> None:
    calculator = Calculator()
    assert calculator.feed("It is <") == "It is "
    assert calculator.feed("<1991") == ""
    assert calculator.feed("-1952") == ""
    assert calculator.feed(">> years") == "39 years"
    assert [str(each) for each in calculator.calculations] == ["1991-1952 = 39"]


def test_marks_that_never_close_hold_nothing_back_for_long() -> None:
    calculator, text = Calculator(), "<<1" + "x" * (3 * LONGEST)
    shown = [calculator.feed(letter) for letter in text]
    assert "".join(shown) + calculator.rest() == text
    assert len("".join(shown)) >= len(text) - LONGEST


EVIDENCE = (
    "Velmora: The Velmora is 761 cm long. It costs 1,200 crowns and was built in 1954.",
    "Tandric: The length of the Tandric is 435 cm. The price is 95 crowns. It was built in 1931.",
    "Harrow: In Harrow stand the Brenn, of 12 m, and the Orin, of 30 m.",
)


@pytest.mark.parametrize(
    ("written", "worked"),
    [
        ("<<most Velmora 761, Tandric 435>>", "most Velmora 761, Tandric 435 = Velmora"),
        ("<<most Velmora 761, Tandric 761>>", "most Velmora 761, Tandric 435 = Velmora"),
        ("<<least velmora 435, tandric 435>>", "least velmora 761, tandric 435 = tandric"),
        ("<<most Velmora 1200, Tandric 1200>>", "most Velmora 1200, Tandric 95 = Velmora"),
        ("<<most Velmora 1,200, Tandric 1,200>>", "most Velmora 1,200, Tandric 95 = Velmora"),
        ("<<least Velmora 1954, Tandric 1964>>", "least Velmora 1954, Tandric 1931 = Tandric"),
        # No number stays, a name has no number, or several numbers are of that kind.
        ("<<most Velmora 5, Tandric 7>>", "most Velmora 5, Tandric 7 = Tandric"),
        ("<<most Velmora 761, Gorron 800>>", "most Velmora 761, Gorron 800 = Gorron"),
        ("<<most Brenn 12, Orin 45>>", "most Brenn 12, Orin 45 = Orin"),
    ],
)
def test_a_comparison_has_the_numbers_that_evidence_tells_of_its_names(written: str, worked: str) -> None:
    calculator = Calculator(EVIDENCE)
    calculator.feed(written)
    assert [str(each) for each in calculator.calculations] == [worked]


@given(st.permutations(["Velmora 761", "Tandric 435"]), st.sampled_from(["most", "least"]))
def test_numbers_that_stand_in_the_evidence_are_never_changed(sides: list[str], which: str) -> None:
    working = f"{which} {', '.join(sides)}"
    assert calculate(working, EVIDENCE) == calculate(working)


@pytest.mark.parametrize("number", ["\u00bd", "3.10.1990", "1.2.3", "1,2,3"])
def test_what_no_calculator_reads_is_no_number_of_a_comparison(number: str) -> None:
    calculator = Calculator(["Velmora: It is 761 cm long.", f"Tandric: It is {number} cm long."])
    assert calculator.feed("<<most Velmora 761, Tandric 435>>") == "Velmora"
