"""Free scenes: where things stand, how they overlap, and the boxes of drawn things."""

import hashlib
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops

from quizglass_lab.pocketworld.arrangement import arrange, boxes
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.layout import ASKED_SIZE, MOST_THINGS, OVERLAP, area, free_scene, overlap
from quizglass_lab.pocketworld.scenes import SPOILED, Fault, Scene, make_scene, printed_on
from quizglass_lab.pocketworld.world import make_world

_SHADOW = 60
"""More than a shadow darkens, of 255."""
THINGS = make_world(7, 180).things
FIRST = "2c93ee986afddf13"
"""Beginning of the SHA-256 of scenes of format 1 and their arrangements, as they were when there was one format."""


def free(count: int, seed: int, *, sign: str | None = None, fault_share: float = 0.4) -> Scene:
    rng = random.Random(seed)
    things = rng.sample(THINGS, count)
    return free_scene(things, rng, asked={things[0].id}, sign=sign, fault_share=fault_share)


def changed(one: Scene, other: Scene, more_than: int = 0, size: int = 224) -> tuple[float, ...]:
    """The part of the picture in which two scenes differ by more than a shadow, say, as shares."""
    difference = ImageChops.difference(draw_scene(one, size), draw_scene(other, size))
    box = difference.point([255 * (level > more_than) for level in range(256)] * 3).getbbox()
    assert box is not None
    return tuple(edge / size for edge in box)


def repainted(scene: Scene, place: int) -> Scene:
    """The scene with one thing in colours that no thing has."""
    placed = scene.things[place]
    look = replace(placed.thing.look, body="black", accent="white")
    black = replace(placed, thing=replace(placed.thing, look=look))
    return replace(scene, things=(*scene.things[:place], black, *scene.things[place + 1 :]))


def test_scenes_of_format_one_draw_the_same_chances_as_ever() -> None:
    digest = hashlib.sha256()
    for seed in range(40):
        rng = random.Random(seed)
        sign = "Open Today" if seed % 5 == 0 else None
        scene = make_scene(rng.sample(THINGS, 1 + seed % 3), rng, sign=sign, fault_share=0.6)
        for placed in scene.things:
            digest.update(repr((placed.thing.id, placed.slot, placed.scale, placed.angle, placed.mirror)).encode())
        arrangement = arrange(scene)
        digest.update(repr((scene.backdrop, scene.sign, scene.fault, scene.seed, arrangement.sign_up)).encode())
        places = [round(number, 9) for centre in arrangement.centres for number in centre]
        digest.update(repr((round(arrangement.tilt, 9), places, arrangement.rng.random())).encode())
    assert digest.hexdigest().startswith(FIRST)


@given(count=st.integers(1, MOST_THINGS), seed=st.integers(0, 2**32), sign=st.sampled_from([None, "Open Today"]))
@settings(max_examples=120, deadline=None)
def test_things_overlap_no_more_than_they_may_and_stand_in_the_picture(count: int, seed: int, sign: str | None) -> None:
    scene = free(count, seed, sign=sign)
    assert scene.free
    assert len(scene.things) == count
    covered = boxes(scene)
    for i, box in enumerate(covered):
        shared = [overlap(box, other) for j, other in enumerate(covered) if j != i]
        assert sum(shared) <= OVERLAP * area(box) + 1e-3
        assert 0 <= box[0] < box[2] <= 1
        assert 0 <= box[1] < box[3] <= 1


@given(count=st.integers(1, MOST_THINGS), seed=st.integers(0, 2**32))
@settings(max_examples=120, deadline=None)
def test_a_thing_that_is_asked_about_is_big_enough_to_be_seen(count: int, seed: int) -> None:
    rng = random.Random(seed)
    things = rng.sample(THINGS, count)
    scene = free_scene(things, rng, asked={things[0].id}, fault_share=0.0)
    box = next(b for b, placed in zip(boxes(scene), scene.things, strict=True) if placed.thing.id == things[0].id)
    assert max(box[2] - box[0], box[3] - box[1]) >= ASKED_SIZE * 0.92  # turned by a few degrees


@pytest.mark.parametrize("fault", [None, Fault("tilt", 1.0), Fault("truncation", 0.8)])
def test_boxes_are_what_is_drawn(fault: Fault | None) -> None:
    checked = 0
    for seed in range(16):
        scene = replace(free(2, seed, fault_share=0.0), fault=fault)
        for place, box in enumerate(boxes(scene)):
            if overlap(*boxes(scene)):
                continue
            checked += 1
            without = replace(scene, things=scene.things[:place] + scene.things[place + 1 :])
            with_shadow, plain = changed(scene, without), changed(scene, without, _SHADOW)
            for edge, side in enumerate((1, 1, -1, -1)):
                assert side * with_shadow[edge] < side * box[edge] + 0.02
                assert side * plain[edge] > side * box[edge] - 0.02
    assert checked > 8


@pytest.mark.parametrize("fault", [None, Fault("tilt", 1.0), Fault("truncation", 1.0)])
def test_things_in_slots_have_boxes_too(fault: Fault | None) -> None:
    for seed in range(12):
        scene = replace(make_scene(THINGS[seed : seed + 1 + seed % 3], random.Random(seed)), fault=fault)
        for place, box in enumerate(boxes(scene)):
            left, top, right, bottom = changed(scene, repainted(scene, place))
            assert left > box[0] - 0.015
            assert top > box[1] - 0.015
            assert right < box[2] + 0.015
            assert bottom < box[3] + 0.015
            assert (right - left) * (bottom - top) > 0.5 * area(box)


def test_what_stands_lower_is_drawn_over_what_stands_higher() -> None:
    scene = next(s for s in (free(2, seed, fault_share=0.0) for seed in range(400)) if overlap(*boxes(s)) > 0.012)
    nearer = max((0, 1), key=lambda i: (scene.things[i].centre or (0.0, 0.0))[1])
    hidden = 1 - nearer
    flipped = replace(scene, things=(scene.things[nearer], scene.things[hidden]))
    assert draw_scene(scene, 112).tobytes() == draw_scene(flipped, 112).tobytes()


def test_sizes_and_overlaps_differ() -> None:
    scenes = [free(1 + seed % MOST_THINGS, seed) for seed in range(120)]
    assert len({placed.scale for scene in scenes for placed in scene.things}) > 100
    touching = [any(overlap(a, b) for i, a in enumerate(bs) for b in bs[:i]) for bs in map(boxes, scenes)]
    assert 0.15 < sum(touching) / len(scenes) < 0.75


@pytest.mark.parametrize("seed", range(9))
def test_a_spoiled_sign_tells_no_words_and_hardly_differs_from_another_at_any_size(seed: int) -> None:
    rng = random.Random(seed)
    scene = free_scene([THINGS[seed]], rng, sign="Open Today", spoiled=True, fault_share=0.0)
    assert scene.board is not None
    assert scene.board.spoiled in SPOILED
    assert scene.words is None
    assert printed_on(scene) == "sign"
    clear = replace(scene, board=replace(scene.board, spoiled="", letters=0.09))
    for size in (448, 896):
        unread, read = (
            np.asarray(ImageChops.difference(draw_scene(one, size), draw_scene(replace(one, sign="Today Open"), size)))
            for one in (scene, clear)
        )
        assert unread.max() < 25
        assert read.max() > 200


def test_words_on_a_thing_that_is_partly_beyond_the_border_are_all_in_the_picture() -> None:
    bottles = [thing for thing in THINGS if thing.look.shape == "bottle"]
    drawn = (free_scene([bottles[seed % len(bottles)]], random.Random(seed), sign="Lonkantrix") for seed in range(900))
    cut = [scene for scene in drawn if scene.fault and scene.fault.name == "truncation"]
    assert len(cut) > 30
    for scene in cut:
        left, top, right, bottom = changed(scene, replace(scene, sign=None))
        assert min(left, top, 1 - right, 1 - bottom) > 0


def test_a_free_scene_is_the_same_every_time_and_the_same_at_every_size() -> None:
    for seed in range(6):
        assert free(4, seed) == free(4, seed)
        scene = free(4, seed, fault_share=0.0)
        small = np.asarray(draw_scene(scene, 224).resize((112, 112), Image.Resampling.BICUBIC), np.int16)
        large = np.asarray(draw_scene(scene, 448).resize((112, 112), Image.Resampling.BICUBIC), np.int16)
        assert np.abs(small - large).mean() < 6


@pytest.mark.parametrize("count", [0, MOST_THINGS + 1])
def test_no_scene_of_nothing_or_of_too_much(count: int) -> None:
    with pytest.raises(ValueError, match=r"things: .*1 to 6"):
        free_scene(THINGS[:count], random.Random(0))
