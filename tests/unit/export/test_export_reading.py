"""The reading set: notes with their questions, the judge, and which way of answering is proposed."""

from dataclasses import replace
from pathlib import Path

import pytest

from quizglass_bundle.files import Bundle
from quizglass_bundle.manifest import Manifest
from quizglass_bundle.tuning import Answers
from quizglass_export.assembly.next_steps import proposed_answers
from quizglass_export.reading.measure import Figures, Reading, can_be_asked, measure
from quizglass_export.reading.notes import Judged, ReadingNote, reading_notes
from tests.support.bundles.tiny_bundle import write_bundle


def test_every_note_says_what_its_question_is_judged_by() -> None:
    notes = reading_notes()
    assert len(notes) >= 30
    assert len({note.title for note in notes}) == len(notes)
    assert sum(not note.gold for note in notes) >= 5
    for note in notes:
        assert note.judge(note.text, refuses=False) is (Judged.RIGHT if note.gold else Judged.WRONG), note.title
        assert note.judge("I don't know", refuses=True) is (Judged.REFUSED if note.gold else Judged.RIGHT)


@pytest.mark.parametrize(
    ("gold", "says", "answer", "judged"),
    [
        ((("ten",), ("winter",)), "", "Every 10 days, in winter less.", Judged.RIGHT),
        ((("ten",), ("winter",)), "", "ten days", Judged.WRONG),
        ((("6", "six"),), "", "programme 6", Judged.RIGHT),
        ((("6",),), "", "programme 63", Judged.WRONG),
        ((("not together",),), "no", "No.", Judged.RIGHT),
        ((("not together",),), "no", "Yes, not together", Judged.WRONG),
        ((("no lettuce",),), "no", "No lettuce at all", Judged.RIGHT),
        ((), "", "In 1990", Judged.WRONG),
    ],
)
def test_an_answer_is_judged_by_its_words(
    gold: tuple[tuple[str, ...], ...], says: str, answer: str, judged: Judged
) -> None:
    assert ReadingNote("Aloe", "", "?", gold, says).judge(answer, refuses=False) is judged


def figures(right: int, wrong: int) -> Figures:
    return Figures(right, 31 - right - wrong, wrong, 5.0)


@pytest.mark.parametrize(
    ("quote", "write", "shorter", "best"),
    [
        ((20, 2), (15, 9), (20, 3), Answers.QUOTE),
        ((20, 2), (25, 4), (22, 2), Answers.WRITE),
        ((20, 2), (20, 2), (23, 1), Answers.SHORTER),
        ((20, 2), (20, 2), (20, 2), Answers.QUOTE),
    ],
)
def test_a_wrong_answer_costs_what_a_right_one_brings(
    quote: tuple[int, int], write: tuple[int, int], shorter: tuple[int, int], best: Answers
) -> None:
    ways = {Answers.WRITE: figures(*write), Answers.SHORTER: figures(*shorter), Answers.QUOTE: figures(*quote)}
    reading = Reading(31, ways)
    assert reading.best is best
    assert Reading.of(reading.told()) == reading


def test_a_bundle_is_asked_in_every_way_that_it_can_answer(tmp_path: Path) -> None:
    bundle = Bundle.load(write_bundle(tmp_path / "b", ("reranker", "text_encoder", "generator")))
    notes = reading_notes()[:4]
    reading = measure(bundle, notes)
    assert set(reading.figures) == {Answers.QUOTE, Answers.WRITE}
    quoted = reading.figures[Answers.QUOTE]
    assert (quoted.refused, quoted.right + quoted.wrong) == (0, 4), "without a line some sentence is always quoted"
    lined = replace(bundle, manifest=_with_line(bundle, 1.0))
    reading = measure(lined, notes)
    assert reading.figures[Answers.QUOTE].refused == 4, "no sentence reaches the line"
    assert set(reading.figures) == set(Answers)


def test_without_a_choice_nothing_is_asked(tmp_path: Path) -> None:
    for name, roles in {"a": ("generator", "image_encoder"), "b": ("text_encoder", "image_encoder")}.items():
        assert not can_be_asked(Bundle.load(write_bundle(tmp_path / name, roles)))


def test_a_proposal_names_its_figures_and_the_command_that_sets_it(tmp_path: Path) -> None:
    bundle = Bundle.load(write_bundle(tmp_path / "b"))
    reading = Reading(31, {Answers.QUOTE: figures(20, 2), Answers.WRITE: figures(15, 9)})
    lines = proposed_answers(reading, bundle, tmp_path / "b")
    assert "proposed is quote; of 31 questions about notes: quote 20 right, 9 refused, 2 wrong; write 15" in lines[0]
    assert f"repack {tmp_path / 'b'} --out NEW --set evidence.answers=quote" in lines[1]
    kept = Reading(31, {Answers.QUOTE: figures(10, 9), Answers.WRITE: figures(15, 2)})
    assert len(proposed_answers(kept, bundle, tmp_path / "b")) == 1, "it is what the bundle has"
    assert proposed_answers(None, bundle, tmp_path / "b") == []
    assert "was not asked" in proposed_answers("too long", bundle, tmp_path / "b")[0]


def _with_line(bundle: Bundle, accept: float) -> Manifest:
    thresholds = bundle.manifest.thresholds.model_copy(update={"quote_accept": accept})
    return bundle.manifest.model_copy(update={"thresholds": thresholds})
