from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_bundle.fields import Patched
from quizglass_bundle.inputs.vision_inputs import channels, fit, image_tokens, padded, patches, positions, vision_batch

MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
IMAGE, START, END = 900, 901, 902


def spec(width: int = 112, height: int = 112, patch: int = 14) -> Patched:
    return Patched(width=width, height=height, mean=MEAN, std=STD, patch=patch, merge=2, temporal=2)


def noise(width: int, height: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def prompt(picture: Patched, before: int, after: int) -> list[int]:
    return [*range(10, 10 + before), START, *[IMAGE] * image_tokens(picture), END, *range(50, 50 + after)]


@pytest.mark.parametrize(("width", "height", "patch"), [(112, 112, 14), (168, 112, 14), (84, 140, 14), (64, 96, 16)])
def test_patches_equal_transformers_image_processor(width: int, height: int, patch: int) -> None:
    transformers = pytest.importorskip("transformers")
    processor = transformers.Qwen2VLImageProcessor(
        do_resize=False, image_mean=list(MEAN), image_std=list(STD), patch_size=patch, merge_size=2
    )
    picture = noise(width, height)
    expected = processor(images=[picture], return_tensors="np")
    found = patches(picture, spec(width, height, patch))
    assert found.dtype == np.float32
    assert found.shape == expected["pixel_values"].shape
    assert np.abs(found - expected["pixel_values"]).max() < 1e-5
    assert expected["image_grid_thw"].tolist() == [[1, height // patch, width // patch]]


def test_channels_equal_transformers_clip_processor_with_a_stretched_bicubic_resize() -> None:
    transformers = pytest.importorskip("transformers")
    processor = transformers.CLIPImageProcessor(
        size={"height": 112, "width": 112}, resample=3, do_center_crop=False, image_mean=list(MEAN), image_std=list(STD)
    )
    picture = noise(300, 170)
    expected = processor(picture, return_tensors="np")["pixel_values"][0]
    assert np.abs(channels(picture, spec()) - expected).max() < 1e-5


@pytest.fixture(scope="module")
def rope_index() -> Callable[[list[int], list[tuple[int, int]]], np.ndarray]:
    """transformers' positions of a prompt whose pictures have these patches down and across."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.Qwen2_5_VLConfig(
        text_config={"hidden_size": 8, "num_hidden_layers": 0, "num_attention_heads": 1, "vocab_size": 1000},
        vision_config={"depth": 0, "hidden_size": 8, "num_heads": 1, "intermediate_size": 9, "out_hidden_size": 8},
        image_token_id=IMAGE,
        vision_start_token_id=START,
        vision_end_token_id=END,
    )
    model = transformers.Qwen2_5_VLModel(config)

    def of(ids: list[int], grids: list[tuple[int, int]]) -> np.ndarray:
        shown = torch.tensor([[1, *grid] for grid in grids]) if grids else None
        found, _ = model.get_rope_index(torch.tensor([ids]), shown)
        return np.asarray(found[:, 0].numpy())

    return of


@pytest.mark.parametrize(("width", "height"), [(112, 112), (168, 84), (56, 224)])
@pytest.mark.parametrize(("before", "after"), [(0, 0), (3, 7), (5, 0)])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_positions_equal_transformers_rope_index(
    rope_index: Callable[[list[int], list[tuple[int, int]]], np.ndarray],
    width: int,
    height: int,
    before: int,
    after: int,
    count: int,
) -> None:
    picture = spec(width, height)
    ids = [3, *prompt(picture, before, after) * count, 4]
    found = positions(ids, IMAGE, picture)
    assert (found.dtype, found.shape) == (np.int64, (3, len(ids)))
    assert np.array_equal(found, rope_index(ids, [(height // 14, width // 14)] * count))


@given(st.integers(0, 20), st.integers(0, 20))
def test_positions_go_on_after_the_picture_where_its_longer_side_ends(before: int, after: int) -> None:
    picture = spec(168, 112)
    ids = prompt(picture, before, after)
    found = positions(ids, IMAGE, picture)
    first = before + 1
    last = first + image_tokens(picture)
    assert found.shape == (3, len(ids))
    assert found[:, last].tolist() == [first + 6] * 3
    assert (found[0, first:last] == first).all()


@pytest.mark.parametrize(
    "ids", [[IMAGE], [START, *[IMAGE] * 17], [*[IMAGE] * 8, 1, *[IMAGE] * 8], [*[IMAGE] * 15, 1, *[IMAGE] * 17]]
)
def test_image_tokens_that_are_not_whole_runs_are_refused(ids: list[int]) -> None:
    with pytest.raises(ValueError, match="image tokens in the prompt, not runs of 16"):
        positions(ids, IMAGE, spec())


@pytest.mark.parametrize("picture", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 4), np.uint8), np.zeros((4, 4, 3))])
def test_arrays_that_are_not_rgb_are_refused(picture: np.ndarray) -> None:
    with pytest.raises(ValueError, match="not uint8"):
        fit(picture, spec())


def test_a_batch_pads_on_the_right_and_leaves_pictures_out() -> None:
    picture = spec()
    rows = [prompt(picture, 2, 9), [5, 6, 7]]
    batch = vision_batch(rows, IMAGE, picture, [[patches(noise(112, 112), picture)], []])
    assert batch["input_ids"].shape == batch["attention_mask"].shape == (2, len(rows[0]))
    assert batch["attention_mask"].sum(1).tolist() == [len(rows[0]), 3]
    assert batch["position_ids"].shape == (3, 2, len(rows[0]))
    assert batch["position_ids"][:, 1, :3].tolist() == [[0, 1, 2]] * 3
    assert batch["pixel_values"].shape == (2, 64, 1176)
    assert not batch["pixel_values"][1].any()
    assert np.array_equal(batch["pixel_values"][0], patches(noise(112, 112), picture))


def test_rows_of_several_pictures_chain_them_and_the_others_are_filled_up_with_zeros() -> None:
    picture, cells = spec(), 64
    one, two, three = (patches(noise(112, 112, seed), picture) for seed in range(3))
    rows = [prompt(picture, 2, 9) * 2, prompt(picture, 1, 1), [5, 6]]
    pixels = vision_batch(rows, IMAGE, picture, [[one, two], [three], []])["pixel_values"]
    assert (pixels.shape, pixels.dtype) == ((3, 2 * cells, 1176), np.float32)
    assert np.array_equal(pixels[0], np.concatenate([one, two]))
    assert np.array_equal(pixels[1, :cells], three)
    assert not pixels[1, cells:].any()
    assert not pixels[2].any()


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=4))
def test_one_picture_a_prompt_gives_the_arrays_that_graphs_of_one_were_exported_for(
    rows: list[tuple[bool, int, int]],
) -> None:
    picture = spec(168, 112)
    cut = [patches(noise(168, 112, seed), picture) if shown else None for seed, (shown, _, _) in enumerate(rows)]
    ids = [prompt(picture, *around) if shown else [5] * sum(around) for shown, *around in rows]
    batch = vision_batch(ids, IMAGE, picture, [[] if each is None else [each] for each in cut])
    assert list(batch) == ["input_ids", "attention_mask", "position_ids", "pixel_values"]
    blank = np.zeros((96, 1176), np.float32)
    assert np.array_equal(batch["pixel_values"], np.stack([blank if each is None else each for each in cut]))
    assert all(value.flags.c_contiguous for value in batch.values())
    for index, row in enumerate(ids):
        there = batch["position_ids"][:, index, : len(row)]
        start = row.index(IMAGE) if IMAGE in row else len(row)
        across = np.arange(24) % 6
        expected = np.tile(np.concatenate([np.arange(start), np.full(24, start), start + 6 + np.arange(99)]), (3, 1))
        expected[1:, start : start + 24] += [np.arange(24) // 6, across]
        assert np.array_equal(there, expected[:, : len(row)])
        assert not batch["position_ids"][:, index, len(row) :].any()


def test_padding_is_never_taken_for_a_picture() -> None:
    picture = spec()
    batch = vision_batch([[1, 2, 3], [4]], 0, picture, [[], []])
    assert 0 not in batch["input_ids"]


def test_text_batches_have_ids_and_mask_alone() -> None:
    assert set(padded([[1, 2], [3]])) == {"input_ids", "attention_mask"}
