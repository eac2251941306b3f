"""What a reranker learns from about signs: the pieces that a server weighs, and which of them answer."""

import random
from pathlib import Path

import pytest

from quizglass_lab.answering.notes import OwnNote, signs_by_file
from quizglass_lab.answering.sign_pairs import BESIDE, drawn_sign_candidates, sign_candidates

SIGN = """# menu
- Trattoria Sole
- Minestrone 6.50
- Closed today,
- Mondays too
? soup? => 2
? can we come on Monday => 3-4
? parking? => -
"""


@pytest.fixture
def signs(tmp_path: Path) -> list[OwnNote]:
    (tmp_path / "s.signs").write_text(SIGN)
    return signs_by_file(tmp_path)["s"]


def test_lines_that_follow_each_other_answer_if_they_have_the_whole_answer(signs: list[OwnNote]) -> None:
    soup, monday, parking = sign_candidates(signs)
    words = "Trattoria Sole Minestrone 6.50 Closed today, Mondays too"
    assert soup.passages[:2] == (f"{words}: Trattoria Sole", f"{words}: Minestrone 6.50"), "under all of few words"
    told = {passage.removeprefix(f"{words}: ") for passage in (soup.passages[place] for place in soup.answers)}
    assert told == {
        "Minestrone 6.50",
        "Trattoria Sole Minestrone 6.50",
        "Minestrone 6.50 Closed today, Mondays too",
    } | {words}
    told = {passage.removeprefix(f"{words}: ") for passage in (monday.passages[place] for place in monday.answers)}
    assert told == {"Closed today, Mondays too", "Minestrone 6.50 Closed today, Mondays too", words}
    assert parking.answers == frozenset()


def test_a_few_pieces_are_drawn_and_the_answer_is_taken_off_the_sign_now_and_then(signs: list[OwnNote]) -> None:
    rng, whole = random.Random(2), sign_candidates(signs)
    without = set()
    for _ in range(60):
        for drawn, each in zip(drawn_sign_candidates(signs, rng), whole, strict=True):
            assert drawn.question == each.question
            assert len(drawn.passages) - len(drawn.answers) <= BESIDE
            right = {drawn.passages[place] for place in drawn.answers}
            if right or not each.answers:
                assert right == {each.passages[place] for place in each.answers}
                assert set(drawn.passages) <= set(each.passages)
            else:
                without.update((drawn.question, passage) for passage in drawn.passages)
    assert ("soup?", "Trattoria Sole Closed today, Mondays too: Closed today, Mondays too") in without
    assert not any(question == "soup?" and "6.50" in passage for question, passage in without)
