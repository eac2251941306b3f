"""What a turn takes from a dialogue: its question, its history, its picture, and what it is not about."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.values import (
    Citation,
    Done,
    EvidenceFound,
    Exchange,
    FinishReason,
    Origin,
    TurnEvent,
    Verdict,
    VerdictOutcome,
)
from quizglass_server.domain.turns import Evidence, Picture, Turn
from quizglass_server.session.conversation import Conversation, Said
from quizglass_server.session.dialogue.following import Followed, Spoken, appended, follow, latest, spoken

OLD, NEW = b"\1" * 32, b"\2" * 32
NAMED = Spoken("What is this called?", "Velmora", OLD)
PRICED = Spoken("How much does the boat on the left cost?", "45 crowns", OLD, ("Velmora",))
UNCHECKED = Spoken("How much does the boat on the left cost?", "45 crowns", OLD)
ALONE = Spoken("Who founded Jolawex?", "Mara Lind", entities=("Jolawex",))


def asked(question: str, *dialogue: Spoken, frame: bytes = b"", longest: int = 8) -> Followed:
    picture = Picture(frame, np.zeros((1, 1, 3), np.uint8)) if frame else None
    return follow(Turn("0" * 32, question, picture), dialogue, longest)


def said(followed: Followed) -> list[tuple[str, str]]:
    return [(exchange.question, exchange.answer) for exchange in followed.turn.history]


@pytest.mark.parametrize(
    ("question", "last", "frame", "needed"),
    [
        ("What colour is this?", PRICED, OLD, True),
        ("What colour is this?", ALONE, OLD, True),  # the last picture there was
        ("How much does it weigh?", PRICED, OLD, False),  # its name is known
        ("How much does it weigh?", UNCHECKED, OLD, True),
        ("When was it founded?", ALONE, b"", False),  # of no picture
        ("Who designed the boat?", UNCHECKED, OLD, False),
        ("Who designed the boat?", ALONE, OLD, False),  # the last picture there was
        ("Who founded Zelfex?", PRICED, b"", False),
        ("And the other one?", PRICED, OLD, True),
        ("And when?", PRICED, OLD, True),  # its name alone does not say what is asked
        ("How old is he?", UNCHECKED, OLD, True),
        ("And when?", ALONE, b"", False),  # about the thing that was named
    ],
)
def test_the_picture_matters_where_the_question_points_at_it(
    question: str, last: Spoken, frame: bytes, needed: bool
) -> None:
    followed = asked(question, NAMED, last)
    assert (followed.frame, followed.needed) == (frame, needed)


def test_a_dialogue_without_pictures_needs_none() -> None:
    followed = asked("And this one?", ALONE)
    assert (followed.frame, followed.needed) == (b"", False)
    assert followed.turn.question == "And this one?"


def test_a_turn_with_a_picture_of_its_own_takes_no_other() -> None:
    followed = asked("What is this?", PRICED, frame=NEW)
    assert (followed.frame, followed.needed) == (b"", False)


def test_it_has_the_name_that_was_found_out_without_being_said() -> None:
    exchanges = [("What is this called?", "Velmora"), ("What is it called?", "Velmora"), (PRICED.question, "45 crowns")]
    assert said(asked("How much does it weigh?", NAMED, PRICED)) == exchanges
    assert said(asked("How much does it weigh?", NAMED)) == exchanges[:1]
    assert said(asked("Who designed the boat?", PRICED))[0] == ("What is it called?", "Velmora")
    assert said(asked("Who founded Zelfex?", PRICED)) == [(PRICED.question, "45 crowns")]
    assert said(asked("Is it large?", Spoken("Who made the velmora?", "Jolawex", b"", ("Velmora",))))[0][1] == "Jolawex"


def test_it_stays_what_it_was_over_answers_that_name_nothing() -> None:
    weighed = Spoken("How much does it weigh?", "I don't know", OLD)
    followed = asked("Who made it?", PRICED, weighed)
    assert said(followed) == [(PRICED.question, "45 crowns"), ("What is it called?", "Velmora"), said(followed)[-1]]
    assert (followed.frame, followed.needed) == (OLD, False)
    assert len(said(asked("Who made it?", NAMED, UNCHECKED, weighed))) == 3  # the boat's name is unknown


def test_what_is_asked_of_no_thing_does_not_become_it() -> None:
    astray = Spoken("Is breakfast included?", "With spring onions", entities=("Porridge",))
    thanks = Spoken("Thanks!", "You're welcome.")
    followed = asked("How much does it weigh?", PRICED, astray, thanks)
    assert (followed.frame, followed.needed) == (OLD, False)
    assert [answer for question, answer in said(followed) if question == "What is it called?"] == ["Velmora"]
    assert asked("And when?", PRICED, thanks).frame == OLD
    assert asked("When was it founded?", PRICED, ALONE).frame == b""  # that has a name


def test_the_name_of_it_is_of_no_answer_to_a_question_without_a_subject() -> None:
    astray = Spoken("And when?", "In May", OLD, ("Jolawex",))
    assert ("What is it called?", "Velmora") in said(asked("Who made it?", PRICED, astray))
    renamed = Spoken("Who was it that designed the Tagrin?", "Mara Lind", OLD, ("Tagrin",))
    assert said(asked("Who made it?", PRICED, renamed)) == [
        (PRICED.question, "45 crowns"),
        (renamed.question, "Mara Lind"),
    ]


def test_a_person_that_was_named_is_asked_about_without_the_picture() -> None:
    painted = Spoken("Who painted this?", "It was painted by Ole Berg in 1912.", OLD, ("Harbour",))
    followed = asked("When was he born?", painted)
    assert (followed.turn.question, followed.frame) == ("When was Ole Berg born?", b"")
    born = Spoken("When was Ole Berg born?", "1880")
    assert asked("And where?", painted, born).frame == b""
    assert asked("Where did he live?", painted, born).turn.question == "Where did Ole Berg live?"
    assert asked("How big is it?", painted, born).frame == b""
    when = Spoken("And when?", "In 1912.", OLD)
    assert asked("When was he born?", painted, when).turn.question == "When was Ole Berg born?"
    assert asked("When was he born?", painted, frame=OLD).turn.question == "When was Ole Berg born?"
    assert asked("When was he born?", painted, frame=NEW).turn.question == "When was he born?"
    walked = Spoken("Who walks him?", "Lena walks him.", OLD, ("Balu",))
    assert asked("How old is he?", walked).frame == OLD


def test_another_thing_of_the_picture_has_not_the_name_of_the_one_before() -> None:
    plain = [(PRICED.question, "45 crowns")]
    assert said(asked("Who designed the tower?", PRICED)) == plain
    assert said(asked("Who designed the red boat?", PRICED)) == plain
    assert said(asked("Who designed the boat at the top?", PRICED)) == plain
    assert said(asked("Who designed the boat?", PRICED, frame=NEW)) == plain
    assert len(said(asked("Who designed the boat?", PRICED, frame=OLD))) == 2


def test_this_is_no_thing_of_another_picture_but_it_may_be() -> None:
    assert said(asked("Who made this?", NAMED, ALONE, PRICED, frame=NEW)) == [(ALONE.question, "Mara Lind")]
    assert said(asked("Who made this?", NAMED, PRICED, frame=OLD))[0] == ("What is this called?", "Velmora")
    assert said(asked("Who made it?", NAMED, frame=NEW)) == [("What is this called?", "Velmora")]


def test_the_other_one_is_the_question_again_and_not_the_thing_before() -> None:
    followed = asked("And the other one?", NAMED, PRICED)
    assert followed.turn.question == "How much does the boat on the right cost?"
    assert followed.turn.history == ()
    assert followed.turn.other_than == ("Velmora", "45 crowns")
    assert asked("How much does the other one weigh?", NAMED).turn.other_than == ("Velmora",)
    assert asked("And this one?", PRICED, frame=NEW).turn.question == "How much does the boat cost?"
    assert asked("And this one?", PRICED, frame=NEW).turn.other_than == ()


def test_no_more_history_than_a_turn_may_have() -> None:
    dialogue = [Spoken(f"Who founded Jolawex {i}?", str(i)) for i in range(5)]
    assert said(asked("Who founded Zelfex?", *dialogue, longest=2)) == [(d.question, d.answer) for d in dialogue[-2:]]
    assert said(asked("Who founded Zelfex?", *dialogue, longest=0)) == []


@given(st.integers(0, 200), st.integers(0, 16))
def test_a_history_that_outgrows_its_bound_begins_as_before_for_half_of_it(count: int, longest: int) -> None:
    exchanges = tuple(Exchange(f"Who founded Jolawex {i}?", str(i)) for i in range(count + 1))
    before, after = latest(exchanges[:-1], longest), latest(exchanges, longest)
    assert after == exchanges[len(exchanges) - len(after) :]
    assert min(count + 1, (longest + 1) // 2) <= len(after) <= longest
    if longest > 1 and before[:1] != after[:1] and count > longest:
        assert len(before) == longest
        assert len(after) == longest - longest // 2 + 1


def test_a_long_conversation_begins_as_before_from_one_question_to_the_next() -> None:
    conversation, beginnings = Conversation((Spoken("Before?", "Yes."),)), []
    for number in range(100):
        exchange = Said(str(number), f"Who founded Jolawex {number}?")
        exchange.spoken = Spoken(exchange.question, str(number))
        conversation.add(exchange)
        assert 1 <= len(conversation.dialogue) <= 32
        assert conversation.dialogue[-1] == exchange.spoken
        beginnings.append(asked("Who founded Zelfex?", *conversation.dialogue).turn.history[0])
    assert len(set(beginnings)) <= 100 / 4 + 2


def test_what_was_said_elsewhere_is_appended() -> None:
    dialogue = appended((NAMED,), [Exchange("Is it loud?", "No")])
    assert dialogue == (NAMED, Spoken("Is it loud?", "No"))
    assert asked("How much does it weigh?", *dialogue).frame == b""


SEEN = Evidence("1", Origin.IMAGE_SEARCH, "velmora", "Velmora", "a boat", used=True)
MAKER = Evidence("2", Origin.TEXT_SEARCH, "jolawex", "Jolawex", "founded by Mara Lind", used=True)
SUPPORTED = VerdictOutcome.SUPPORTED


def left(outcome: VerdictOutcome, evidence: list[Evidence], *cited: str) -> Spoken:
    turn = Turn("0" * 32, "What?", Picture(OLD, np.zeros((1, 1, 3), np.uint8)))
    citations = tuple(Citation("1", title.lower(), title, 0, 4) for title in cited)
    done = Done("That.", FinishReason.COMPLETE, citations)
    events: list[TurnEvent] = [*(EvidenceFound((item,)) for item in evidence), Verdict(outcome, 1.0, 1.0)]
    return spoken(turn, events, done)


def test_a_turn_leaves_what_its_supported_answer_cites() -> None:
    assert left(SUPPORTED, [MAKER], "Jolawex", "Jolawex", "") == Spoken("What?", "That.", OLD, ("Jolawex",))
    assert left(SUPPORTED, [SEEN], "Velmora").entities == ("Velmora",)
    assert left(SUPPORTED, [SEEN, MAKER], "Jolawex").entities == ()  # it is the boat
    assert left(VerdictOutcome.UNSUPPORTED, [SEEN], "Velmora").entities == ()
    assert len(left(SUPPORTED, [], *(f"{'long' * 100}{i}" for i in range(9))).entities) == 4
