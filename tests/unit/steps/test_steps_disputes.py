"""Which sources are said to disagree with an answer, and which weigh more than others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.values import Origin, VerdictOutcome
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.calculator import Calculator
from quizglass_server.steps.verify import Support, judged, verify

PRINTED = Origin.READ_TEXT


def entry(id: str, text: str, title: str = "Velmora", origin: Origin = Origin.TEXT_SEARCH) -> Evidence:
    return Evidence(id, origin, "" if origin is PRINTED else f"entry-{id}", title, text, used=True)


def told(answer: str, *evidence: Evidence, question: str = "") -> dict[str, str]:
    return {dispute.evidence_id: dispute.value for dispute in verify(answer, evidence, (), question).disputes}


DISAGREEING = [
    ("How much does this cost?", "45 crowns", "It costs 45 crowns.", "The Velmora costs 99 crowns.", "99 crowns"),
    ("How much does this cost?", "45 crowns", "The Velmora costs 45 crowns.", "Its price is 99 crowns.", "99 crowns"),
    (
        "What does it cost?",
        "It costs 45 crowns.",
        "It costs 45 crowns.",
        "People pay a price of 9 crowns for the Velmora.",
        "9 crowns",
    ),
    (
        "When was it founded?",
        "1903",
        "It was founded in 1903 by Ana Brint.",
        "The Velmora was founded in 1911.",
        "1911",
    ),
    ("When was it founded?", "In 1903.", "It was founded in 1903.", "Founded in 1911, the Velmora is red.", "1911"),
    ("When was it opened?", "1987", "It was opened in 1987.", "It was opened in 1912 by Carl Odd.", "1912"),
    ("How tall is it?", "330 metres", "The Velmora is 330 metres tall.", "It has a height of 300 m.", "300 m"),
    (
        "Who founded it?",
        "Ana Brint",
        "It was founded in 1903 by Ana Brint.",
        "Carl Odd founded the Velmora.",
        "Carl Odd",
    ),
    (
        "Who founded the Velmora?",
        "Ana Brint",
        "Ana Brint founded it.",
        "The founder of the Velmora was Carl Odd.",
        "Carl Odd",
    ),
    (
        "Who designed it?",
        "Ana Brint",
        "It was designed by Ana Brint.",
        "The person who designed the Velmora is Carl Odd.",
        "Carl Odd",
    ),
    (
        "Who made this?",
        "Tandric",
        "The Velmora is a red car made by Tandric.",
        "The Velmora is a car made by Orvex.",
        "Orvex",
    ),
    (
        "Who wrote it?",
        "It was written by Ana Brint in 1903.",
        "Ana Brint wrote it in 1903.",
        "It was written in 1903 by Carl Odd.",
        "Carl Odd",
    ),
    ("In which town is it sold?", "Brenn", "The town where it is sold is Brenn.", "It is sold in Orla.", "Orla"),
    ("Where does it come from?", "Brenn", "It comes from Brenn.", "The Velmora comes from Orla.", "Orla"),
    ("What is the capital of Velmora?", "Brenn", "The capital of Velmora is Brenn.", "Its capital is Orla.", "Orla"),
    ("What does it eat?", "bamboo", "It eats bamboo.", "The Velmora eats meat.", "meat"),
    ("What is the frame made of?", "oak", "The frame is made of oak.", "The frame is made of pine.", "pine"),
    ("What colour is the Velmora?", "red", "The Velmora is red.", "The Velmora is blue.", "blue"),
]


@pytest.mark.parametrize(("question", "answer", "one", "other", "value"), DISAGREEING)
def test_another_entry_that_states_another_value_is_named_with_it(
    question: str, answer: str, one: str, other: str, value: str
) -> None:
    assert told(answer, entry("1", one), entry("2", other), question=question) == {"2": value}


AGREEING = [
    ("How much does this cost?", "45 crowns", "It costs 45 crowns.", "The price of the Velmora is 45 crowns."),
    ("How much does this cost?", "45 crowns", "It costs 45 crowns.", "It was made in 1999, and 300 were sold."),
    ("How much does this cost?", "45 crowns", "It costs 45 crowns.", "The Orla costs 99 crowns."),
    ("How much does this cost?", "45 crowns", "It costs 45 crowns.", "A wheel costs 10 crowns."),
    ("How much does this cost?", "45 crowns", "It costs 45 crowns.", "It costs 10 crowns less than the Orla."),
    ("How much does this cost?", "45 crowns", "It costs 45 crowns.", "It cost 10 crowns in 1912."),
    ("How long is it?", "300 metres", "It is 300 metres long.", "The Velmora's approach road is 40 metres long."),
    ("How long is it?", "300 metres", "It is 300 metres long.", "It has 40 metres of railing."),
    ("How many wheels does it have?", "four", "It has four wheels.", "It has 2 doors."),
    ("When was it built?", "1987", "It was built in 1987.", "It was rebuilt in 1999."),
    ("When was it built?", "1987", "It was built in 1987.", "It was built in 3 years."),
    ("When was it built?", "1987", "It was built in 1987.", "The Velmora was built on 5 May 1987."),
    ("Who founded it?", "Ana Brint", "It was founded by Ana Brint.", "Brint founded the Velmora."),
    ("Who made this?", "Tandric", "It was made by Tandric.", "Its engine was made by Orvex."),
    ("Who made this?", "Tandric", "It was made by Tandric.", "The Velmora replaced the Orla, which was made by Orvex."),
    ("Who made this?", "Tandric", "The Velmora is a car made by Tandric.", "The Velmora is made in Brenn."),
    ("Where is it?", "Brenn", "It stands in Brenn.", "The Velmora was built in Orla and stands in Brenn."),
    ("What colour is it?", "red", "It is red.", "The Velmora is large."),
    ("What colour is it?", "red", "It is red.", "The Velmora is a car."),
]


@pytest.mark.parametrize(("question", "answer", "one", "other"), AGREEING)
def test_what_says_the_same_or_something_else_disputes_nothing(
    question: str, answer: str, one: str, other: str
) -> None:
    assert told(answer, entry("1", one), entry("2", other), question=question) == {}


def test_one_false_article_among_ten_is_disputed_by_the_nine() -> None:
    wordings = ("The Velmora costs 45 crowns.", "Its price is 45 crowns.", "The price of the Velmora is 45 crowns.")
    true = [entry(str(number), wordings[number % 3], f"Velmora, note {number}") for number in range(2, 11)]
    false = entry("1", "The Velmora costs 3 crowns.", "Velmora, a report")
    assert told("3 crowns", false, *true, question="How much does the Velmora cost?") == {
        item.id: "45 crowns" for item in true
    }
    assert told("45 crowns", *true, false, question="How much does the Velmora cost?") == {"1": "3 crowns"}


def test_a_source_disputes_whether_it_was_shown_or_only_found() -> None:
    found = Evidence("2", Origin.TEXT_SEARCH, "other", "Velmora", "It costs 99 crowns.", used=False)
    assert told("45 crowns", entry("1", "It costs 45 crowns."), found, question="What does it cost?") == {
        "2": "99 crowns"
    }


def test_an_entry_does_not_dispute_itself() -> None:
    one = entry("1", "It costs 45 crowns.")
    same = Evidence("2", Origin.TEXT_SEARCH, one.entry_id, "Velmora", "In winter it costs 99 crowns.", used=True)
    assert told("45 crowns", one, same, question="What does it cost?") == {}


def test_numbers_that_an_answer_was_calculated_from_are_disputed() -> None:
    calculator = Calculator()
    answer = calculator.feed("<<1991-1952>> years") + calculator.rest()
    evidence = [
        entry("1", "It was founded in 1952."),
        entry("2", "It was founded in 1962."),
        entry("3", "It ended in 1991."),
    ]
    support = verify(answer, evidence, calculator.calculations, "How many years did it last?")
    assert [(each.evidence_id, each.value) for each in support.disputes] == [("2", "1962")]


LABEL = entry("9", "VELMORA COSTS 1 CROWN", "", PRINTED)
SEEN = entry("2", "The Velmora costs 45 crowns.", origin=Origin.IMAGE_SEARCH)


def test_words_printed_in_the_picture_support_nothing_that_an_entry_states_otherwise() -> None:
    support = verify("1 crown", [SEEN, LABEL], (), "How much does this cost?")
    assert support.outcome is VerdictOutcome.UNSUPPORTED
    assert [(each.evidence_id, each.value) for each in support.disputes] == [("2", "45 crowns")]
    assert judged(support, True).outcome is VerdictOutcome.UNSUPPORTED


@pytest.mark.parametrize("question", ["What price does the label say?", "What is written here?"])
def test_what_is_written_there_they_support(question: str) -> None:
    assert verify("1 crown", [SEEN, LABEL], (), question).outcome is VerdictOutcome.SUPPORTED


def test_they_dispute_what_an_entry_states_without_weighing_more() -> None:
    support = verify("45 crowns", [SEEN, LABEL], (), "How much does this cost?")
    assert support.outcome is VerdictOutcome.SUPPORTED
    assert [(each.evidence_id, each.value) for each in support.disputes] == [("9", "1 CROWN")]


def test_words_about_another_thing_dispute_nothing() -> None:
    other = entry("2", "The Velmora costs 45 crowns.")
    assert told("45 crowns", other, entry("9", "ORLA COSTS 1 CROWN", "", PRINTED), question="What does it cost?") == {}


def test_a_price_tag_is_believed_where_no_entry_tells_a_price() -> None:
    shown = entry("2", "The Velmora is a red car.", origin=Origin.IMAGE_SEARCH)
    assert verify("1 crown", [shown, LABEL], (), "How much does this cost?") == Support(
        VerdictOutcome.SUPPORTED, verify("1 crown", [LABEL]).citations
    )


TEXT = st.text(max_size=80) | st.lists(
    st.sampled_from(
        ("The Velmora", "It", "costs", "was made", "by", "in", "of", "45", "99", "crowns", "Ana", ".", ",", "not")
    ),
    max_size=14,
).map(" ".join)


@given(
    TEXT,
    TEXT,
    st.lists(st.tuples(TEXT, TEXT, st.sampled_from([origin for origin in Origin if origin.value])), max_size=4),
)
def test_disputes_name_evidence_of_the_turn_in_its_own_words(
    question: str, answer: str, items: list[tuple[str, str, Origin]]
) -> None:
    evidence = [entry(str(number), text, title, origin) for number, (text, title, origin) in enumerate(items)]
    for id, value in told(answer, *evidence, question=question).items():
        assert value
        assert any(item.id == id for item in evidence)
