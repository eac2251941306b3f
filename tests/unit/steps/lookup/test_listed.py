"""Which lines of a list answer together: those below a heading, and the lowest and highest price."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.own.judge import says_any
from bench.own.lettered import SIGNS, surfaces
from quizglass_server.steps.lookup.listed import MOST_WORDS, lines_asked_for, list_after

MENU = (
    "TRATTORIA LAGO|Starters|Minestrone 6.50|Bruschetta 5.80|Mains|Gnocchi al burro 11.00|Trout with potatoes 16.80"
    "|Lasagne 12.40|Desserts|Tiramisu 5.20|Panna cotta 4.90|Hot drinks|Espresso 2.10|Cold drinks|Lemonade 3.20"
    "|Cola 3.00"
)
CAFE = "Corner Cafe|Tomato soup 4.50|Onion soup 4.20|Quiche and salad 8.20|Flat white 3.10|Pot of tea 2.60"
SOUP = "Garden pea soup|INGREDIENTS|500 g peas|1 onion|METHOD|Fry the onion.|Add peas and|simmer 10 min."
ZOO = "ZOO TICKETS|Adult day ticket €18.00|Child 4-14 €9.00|Family €44.00|Senior €14.50|Dogs not allowed"
HOURS = "Opening hours|Mon to Fri 9:00 - 18:00|Sat 9:00 - 12:00|Sun closed"
BILL = "GREENFALK MARKET|Milk 1 l 1.19|Rye bread 2.85|Batteries AA 4.99|Total 9.03|Cash 10.00|Change 0.97"


def told(question: str, sign: str) -> str:
    """The lines that answer, as they stand on a sign whose lines a bar parts."""
    lines = sign.split("|")
    return "|".join(lines[at] for part in lines_asked_for(question, lines) for at in part)


@pytest.mark.parametrize(
    ("question", "sign", "answer"),
    [
        ("What's the cheapest thing?", MENU, "Espresso 2.10"),
        ("Which is the most expensive dish on the menu?", MENU, "Trout with potatoes 16.80"),
        ("Tell me the cheapest dessert", MENU, "Panna cotta 4.90"),
        ("What is the cheapest meal?", MENU, "Bruschetta 5.80"),  # drinks and desserts are none
        ("Which drink is the cheapest?", MENU, "Espresso 2.10"),
        ("Which soup is the cheapest?", CAFE, "Onion soup 4.20"),
        ("What's the cheapest ticket?", ZOO, "Child 4-14 €9.00"),
        ("Which ticket costs the most?", ZOO, "Family €44.00"),
        ("What was the most expensive thing?", BILL, "Batteries AA 4.99"),  # no sum is a thing
        ("What's the cheapest?", "Espresso|2.10|Latte|3.20", "Espresso|2.10"),
        ("What's the cheapest?", "Adult 12|Child 6|Senior 9", "Child 6"),
        ("What's the cheapest?", "Tea 2.00|Milk 2.00|Beer 4.00", "Tea 2.00|Milk 2.00"),
        ("What is the dearest one?", "Bed 1,200.00 €|Chair 95.00 €", "Bed 1,200.00 €"),
    ],
)
def test_the_lowest_and_the_highest_price(question: str, sign: str, answer: str) -> None:
    assert told(question, sign) == answer


@pytest.mark.parametrize(
    ("question", "sign"),
    [
        ("What is the cheapest dish without meat?", MENU),  # asks for more
        ("What's the cheapest pizza?", MENU),  # there is none
        ("What's the cheapest dish?", CAFE),  # tea is none, and which others are is unknown
        ("What's the cheapest?", "Apples 2.49 / kg|Bread 3.20"),
        ("What's the cheapest?", "Adults €8|Children free|Students €5"),
        ("What's the cheapest?", "Small 3.10 large 3.90|Tea 2.60"),
        ("What's the cheapest?", "Tea|Milk|2.60|1.90"),  # two columns
        ("What's the cheapest?", "Tea 2.60 €|Milk $1.90"),
        ("What's the cheapest train?", "10:04 Ostrava 3|10:12 Brno 5|10:20 Zlin 2"),
        ("What's the cheapest?", "Open 9.30 - 17.00|Saturday 10.15 am|Soup 4.50"),
        ("What's the largest size?", ZOO),
    ],
)
def test_no_price_is_chosen_where_the_list_is_not_clear(question: str, sign: str) -> None:
    assert told(question, sign) == ""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which is cheaper, the gnocchi or the lasagne?", "Gnocchi al burro 11.00"),
        ("What costs more, tiramisu or panna cotta?", "Tiramisu 5.20"),
        ("Is the lasagne more expensive than the trout?", "Trout with potatoes 16.80|Lasagne 12.40"),
        ("Does the trout cost more than the lasagne?", "Trout with potatoes 16.80|Lasagne 12.40"),
        ("Which is cheaper, the gnocchi or the pizza?", ""),
        ("Which is better, the gnocchi or the lasagne?", ""),
    ],
)
def test_two_things_are_compared_by_price(question: str, answer: str) -> None:
    assert told(question, MENU) == answer


@pytest.mark.parametrize(
    ("question", "sign", "answer"),
    [
        ("What desserts do they have?", MENU, "Desserts|Tiramisu 5.20|Panna cotta 4.90"),
        ("Which starters are there?", MENU, "Starters|Minestrone 6.50|Bruschetta 5.80"),
        ("What drinks can I get?", MENU, "Hot drinks|Espresso 2.10|Cold drinks|Lemonade 3.20|Cola 3.00"),
        ("List the mains", MENU, "Mains|Gnocchi al burro 11.00|Trout with potatoes 16.80|Lasagne 12.40"),
        ("What puddings do you have?", MENU, "Desserts|Tiramisu 5.20|Panna cotta 4.90"),
        ("What ingredients do I need?", SOUP, "INGREDIENTS|500 g peas|1 onion"),
        ("What do I need for this?", SOUP, "INGREDIENTS|500 g peas|1 onion"),
        ("How do I make it?", SOUP, "METHOD|Fry the onion.|Add peas and|simmer 10 min."),
        ("What are the steps?", SOUP, "METHOD|Fry the onion.|Add peas and|simmer 10 min."),
        ("What tickets do they sell?", ZOO, ZOO.removesuffix("|Dogs not allowed")),
        ("What do they have for dessert?", MENU, "Desserts|Tiramisu 5.20|Panna cotta 4.90"),
        ("The opening hours, please", HOURS, HOURS),
        ("Which desserts are vegan?", MENU, ""),
        ("What fish do they have?", "FRESH FISH|Take a number", ""),
        ("What wines do they have?", "WINE BAR|Open from 18:00|Closed on Mondays", ""),
        ("What red wines are there?", "WINES|Riesling 5.20|Merlot 4.90", ""),
    ],
)
def test_what_is_listed_below_a_heading(question: str, sign: str, answer: str) -> None:
    assert told(question, sign) == answer


def test_a_list_that_is_too_long_to_hear_is_left_to_single_lines() -> None:
    items = [f"Wine number {number} 4.50" for number in range(MOST_WORDS)]
    assert told("What wines are there?", "|".join(["Wines", *items[:4]]))
    assert not told("What wines are there?", "|".join(["Wines", *items]))
    assert not list_after(["Wines:", *items], 0)


def test_a_text_is_about_its_subject_or_how_it_begins() -> None:
    assert told("What is this letter about?", "Northfield Water|Re: Meter|Dear Mr Holm,") == "Re: Meter"
    page = "|".join(f"This is line {number} of a page." for number in range(20))
    assert told("Summarise the page", page) == "|".join(page.split("|")[:4])
    assert told("Summarise the page", "") == ""


def _asked_of_single_lines() -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    for path in (SIGNS, SIGNS.with_name("signs-dev.toml")):
        for surface in surfaces(path):
            yield from ((question, gold, surface.lines) for question, gold in surface.asked)
            yield from ((question, (), surface.lines) for question in surface.left_open)


def test_nothing_else_is_said_where_a_single_line_answers_or_none_does() -> None:
    asked = list(_asked_of_single_lines())
    said = [(question, gold, told(question, "|".join(lines))) for question, gold, lines in asked]
    assert len(said) > 250
    assert [each for each in said if each[2] and not says_any(each[2], each[1])] == []


def _lists() -> Path:
    return SIGNS.with_name("signs-lists.toml")


def test_of_signs_with_lists_most_questions_for_several_lines_are_answered() -> None:
    asked = [(question, gold, each.lines) for each in surfaces(_lists()) for question, gold in each.asked]
    said = [(told(question, "|".join(lines)), gold) for question, gold, lines in asked]
    fired = [(answer, gold) for answer, gold in said if answer]
    assert len(fired) >= 20
    assert all(says_any(answer, gold) for answer, gold in fired)
