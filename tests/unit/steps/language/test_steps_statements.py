"""What a sentence states, and when another one states it too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.values import Origin, VerdictOutcome
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.language.lexemes import meaning
from quizglass_server.steps.language.statements import clauses, sentences
from quizglass_server.steps.verify import verify


def stated(title: str, text: str, answer: str) -> bool:
    shown = Evidence("1", Origin.TEXT_SEARCH, "e", title, text, used=True)
    return verify(answer, [shown]).outcome is VerdictOutcome.SUPPORTED


@pytest.mark.parametrize(
    "answer",
    [
        "It eats eucalyptus leaves.",
        "Koalas feed on the leaves of eucalyptus.",
        "The animal in the photo is a koala.",
        "It sleeps up to twenty hours a day and does not drink much.",
        "The koala doesn't drink much.",
    ],
)
def test_a_sentence_in_other_words_is_supported(answer: str) -> None:
    text = "The koala eats eucalyptus leaves and sleeps up to 20 hours a day. It does not drink much."
    assert stated("Koala", text, answer)


@pytest.mark.parametrize(
    "answer",
    [
        "It eats bamboo leaves.",
        "It does not eat eucalyptus leaves.",
        "It sleeps up to 2 hours a day.",
        "The panda eats eucalyptus leaves.",
        "It drinks much.",
        "It has two wheels.",
    ],
)
def test_other_words_numbers_names_and_negations_are_not(answer: str) -> None:
    text = "The koala eats eucalyptus leaves and sleeps up to 20 hours a day. It does not drink much. Carts have wheels"
    assert not stated("Koala", text, answer)


def test_what_belongs_together_stays_together() -> None:
    text = "The blue car has a red roof and two doors."
    assert stated("At the fair", text, "The blue car has two doors.")
    assert not stated("At the fair", text, "The red car has a blue roof.")
    assert not stated("Tandric", "Ana Brint founded it.", "Brint Ana founded it.")


def test_a_clause_is_not_gathered_from_several_sentences() -> None:
    assert not stated("Zoo", "The lion sleeps. The bear eats fish.", "The lion eats fish.")


def test_a_citation_covers_the_clause_it_backs() -> None:
    shown = [
        Evidence("1", Origin.TEXT_SEARCH, "a", "Violin", "It has four strings.", used=True),
        Evidence("2", Origin.TEXT_SEARCH, "b", "Violin", "Its body is hollow.", used=True),
    ]
    answer = "The violin has 4 strings, and its body is hollow."
    cited = [(c.evidence_id, answer[c.start : c.end]) for c in verify(answer, shown).citations]
    assert cited == [("1", "violin has 4 strings"), ("2", "body is hollow")]


def test_a_negation_reaches_to_the_end_of_its_clause() -> None:
    negated = [
        [content.negated for content in clause.stating]
        for clause in clauses("It does not fly, but it swims not only in rivers")
    ]
    assert negated == [[True], [False, False]]


@pytest.mark.parametrize(
    ("one", "other"), [("1,064", "1064"), ("four", "4"), ("2.50", "2.5"), ("koala's", "koalas"), ("tall", "height")]
)
def test_words_of_one_meaning(one: str, other: str) -> None:
    assert meaning(one) == meaning(other)


@given(st.text(max_size=80))
def test_sentences_lie_where_they_say(text: str) -> None:
    for start, sentence in sentences(text):
        assert text[start : start + len(sentence)] == sentence


@given(st.text(alphabet=st.characters(categories=("L", "N", "Zs", "P")), min_size=1, max_size=60))
def test_any_text_that_states_something_supports_itself(text: str) -> None:
    if any(clauses(sentence) for _, sentence in sentences(text)):
        assert stated("", text, text)
