"""Later turns of a conversation are asked with a system's own answers, conversations side by side."""

from threading import Barrier

from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.evaluation.conversations import OwnHistory, ask_in_turn
from quizglass_lab.reporting.answers.answered import AnswerLine

GOLD = (("first?", "gold 1"), ("second?", "gold 2"))
TURNS = [
    Sample(f"{name}{turn}", ("first?", "second?", "third?")[turn], session=name, history=GOLD[:turn])
    for turn in range(3)
    for name in "ab"
]


def telling(sample: Sample) -> AnswerLine:
    """An answer that says its own history."""
    return AnswerLine(id=sample.id, answer=f"{sample.id}({' '.join(answer for _, answer in sample.history)})")


def test_each_turn_has_the_answers_before_it_and_keeps_its_place() -> None:
    lines = ask_in_turn(TURNS, telling, OwnHistory(TURNS, {}), 4)
    assert [line.id for line in lines] == [turn.id for turn in TURNS]
    assert [line.answer for line in lines[::2]] == ["a0()", "a1(a0())", "a2(a0() a1(a0()))"]


def test_conversations_are_asked_side_by_side() -> None:
    both = Barrier(2, timeout=60)

    def one(sample: Sample) -> AnswerLine:
        both.wait()  # passes when the other conversation is asked at the same time
        return telling(sample)

    assert len(ask_in_turn(TURNS, one, OwnHistory(TURNS, {}), 2)) == 6


def test_what_is_kept_counts_and_a_silent_answer_has_words() -> None:
    kept = {each: AnswerLine(id=each, answer=answer) for each, answer in (("a0", "kept"), ("a1", ""))}
    (line,) = ask_in_turn(TURNS[4:5], telling, OwnHistory(TURNS, kept), 1)
    assert line.answer == "a2(kept I don't know.)"


def test_gold_answers_stand_where_earlier_turns_are_not_asked_or_gold_is_wanted() -> None:
    (line,) = ask_in_turn(TURNS[4:5], telling, OwnHistory(TURNS[4:5], {}), 1)
    assert line.answer == "a2(gold 1 gold 2)"
    assert [each.answer for each in ask_in_turn(TURNS[:4:2], telling, None, 2)] == ["a0()", "a1(gold 1)"]
    alone = Sample("q", "third?", history=GOLD)
    assert ask_in_turn([alone], telling, OwnHistory([alone], {}), 1)[0].answer == "q(gold 1 gold 2)"
