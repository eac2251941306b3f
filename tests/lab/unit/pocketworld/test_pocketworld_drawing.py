import random
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageChops

from quizglass_lab.pocketworld.draw import draw_scene, draw_thing
from quizglass_lab.pocketworld.drawing.backdrops import BACKDROPS
from quizglass_lab.pocketworld.drawing.kinds import DRAWINGS
from quizglass_lab.pocketworld.drawing.lettering import two_lines
from quizglass_lab.pocketworld.scenes import BACKDROP_COUNT, FAULTS, SLOTS, Fault, Scene, make_scene, printed_on
from quizglass_lab.pocketworld.world import COLOURS, KINDS, PATTERNS, SHAPES, Look, Thing, make_world

PARAMS = (0.4, 0.6, 0.5, 0.3, 0.2, 0.5)
THINGS = make_world(7, 90).things


def difference(a: Image.Image, b: Image.Image) -> float:
    """Mean absolute difference of two pictures' values, in 0..255."""
    return float(np.abs(np.asarray(a, np.int16) - np.asarray(b, np.int16)).mean())


def share(picture: Image.Image, colour: tuple[int, int, int]) -> float:
    """Share of the pixels within a few values of the colour."""
    return float((np.abs(np.asarray(picture, np.int16) - colour).sum(-1) < 8).mean())


def of_kind(kind: str) -> Thing:
    return next(thing for thing in THINGS if thing.kind == kind)


def plain_scene(*things: Thing, seed: int = 3, sign: str | None = None) -> Scene:
    return make_scene(things, random.Random(seed), sign=sign, fault_share=0.0)


def test_every_shape_of_the_world_has_a_drawing_and_no_other() -> None:
    assert {kind: set(shapes) for kind, shapes in DRAWINGS.items()} == {k: set(v) for k, v in SHAPES.items()}
    assert set(DRAWINGS) == set(KINDS)
    assert len(BACKDROPS) == BACKDROP_COUNT


@pytest.mark.parametrize(("kind", "shape"), [(kind, shape) for kind in KINDS for shape in SHAPES[kind]])
def test_a_thing_shows_both_its_colours_and_its_pattern(kind: str, shape: str) -> None:
    plain = draw_thing(Look(kind, "blue", "red", "plain", shape, PARAMS), 112)
    assert plain.size == (112, 112)
    assert plain.mode == "RGB"
    assert share(plain, COLOURS["blue"]) > 0.05
    assert share(plain, COLOURS["blue"]) > 1.4 * share(plain, COLOURS["red"]) > 0.005
    for pattern in PATTERNS[1:]:
        patterned = draw_thing(Look(kind, "blue", "red", pattern, shape, PARAMS), 112)
        assert share(patterned, COLOURS["red"]) > share(plain, COLOURS["red"]) + 0.005


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_of_a_kind_differ_more_than_proportions_do(kind: str) -> None:
    looks = [Look(kind, "blue", "red", "plain", shape, PARAMS) for shape in SHAPES[kind]]
    pictures = [draw_thing(look, 112) for look in looks]
    for i, one in enumerate(pictures):
        nudged = draw_thing(replace(looks[i], params=tuple(p + 0.05 for p in PARAMS)), 112)
        assert all(difference(one, nudged) < difference(one, other) for j, other in enumerate(pictures) if j != i)


def test_each_parameter_changes_some_look() -> None:
    for index in range(6):
        params = tuple(0.95 if i == index else p for i, p in enumerate(PARAMS))
        looks = [Look(kind, "teal", "red", "stripes", SHAPES[kind][0], PARAMS) for kind in KINDS]
        changed = [difference(draw_thing(look, 112), draw_thing(replace(look, params=params), 112)) for look in looks]
        assert max(changed) > 0.5


def test_a_body_keeps_its_colour_name_under_jitter() -> None:
    for name, colour in COLOURS.items():
        for jitter in (0.0, 1.0):
            picture = draw_thing(Look("device", name, "red", "plain", "lamp", (*PARAMS[:5], jitter)), 112)
            shade = np.array(picture.getpixel((56, 40)), float)
            nearest = min(COLOURS, key=lambda other: float(np.abs(shade - COLOURS[other]).sum()))
            assert nearest == name, (name, colour, shade)


def test_bad_looks_are_refused_with_the_field_and_what_is_allowed() -> None:
    look = Look("car", "blue", "red", "plain", "saloon", PARAMS)
    for change, field in (
        ({"kind": "comet"}, r"look\.kind: 'comet'.*car"),
        ({"shape": "tower"}, r"look\.shape: 'tower'.*saloon"),
        ({"pattern": "paisley"}, r"look\.pattern: 'paisley'.*stripes"),
        ({"body": "mauve"}, r"look\.body: 'mauve'.*blue"),
        ({"params": (0.5,)}, r"look\.params: .*6"),
    ):
        with pytest.raises(ValueError, match=field):
            draw_thing(replace(look, **change), 64)


def test_the_same_scene_gives_the_same_pixels() -> None:
    for seed in range(12):
        scenes = [make_scene(THINGS[seed : seed + 1 + seed % 3], random.Random(seed), fault_share=1.0) for _ in "ab"]
        assert scenes[0] == scenes[1]
        assert draw_scene(scenes[0], 112).tobytes() == draw_scene(scenes[1], 112).tobytes()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_things_stand_in_their_slots(count: int) -> None:
    scene = plain_scene(*THINGS[:count])
    assert tuple(placed.slot for placed in scene.things) == SLOTS[count]
    middles = []
    for place, placed in enumerate(scene.things):
        other = replace(placed.thing, look=replace(placed.thing.look, body="black", accent="white"))
        things = [replace(p, thing=other) if i == place else p for i, p in enumerate(scene.things)]
        repainted = draw_scene(replace(scene, things=tuple(things)), 224)
        box = ImageChops.difference(draw_scene(scene, 224), repainted).getbbox()
        assert box is not None
        middles.append((box[0] + box[2]) / 2 / 224)
    expected = {1: [0.5], 2: [0.26, 0.74], 3: [0.18, 0.5, 0.82]}[count]
    assert middles == pytest.approx(expected, abs=0.1)


def test_a_scene_holds_one_to_three_things() -> None:
    for things in ((), THINGS[:4]):
        with pytest.raises(ValueError, match=r"things: .*1 to 3"):
            make_scene(things, random.Random(0))


def test_small_pictures_show_what_large_ones_do() -> None:
    for seed in range(6):
        scene = plain_scene(THINGS[seed], seed=seed)
        small = draw_scene(scene, 224).resize((112, 112), Image.Resampling.BICUBIC)
        assert difference(small, draw_scene(scene, 448).resize((112, 112), Image.Resampling.BICUBIC)) < 4.0


@pytest.mark.parametrize("name", [name for name in FAULTS if name != "truncation"])
def test_a_fault_changes_the_picture_and_grows_with_its_strength(name: str) -> None:
    clean = plain_scene(of_kind("car"))
    picture = draw_scene(clean, 224)
    weak, strong = (
        difference(picture, draw_scene(replace(clean, fault=Fault(name, strength)), 224)) for strength in (0.2, 1.0)
    )
    assert 0 < weak < strong


def test_truncation_moves_part_of_a_thing_beyond_the_border() -> None:
    clean = plain_scene(of_kind("car"))
    colours = [COLOURS[name] for name in (of_kind("car").look.body, of_kind("car").look.accent)]
    whole = draw_scene(clean, 224)
    cut = draw_scene(replace(clean, fault=Fault("truncation", 1.0)), 224)
    seen = [sum(share(picture, colour) for colour in colours) for picture in (cut, whole)]
    assert difference(cut, whole) > 3
    assert 0.6 * seen[1] < seen[0] < seen[1]


def test_darkness_keeps_at_least_a_third_of_the_light() -> None:
    clean = plain_scene(of_kind("bird"))
    dark = draw_scene(replace(clean, fault=Fault("dark", 1.0)), 112)
    assert 0.33 < np.asarray(dark).mean() / np.asarray(draw_scene(clean, 112)).mean() < 0.37


def test_fault_share_is_the_share_of_scenes_with_a_fault() -> None:
    rng = random.Random(1)
    faulty = [make_scene(THINGS[:1], rng, fault_share=0.4).fault for _ in range(500)]
    assert 0.33 < sum(fault is not None for fault in faulty) / 500 < 0.47
    assert {fault.name for fault in faulty if fault} == set(FAULTS)
    assert all(make_scene(THINGS[:1], rng, fault_share=0.0).fault is None for _ in range(50))


def test_faults_are_weaker_where_words_must_be_read() -> None:
    rng = random.Random(2)
    for _ in range(200):
        fault = make_scene([of_kind("book")], rng, sign="Amber Gate", fault_share=1.0).fault
        assert fault is not None
        assert fault.strength <= 0.5
        assert fault.name != "occlusion"


@pytest.mark.parametrize(("kinds", "carrier"), [("book", "cover"), ("packet", "label"), ("car", "sign")])
def test_words_are_printed_on_a_light_board(kinds: str, carrier: str) -> None:
    scene = plain_scene(of_kind(kinds), sign="Amber Gate")
    assert printed_on(scene) == carrier
    board = share(draw_scene(scene, 448), (247, 245, 236))
    assert 0.02 < board - share(draw_scene(replace(scene, sign=None), 448), (247, 245, 236)) < 0.2


def test_long_words_stay_inside_the_picture() -> None:
    scene = plain_scene(of_kind("car"), sign="The Extraordinarily Long Harbour Lane Association")
    picture = np.asarray(draw_scene(scene, 224), np.int16)
    without = np.asarray(draw_scene(replace(scene, sign=None), 224), np.int16)
    changed = np.abs(picture - without).sum(-1) > 200
    assert changed.any()
    assert not changed[:, :2].any()
    assert not changed[:, -2:].any()


def test_words_break_into_two_even_lines() -> None:
    assert two_lines("Velmora") == ("Velmora",)
    assert two_lines("Amber Gate Road") in (("Amber Gate", "Road"), ("Amber", "Gate Road"))
    assert two_lines("The Quiet Morning Harbour") == ("The Quiet", "Morning Harbour")


def test_a_reference_picture_may_carry_a_label() -> None:
    look = of_kind("dish").look
    assert difference(draw_thing(look, 224), draw_thing(look, 224, label="Velmora")) > 3
