"""Questions of a quiz: what they point at, in scenes in slots and in free ones."""

import random
import re

import pytest

pytest.importorskip("torch")

from quizglass_lab.pocketworld.referring import Reference, look_at
from quizglass_lab.pocketworld.scenes import Scene
from quizglass_lab.starter.data.pictures import free_scenes, recognised_things, slot_scenes
from quizglass_lab.starter.data.pointing import place_of, subject
from quizglass_lab.starter.data.quiz import Quiz

FREE = list(free_scenes(60, 3))
SLOTS = list(slot_scenes(30, 3))


def several(scenes: list[Scene]) -> list[Scene]:
    return [scene for scene in scenes if len(scene.things) > 1]


def test_free_scenes_are_the_same_each_time_and_show_each_thing_once() -> None:
    assert list(free_scenes(60, 3)) == FREE
    assert all(scene.free for scene in FREE)
    assert all(len({placed.thing.id for placed in scene.things}) == len(scene.things) for scene in FREE)
    assert {len(scene.things) for scene in FREE} == set(range(1, 7))


def test_half_of_what_scenes_show_is_taught() -> None:
    known = {thing.id for thing in recognised_things()}
    for scenes in (FREE, SLOTS):
        shown = [placed.thing.id in known for scene in scenes for placed in scene.things]
        assert 0.35 < sum(shown) / len(shown) < 0.65


def test_words_point_at_one_thing_of_a_free_scene() -> None:
    rng = random.Random(1)
    for scene in several(FREE):
        for placed in scene.things:
            words = subject(placed, scene, rng)
            if words is not None:
                reference = Reference.parse(words)
                assert reference is not None
                assert [one.thing for one in reference.fitting(look_at(scene))] == [placed.thing]


def test_a_question_for_the_colour_does_not_tell_it() -> None:
    rng = random.Random(2)
    for scene in several(FREE):
        for placed in scene.things:
            words = subject(placed, scene, rng, without=("colour",))
            assert words is None or not re.search(rf"\b{placed.thing.look.body}\b", words)


def test_a_place_is_said_only_of_what_is_there_alone() -> None:
    rng = random.Random(4)
    for scene in several(FREE):
        said = [place_of(placed, scene, rng) for placed in scene.things]
        assert len({place for place in said if place}) == sum(place is not None for place in said)


@pytest.mark.parametrize("scenes", [FREE, SLOTS], ids=["free", "slots"])
def test_names_and_colours_are_those_of_the_scene(scenes: list[Scene]) -> None:
    quiz = Quiz(random.Random(5))
    for scene in scenes:
        names = {placed.thing.name for placed in scene.things}
        colours = {placed.thing.look.body for placed in scene.things}
        for example in quiz.group(scene, 0, 12):
            task = example.task.partition("-")[2]
            assert example.task.startswith("free-" if scene.free else "quiz-")
            assert task != "name" or example.answer in names
            assert task != "colour" or example.answer in colours
