"""Whole turns that words in the picture answer, where no note does."""

from collections.abc import Sequence

import pytest

from quizglass.values import AnswerKind, EvidenceFound, Origin, TurnEvent, Verdict, VerdictOutcome
from quizglass_bundle.tuning import Answers
from tests.support.scripted_policy import of
from tests.support.turn_fakes import VELMORA, World, done, turn

SIGN = ["BAKERY", "Open 6:30 to 17:00", "Mondays closed"]
ACCEPT = 0.9


def world_of(lines: Sequence[str], scores: dict[str, float]) -> World:
    """A world with a sign; what is not scored answers nothing."""
    world = World(quote_accept=ACCEPT, answers=Answers.QUOTE)
    world.models.lines, world.models.scores = list(lines), {**scores, "": 0.001}
    return world


def cited(events: Sequence[TurnEvent]) -> set[Origin]:
    found = {item.id: item.origin for event in of(EvidenceFound, events) for item in event.items}
    return {found[each.evidence_id] for each in done(events).citations}


@pytest.mark.parametrize("question", ["When do they open?", "On which day can I not buy bread?"])
async def test_lines_that_answer_are_quoted_and_cited(question: str) -> None:
    events = await world_of(SIGN, {"Mondays closed": 0.85}).ask(turn(question), "quote")
    (verdict,) = of(Verdict, events)
    assert done(events).answer == "BAKERY Open 6:30 to 17:00 Mondays closed"
    assert (verdict.kind, verdict.outcome) == (AnswerKind.QUOTED, VerdictOutcome.SUPPORTED)
    assert cited(events) == {Origin.READ_TEXT}


@pytest.mark.parametrize(
    ("question", "answer"), [("Which way do I turn it?", "I don't know"), ("What is the number plate?", "GM 125")]
)
async def test_marks_without_a_word_answer_only_what_is_asked_about_words(question: str, answer: str) -> None:
    events = await world_of(["GM 125"], {"GM 125": 0.95}).ask(turn(question), "quote")
    assert done(events).answer == answer


async def test_of_many_words_the_line_is_quoted() -> None:
    lines = [*SIGN, "Rye loaf 4.20", "Plum cake 3.10", "Rolls 0.45 each"]
    events = await world_of(lines, {": Plum cake": 0.8}).ask(turn("How much is the plum cake?"), "quote")
    assert done(events).answer == "Plum cake 3.10"


async def test_a_quoted_line_is_confirmed_by_the_words_that_were_read_and_cited_whole() -> None:
    lines = [*SIGN, "Rye loaf 4.20", "Open 9 am - 8 pm in summer", "Rolls 0.45 each", "Plum cake"]
    events = await world_of(lines, {": Open 9 am": 0.8}).ask(turn("When does it close?"), "quote")
    assert done(events).answer == "Open 9 am - 8 pm in summer"
    (verdict,) = of(Verdict, events)
    assert verdict.outcome is VerdictOutcome.SUPPORTED
    assert [(c.start, c.end, c.title) for c in done(events).citations] == [(0, 26, "Words in the picture")]


async def test_a_note_that_answers_better_is_quoted() -> None:
    world = world_of(SIGN, {"BAKERY": 0.2, "45 crowns": 0.99})
    events = await world.ask(turn("What does it cost?"), "quote")
    assert "45 crowns" in done(events).answer
    assert Origin.READ_TEXT not in cited(events)


async def test_nothing_is_read_where_a_note_answers_a_question_of_something_else() -> None:
    world = world_of(SIGN, {"45 crowns": 0.99})
    await world.ask(turn("Who made the best of these?"), "quote")
    assert not world.models.calls.of("reader")


async def test_words_that_do_not_answer_leave_it_at_not_knowing() -> None:
    events = await world_of(SIGN, {}).ask(turn("Do they take cards?"), "quote")
    (verdict,) = of(Verdict, events)
    assert verdict.outcome is VerdictOutcome.ABSTAINED


@pytest.mark.parametrize(
    ("question", "lines", "answer"),
    [
        ("How much do they cost?", ["PEARS", "2.49 a kilo"], "It says: PEARS 2.49 a kilo"),
        ("Which brand are they?", ["PEARS", "of Tadrin"], "It says: PEARS of Tadrin"),
        ("How much do they cost?", ["PEARS", "of Tadrin"], "I don't know"),  # no number
        ("Who do I ring about them?", ["NO PARKING"], "I don't know"),
        ("How much do they cost?", ["GM 125"], "I don't know"),  # letters that are taken for words
        (
            "How much do they cost?",
            [*SIGN, "Rye loaf", "Plum cake", "Rolls and buns"],
            "I don't know",
        ),  # too long to hear
        ("Who grew them?", ["PEARS", "2.49 a kilo"], "I don't know"),  # not about words
    ],
)
async def test_a_few_words_that_a_question_may_be_about_are_repeated(
    question: str, lines: list[str], answer: str
) -> None:
    events = await world_of(lines, {}).ask(turn(question), "quote")
    assert done(events).answer == answer
    (verdict,) = of(Verdict, events)
    assert verdict.outcome is (VerdictOutcome.UNSUPPORTED if answer.startswith("It says") else VerdictOutcome.ABSTAINED)
    assert verdict.notes.get("off_question", "") == answer.partition("It says: ")[2]


async def test_words_stand_in_for_a_generator_that_does_not_know() -> None:
    world = world_of(SIGN, {"Open 6:30": 0.8})
    world.models.answer = ["I don't know"]
    events = await world.ask(turn("When do they open?"), "both")
    assert (done(events).answer, cited(events)) == (" ".join(SIGN), {Origin.READ_TEXT})


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which bakery is this?", " ".join(SIGN)),
        ("Which Velmora is this?", VELMORA.title),
        ("What is this?", VELMORA.title),
    ],
)
async def test_a_kind_that_the_recognised_entry_is_not_of_may_be_named_by_words(question: str, answer: str) -> None:
    events = await world_of(SIGN, {"BAKERY": 0.8}).ask(turn(question), "quote")
    assert done(events).answer.startswith(answer)


async def test_halves_that_two_pieces_answer_are_quoted_as_the_lines_from_the_first_to_the_last() -> None:
    lines = [
        "Closed on Mondays",
        "Adults 12, children free",
        "No flash photography",
        "Cloakroom on the lower floor",
        "Cafe",
    ]
    world = world_of(lines, {"No flash photography": 0.9, "Cloakroom on the lower floor": 0.9})
    events = await world.ask(turn("May I take photos and where do I leave my coat?"), "quote")
    (verdict,) = of(Verdict, events)
    answer = done(events).answer
    assert "No flash photography Cloakroom on the lower floor" in answer
    assert answer.count("No flash photography") == 1
    assert (verdict.outcome, "unanswered" in verdict.notes) == (VerdictOutcome.SUPPORTED, False)


MENU = [
    "TRATTORIA LAGO",
    "Mains",
    "Gnocchi al burro 11.00",
    "Trout with potatoes 16.80",
    "Desserts",
    "Tiramisu 5.20",
    "Panna cotta 4.90",
]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the cheapest main?", "Gnocchi al burro 11.00"),
        ("Is the trout cheaper than the tiramisu?", "Trout with potatoes 16.80; Tiramisu 5.20"),
        ("What desserts do they have?", "Desserts: Tiramisu 5.20; Panna cotta 4.90"),
        ("Read me the desserts", "Desserts: Tiramisu 5.20; Panna cotta 4.90"),
        ("Read me the menu", " ".join(MENU)),
    ],
)
@pytest.mark.parametrize("recognised", [True, False])
async def test_lines_answer_together_and_are_cited_whole(question: str, answer: str, recognised: bool) -> None:
    world = world_of(MENU, {"Panna cotta 4.90": 0.8})
    if not recognised:
        world.knowledge.entries.clear()
    events = await world.ask(turn(question), "quote")
    (verdict,) = of(Verdict, events)
    assert (done(events).answer, verdict.outcome) == (answer, VerdictOutcome.SUPPORTED)
    assert [(c.start, c.end, c.title) for c in done(events).citations] == [(0, len(answer), "Words in the picture")]


async def test_a_heading_that_answers_best_is_told_with_what_is_below_it() -> None:
    lines = [
        "DOLOREX 400",
        "Adults: 1 tablet every 6 hours",
        "Warnings:",
        "Do not drive",
        "Storage:",
        "Below 25 C, dry",
    ]
    events = await world_of(lines, {": Warnings:": 0.85}).ask(turn("What should I beware of?"), "quote")
    (verdict,) = of(Verdict, events)
    assert (done(events).answer, verdict.outcome) == ("Warnings: Do not drive", VerdictOutcome.SUPPORTED)


@pytest.mark.parametrize("question", ["What is this letter about?", "Summarise the letter"])
async def test_the_subject_says_what_a_letter_is_about(question: str) -> None:
    world = world_of(["Northfield Water", "Subject: Meter replacement", "Dear Mr Holm,", "we will replace it."], {})
    world.knowledge.entries.clear()
    world.models.sees = False
    assert done(await world.ask(turn(question), "quote")).answer == "Subject: Meter replacement"
