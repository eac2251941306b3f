"""What the words of a follow-up question point at."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.session.dialogue.references import Reference, asks_for_other, carried, refers

THIS, IT, THE, NOTHING = Reference.THIS, Reference.IT, Reference.THE, Reference.NOTHING


@pytest.mark.parametrize(
    ("question", "reference"),
    [
        ("What is this?", THIS),
        ("Who designed that?", THIS),
        ("Who designed that boat?", THIS),
        ("Is that older?", THIS),
        ("And that one?", THIS),
        ("And the one on the left?", THIS),
        ("And the other one?", THIS),
        ("What about the other boat?", THIS),
        ("How much do the others cost?", THIS),
        ("Is the red one newer?", THIS),
        ("Who made the car on the right?", THIS),
        ("What colour is it?", THIS),
        ("What is written on the sign?", THIS),
        ("What else is in the picture?", THIS),
        ("What will this cost this year?", THIS),
        ("How much does it weigh?", IT),
        ("Who is its maker?", IT),
        ("What are they called?", IT),
        ("How much will it cost this year?", IT),
        ("Who designed the boat?", THE),
        ("What is the price?", THE),
        ("Who founded Jolawex?", NOTHING),
        ("Who founded the company Jolawex?", NOTHING),
        ("Which company makes boats that fly?", NOTHING),
        ("Which company made boats in 1946?", NOTHING),
        ("Where was she born?", IT),
        ("Who walks him?", IT),
        ("What is her name?", IT),
        ("And when?", IT),
        ("And where?", IT),
        ("For how much?", IT),
        ("With whom?", IT),
        ("And on Mondays?", IT),
        ("With breakfast?", IT),
        ("And for Felix?", IT),
        ("What about eggshells?", IT),
        ("How long?", IT),
        ("Since when?", IT),
        ("Who else?", IT),
        ("Where from?", IT),
        ("In what year?", IT),
        ("And Jolawex?", NOTHING),
        ("And what about Jolawex?", NOTHING),
        ("And you?", NOTHING),
        ("And how are you?", NOTHING),
        ("How many people fit in?", NOTHING),
        ("Is breakfast included?", NOTHING),
        ("And who founded Jolawex?", NOTHING),
        ("Tell me more", NOTHING),
        ("And the price?", THE),
        ("What happened to Jolawex this year?", NOTHING),
        ("What did I do the other day?", THE),
        ("", NOTHING),
    ],
)
def test_what_a_question_points_at(question: str, reference: Reference) -> None:
    assert refers(question) is reference


def test_who_asks_for_another_thing() -> None:
    assert all(map(asks_for_other, ("And the other one?", "How much does the other boat cost?", "Another one?")))
    assert not any(map(asks_for_other, ("And this one?", "What did I see the other day?", "Who else made it?")))


LEFT, RIGHT = "How much does the boat on the left cost?", "How much does the boat on the right cost?"


@pytest.mark.parametrize(
    ("question", "earlier", "meant"),
    [
        ("And the one on the right?", LEFT, RIGHT),
        ("What about the right one?", LEFT, RIGHT),
        ("On the right?", LEFT, RIGHT),
        ("And the one in the middle?", LEFT, "How much does the boat in the middle cost?"),
        ("And the other one?", LEFT, RIGHT),
        ("and the other one", RIGHT, LEFT),
        ("How about the other one on the right?", LEFT, RIGHT),
        ("And this one?", LEFT, "How much does the boat cost?"),
        ("And the other one?", "Who made the boat in the middle?", "Who made the boat?"),
        ("And the right one?", "Who made the left one?", "Who made the right one?"),
        ("And this?", "Who made the leftmost boat?", "Who made the boat?"),
        ("And the one on the right?", "Who made the leftmost boat?", "Who made the rightmost boat?"),
        ("And the other one?", "How much does this boat cost?", "How much does this boat cost?"),
        ("And the other one?", "Who was it that designed it?", "Who was it that designed this?"),
        ("And the one on the left?", "What is this?", "What is this, on the left?"),
        ("And the one in the middle?", "How long is it?", "How long is this, in the middle?"),
        ("What about that one?", "What do I see here?", "What do I see here?"),
    ],
)
def test_a_follow_up_without_a_verb_asks_the_earlier_question_again(question: str, earlier: str, meant: str) -> None:
    assert carried(question, earlier) == meant


@pytest.mark.parametrize(
    ("question", "earlier"),
    [
        ("How much does the other one weigh?", LEFT),
        ("And the car on the right?", LEFT),
        ("And its maker?", LEFT),
        ("And Jolawex?", LEFT),
        ("And?", LEFT),
        ("", LEFT),
        ("And the other one?", "How much does the Velmora cost?"),
        ("And the other one?", "Who founded Jolawex?"),
        ("And the other one?", ""),
    ],
)
def test_what_says_more_is_left_to_the_models(question: str, earlier: str) -> None:
    assert carried(question, earlier) is None


PIECES = (
    "and",
    "this",
    "that",
    "the other",
    "one",
    "on the",
    "left",
    "right",
    "in the middle",
    "it",
    "Who",
    "7",
    "?",
    ",",
)
WORDS = st.lists(st.sampled_from(PIECES))
TEXTS = st.text(max_size=200) | WORDS.map(" ".join)


@given(TEXTS, TEXTS)
def test_any_text_has_a_meaning(question: str, earlier: str) -> None:
    refers(question)
    asks_for_other(question)
    meant = carried(question, earlier)
    assert meant is None or meant.strip()


def test_a_hostile_question_takes_no_longer_than_its_length() -> None:
    for piece in ("the other ", "that ", "the one ", "on the ", " ", "a", "made that "):
        refers(piece * 20_000)
        carried(piece * 20_000, piece * 20_000)
