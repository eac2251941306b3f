"""Families about the picture itself, in format 2: what it shows, where, and what it does not show."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from quizglass_lab.pocketworld.arrangement import boxes
from quizglass_lab.pocketworld.asker import Asker
from quizglass_lab.pocketworld.dataset import export_world
from quizglass_lab.pocketworld.families.absence import absent, false_premise, presence, unreadable
from quizglass_lab.pocketworld.families.comparing import difference
from quizglass_lab.pocketworld.families.facts import facts
from quizglass_lab.pocketworld.families.looks import visible
from quizglass_lab.pocketworld.families.places import counting, neighbour, position
from quizglass_lab.pocketworld.families.signs import today_price
from quizglass_lab.pocketworld.phrasing import NUMBER_WORDS, plural
from quizglass_lab.pocketworld.question import ABSTAIN, Question
from quizglass_lab.pocketworld.questions import make_questions, make_unknowable
from quizglass_lab.pocketworld.referring import PLACES, Reference, fitting
from quizglass_lab.pocketworld.world import BODY_COLOURS, KINDS, Thing, core_world, make_world, with_core

WORLD = with_core(make_world(31, 90, format=2), core_world(2))
BY_ID = {thing.id: thing for thing in WORLD.things}


def questions(make: Callable[[Asker, Thing], Question | None], count: int = 120) -> list[Question]:
    """`count` questions of a family, about any things."""

    def stream() -> Iterator[Question]:
        number = 0
        while True:
            rng = random.Random(f"{getattr(make, '__name__', 'family')}/{number}")
            question = make(Asker(WORLD, rng, f"q{number}", "none", 2), rng.choice(WORLD.things))
            number += 1
            if question is not None:
                yield question

    return list(islice(stream(), count))


def shown(question: Question) -> list[Thing]:
    return [placed.thing for placed in question.scene.things]


def test_counts_are_what_the_scene_holds_up_to_six() -> None:
    numbers = set()
    for question in questions(counting):
        kinds = [thing.kind for thing in shown(question)]
        asked = next((kind for kind in KINDS if f" {plural(kind)} " in question.text), None)
        number = kinds.count(asked) if asked else len(kinds)
        numbers.add(number)
        assert question.answer == NUMBER_WORDS[number]
        assert str(number) in question.aliases
        assert number or {"none", "zero"} <= set(question.aliases)
        assert set(question.objects) <= set(kinds)
    assert numbers >= {0, 1, 2, 3, 4, 5, 6}


def test_positions_are_those_of_the_boxes() -> None:
    answers = set()
    for question in questions(position):
        target = BY_ID[question.target or ""]
        place = next(p for p in question.scene.things if p.thing == target)
        box = boxes(question.scene)[question.scene.things.index(place)]
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        answers.add(question.answer)
        if question.answer in PLACES:
            ranges = {"left": x < 0.4, "right": x > 0.6, "middle": 0.4 < x < 0.6, "top": y < 0.45, "bottom": y > 0.55}
            assert ranges[question.answer], question.text
        else:
            assert question.answer == target.kind
    assert {"left", "right", "top", "bottom"} <= answers
    assert answers & set(KINDS)


def test_a_neighbour_is_told_by_where_it_is_and_its_colour_is_asked() -> None:
    related = 0
    for question in questions(neighbour):
        target = BY_ID[question.target or ""]
        assert question.answer == target.look.body
        assert not any(colour in question.text for colour in BODY_COLOURS)
        related += len(question.objects) == 2
    assert related > 100


def test_looks_are_never_in_the_words_that_ask_for_them() -> None:
    for question in questions(visible, 200):
        if "colour" in question.text:
            assert question.answer not in question.text
        assert question.answer in (vars(BY_ID[question.target or ""].look) | {}).values()


def test_there_is_a_thing_or_there_is_not_half_of_the_time() -> None:
    asked = questions(presence, 200)
    for question in asked:
        *_, words = question.text.rstrip("?").split(" a " if " a " in question.text else " an ")
        words = words.removesuffix(" in the picture").removesuffix(" here")
        assert Reference.parse(words) is not None
        assert bool(fitting(words, question.scene)) == (question.answer == "yes"), question.text
    assert 70 < sum(question.answer == "yes" for question in asked) < 130


def test_what_is_absent_is_not_in_the_picture() -> None:
    for question in questions(absent):
        assert question.answer == ABSTAIN
        assert question.group is None
        assert question.target is None
        assert question.image_answer == ABSTAIN
        kind = next(kind for kind in KINDS if f"the {kind}" in question.text)
        assert kind not in {thing.kind for thing in shown(question)}


def test_a_false_premise_fits_nothing_though_the_kind_is_there() -> None:
    for question in questions(false_premise):
        assert (question.answer, question.group) == (ABSTAIN, None)
        words = question.image_query.removeprefix("What is ").removesuffix(" called?")
        assert words in question.text
        assert fitting(words, question.scene) == ()
        reference = Reference.parse(words)
        assert reference is not None
        assert question.objects == (reference.kind,)
        assert reference.kind in {thing.kind for thing in shown(question)}
        assert reference.colour not in {thing.look.accent for thing in shown(question) if thing.kind == reference.kind}


def test_true_premises_stand_beside_the_false_ones() -> None:
    asked = [question for question in make_questions(WORLD, 400, 5, format=2) if question.group != "none"]
    coloured = [q for q in asked if any(f"the {colour} {kind}" in q.text for colour in BODY_COLOURS for kind in KINDS)]
    assert len(coloured) > 0.08 * len(asked)
    assert all(question.answer != ABSTAIN for question in coloured)


def test_an_unreadable_sign_has_no_words() -> None:
    ways = set()
    for question in questions(unreadable):
        assert (question.answer, question.words, question.group) == (ABSTAIN, None, None)
        assert question.scene.sign
        assert question.scene.board is not None
        ways.add(question.scene.board.spoiled)
    assert ways == {"blurred", "dark", "small"}


def test_sums_are_right_and_the_gold_query_needs_no_picture() -> None:
    for question in questions(today_price):
        price = int((question.words or "").split()[1])
        words = question.text.replace(".", " ").split()
        if "change" in question.text:
            total = int(next(word for word in words if word.isdigit())) - price
        else:
            total = next(NUMBER_WORDS.index(word) for word in words if word in NUMBER_WORDS) * price
        assert question.answer == f"{total} crowns"
        assert 0 < total <= 150
        assert f"{price} crowns" in question.gold_query


def test_of_one_the_singular_is_right_too() -> None:
    def years_apart(asker: Asker, thing: Thing) -> Question | None:
        return difference({0: 1}, {"year": 1})(replace(asker, group=None), thing)

    for make, unit in ((today_price, "crown"), (years_apart, "year")):
        asked = {question.answer: question for question in questions(make, 400)}
        assert asked[f"1 {unit}s"].aliases == ("1", f"1 {unit}")
        assert asked[f"2 {unit}s"].aliases == ("2",)


def test_a_sign_may_name_another_thing_and_be_asked_about() -> None:
    make = facts({"other-sign": 1}, {("price",): 1})
    for number in range(40):
        rng = random.Random(number)
        thing = rng.choice([thing for thing in WORLD.things if "price" in thing.facts])
        question = make(Asker(WORLD, rng, "q", None, 2), thing)
        assert question is not None
        assert question.words == thing.name
        assert thing not in shown(question)
        assert f"the {thing.kind} named on the sign" in question.text
        assert question.answer == thing.facts["price"]
        assert all(hop.action == "text" for hop in question.hops)


@pytest.mark.parametrize("things", [1, 2, 3])
def test_no_scene_shows_a_thing_twice_however_small_the_world(things: int) -> None:
    world = make_world(5, things, format=2)
    for number in range(60):
        rng = random.Random(number)
        asker, thing = Asker(world, rng, "q", None, 2), rng.choice((*world.things, *world.strangers))
        for make in (visible, counting, position, neighbour, presence, absent, false_premise):
            if (question := make(asker, thing)) is not None:
                ids = [one.id for one in shown(question)]
                assert len(set(ids)) == len(ids) <= things + 1


@pytest.mark.parametrize("family", ["absent", "false-premise", "unreadable"])
def test_every_family_of_the_picture_is_asked(family: str) -> None:
    assert family in {question.family for question in make_unknowable(WORLD, 80, 3, format=2)}


def test_the_families_of_the_picture_are_among_the_questions() -> None:
    families = {question.family for question in make_questions(WORLD, 2400, 3, format=2)}
    assert {"visible", "counting", "position", "neighbour", "presence", "calculation", "printed"} <= families


def test_a_line_on_disk_has_the_box_of_every_thing(tmp_path: Path) -> None:
    export_world(9, 60, tmp_path, questions=40, format=2)
    lines = [json.loads(line) for line in (tmp_path / "questions.jsonl").read_text().splitlines()]
    things = [thing for line in lines for thing in line["things"]]
    assert max(len(line["things"]) for line in lines) > 3
    assert all(thing["kind"] in KINDS for thing in things)
    for left, top, right, bottom in (thing["box"] for thing in things):
        assert 0 <= left < right <= 1
        assert 0 <= top < bottom <= 1
    assert {"objects", "meant", "domain"} <= set(lines[0])
