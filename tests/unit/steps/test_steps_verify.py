"""What counts as support for an answer, and which part of it a citation marks."""

from dataclasses import replace
from typing import Literal
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.values import Origin, VerdictOutcome
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.calculator import Calculator
from quizglass_server.steps.language.wording import mentions, same_wording, words
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


@pytest.mark.parametrize(
    ("shown", "cited"), [((), "1"), (("2",), "2"), (("3", "2"), "3"), (("4",), "4"), (("5",), "6"), (("9",), "6")]
)
def test_what_the_answer_was_written_from_is_cited_before_what_else_says_the_same(
    shown: tuple[str, ...], cited: str
) -> None:
    named = dict.fromkeys(("1", "2", "3"), Origin.TEXT_SEARCH) | {"4": Origin.IMAGE_SEARCH, "6": Origin.READ_TEXT}
    evidence = [Evidence(id, origin, id, "", "It costs 45 crowns.", used=True) for id, origin in named.items()]
    (citation,) = verify("45 crowns", evidence, shown=shown).citations
    assert citation.evidence_id == cited


def test_evidence_with_decomposed_accents_supports_a_composed_answer() -> None:
    evidence = Evidence("1", Origin.TEXT_SEARCH, "cafe", "Cafe\u0301 Zoe\u0308", "Zoe\u0308 runs it.", used=True)
    support = verify("Caf\u00e9 Zo\u00eb", [evidence])
    assert [(c.start, c.end) for c in support.citations] == [(0, 8)]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_quote_with_decomposed_accents_is_supported(form: Literal["NFC", "NFD"]) -> None:
    note = normalize("NFD", "The Caf\u00e9 Zo\u00eb opens at nine and serves cr\u00e8me br\u00fbl\u00e9e.")
    evidence = Evidence("1", Origin.TEXT_SEARCH, "cafe", "", note, used=True)
    answer = normalize(form, note)
    support = verify(answer, [evidence])
    assert support.outcome is VerdictOutcome.SUPPORTED
    assert [answer[c.start : c.end] for c in support.citations] == [answer.removesuffix(".")]


@pytest.mark.parametrize(
    "sentence",
    [
        "\u0926\u0941\u0915\u093e\u0928 \u0916\u0941\u0932\u0924\u0940 \u0939\u0948",
        "\u0e40\u0e1b\u0e34\u0e14 \u0e19\u0e35\u0e49",
        "\u05e0\u05b4\u05e4\u05b0\u05ea\u05bc\u05b7\u05d7\u05b7\u05ea\u05b0",
        "\u064a\u064f\u0641\u062a\u064e\u062d\u064f",
    ],
    ids=["Hindi", "Thai", "Hebrew", "Arabic"],
)
def test_a_citation_ends_behind_the_last_vowel_sign(sentence: str) -> None:
    evidence = Evidence("1", Origin.TEXT_SEARCH, "shop", "", f"{sentence}.", used=True)
    (citation,) = verify(f"{sentence}.", [evidence]).citations
    assert f"{sentence}."[citation.start : citation.end] == sentence


@pytest.mark.parametrize(
    ("note", "answer"),
    [
        ("It runs version 1.2.10.", "It runs version 1.2.1."),
        ("It was serviced on 5.6.20.", "It was serviced on 5.6.2000."),
        ("The museum has \u00bd million pictures.", "The museum has 1 million pictures."),
        ("The museum has 1/2 million pictures.", "The museum has 3 million pictures."),
        ("The museum has 2 000 million coins.", "The museum has 2 million coins."),
    ],
)
def test_numbers_that_only_begin_alike_do_not_support_each_other(note: str, answer: str) -> None:
    evidence = Evidence("1", Origin.TEXT_SEARCH, "museum", "", note, used=True)
    assert verify(answer, [evidence]).outcome is VerdictOutcome.UNSUPPORTED


@pytest.mark.parametrize(
    ("note", "answer"),
    [
        ("The city has 8.2 million people.", "The city has 8,200,000 people."),
        ("The city has 64.1 thousand trees.", "The city has 64,100 trees."),
        ("The museum has \u00bd million pictures.", "The museum has 500,000 pictures."),
        ("The museum has 3/4 million pictures.", "The museum has 750,000 pictures."),
        ("The museum has 2 000 million coins.", "The museum has 2 billion coins."),
    ],
)
def test_one_number_written_in_two_ways_is_one(note: str, answer: str) -> None:
    evidence = Evidence("1", Origin.TEXT_SEARCH, "city", "", note, used=True)
    assert verify(answer, [evidence]).outcome is VerdictOutcome.SUPPORTED


@pytest.mark.parametrize("long", ["hundred " * 400, "9" * 5000 + " million", "7 " + "million " * 400])
def test_a_number_without_an_end_is_read_too(long: str) -> None:
    evidence = Evidence("1", Origin.TEXT_SEARCH, "x", "", f"The bell weighs {long}. The shop opens at nine.", used=True)
    assert verify(f"It weighs {long}", ALL).outcome is VerdictOutcome.UNSUPPORTED
    assert verify("The shop opens at nine.", [evidence]).outcome is VerdictOutcome.SUPPORTED


@pytest.mark.parametrize(
    ("question", "note", "answer", "outcome"),
    [
        ("What colour is the door?", "The door is not red but blue.", "red", VerdictOutcome.UNSUPPORTED),
        ("What colour is the door?", "The door is not red but blue.", "blue", VerdictOutcome.SUPPORTED),
        ("Is it edible?", "The mushroom isn\u2019t really edible.", "Edible.", VerdictOutcome.UNSUPPORTED),
        ("Who built it?", "It was not by Ana Brint. Ole Trand built it.", "Ana Brint", VerdictOutcome.UNSUPPORTED),
        ("Who built it?", "It was not a shop. Ana Brint built it.", "Ana Brint", VerdictOutcome.SUPPORTED),
        ("Who came?", "Ana Brint did not come.", "Ana Brint", VerdictOutcome.UNSUPPORTED),
        ("Who did not come?", "Ana Brint did not come.", "Ana Brint", VerdictOutcome.SUPPORTED),
        ("Which colour is it not?", "The door is not red.", "red", VerdictOutcome.SUPPORTED),
        ("Is it edible?", "It is not edible.", "Not edible.", VerdictOutcome.SUPPORTED),
        ("How heavy may it be?", "Load not more than 30 kg.", "30 kg", VerdictOutcome.SUPPORTED),
        ("What is it?", "It is not only red but loud.", "red", VerdictOutcome.SUPPORTED),
    ],
)
def test_a_few_words_behind_not_are_not_said(question: str, note: str, answer: str, outcome: VerdictOutcome) -> None:
    evidence = Evidence("1", Origin.TEXT_SEARCH, "thing", "", note, used=True)
    assert verify(answer, [evidence], question=question).outcome is outcome


@pytest.mark.parametrize(
    "note",
    [
        "Open daily, not Mondays.",
        "It is open daily, not Mondays.",
        "The museum is open daily from 9 to 5, but not on Mondays.",
        "Open daily except Mondays.",
        "It is not open on Mondays.",
    ],
)
@pytest.mark.parametrize(
    ("question", "answer", "outcome"),
    [
        ("When is it open?", "Not on Mondays.", VerdictOutcome.SUPPORTED),
        ("When is it open?", "Closed on Mondays.", VerdictOutcome.SUPPORTED),
        ("When is it open?", "It is closed on Mondays.", VerdictOutcome.SUPPORTED),
        ("When is it open?", "It is not open on Mondays.", VerdictOutcome.SUPPORTED),
        ("When is it closed?", "Mondays", VerdictOutcome.SUPPORTED),
        ("Which day is it closed?", "On Mondays.", VerdictOutcome.SUPPORTED),
        ("On which day is it not open?", "Monday", VerdictOutcome.SUPPORTED),
        ("When is it open?", "Mondays", VerdictOutcome.UNSUPPORTED),
        ("When is it open?", "Monday", VerdictOutcome.UNSUPPORTED),
        ("When is it open?", "On Mondays.", VerdictOutcome.UNSUPPORTED),
        ("When is it open?", "It is open on Mondays.", VerdictOutcome.UNSUPPORTED),
        ("When is it open?", "It is closed on Tuesdays.", VerdictOutcome.UNSUPPORTED),
    ],
)
def test_days_that_are_excepted_are_days_when_it_is_closed(
    note: str, question: str, answer: str, outcome: VerdictOutcome
) -> None:
    evidence = Evidence("1", Origin.TEXT_SEARCH, "museum", "Museum", note, used=True)
    assert verify(answer, [evidence], question=question).outcome is outcome


@pytest.mark.parametrize(
    ("note", "answer", "outcome"),
    [
        ("It is closed on Mondays.", "It is not open on Mondays.", VerdictOutcome.SUPPORTED),
        ("It is closed on Mondays.", "It is open on Mondays.", VerdictOutcome.UNSUPPORTED),
        ("It is open on Mondays.", "It is closed on Mondays.", VerdictOutcome.UNSUPPORTED),
        ("It is open on Mondays.", "It is not closed on Mondays.", VerdictOutcome.SUPPORTED),
        ("It is open from 9 to 5, not Mondays.", "It is not open from 9 to 5.", VerdictOutcome.UNSUPPORTED),
        ("It is open daily, not Mondays.", "It is not open.", VerdictOutcome.UNSUPPORTED),
        ("Open daily except Mondays.", "It is closed.", VerdictOutcome.UNSUPPORTED),
        ("It is red, not blue.", "It is not red.", VerdictOutcome.UNSUPPORTED),
    ],
)
def test_closed_is_not_open(note: str, answer: str, outcome: VerdictOutcome) -> None:
    evidence = Evidence("1", Origin.TEXT_SEARCH, "museum", "Museum", note, used=True)
    assert verify(answer, [evidence]).outcome is outcome


@pytest.mark.parametrize(
    ("note", "question", "answer"),
    [
        ("Closed on Mondays.", "When is it closed?", "Mondays"),
        ("Closed on Mondays.", "On which day is it not open?", "Mondays"),
        ("The bakery opens at seven and closes at six.", "When does it open?", "at seven"),
        ("The bakery opens at seven and closes at six.", "When does it close?", "six"),
        ("Never give her chocolate, grapes or onions.", "What must I not give her?", "onions"),
        ("Never give her chocolate, grapes or onions.", "What is poisonous for her?", "grapes"),
        ("Never give her chocolate, grapes or onions.", "What should she avoid?", "grapes"),
        ("Coffee without sugar, with milk.", "What does she take in her coffee?", "milk"),
        ("Use oil instead of butter.", "What should I use?", "oil"),
        ("Instead of butter use oil.", "What should I use?", "oil"),
        ("The old code was 4412, the new one is 9021.", "What is the new code?", "9021"),
        ("Adults 9 euros, children 5 euros.", "What do children pay?", "5 euros"),
        ("The left key is for the shed, the right one for the cellar.", "What is the right key for?", "the cellar"),
        ("No parking on Sundays.", "When is parking forbidden?", "Sundays"),
        ("Don't forget to water it on Mondays.", "When do I water it?", "Mondays"),
        ("Never ride it without a helmet.", "What do I need?", "a helmet"),
        ("Take the pill after breakfast.", "What do I take after breakfast?", "the pill"),
        ("Take the pill after breakfast.", "When do I take it?", "after breakfast"),
        ("It leaves at 8:10 and arrives at 9:40.", "When does it arrive?", "9:40"),
        ("Take bus no. 5 from the station.", "Which bus do I take?", "no. 5"),
        ("Take bus no. 5 from the station.", "Which bus do I take?", "5"),
        ("Closes at six, on Sundays at four.", "When does it close on Sundays?", "at four"),
        ("Closed Mondays, Tuesdays 9 to 5.", "When is it open?", "Tuesdays"),
        ("It does not open until nine.", "When does it open?", "nine"),
        ("Closed until nine.", "When does it open?", "nine"),
        ("Ana doesn't eat meat and drinks tea.", "What does Ana drink?", "tea"),
        ("Open from noon to six.", "When does it open?", "noon"),
        ("Open from noon to six.", "When does it close?", "six"),
        ("Open 9 am to 5 pm.", "When does it close?", "5 pm"),
        ("Open 9 am to 5 pm.", "When does it open?", "9 am"),
        ("Never wash it at more than 40 degrees.", "At what temperature do I wash it?", "40 degrees"),
        ("If not at home, ring Ole.", "Whom do I ring?", "Ole"),
        ("She is not allergic to nuts, only to milk.", "What is she allergic to?", "milk"),
        ("They do not take cards, only cash.", "How can I pay?", "cash"),
        ("Open all year except in August.", "When is it closed?", "in August"),
        ("It lasts 90 minutes, the first act 40.", "How long does it last?", "90 minutes"),
    ],
)
def test_a_few_words_of_what_is_asked_are_supported(note: str, question: str, answer: str) -> None:
    evidence = Evidence("1", Origin.TEXT_SEARCH, "note", "Note", note, used=True)
    assert verify(answer, [evidence], question=question).outcome is VerdictOutcome.SUPPORTED


@pytest.mark.parametrize(
    ("note", "question", "answer"),
    [
        ("Closed on Mondays.", "When is it open?", "Mondays"),
        ("Closed on Mondays.", "When is it open?", "On Mondays."),
        ("Open on Mondays.", "When is it closed?", "Mondays"),
        ("Closed on Mondays, Tuesdays and Fridays.", "When is it open?", "on Mondays, Tuesdays and Fridays"),
        ("The bakery opens at seven and closes at six.", "When does it open?", "six"),
        ("The bakery opens at seven and closes at six.", "When does it close?", "at seven"),
        ("Do not feed it bread or milk.", "What can I feed it?", "milk"),
        ("Do not feed it bread or milk.", "What can I feed it?", "bread"),
        ("Never give her chocolate, grapes or onions.", "What can she eat?", "grapes"),
        ("Never give her chocolate, grapes or onions.", "What can I give her?", "onions"),
        ("Everyone came except Ole and Ana.", "Who came?", "Ana"),
        ("Coffee without sugar, with milk.", "What does she take in her coffee?", "sugar"),
        ("Use oil instead of butter.", "What should I use?", "butter"),
        ("Instead of butter use oil.", "What should I use?", "butter"),
        ("Bake with oil rather than butter.", "What should I bake with?", "butter"),
        ("The old code was 4412, the new one is 9021.", "What is the new code?", "4412"),
        ("The old code was 4412, the new one is 9021.", "What was the old code?", "9021"),
        ("Adults 9 euros, children 5 euros.", "What do children pay?", "9 euros"),
        ("The left key is for the shed, the right one for the cellar.", "What is the left key for?", "cellar"),
        ("No parking on Sundays.", "When can I park?", "Sundays"),
        ("Parking is forbidden on Sundays.", "When is parking allowed?", "Sundays"),
        ("Take the pill after breakfast.", "What do I take before breakfast?", "the pill"),
        ("Take the pill after breakfast.", "When do I take it?", "before breakfast"),
        ("Take the pill after breakfast.", "When do I take it?", "It is taken before breakfast."),
        ("It leaves at 8:10 and arrives at 9:40.", "When does it arrive?", "8:10"),
        ("She is not allergic to nuts, only to milk.", "What is she allergic to?", "nuts"),
        ("They do not take cards, only cash.", "How can I pay?", "cards"),
        ("Open all year except in August.", "When is it open?", "in August"),
        ("The spare key is no longer with Ana.", "Who has the spare key?", "Ana"),
        ("Closes at six, on Sundays at four.", "When does it open on Sundays?", "at four"),
        ("Closed Mondays, Tuesdays 9 to 5.", "When is it open?", "Mondays"),
        ("Ana doesn't eat meat and drinks tea.", "What does Ana eat?", "meat"),
        ("Open from noon to six.", "When does it open?", "six"),
        ("Open from noon to six.", "When does it close?", "noon"),
        ("Open 9 am to 5 pm.", "When does it close?", "9 am"),
    ],
)
def test_a_few_words_of_the_opposite_are_not(note: str, question: str, answer: str) -> None:
    evidence = Evidence("1", Origin.TEXT_SEARCH, "note", "Note", note, used=True)
    assert verify(answer, [evidence], question=question).outcome is VerdictOutcome.UNSUPPORTED


@pytest.mark.parametrize(
    ("note", "answer", "outcome"),
    [
        ("The trail is 1.000 km long.", "1,000 km", VerdictOutcome.SUPPORTED),
        ("The trail is 1.000 km long.", "The trail is 1000 km long.", VerdictOutcome.SUPPORTED),
        ("The trail is 1.000 km long.", "1.000 km", VerdictOutcome.SUPPORTED),
        ("The trail is 1.000 km long.", "The trail is 1.0 km long.", VerdictOutcome.SUPPORTED),
        ("The trail is 1.000 km long.", "10 km", VerdictOutcome.UNSUPPORTED),
        ("The city has 1.234.567 people.", "The city has 1,234,567 people.", VerdictOutcome.SUPPORTED),
        ("It costs 12.500,50 crowns.", "It costs 12,500.5 crowns.", VerdictOutcome.SUPPORTED),
        ("It costs 12.50 crowns.", "It costs 1,250 crowns.", VerdictOutcome.UNSUPPORTED),
        ("It weighs 0.500 kg.", "It weighs 500 kg.", VerdictOutcome.UNSUPPORTED),
        ("It weighs 1,000 kg.", "It weighs 1 kg.", VerdictOutcome.UNSUPPORTED),
        ("It runs version 1.200.3.", "It runs version 1,200.3.", VerdictOutcome.UNSUPPORTED),
    ],
)
def test_digits_may_be_grouped_by_dots(note: str, answer: str, outcome: VerdictOutcome) -> None:
    evidence = Evidence("1", Origin.TEXT_SEARCH, "note", "", note, used=True)
    assert verify(answer, [evidence]).outcome is outcome


def test_a_number_grouped_by_dots_is_calculated_with() -> None:
    evidence = Evidence("1", Origin.TEXT_SEARCH, "note", "", "It costs 1.200 crowns.", used=True)
    calculator = Calculator()
    answer = calculator.feed("<<2*1200>> crowns") + calculator.rest()
    support = verify(answer, [evidence], calculator.calculations, "What do 2 of them cost?")
    assert support.outcome is VerdictOutcome.SUPPORTED


def test_one_number_grouped_in_two_ways_is_no_dispute() -> None:
    here = Evidence("1", Origin.TEXT_SEARCH, "trail", "Orla trail", "The Orla trail is 1.000 km long.", used=True)
    there = Evidence("2", Origin.TEXT_SEARCH, "trail-2", "Orla trail", "The Orla trail is 1000 km long.", used=True)
    for answer in ("The Orla trail is 1,000 km long.", "1.000 km"):
        assert verify(answer, [here, there], question="How long is the Orla trail?").disputes == ()


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


@pytest.mark.parametrize(
    ("text", "name", "mentioned"),
    [
        ("When was the velmora built?", "Velmora", True),
        ("Who built the Velmora's engine?", "Velmora", True),
        ("How tall do giraffes grow?", "Giraffe", True),
        ("How old do elephants get?", "Ant", False),
        ("What does a hamster eat?", "Ham", False),
        ("It was built in 1942.", "42", False),
        ("Room 42, first floor", "42", True),
        ("Cafe\u0301 Orla", "Caf\u00e9 Orla", True),
        ("埃菲尔铁塔有多高", "埃菲尔铁塔", True),
        ("How old is it?", "", True),
    ],
)
def test_a_name_is_mentioned_as_a_word_of_its_own(text: str, name: str, mentioned: bool) -> None:
    assert mentions(text, name) is mentioned


def test_wording_keeps_words_apart() -> None:
    assert same_wording("I don't know", "i DON’T know.")
    assert not same_wording("I don't know", "I know")
    assert [word.key for word in words("1974crowns 3.5 can't")] == ["1974", "crowns", "3.5", "can't"]


YOUNGER = Evidence("6", Origin.TEXT_SEARCH, "orla", "Orla", "The Orla was first made in 1952.", used=True)
OLDER = Evidence("7", Origin.TEXT_SEARCH, "tandric", "Tandric", "The year in which it was founded is 1,931.", used=True)


@pytest.mark.parametrize(
    ("written", "question", "cited"),
    [
        ("<<1952-1931>> years", "", ["6", "3"]),
        ("It is <<1952-1931>> years older than Tandric.", "", ["6", "3", "3"]),
        ("<<3*45>> crowns", "What do three of them cost?", ["2"]),
        ("<<100-45>> crowns", "How much change do I get from 100 crowns?", ["2"]),
        ("<<most Orla 1952, Tandric 1931>>", "", ["6", "3"]),
    ],
)
def test_a_calculation_is_supported_by_the_numbers_that_went_into_it(
    written: str, question: str, cited: list[str]
) -> None:
    calculator = Calculator()
    answer = calculator.feed(written) + calculator.rest()
    support = verify(answer, [*ALL, YOUNGER, OLDER], calculator.calculations, question)
    assert support.outcome is VerdictOutcome.SUPPORTED
    assert [citation.evidence_id for citation in support.citations] == cited


@pytest.mark.parametrize(
    ("written", "question"),
    [
        ("<<1952-1930>> years", ""),
        ("<<3*45>> crowns", "What do two of them cost?"),
        ("<<most Orla 1931, Velmora 1952>>", ""),
        ("<<most Orla 1952, Brenn 3>>", "Is the Orla more than 3 Brenn?"),
        ("<<1952-1931>> years older than Brenn", ""),
    ],
)
def test_a_calculation_with_a_number_from_nowhere_is_unsupported(written: str, question: str) -> None:
    calculator = Calculator()
    answer = calculator.feed(written) + calculator.rest()
    support = verify(answer, [*ALL, YOUNGER], calculator.calculations, question)
    assert (support.outcome, support.citations) == (VerdictOutcome.UNSUPPORTED, ())


def test_a_result_is_cited_where_it_stands_and_not_within_another_number() -> None:
    last = replace(YOUNGER, text="The Orla was last made in 1962.")
    calculator = Calculator()
    answer = calculator.feed("In 1931 it began, <<1962-1931>> years earlier.") + calculator.rest()
    support = verify(answer, [FOUNDED, last], calculator.calculations)
    assert [(c.evidence_id, c.start, answer[c.start : c.end]) for c in support.citations] == [
        ("6", 18, "31"),
        ("3", 18, "31"),
        ("3", 3, "1931"),
    ]


@pytest.mark.parametrize(
    ("written", "marked"),
    [
        ("<<1+2>>kg, so <<2+3>> in all, not 3", ["3", "5"]),
        ("<<1+2>>kg, <<2+3>>kg, not 3", ["3", "5"]),
        ("n<<1+2>> is <<2+3>>, not 3", ["3", "5"]),
    ],
)
def test_results_are_cited_where_they_stand_whatever_stands_beside_them(written: str, marked: list[str]) -> None:
    numbers = Evidence("1", Origin.TEXT_SEARCH, "e", "", "It has 1, 2, 3 and 5.", used=True)
    calculator = Calculator()
    answer = calculator.feed(written) + calculator.rest()
    support = verify(answer, [numbers], calculator.calculations)
    assert support.outcome is VerdictOutcome.SUPPORTED
    assert all(0 <= citation.start < citation.end for citation in support.citations)
    assert [answer[citation.start : citation.end] for citation in support.citations][:2] == marked


def test_a_price_read_in_the_picture_supports_what_is_calculated_from_it() -> None:
    calculator = Calculator()
    answer = calculator.feed("<<5*12>> crowns")
    support = verify(answer, [READ], calculator.calculations, "I buy five today. What do I pay?")
    assert (support.outcome, [c.evidence_id for c in support.citations]) == (VerdictOutcome.SUPPORTED, ["4"])
    assert verify(answer, [READ], calculator.calculations, "What do I pay?").outcome is VerdictOutcome.UNCHECKED


def test_a_clause_that_nothing_states_ends_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[object] = []
    monkeypatch.setattr("quizglass_server.steps.verify.entails", lambda *parts: compared.append(parts))
    assert verify("The car is blue. " * 50, [SEEN]).outcome is VerdictOutcome.UNSUPPORTED
    assert len(compared) == 2  # with its one sentence and its title


SIGN = Evidence("6", Origin.READ_TEXT, "", "", "POOL RULES Open 9 am - 8 pm No diving 12 €", used=True)


@pytest.mark.parametrize("answer", ["Open 9 am - 8 pm", "No diving", "12 €", "8 pm No diving 12 €", SIGN.text])
def test_a_quote_of_words_in_the_picture_is_confirmed_by_them_and_cited_whole(answer: str) -> None:
    support = verify(answer, [COSTS, SIGN], question="When does it close?", quoted=True)
    assert support.outcome is VerdictOutcome.SUPPORTED
    (citation,) = support.citations
    assert (citation.evidence_id, citation.title) == ("6", "Words in the picture")
    assert answer[citation.start : citation.end] == answer


def test_lines_of_a_picture_that_are_told_apart_are_confirmed_if_each_stands_there() -> None:
    answer = "Open 9 am - 8 pm; 12 €"
    support = verify(answer, [COSTS, SIGN], question="When is it open and how much is it?", quoted=True)
    assert support.outcome is VerdictOutcome.SUPPORTED
    assert [(each.evidence_id, each.start, each.end) for each in support.citations] == [("6", 0, len(answer))]
    assert verify("No diving; 13 €", [SIGN], quoted=True).outcome is VerdictOutcome.UNCHECKED


def test_a_quote_that_no_picture_has_is_not_confirmed() -> None:
    assert verify("Open 9 am - 6 pm", [SIGN], quoted=True).outcome is VerdictOutcome.UNCHECKED
    assert verify("Shut on Mondays", [COSTS, SIGN], quoted=True).outcome is VerdictOutcome.UNSUPPORTED


def test_a_quote_that_a_note_has_too_cites_the_note() -> None:
    note = Evidence("7", Origin.IMAGE_SEARCH, "pool", "Pool", "No diving.", used=True)
    support = verify("No diving", [SIGN, note], quoted=True)
    assert [(c.evidence_id, c.title) for c in support.citations] == [("7", "Pool")]


def test_words_that_a_reply_repeats_are_cited_whole() -> None:
    support = verify(f"It says: {SIGN.text}", [SIGN], quoted=True)
    assert support.outcome is VerdictOutcome.UNCHECKED
    assert [(c.start, c.end, c.title) for c in support.citations] == [(9, 9 + len(SIGN.text), "Words in the picture")]


def test_the_citation_of_a_quote_ends_with_its_bracket_and_before_its_stop() -> None:
    note = Evidence(
        "1", Origin.TEXT_SEARCH, "c", "Compost", "Lid must be on (rats)\nNo bread!! Fee is 12 €.", used=True
    )
    for answer, end in (("Lid must be on (rats)", 21), ("No bread!!", 8), ("Lid must be on (rats); No bread!!", 31)):
        first = verify(answer, [note], quoted=True).citations[0]
        assert (first.start, first.end) == (0, end)


def test_a_title_in_front_of_a_quote_belongs_to_it() -> None:
    note = Evidence(
        "1", Origin.IMAGE_SEARCH, "rex", "Rex (our dog), 2019", "A terrier; from Brenn. He bites.", used=True
    )
    support = verify("Rex (our dog), 2019: A terrier;", [note], quoted=True)
    assert support.outcome is VerdictOutcome.SUPPORTED
    assert [(c.start, c.end) for c in support.citations] == [(0, 30)]


def test_a_quoted_row_of_a_table_is_supported_by_the_passage_that_it_is_cut_from() -> None:
    rows = ("part: RAM; value: 4 GB DDR2", "part: socket; value: AM2")
    found = [
        Evidence(str(at), Origin.TEXT_SEARCH, "board", "Board", f"Board: {row}", used=True)
        for at, row in enumerate(rows)
    ]
    one, both = verify(rows[1], found, quoted=True), verify("; ".join(rows), found, quoted=True)
    assert one.outcome is both.outcome is VerdictOutcome.SUPPORTED
    assert [(c.evidence_id, rows[1][c.start : c.end]) for c in one.citations] == [
        ("1", "part: socket"),
        ("1", "value: AM2"),
    ]
    assert [(c.evidence_id, "; ".join(rows)[c.start : c.end]) for c in both.citations] == [
        ("0", "part: RAM"),
        ("0", "value: 4 GB DDR2"),
        ("1", "part: socket"),
        ("1", "value: AM2"),
    ]


@pytest.mark.parametrize("answer", ["part: socket; value: AM3", "part: RAM; value: AM2 socket"])
def test_a_quote_that_no_passage_has_is_unsupported(answer: str) -> None:
    found = [Evidence("1", Origin.TEXT_SEARCH, "pc", "Old PC", "Old PC: part: socket; value: AM2", used=True)]
    assert verify(answer, found, quoted=True).outcome is VerdictOutcome.UNSUPPORTED


def test_a_line_that_another_line_repeats_is_cited_as_a_whole() -> None:
    text = (
        "network: Mar\nguest network: Marina, password bienvenue\nrouter: in the hall\nmy router: at http://fritz.box"
    )
    note = Evidence(id="1", origin=Origin.TEXT_SEARCH, entry_id="wifi", title="Wifi", text=text, used=True)
    answer = "guest network: Marina, password bienvenue; my router: at http://fritz.box"
    citations = verify(answer, [note], quoted=True).citations
    assert [answer[each.start : each.end] for each in citations] == answer.split("; ")


def test_a_quote_with_the_heading_of_its_section_is_supported_as_a_whole() -> None:
    text = "Contacts: Henrik:\nNeighbour. Has our spare key."
    note = Evidence(id="1", origin=Origin.TEXT_SEARCH, entry_id="c", title="Contacts", text=text, used=True)
    support = verify("Henrik: Has our spare key.", [note], question="Who has our key?", quoted=True)
    assert support.outcome is VerdictOutcome.SUPPORTED
    assert [(each.start, each.end) for each in support.citations] == [(0, 25)]
    assert verify("Amira: Has our spare key.", [note], quoted=True).outcome is VerdictOutcome.UNSUPPORTED
