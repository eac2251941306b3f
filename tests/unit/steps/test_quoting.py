"""Which sentences of a note are quoted, and how they are cut out of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.values import Origin
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.quoting import (
    LONGEST_ANSWER,
    beginning_of,
    chosen,
    going_on,
    joined,
    may_answer,
    of_named,
    of_sections,
    quotable,
    raised,
    sentences_of,
    with_sections,
)


def note(text: str, title: str = "Aloe", entry: str = "aloe") -> Evidence:
    return Evidence(id="1", origin=Origin.TEXT_SEARCH, entry_id=entry, title=title, text=text)


def said(text: str, title: str = "Aloe") -> list[str]:
    return [sentence.text for sentence in sentences_of([note(text, title)])]


def test_a_note_is_cut_into_sentences_word_for_word() -> None:
    assert said("From aunt Gerda, 2019. Water every three weeks! Why? It rots.") == [
        "From aunt Gerda, 2019.",
        "Water every three weeks!",
        "Why? It rots.",
    ]


def test_abbreviations_end_no_sentence() -> None:
    assert said("Rented from Mrs. Kessler, No. 4, e.g. Berlin. Max. 80 kg, approx. two men.") == [
        "Rented from Mrs. Kessler, No. 4, e.g. Berlin.",
        "Max. 80 kg, approx. two men.",
    ]


def test_dots_that_leave_a_sentence_open_end_none_before_a_small_letter() -> None:
    assert said("Four on steel... no, alloy, 185/65 R15. Sold... Gone.") == [
        "Four on steel... no, alloy, 185/65 R15.",
        "Sold...",
        "Gone.",
    ]


def test_a_unit_behind_a_number_ends_a_sentence() -> None:
    assert said("CAT III 600 V. Resolution 2 g. Made by R. Feldman.") == [
        "CAT III 600 V.",
        "Resolution 2 g.",
        "Made by R. Feldman.",
    ]


def test_a_number_or_a_name_stands_with_the_abbreviation_before_it() -> None:
    assert said("Comes out in Advent. Box is no. 4 in the attic. No. It is in the cellar.") == [
        "Comes out in Advent.",
        "Box is no. 4 in the attic.",
        "No.",
        "It is in the cellar.",
    ]
    assert said("It is in Str. 14.\nMr. J. R. Hartley serviced it on Oct. 5 2024.") == [
        "It is in Str. 14.",
        "Mr. J. R. Hartley serviced it on Oct. 5 2024.",
    ]


def test_headings_are_quoted_with_nothing_under_them_and_weighed_with_the_first_sentence() -> None:
    under = note("Board: History:\n- 2021: capacitor replaced by Tobias\n- 2024: fuse blown", "Board")
    first, second = sentences_of([under])
    assert (first.text, first.titled) == (
        "2021: capacitor replaced by Tobias",
        "Board: History: 2021: capacitor replaced by Tobias",
    )
    assert (second.text, second.titled) == ("2024: fuse blown", "Board: 2024: fuse blown")
    assert beginning_of(under) == "2021: capacitor replaced by Tobias; 2024: fuse blown"
    assert said("Board:\nMade in 2019.", "Board") == ["Made in 2019."]
    assert said("Kept in:\n") == ["Kept in:"]


def test_passages_that_were_stored_with_headings_on_the_same_line_are_quoted_as_before() -> None:
    assert said("Board: History: Made in 2019. Sold.", "Board") == ["History: Made in 2019.", "Sold."]


@given(st.lists(st.sampled_from(["no.", "Mr.", "Hartley", "Oct.", "It", "rots.", "Ill?", "(see", "p.", "end.)"])))
def test_joined_the_sentences_of_a_line_are_the_line(parts: list[str]) -> None:
    numbered = [f"{part} {number}" for number, part in enumerate(parts)]  # none is there twice: such are weighed once
    line = " ".join(["It", *numbered])
    assert " ".join(said(line, "")[:32]) == line or len(numbered) > 16


def test_a_question_stands_with_what_answers_it() -> None:
    assert said("Code 4711. Damaged? Facility desk, extension 4410. Ill? Ring before eight.") == [
        "Code 4711.",
        "Damaged? Facility desk, extension 4410.",
        "Ill? Ring before eight.",
    ]


def test_a_dotted_abbreviation_ends_a_sentence_where_no_small_letter_follows() -> None:
    assert said("Open from 6 to 9 a.m. only. Closed at 5 p.m. Ring twice.") == [
        "Open from 6 to 9 a.m. only.",
        "Closed at 5 p.m.",
        "Ring twice.",
    ]


def test_marks_of_lists_and_the_title_above_are_left_out() -> None:
    assert said("Aloe: - Water it.\n2. Turn it.\n---\n* No sun") == ["Water it.", "Turn it.", "No sun"]


def test_a_day_before_its_month_is_no_mark_and_ends_no_sentence() -> None:
    assert said("24. Dezember: zu. Am 31. Dezember bis 14 Uhr.\n2. Mark the place.") == [
        "24. Dezember: zu.",
        "Am 31. Dezember bis 14 Uhr.",
        "Mark the place.",
    ]


def test_lines_of_a_list_are_quoted_one_by_one_and_are_parted() -> None:
    found = sentences_of([note("- Ticket 12.50, kids free\n- warm! Leave jackets in the locker\n- guide: Mr. Osei")])
    assert joined(chosen(found, [0.9, 0.1, 0.1, 0.1], 0.5)) == "Ticket 12.50, kids free"
    assert joined(chosen(found, [0.9, 0.1, 0.1, 0.8], 0.5)) == "Ticket 12.50, kids free; guide: Mr. Osei"
    assert beginning_of(note("- Sunday 4 June\n- warm!\n- guide: Mr. Osei")) == "Sunday 4 June; warm! guide: Mr. Osei"


def test_the_best_sentence_is_quoted_and_a_second_one_that_may_answer_too() -> None:
    found = sentences_of([note("One. Two. Three. Four.")])
    assert joined(chosen(found, [0.1, 0.15, 0.12, 0.8], 0.5)) == "Four."
    assert joined(chosen(found, [0.1, 0.3, 0.25, 0.8], 0.5)) == "Two. Four."
    assert chosen(found, [0.1, 0.4, 0.2, 0.3], 0.5) == []
    assert chosen([], [], 0.0) == []


def test_beside_a_sure_sentence_a_second_one_is_quoted_only_if_it_answers_as_well() -> None:
    found = sentences_of([note("One. Two. Three.")])
    assert joined(chosen(found, [0.95, 0.5, 0.1], 0.5)) == "One."
    assert joined(chosen(found, [0.95, 0.7, 0.1], 0.5)) == "One. Two."


def test_a_second_sentence_of_another_entry_is_never_added() -> None:
    found = sentences_of([note("One."), note("Two.", "Fig", "fig")])
    assert joined(chosen(found, [0.9, 0.89], 0.5)) == "One."


def test_what_a_semicolon_parts_is_quoted_together() -> None:
    found = sentences_of([note("He is moved to whoever broke the build; at the moment that is Yuki. Ask him first.")])
    assert joined(chosen(found, [0.9, 0.1, 0.1], 0.5)) == (
        "He is moved to whoever broke the build; at the moment that is Yuki."
    )
    assert joined(chosen(found, [0.1, 0.9, 0.1], 0.5)).startswith("He is moved")
    assert joined(chosen(found, [0.1, 0.1, 0.9], 0.5)) == "Ask him first."


def test_a_long_list_parted_by_semicolons_is_quoted_in_parts() -> None:
    found = sentences_of([note("; ".join(f"Part {number} is one of many parts" for number in range(8)) + ".")])
    assert joined(chosen(found, [0.1, 0.9, *[0.1] * 6], 0.5)) == "Part 1 is one of many parts"


def test_two_sentences_that_are_long_together_are_one_too_many() -> None:
    long = "word " * (LONGEST_ANSWER - 5)
    found = sentences_of([note(f"{long.strip()}. And seven more words stand in here.")])
    assert len(chosen(found, [0.9, 0.9], 0.5)) == 1
    found = sentences_of([note(f"{long.strip()}. And seven more words stand in here. Three stand here.")])
    assert joined(chosen(found, [0.9, 0.9, 0.7], 0.5)).endswith("Three stand here.")


def test_a_sentence_that_names_what_is_asked_for_is_likelier_to_answer() -> None:
    found = sentences_of([note("It shows the constellation Fornax. It shows galaxies.")])
    assert raised("In which constellation is this?", found, [0.5, 0.5]) == pytest.approx([0.8, 0.5])
    assert raised("When was it taken?", found, [0.5, 0.5]) == pytest.approx([0.5, 0.5])
    assert raised("Does it show galaxies?", found, [0.1, 0.5]) == pytest.approx([0.308, 0.8], abs=1e-3)


def test_an_overview_is_how_the_note_begins() -> None:
    assert beginning_of(note("Aloe: From Gerda. Water it.", "Aloe")) == "From Gerda. Water it."
    long = " ".join(f"Sentence {number} has six words here." for number in range(20))
    assert len(beginning_of(note(long)).split()) <= LONGEST_ANSWER


@given(st.text(max_size=400), st.text(max_size=20))
def test_every_sentence_stands_in_the_note_but_for_spacing(text: str, title: str) -> None:
    whole = "".join(text.split())
    for sentence in sentences_of([note(text, title)]):
        assert "".join(sentence.text.split()) in whole


def test_of_what_was_found_the_entries_that_a_question_names_are_quoted_alone() -> None:
    found = [note("Eggs daily.", "Our hens", "hens"), note("3 eggs.", "Pancakes, Aunt Jo's", "pancakes")]
    assert of_named(found, "How many eggs go into Aunt Jo's pancakes?") == found[1:]
    assert of_named(found, "How many eggs do I need?") == found


@pytest.mark.parametrize(
    ("question", "pictured", "recognised", "may"),
    [
        ("How much are the tickets?", False, False, True),
        ("How much are the tickets?", True, False, False),
        ("How much are the cathedral's tickets, and is the cathedral open?", True, False, True),
        ("How much is it to get into the cathedral?", True, False, False),
        ("How much is it to get into the cathedral?", False, False, True),
        ("How much is it?", False, False, False),
        ("How much is it to get into the cathedral in Berlin?", True, True, True),
        ("How much are the cathedral's tickets?", True, True, False),
    ],
)
def test_an_entry_found_by_text_answers_what_may_be_about_it(
    question: str, pictured: bool, recognised: bool, may: bool
) -> None:
    assert may_answer("Berlin, the cathedral", question, (), pictured=pictured, recognised=recognised) is may


def test_an_entry_that_a_classifier_sees_may_answer() -> None:
    assert may_answer("Koala", "What does it eat?", ["koala"], pictured=True, recognised=False)


def test_any_passage_of_an_entry_may_say_what_it_is_about() -> None:
    found = [
        note("Tuned in April.", "Instruments", "a"),
        note("The piano: 1923.", "Instruments", "a"),
        note("1974.", "X", "x"),
    ]
    of = {"tags": (), "pictured": False, "recognised": False}
    assert quotable(found, "When is the piano tuned?", **of) == found[:2]
    assert quotable(found, "When was the organ built?", **of) == []
    assert quotable(found, "When is tuning?", **of) == found


def test_a_question_that_goes_on_is_answered_by_what_it_asks_and_not_by_what_was_asked_before() -> None:
    found = sentences_of([note("Lives only 10 days. Bought by Dad in Hong Kong. Insured for 900 crowns.")])
    together, alone = [0.9, 0.8, 0.1], [0.1, 0.2, 0.3]
    assert going_on(together, alone, "And where?", found, 0.5) == [0.0, 0.8, 0.0]
    assert going_on(together, [0.6, 0.2, 0.3], "For how much?", found, 0.5) == [0.9, 0.0, 0.0]
    assert going_on(together, alone, "For how much?", found, 0.5) == alone
    assert going_on(together, [], "And where?", found, 0.5) == together


_CONTACTS = (
    "Contacts: Amira:\nSister-in-law. Phone 0341 555 0142.",
    "Contacts: Henrik:\nNeighbour. Phone 0176 555 8821. Has our spare key.",
)


def contacts() -> list[Evidence]:
    return [note(text, "Contacts", "contacts") for text in _CONTACTS]


def test_a_section_that_the_question_names_answers_alone_under_its_heading() -> None:
    meant = of_sections(sentences_of(contacts()), "What's Henrik's phone number?")
    assert [sentence.titled for sentence in meant] == [
        "Contacts: Henrik: Neighbour.",
        "Contacts: Henrik: Phone 0176 555 8821.",
        "Contacts: Henrik: Has our spare key.",
    ]


def test_other_notes_and_questions_that_name_no_section_stay_as_they_are() -> None:
    other = note("Lent to Henrik.", "Binoculars", "binoculars")
    found = sentences_of([*contacts(), other])
    assert of_sections(found, "Who has our spare key?") == found
    assert of_sections(found, "What does Henrik have?")[-1].titled == "Binoculars: Lent to Henrik."


def test_the_same_sentence_in_two_sections_is_two() -> None:
    evidence = [note(f"Contacts: {name}:\nNeighbour. Retired.", "Contacts", "contacts") for name in ("Amira", "Henrik")]
    assert [(each.section, each.text) for each in sentences_of(evidence)] == [
        ("Amira", "Neighbour."),
        ("Amira", "Retired."),
        ("Henrik", "Neighbour."),
        ("Henrik", "Retired."),
    ]


def test_a_quote_is_told_with_its_heading_where_that_has_what_is_asked() -> None:
    key = next(each for each in sentences_of(contacts()) if "key" in each.text)
    assert joined(with_sections([key], "Who has our spare key?")) == "Henrik: Has our spare key."
    assert joined(with_sections([key], "Do we have a spare key?")) == "Has our spare key."


def test_a_section_that_the_question_names_answers_beside_a_picture_of_something_else() -> None:
    found = contacts()
    assert quotable(found, "When was Amira born?", (), pictured=True, recognised=True) == found[:1]
    assert quotable(found, "When was this made?", (), pictured=True, recognised=True) == []
