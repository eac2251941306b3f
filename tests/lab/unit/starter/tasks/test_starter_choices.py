"""What the starter is taught to choose: the entry that is asked about, and whether evidence bears an answer out."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from quizglass_lab.starter.data.examples import LETTERS
from quizglass_lab.starter.data.knowing import Known
from quizglass_lab.starter.data.library import Library
from quizglass_lab.starter.data.tasks.choices import JUDGEMENTS, Choices
from tests.support.training.taught_world import DISPUTED, DISPUTES, LIBRARY, QUESTIONS, UNKNOWABLE

seeds = st.integers(0, 1 << 30)


@given(seeds)
@settings(max_examples=8, deadline=None)
def test_the_right_entry_is_the_targets(seed: int) -> None:
    rng = random.Random(seed)
    choices = Choices(LIBRARY, rng)
    for question in rng.sample(QUESTIONS, 8):
        for template in ("select", "select_by_text"):
            example = choices.select(question, 0, template)
            if example is None:
                continue
            place = LETTERS.index(example.answer)
            name = LIBRARY.things[question.target or ""].name
            starts = [line.startswith(f"{name}:") for line in example.request.seen]
            assert starts[place] if place < 5 else not any(starts)


def brought_beside(kind: str, right: str) -> set[tuple[bool, int]]:
    """Of a kind of dispute, beside which the right entry was brought: whether the rival, and how many in all."""
    library = Library(DISPUTED)
    choices = Choices(library, random.Random(3))
    beside = set()
    for question in DISPUTES * 4:
        conflict = question.conflict
        if conflict is None or (conflict.kind, conflict.right) != (kind, right):
            continue
        example = choices.select(question, 0)
        assert example is not None
        names = [line.partition(":")[0] for line in example.request.seen]
        assert names[LETTERS.index(example.answer)] == library.things[question.target or ""].name
        beside.add((library.things[conflict.rival].name in names, len(names)))
    return beside


def test_of_two_that_look_alike_a_search_finds_the_right_one_alone_or_both() -> None:
    assert {(False, 1), (True, 2), (True, 5)} <= brought_beside("near-twin", "text")


def test_an_entry_found_by_its_picture_is_the_right_one_though_its_caption_is_anothers() -> None:
    beside = brought_beside("telling-caption", "picture")
    assert {(False, 1), (False, 4)} <= beside
    assert not any(rival for rival, _ in beside)


def test_an_entry_of_the_things_kind_that_was_found_alone_is_it() -> None:
    choices = Choices(LIBRARY, random.Random(4))
    letters: dict[bool, set[str]] = {True: set(), False: set()}
    for question in QUESTIONS * 3:
        example, target = choices.select(question, 0), choices.hits.target(question)
        if example is None or target is None or len(example.request.seen) != 1:
            continue
        found = {thing.name: thing for thing in LIBRARY.world.things}[example.request.seen[0].partition(":")[0]]
        letters[found.kind == target.kind].add(example.answer)
    assert letters == {True: {LETTERS[0]}, False: {LETTERS[5]}}


def test_what_is_judged_supported_is_told_or_seen() -> None:
    rng = random.Random(8)
    choices = Choices(LIBRARY, rng)
    labels = set()
    for question in QUESTIONS:
        example = choices.verify(question, 0, Known.taught(question, LIBRARY))
        if example is None or question.claims:
            continue
        label = JUDGEMENTS[LETTERS.index(example.answer)]
        labels.add(label)
        evidence, answer = str(example.request.values["evidence"]), str(example.request.values["answer"])
        if label == "supported":
            assert answer == question.answer
        elif label == "contradicted":
            assert answer != question.answer
        elif question.hops:
            hop = question.hops[-1]
            assert (LIBRARY.told(hop) or "?") not in evidence
    assert labels == {"supported", "unsupported", "contradicted"}


def test_what_is_known_of_another_thing_answers_no_question_that_has_no_answer() -> None:
    choices = Choices(LIBRARY, random.Random(8))
    judged = [(each, choices.verify(each, 0, Known.taught(each, LIBRARY))) for each in UNKNOWABLE]
    shown = [(question, example) for question, example in judged if example is not None]
    assert {question.family for question, _ in shown} >= {"unknowable", "false-premise", "absent"}
    for question, example in shown:
        values = example.request.values
        evidence, answer = str(values["evidence"]), str(values["answer"])
        assert JUDGEMENTS[LETTERS.index(example.answer)] == "unsupported"
        assert answer in evidence, "the evidence says it of something, so that its words alone do not give it away"
        target = LIBRARY.things.get(question.target or "")
        assert target is None or not LIBRARY.findable(target) or f"{target.name}:" not in evidence
