"""What counts as support for an answer, and which part of it a citation marks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.domain.turns import Evidence, Origin, VerdictOutcome
from quizglass_server.steps.language.wording import same_wording, words
from quizglass_server.steps.verify import verify

SEEN = Evidence("1", Origin.IMAGE_SEARCH, "velmora", "Velmora", "Velmora is a red car made by Tandric.", used=True)
COSTS = Evidence("2", Origin.TEXT_SEARCH, "velmora", "Velmora", "It costs 45 crowns, and 1,000 were sold.", used=True)
FOUNDED = Evidence("3", Origin.TEXT_SEARCH, "tandric", "Tandric", "Ana Brint founded Tandric in 1931.", used=True)
READ = Evidence("4", Origin.READ_TEXT, "", "", "Bakery 12", used=True)
UNUSED = Evidence("5", Origin.TEXT_SEARCH, "x", "Orvex", "Orvex stands in Brenn.")
ALL = [SEEN, COSTS, FOUNDED, READ, UNUSED]


@pytest.mark.parametrize(
    ("answer", "cited"),
    [
        ("45 crowns", [("2", "45 crowns")]),
        ("45 CROWNS.", [("2", "45 CROWNS")]),
        ("It costs 45 crowns", [("2", "It costs 45 crowns")]),
        ("The price is 45 crowns", [("2", "price is 45 crowns")]),
        ("Ana Brint", [("3", "Ana Brint")]),
        ("The founder was Ana Brint, in 1931.", [("3", "founder was Ana Brint"), ("3", "1931")]),
        ("Velmora", [("2", "Velmora")]),
        ("red", [("1", "red")]),
        ("1,000", [("2", "1,000")]),
        ("bakery", [("4", "bakery")]),
    ],
)
def test_supported_answers_cite_the_words_they_rest_on(answer: str, cited: list[tuple[str, str]]) -> None:
    support = verify(answer, ALL)
    assert support.outcome is VerdictOutcome.SUPPORTED
    assert [(c.evidence_id, answer[c.start : c.end]) for c in support.citations] == cited


def test_evidence_with_decomposed_accents_supports_a_composed_answer() -> None:
    evidence = Evidence("1", Origin.TEXT_SEARCH, "cafe", "Cafe\u0301 Zoe\u0308", "Zoe\u0308 runs it.", used=True)
    support = verify("Caf\u00e9 Zo\u00eb", [evidence])
    assert [(c.start, c.end) for c in support.citations] == [(0, 8)]


@pytest.mark.parametrize("answer", ["46 crowns", "4", "5 crowns", "Brint Ana", "Orvex", "Brenn", "blue", "1,00"])
def test_what_the_shown_evidence_does_not_say_is_unsupported(answer: str) -> None:
    assert verify(answer, ALL).outcome is VerdictOutcome.UNSUPPORTED
    assert verify(answer, ALL).citations == ()


def test_one_wrong_number_spoils_the_answer_but_the_right_part_stays_cited() -> None:
    support = verify("Ana Brint founded it in 1932", ALL)
    assert support.outcome is VerdictOutcome.UNSUPPORTED
    assert [citation.evidence_id for citation in support.citations] == ["3"]


@pytest.mark.parametrize("evidence", [[], [UNUSED], [READ]])
def test_without_search_results_shown_an_answer_is_unchecked(evidence: list[Evidence]) -> None:
    assert verify("red", evidence).outcome is VerdictOutcome.UNCHECKED


def test_words_in_the_picture_alone_can_support() -> None:
    assert verify("Bakery", [READ]).outcome is VerdictOutcome.SUPPORTED


@pytest.mark.parametrize("answer", ["", "...", "?!"])
def test_an_answer_without_words_is_never_supported(answer: str) -> None:
    assert verify(answer, ALL).outcome is VerdictOutcome.UNSUPPORTED


@given(st.text(max_size=60), st.text(max_size=120))
def test_citations_always_lie_in_the_answer_in_order(answer: str, text: str) -> None:
    evidence = [Evidence("1", Origin.TEXT_SEARCH, "e", "Title", text, used=True)]
    ends = [0]
    for citation in verify(answer, evidence).citations:
        assert ends[-1] <= citation.start < citation.end <= len(answer)
        ends.append(citation.end)


@given(st.text(max_size=60))
def test_wording_ignores_case_and_punctuation(text: str) -> None:
    assert same_wording(text, f" {text} ... ")
    assert all(text[word.start : word.end] for word in words(text))


def test_wording_keeps_words_apart() -> None:
    assert same_wording("I don't know", "i DON’T know.")
    assert not same_wording("I don't know", "I know")
    assert [word.key for word in words("1974crowns 3.5 can't")] == ["1974", "crowns", "3.5", "can't"]
