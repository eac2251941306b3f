"""Words that point at one thing, and what questions of format 2 say about the objects in their pictures."""

import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from quizglass_lab.pocketworld.arrangement import boxes
from quizglass_lab.pocketworld.asker import Asker
from quizglass_lab.pocketworld.layout import MOST_THINGS, free_scene
from quizglass_lab.pocketworld.questions import Question, make_questions
from quizglass_lab.pocketworld.referring import Reference, fitting, references
from quizglass_lab.pocketworld.scenes import Scene
from quizglass_lab.pocketworld.world import KINDS, Thing, core_world, make_world, with_core

WORLD = with_core(make_world(31, 90, format=2), core_world(2))
BY_ID = {thing.id: thing for thing in WORLD.things}


def middle(scene: Scene, thing: Thing) -> tuple[float, float]:
    box = next(b for b, placed in zip(boxes(scene), scene.things, strict=True) if placed.thing.id == thing.id)
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def asked(seed: int) -> tuple[Thing, Scene, str]:
    rng = random.Random(seed)
    asker = Asker(WORLD, rng, "q", None, 2)
    thing = rng.choice(WORLD.things)
    scene, words = asker.scene(thing)
    return thing, scene, words


@given(seed=st.integers(0, 2**32))
@settings(max_examples=300, deadline=None)
def test_the_words_fit_one_thing_of_the_scene_alone(seed: int) -> None:
    thing, scene, words = asked(seed)
    assert [one.id for one in fitting(words, scene)] == [thing.id]


@given(count=st.integers(2, MOST_THINGS), kinds=st.integers(1, 3), seed=st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_every_reference_is_read_back_and_true(count: int, kinds: int, seed: int) -> None:
    rng = random.Random(seed)
    chosen = rng.sample(KINDS, kinds)  # few kinds: many duplicates
    scene = free_scene(rng.sample([t for t in WORLD.things if t.kind in chosen], count), rng)
    for placed in scene.things:
        thing, (x, y) = placed.thing, middle(scene, placed.thing)
        peers = [middle(scene, p.thing) for p in scene.things if p.thing.kind == thing.kind and p is not placed]
        for reference in references(thing, scene):
            assert Reference.parse(f"the {reference.words}") == reference
            assert fitting(f"the {reference.words}", scene) == (thing,)
            assert reference.kind == thing.kind
            assert reference.colour in ("", thing.look.body)
            if reference.place == "left" and not reference.colour:
                assert x < 0.5
                assert all(x < other for other, _ in peers)
            if reference.place == "bottom" and not reference.colour:
                assert y > 0.5
                assert all(y > other for _, other in peers)
            if reference.relation in ("left of", "above"):
                axis = 0 if reference.relation == "left of" else 1
                anchor = next(p.thing for p in scene.things if p.thing.kind == reference.anchor)
                assert (x, y)[axis] < middle(scene, anchor)[axis]


def test_a_colour_that_is_another_ones_pattern_does_not_tell_two_apart() -> None:
    rng = random.Random(3)
    one, other = rng.sample([thing for thing in WORLD.things if thing.kind == "car"], 2)
    one = replace(one, look=replace(one.look, body="red", accent="blue", pattern="plain"))
    for pattern, apart in (("halves", False), ("plain", True)):
        striped = replace(other, look=replace(other.look, body="blue", accent="red", pattern=pattern))
        scene = free_scene([one, striped], rng)
        assert (Reference("car", colour="red") in references(one, scene)) == apart
        assert Reference("car", colour="blue") in references(striped, scene)


def test_a_reference_by_what_is_asked_for_uses_it() -> None:
    for part in ("colour", "place", "size", "relation"):
        rng = random.Random(part)
        said = 0
        for _ in range(60):
            scene, words = Asker(WORLD, rng, "q", None, 2).scene(rng.choice(WORLD.things), count=4, by=(part,))
            reference = Reference.parse(words)
            said += reference is not None and bool(getattr(reference, part))
            assert len(scene.things) == 4 or reference is None
        assert said >= 54, part


def test_two_things_of_a_scene_are_distinguished() -> None:
    rng = random.Random(5)
    for _ in range(60):
        asker = Asker(WORLD, rng, "q", None, 2)
        pair = tuple(rng.sample(WORLD.things, 2))
        scene, words = asker.scene_of_two(pair[0], pair[1])
        assert tuple(fitting(said, scene) for said in words) == ((pair[0],), (pair[1],))


def test_a_third_of_the_scenes_of_one_thing_are_asked_about_without_its_kind() -> None:
    rng = random.Random(6)
    words = [Asker(WORLD, rng, "q", None, 2).scene(rng.choice(WORLD.things), count=1)[1] for _ in range(400)]
    assert 0.24 < words.count("this") / 400 < 0.36


def test_scenes_show_up_to_six_things_and_duplicates_of_a_kind() -> None:
    scenes = [asked(seed) for seed in range(400)]
    counts = [len(scene.things) for _, scene, _ in scenes]
    assert set(counts) == set(range(1, MOST_THINGS + 1))
    several = [(thing, scene) for thing, scene, _ in scenes if len(scene.things) > 1]
    twins = [sum(p.thing.kind == thing.kind for p in scene.things) - 1 for thing, scene in several]
    assert {0, 1, 2, 3} <= set(twins)
    assert 0.35 < sum(number > 0 for number in twins) / len(twins) < 0.75


def test_questions_say_their_objects_and_which_one_is_meant() -> None:
    questions: list[Question] = make_questions(WORLD, 400, 3, unseen_share=0.5, format=2)
    for question in questions:
        visible = {placed.thing.id: placed.thing for placed in question.scene.things}
        assert all(len(kind.split()) <= 3 for kind in question.objects)
        assert set(question.objects) <= {thing.kind for thing in visible.values()}
        assert len(question.meant.split()) <= 5
        if question.target in visible and question.meant and question.family not in ("comparison", "calculation"):
            thing = visible[question.target or ""]
            assert thing.kind in question.objects
            assert thing.look.body in question.meant or len(question.meant.split()) == 5
            words = question.meant if Reference.parse(question.meant) else question.meant.replace("of ", "of the ")
            assert [one.id for one in fitting(words, question.scene)] == [thing.id]
