"""Batches made in this process and in processes beside it, and where models learn."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from quizglass_export.starter.data.batches import Batch, Row, collate, positions_of  # noqa: E402
from quizglass_export.starter.data.examples import Encoder  # noqa: E402
from quizglass_export.starter.loop.feeding import Feed  # noqa: E402
from quizglass_export.starter.loop.training import on_device, shown  # noqa: E402
from quizglass_export.starter.model.precision import chosen_device  # noqa: E402

CHECKPOINT = Path(__file__).parents[4] / "models" / "starter" / "checkpoints" / "base"


class Telling:
    """Makes batches that say who made them, and how far they were told the training is."""

    def __init__(self) -> None:
        self.encoder = Encoder(CHECKPOINT)
        self.number = 0

    def reseed(self, number: int) -> None:
        self.number = number

    def __call__(self, part: float, copied: float) -> Iterator[Batch]:
        ids = [5, 6, 7]
        told = f"{self.number} {part:.2f} {copied:.2f}"
        yield collate([Row(ids, positions_of(ids, 0), [0, 1, 1], [-100, -100, 7], None, [told])], self.encoder)


def test_one_process_asks_its_source_again_and_tells_it_how_far_it_is() -> None:
    feed = Feed(Telling())
    batches = feed.batches(0)
    first = next(batches).tasks
    feed.tell(0.5, 0.25)
    assert (first, next(batches).tasks) == (["0 0.00 0.00"], ["0 0.50 0.25"])


def test_processes_beside_it_draw_differently_and_are_told_too() -> None:
    feed = Feed(Telling())
    feed.tell(0.5, 0.25)
    expected, told = {"1 0.50 0.25", "2 0.50 0.25"}, set[str]()
    for batch in islice(feed.batches(2), 100_000):  # one process may be late by as many batches as the other makes
        assert batch.ids.tolist() == [[5, 6, 7]]
        told.update(batch.tasks)
        if told >= expected:
            break
    assert told == expected


def test_a_picture_store_reads_the_same_as_an_array_and_as_a_tensor() -> None:
    pictures = torch.randint(0, 255, (4, 112, 112, 3), dtype=torch.uint8).numpy()
    cpu = torch.device("cpu")
    assert on_device(pictures, cpu) is pictures
    rows = [2, 0]
    assert torch.equal(shown(pictures, rows, cpu), shown(torch.from_numpy(pictures), rows, cpu))


def test_a_gpu_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert chosen_device("auto").type == chosen_device("cpu").type == "cpu"
    with pytest.raises(ValueError, match="no GPU"):
        chosen_device("cuda")
