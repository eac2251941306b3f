"""Whom "he" and "she" mean after an exchange: a person that it names, or what was spoken of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.session.dialogue.persons import with_person

PAINTED = "Who painted this?"
REPRODUCED = "Reproduction of The Starry Night by Vincent van Gogh. He painted it in June 1889."


@pytest.mark.parametrize(
    ("question", "asked", "answer", "meant"),
    [
        ("When was he born?", PAINTED, "Ole Berg.", "When was Ole Berg born?"),
        ("Where did he live?", PAINTED, REPRODUCED, "Where did Vincent van Gogh live?"),
        ("What was his wife called?", PAINTED, "Ole Berg painted it.", "What was Ole Berg's wife called?"),
        ("Who taught him?", PAINTED, "The painter was Ole Berg.", "Who taught Ole Berg?"),
        ("Did he like it himself?", PAINTED, "Ole Berg.", "Did Ole Berg like it himself?"),
        ("When does she come?", "Who walks him?", "Lena walks him at noon, Mr. Okafor at six.", "When does Lena come?"),
        (
            "What is her number?",
            "What is the name of the vet?",
            "Vet: Dr. Sabine Yıldız, Gartenstraße 12",
            "What is Dr Sabine Yıldız's number?",
        ),
        ("Who told her?", "Who walks this?", "Mr. Okafor and Mrs. Lind", "Who told Mrs Lind?"),
        ("Who told her?", "Who walks him?", "Mr. Okafor and on Mondays Mrs. Lind", "Who told Mrs Lind?"),
        ("Where does he live?", "Who gave me this?", "Got it from Mr. Lind in May 2019.", "Where does Mr Lind live?"),
        ("What does she do?", "Who bought this?", "Dad's. Bought by Petra in Hong Kong.", "What does Petra do?"),
        ("When did she arrive?", "What did Petra forget?", "Her umbrella.", "When did Petra arrive?"),
        ("Where did he live?", "When was Ole Berg born?", "In 1880.", "Where did Ole Berg live?"),
    ],
)
def test_a_person_that_the_exchange_before_names_is_meant(question: str, asked: str, answer: str, meant: str) -> None:
    assert with_person(question, asked, answer, ("Harbour",)) == meant


@pytest.mark.parametrize(
    ("question", "asked", "answer"),
    [
        ("How old is he?", "Who walks him?", "Lena walks him."),  # whoever "him" was
        ("How old is he?", "Who is this?", "Balu is our husky, a present of Petra."),
        ("How old is he?", "What is this?", "Balu is our husky. Vet: Dr. Sabine Yıldız"),
        ("How old is he?", "Who lives here?", "Balu."),
        ("How much does he eat?", "How much does Balu weigh?", "27 kg"),
        ("When was he born?", PAINTED, "I don't know"),
        ("When was he born?", PAINTED, "A potter in Meissen."),
        ("When was he born?", PAINTED, "In June 1889."),
        ("When did he stay there?", "Which hotel in Leuven was it?", "The Groot Begijnhof."),
        ("When did he build it?", "How much does the Velmora cost?", "45 crowns"),
        ("How big is it?", PAINTED, "Ole Berg."),
        ("What is his name?", "Who owns this dog?", "Petra."),
        ("What is he called?", "Who walks this dog?", "Lena walks this dog."),
        ("How old is he?", "Who lives upstairs?", "Anna and Ben."),
        ("Where was he born?", PAINTED, "By Ole Berg and Lena Lind."),
        ("What did she say?", "Did Ben meet Anna?", "Yes."),
        ("When does he come?", "What does Dr. Lind say about Rex?", "Too heavy."),
        ("", "", ""),
    ],
)
def test_otherwise_it_is_who_was_spoken_of(question: str, asked: str, answer: str) -> None:
    assert with_person(question, asked, answer, ("Balu",)) == question


PIECES = "he", "his", "her", "Who", "painted", "by", "Ole", "van", "Berg", "Mr.", "the", "'s", ".", "in", "I", "ß", "É"
TEXTS = st.text(max_size=200) | st.lists(st.sampled_from(PIECES)).map(" ".join)


@given(TEXTS, TEXTS, TEXTS, st.lists(TEXTS, max_size=2))
def test_any_text_has_a_meaning(question: str, asked: str, answer: str, titles: list[str]) -> None:
    assert with_person(question, asked, answer, titles).strip() or not question.strip()


def test_a_hostile_answer_takes_no_longer_than_its_length() -> None:
    for piece in ("Ole ", "van ", "Mr. ", "by Ole van ", "O.", "Who is "):
        with_person("Who is he?" + " he" * 9, PAINTED, piece * 20_000, ())
        with_person(piece * 20_000, piece * 20_000, piece * 20_000, ())
