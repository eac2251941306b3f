"""What the cells of pictures show, and a tower that goes on learning to see."""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from quizglass_lab.pocketworld.arrangement import boxes  # noqa: E402
from quizglass_lab.pocketworld.scenes import Scene  # noqa: E402
from quizglass_lab.pocketworld.world import BODY_COLOURS, KINDS  # noqa: E402
from quizglass_lab.starter.data import pictures  # noqa: E402
from quizglass_lab.starter.data.pictures import ABSENT, free_scenes, labels, slot_scenes  # noqa: E402
from quizglass_lab.starter.model.checkpoints import load_base  # noqa: E402
from quizglass_lab.starter.model.sizes import TOKENS_SIDE  # noqa: E402
from quizglass_lab.starter.model.vlm import picture_features, tower_features  # noqa: E402
from quizglass_lab.starter.stages.vision import CellHeads, evaluate, mirrored, train_vision  # noqa: E402

CHECKPOINT = Path(__file__).parents[4] / "models" / "starter" / "checkpoints" / "base"
IDENTITIES = {thing.id: number for number, thing in enumerate(pictures.recognised_things())}
COUNTS = {"slots": 2, "free": 2}


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vision")
    every = [(sort, index) for sort, count in COUNTS.items() for index in range(count)]
    pictures.make_shards(folder, every, 40, workers=2)
    return folder


@pytest.mark.parametrize("make", [slot_scenes, free_scenes])
def test_cells_show_the_things_that_cover_them(make: Callable[[int, int], Iterator[Scene]]) -> None:
    for scene in make(40, 2):
        rows = labels(scene, IDENTITIES)
        nothing = rows[:, 0] == len(KINDS)
        assert (rows[nothing, 1:] == ABSENT).all()
        assert (rows[~nothing] != ABSENT).all()
        looks = {(KINDS.index(p.thing.look.kind), BODY_COLOURS.index(p.thing.look.body)) for p in scene.things}
        assert {(int(row[0]), int(row[1])) for row in rows[~nothing]} <= looks
        for placed, (left, top, right, bottom) in zip(scene.things, boxes(scene), strict=True):
            if len(scene.things) == 1 and right - left > 0.2 and bottom - top > 0.2:
                column, row = (int(TOKENS_SIDE * middle) for middle in ((left + right) / 2, (top + bottom) / 2))
                assert rows[row * TOKENS_SIDE + column, 0] == KINDS.index(placed.thing.look.kind)


def test_recognised_things_have_an_identity_and_strangers_share_one() -> None:
    for scene in free_scenes(40, 3):
        rows = labels(scene, IDENTITIES)
        shown = {int(row[5]) for row in rows if row[5] != ABSENT}
        assert shown <= {IDENTITIES.get(placed.thing.id, len(IDENTITIES)) for placed in scene.things}


def test_mirrored_pictures_have_mirrored_cells(shards: Path) -> None:
    images, told = (torch.from_numpy(np.array(each)) for each in pictures.load_shard(shards, "free", 1))
    shown, cells = mirrored(images, told)
    assert torch.equal(shown[:, :, 0], images[:, :, -1])
    assert torch.equal(cells[:, 0], told[:, TOKENS_SIDE - 1])
    back, again = mirrored(shown, cells)
    assert torch.equal(back, images)
    assert torch.equal(again, told)


def test_a_shard_is_the_same_again_and_not_made_twice(shards: Path, tmp_path: Path) -> None:
    pictures.make_shards(tmp_path, [("free", 1)], 40)
    for one, other in zip(
        pictures.load_shard(shards, "free", 1), pictures.load_shard(tmp_path, "free", 1), strict=True
    ):
        assert np.array_equal(one, other)
    before = (tmp_path / "free-001.npy").stat().st_mtime_ns
    pictures.make_shards(tmp_path, [("free", 1)], 40)
    assert (tmp_path / "free-001.npy").stat().st_mtime_ns == before


def test_a_tower_that_goes_on_stays_near_what_language_knows(shards: Path, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    model = load_base(CHECKPOINT)
    before = copy.deepcopy(model.model.visual)
    folder = tmp_path / "vision"
    folder.mkdir()
    for path in shards.iterdir():
        (folder / path.name).symlink_to(path)
    measured = train_vision(model, folder, COUNTS, 0.05, further=True)
    assert {"free-kind", "free-recognised", "slots-body"} <= set(measured)
    images = torch.from_numpy(np.array(pictures.load_shard(shards, "slots", 0)[0]))
    with torch.no_grad():
        held, now = tower_features(before, images), picture_features(model, images)
    assert not torch.equal(held, now)
    assert float((held - now).square().mean() / held.var()) < 1  # of two towers that know nothing of each other: 2


def test_heads_are_measured_on_held_out_shards_of_both_sorts(shards: Path) -> None:
    torch.manual_seed(1)
    measured = evaluate(load_base(CHECKPOINT).model.visual, CellHeads(), shards)
    assert {name.partition("-")[0] for name in measured} == {"slots", "free"}
    assert all(0 <= value <= 1 for value in measured.values())
