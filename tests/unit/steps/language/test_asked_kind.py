"""Whether a sentence has what a question asks for, by its kind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.steps.language.asked_kind import asks_whether, halves, says_asked


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("In which constellation is this?", "It shows a part of the sky in the constellation Fornax."),
        ("Which lot number is it?", "Lot 52."),
        ("What grip size is it?", "Grip size 3."),
        ("Which pages are hard to read?", "Pages 40 to 44 got wet."),
        ("what mouthpiece does it have", "Mouthpiece 7C."),
        ("On which seat was it, and when?", "Found on seat 12F after the matinee."),
        ("Who sharpens it for us?", "Sharpened by Mr Whitlock, two pounds in the honesty box."),
        ("Whose is it?", "On loan from the Hartmann pharmacy."),
        ("Who's the teacher?", "Taught by Żaneta on Mondays."),
        ("Who should I ring?", "Damaged? The desk, extension 4410."),
        ("who do I tell", "ring the office before eight"),
        ("When do I ring?", "Ring Anna at eight."),
        ("When does he get apple?", "A slice of apple only on Sundays."),
        ("and how often?", "Twice, every morning."),
        ("What time does it open?", "The gate opens at 7:50."),
        ("Where's the whetstone?", "The stone's in the horn on the wall."),
        ("Where did we get it?", "From Hof Petersen, in spring."),
    ],
)
def test_names_and_numbers_are_what_is_asked_for(question: str, sentence: str) -> None:
    assert says_asked(question, sentence)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("In which constellation is this?", "The constellation is faint."),
        ("What is this?", "This Is It."),
        ("What does it cost?", "The cost 5 years ago."),
        ("What is it made of?", "Made by Tyzack."),
        ("Which room is it?", "The bathroom Anna painted."),
        ("What?", "What Anna said."),
        ("Who found it?", "Found on a Saturday in March, before I came, on seat 12."),
        ("Who mends it?", "Extension 4410."),
        ("Who?", "Anna."),
        ("When do I ring?", "Ring Anna, not the office."),
        ("When was it sold?", "Sold for 45 crowns."),
        ("Where is it from?", "Given away 12 times."),
        ("What was it when we came?", "It was shut on Mondays."),
    ],
)
def test_anything_else_is_not(question: str, sentence: str) -> None:
    assert not says_asked(question, sentence)


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_may_be_asked_and_said(question: str, sentence: str) -> None:
    assert says_asked(question, sentence) in (True, False)


@pytest.mark.parametrize(
    ("question", "whether"),
    [
        ("Can I put soil in?", True),
        ("so, is it ours?", True),
        ("Isn't it ours?", True),
        ("Hey, may Ella have some?", True),
        ("When may I have some?", False),
        ("Who can mend it?", False),
        ("Island ferries, when?", False),
        ("", False),
    ],
)
def test_what_begins_with_an_auxiliary_asks_whether(question: str, whether: bool) -> None:
    assert asks_whether(question) is whether


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("How long is the warranty and how much did it cost?", ["How long is the warranty?", "How much did it cost?"]),
        ("What does he weigh and when was he born?", ["What does he weigh?", "When was he born?"]),
        ("Who walks him and what is he afraid of?", ["Who walks him?", "What is he afraid of?"]),
        (
            "How much was the room, and when does the bakery open?",
            ["How much was the room?", "When does the bakery open?"],
        ),
        ("Who walks him? What is he afraid of?", ["Who walks him?", "What is he afraid of?"]),
        ("Does it take oil and is it insured?", ["Does it take oil?", "Is it insured?"]),
        ("When does it open and does the lift work?", ["When does it open?", "Does the lift work?"]),
        ("Hi, who is the vet and what's his number?", ["Hi, who is the vet?", "What's his number?"]),
        ("Do you know when Anna comes and when Ben comes?", ["Do you know when Anna comes?", "When Ben comes?"]),
        ("How  do I open it \n and where  exactly is the key?", ["How do I open it?", "Where exactly is the key?"]),
        ("How do I open it and where to put the key?", ["How do I open it?", "Where to put the key?"]),
    ],
)
def test_a_question_that_asks_two_things_has_two_halves(question: str, asked: list[str]) -> None:
    assert list(halves(question)) == asked


@pytest.mark.parametrize(
    "question",
    [
        "Does it need oil and petrol?",
        "Who made this violin and when?",
        "Is there a dessert, and what is it?",
        "What did it weigh and when was that?",
        "Which space do I park it in, and which one not?",
        "Who lives here and has the key?",
        "Is it oil or is it petrol?",
        "What is the difference between what he eats and what he needs?",
        "When it rains and when it snows, what do I do?",
        "What time does it open and what time does it close and what does it cost?",
        "What happens when the light blinks and when the bell rings?",
        "What do I do when Anna is ill and where the lamp is broken?",
        "What did she say about what the vet costs and what the food costs?",
        "Is this where the bus stops and where the tram stops?",
        "What does it cost for adults and what about children?",
        "Which wine goes with fish and which with meat?",
        "Who is the man who feeds the cat and who has the key?",
        "",
    ],
)
def test_other_questions_stay_whole(question: str) -> None:
    assert halves(question) == (question,)


@given(st.lists(st.sampled_from(["and ", "? ", ", and ", "what is he afraid of ", "does it ", "x "]), max_size=200))
def test_any_question_has_one_or_two_halves(parts: list[str]) -> None:
    assert len(halves("".join(parts))) in (1, 2)


def test_a_hostile_question_takes_no_longer_than_its_length() -> None:
    for piece in (" ", "?", " ?", " , ", " and ", "also ", "? and also "):
        assert halves(f"What is {piece * 100_000}x")
