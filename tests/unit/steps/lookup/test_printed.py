"""Which lines of words in a picture answer a question."""

import pytest

from quizglass.values import Origin
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.lookup.printed import MOST_TOGETHER, best_piece, pieces_of, quoted_piece
from quizglass_server.steps.quoting import MOST_SENTENCES, joined
from quizglass_server.steps.read import QUOTED_WHOLE

MENU = ["Trattoria Sole", "Minestrone 6.50", "Gnocchi al burro 11.00", "Trout from the lake 16.80", "Tiramisu 5.20"]


def read(lines: list[str]) -> Evidence:
    return Evidence("1", Origin.READ_TEXT, "", "", " ".join(lines), used=True)


def best(question: str, lines: list[str], scores: dict[str, float]) -> tuple[str, float]:
    pieces = pieces_of(read(lines), lines)
    found = best_piece(question, pieces, [scores.get(piece.text, 0.001) for piece in pieces])
    assert found is not None
    return found.text, found.score


def test_lines_are_weighed_alone_and_with_those_that_follow_under_all_of_the_words() -> None:
    lines = ["BAKERY", "Open 6:30 to 17:00", "Mondays closed"]
    pieces = pieces_of(read(lines), lines)
    assert [piece.text for piece in pieces] == [
        *lines,
        "BAKERY Open 6:30 to 17:00",
        "Open 6:30 to 17:00 Mondays closed",
        "BAKERY Open 6:30 to 17:00 Mondays closed",
    ]
    assert pieces[2].titled == "BAKERY Open 6:30 to 17:00 Mondays closed: Mondays closed"
    assert pieces[-1].titled == "BAKERY Open 6:30 to 17:00 Mondays closed"


@pytest.mark.parametrize("count", [0, 1, 2, 7, 60])
def test_no_more_is_weighed_than_of_notes_and_each_line_before_longer_pieces(count: int) -> None:
    lines = [f"line {number}" for number in range(count)]
    pieces = pieces_of(read(lines), lines)
    assert len(pieces) <= MOST_SENTENCES
    assert [piece.text for piece in pieces[:count]] == lines[:MOST_SENTENCES]
    assert all(len(piece.text.split()) <= 2 * MOST_TOGETHER for piece in pieces)


def texts(lines: list[str]) -> list[str]:
    return [piece.text for piece in pieces_of(read(lines), lines)][: len(lines)]


def test_hours_of_a_ban_are_not_weighed_without_it() -> None:
    lines = ["P", "NO PARKING", "Mon - Fri 7 am - 6 pm", "except residents with permit B", "Tow-away zone 555-0142"]
    hours = "NO PARKING Mon - Fri 7 am - 6 pm"
    assert texts(lines) == ["P", "NO PARKING", hours, f"{hours} except residents with permit B", lines[4]]
    assert texts(["BAKERY", "Mon - Fri 7 to 18"]) == ["BAKERY", "Mon - Fri 7 to 18"], "nothing is forbidden"
    rules = ["No running", "Children swim with an adult", "Only with a cap"]
    assert texts(rules) == rules, "the next rule is one of its own"


def test_a_line_that_goes_on_in_the_next_is_weighed_with_it() -> None:
    lines = ["MAX. 8 PERSONS", "In case of emergency press the", "yellow button for 3 seconds"]
    assert texts(lines)[:2] == ["MAX. 8 PERSONS", "In case of emergency press the yellow button for 3 seconds"]
    assert texts(["Oats, almonds,", "honey,", "raisins"])[0] == "Oats, almonds, honey, raisins"
    assert texts(["Soup of the"]) == ["Soup of the"]


def test_a_question_about_words_takes_a_likely_line_sooner() -> None:
    scores = {"Mondays closed": 0.3}
    lines = ["BAKERY", "Open 6:30 to 17:00", "Mondays closed"]
    text, asked = best("On which day are they closed, does the sign say?", lines, scores)
    _, other = best("Do they work on a holiday?", lines, scores)
    assert text == "Mondays closed"
    assert asked > 0.7 > other


def test_few_words_are_quoted_whole_and_of_many_the_piece() -> None:
    short, long = ["Outside 17 C", "Inside 22 C"], MENU
    assert len(" ".join(short).split()) <= QUOTED_WHOLE < len(" ".join(long).split())
    assert joined(quoted_piece(pieces_of(read(short), short)[1], short)) == "Outside 17 C Inside 22 C"
    assert joined(quoted_piece(pieces_of(read(long), long)[3], long)) == "Trout from the lake 16.80"


def test_a_heading_is_quoted_with_its_list() -> None:
    recipe = [
        "Banana bread",
        "Ingredients:",
        "3 ripe bananas",
        "200 g flour",
        "80 g butter and",
        "salt",
        "Method:",
        "Mash.",
    ]
    pieces = {piece.text: piece for piece in pieces_of(read(recipe), recipe)}
    told = "Ingredients: 3 ripe bananas; 200 g flour; 80 g butter and salt"
    assert joined(quoted_piece(pieces["Ingredients:"], recipe)) == told
    assert joined(quoted_piece(pieces["Banana bread Ingredients:"], recipe)) == f"Banana bread {told}"
    assert joined(quoted_piece(pieces["200 g flour"], recipe)) == "200 g flour", "no heading"
    hours = [
        "Line 14 to the harbour",
        "Monday to Friday",
        "07:10 07:40 08:10",
        "Saturday",
        "09:00 11:00",
        "Sunday",
        "no service",
    ]
    (saturday,) = (piece for piece in pieces_of(read(hours), hours) if piece.text == "Saturday")
    assert joined(quoted_piece(saturday, hours)) == "Saturday: 09:00 11:00"


def test_nothing_answers_where_nothing_was_read() -> None:
    assert best_piece("How much is it?", [], []) is None
