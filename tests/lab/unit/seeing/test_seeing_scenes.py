"""What the detector is trained on: scenes, boxes and phrases; and how they are given to it."""

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")
# ruff: noqa: E402

from quizglass_lab.pocketworld.referring import Reference, fitting
from quizglass_lab.pocketworld.world import make_world
from quizglass_lab.seeing.detector_batches import DetectionBatches, make_batch
from quizglass_lab.seeing.detector_shape import PHRASE_TOKENS, PhraseReader, build_tokenizer
from quizglass_lab.seeing.phrases import NO_THINGS, groups, phrases, pointing_at, vocabulary
from quizglass_lab.seeing.scenes import QUICK_SIZE, draw, drawn_scenes, training_scene


@pytest.fixture(scope="module")
def things() -> tuple[object, ...]:
    return make_world(4_000_001, 60).things


def test_a_phrase_names_the_things_that_it_fits_and_no_others(things) -> None:
    rng = random.Random(1)
    for _ in range(60):
        scene = training_scene(things, rng)
        for text, those in phrases(scene, 10, rng):
            assert those <= set(range(len(scene.things)))
            if Reference.parse(text) is not None:
                meant = {thing.id for thing in fitting(text, scene)}
                assert {scene.things[i].thing.id for i in those} == meant, text
        for number in range(len(scene.things)):
            assert len({text for text in pointing_at(scene, number, rng) if not text}) == 0


def test_everything_in_a_scene_has_a_name_for_it_and_its_like(things) -> None:
    rng = random.Random(2)
    scene = training_scene(things, rng)
    named = [those for _, those in groups(scene, rng)]
    assert frozenset().union(*named) == set(range(len(scene.things)))
    assert named[-1] == set(range(len(scene.things)))


def test_scenes_are_drawn_with_a_box_for_every_thing_and_alike_for_equal_seeds() -> None:
    one, same, other = (next(drawn_scenes(seed, 224)) for seed in (5, 5, 6))
    assert np.array_equal(one.pixels, same.pixels)
    assert not np.array_equal(one.pixels, other.pixels)
    for drawn in (one, other):
        assert drawn.pixels.shape == (224, 224, 3)
        assert len(drawn.boxes) == len(drawn.scene.things)
        assert all(0 <= value <= 1 for box in drawn.boxes for value in box)
    assert draw(one.scene, 112, QUICK_SIZE).boxes == one.boxes


def test_boxes_hold_what_is_drawn(things) -> None:
    rng = random.Random(3)
    scene = training_scene(things[:1] * 2 + things[1:], rng)
    drawn = draw(scene, 224, QUICK_SIZE)
    for x, y, width, height in drawn.boxes:
        assert 0 < width * height <= 1
        assert 0 <= x - width / 2 <= x + width / 2 <= 1 + 1e-6
        assert 0 <= y - height / 2 <= y + height / 2 <= 1 + 1e-6


def test_words_that_are_no_things_are_asked_for_too(things) -> None:
    rng = random.Random(2)
    asked = {text for _ in range(20) for text, _ in phrases(training_scene(things, rng), 10, rng)}
    assert set(NO_THINGS) <= asked


def test_a_phrase_ends_with_the_highest_id_wherever_it_is_cut() -> None:
    tokenizer = build_tokenizer(vocabulary())
    reader = PhraseReader(tokenizer)
    ids, mask = reader.rows(["red car", "Zylophant", "car " * 40])
    assert ids.shape == mask.shape == (3, PHRASE_TOKENS)
    end = tokenizer.get_vocab_size() - 1
    assert (ids.max(1).values == end).all()
    assert (ids[:, 0] > 0).all()
    assert ids[0].tolist()[:4] == [1, tokenizer.token_to_id("red"), tokenizer.token_to_id("car"), end]
    assert tokenizer.token_to_id("[UNK]") not in ids[1].tolist()


def test_a_batch_is_the_same_for_the_same_seed_and_most_of_it_was_drawn_before() -> None:
    tokenizer = build_tokenizer(vocabulary())
    batches, same = (DetectionBatches(tokenizer, 8, "five").made(0) for _ in range(2))
    first, second = next(batches), next(batches)
    assert torch.equal(first.pixels, next(same).pixels)
    assert first.pixels.shape == (8, 224, 224, 3)
    assert len({picture.numpy().tobytes() for picture in (*first.pixels, *second.pixels)}) <= 6


def test_what_is_right_of_a_batch_is_told_by_picture() -> None:
    tokenizer = build_tokenizer(vocabulary())
    drawn = [scene for _, scene in zip(range(3), drawn_scenes(7, 224), strict=False)]
    batch = make_batch(drawn, PhraseReader(tokenizer), random.Random(1))
    counts = [len(scene.boxes) for scene in drawn]
    assert batch.targets.pictures.tolist() == [row for row, count in enumerate(counts) for _ in range(count)]
    assert torch.allclose(batch.targets.boxes, torch.tensor([box for scene in drawn for box in scene.boxes]))
    assert batch.targets.named.shape == (sum(counts), batch.asked.shape[1])
    assert set(batch.covered.things.tolist()) <= set(range(sum(counts)))


def test_several_processes_make_other_batches_each() -> None:
    batches = DetectionBatches(build_tokenizer(vocabulary()), 2, "five").made(2)
    made = [next(batches) for _ in range(4)]
    assert len({batch.pixels.numpy().tobytes() for batch in made}) == 4
