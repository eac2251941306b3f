"""Batches made in this process and in processes beside it, of a training that goes on too, and where models learn."""

from collections.abc import Callable, Iterator
from dataclasses import fields
from itertools import islice
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from quizglass_lab.starter.data.batches import Batch, Row, collate, positions_of  # noqa: E402
from quizglass_lab.starter.data.examples import Encoder  # noqa: E402
from quizglass_lab.starter.loop import training  # noqa: E402
from quizglass_lab.starter.loop.feeding import BatchSource, Feed  # noqa: E402
from quizglass_lab.starter.loop.training import on_device, shown  # noqa: E402
from quizglass_lab.starter.model.checkpoints import load_tokenizer  # noqa: E402
from quizglass_lab.starter.model.precision import chosen_device  # noqa: E402
from quizglass_lab.starter.model.vlm import PICTURE_TOKENS, new_model  # noqa: E402
from quizglass_lab.starter.stages import language  # noqa: E402

torch.set_num_threads(1)
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


class Pictured:
    """Makes one batch again and again: a row with a picture and two branches, and one without either."""

    def __init__(self) -> None:
        encoder = Encoder(CHECKPOINT)
        ids, told = [105, *[encoder.pad] * PICTURE_TOKENS, 106, 107], [-100] * (PICTURE_TOKENS + 1)
        branches = [0] * (PICTURE_TOKENS + 1) + [1, 2]
        rows = [
            Row(ids, positions_of(ids, encoder.pad), branches, [*told, 8, 9], 3, ["one", "two"]),
            Row([105, 106], positions_of([105, 106], encoder.pad), [0, 1], [-100, 4], None, ["three"]),
        ]
        self.batch = collate(rows, encoder)

    def reseed(self, number: int) -> None:
        pass

    def __call__(self, part: float, copied: float) -> Iterator[Batch]:
        yield self.batch


def test_what_a_process_beside_it_made_arrives_whole() -> None:
    source = Pictured()
    arrived = next(Feed(source).batches(1))
    for part in fields(Batch):
        sent, got = getattr(source.batch, part.name), getattr(arrived, part.name)
        assert got == sent if isinstance(sent, list) else torch.equal(got, sent) and got.dtype == sent.dtype


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


class Interrupted(Exception):
    pass


class Watched:
    """A source that notes its batches and its arguments, until it is interrupted."""

    def __init__(self, source: BatchSource, most: int) -> None:
        self.source = source
        self.most = most
        self.given: list[list[int]] = []
        self.copied: list[float] = []

    def reseed(self, number: int) -> None:
        self.source.reseed(number)

    def __call__(self, part: float, copied: float) -> Iterator[Batch]:
        for batch in islice(self.source(part, copied), 1):
            if len(self.given) == self.most:
                raise Interrupted
            self.copied.append(copied)
            self.given.append(batch.ids.flatten().tolist())
            yield batch


@pytest.fixture
def sat(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[int], Watched]:
    """A sitting of the language stage's training: so many steps, each of which copies everything, then interrupted."""
    encoder = Encoder(CHECKPOINT)
    model = new_model(load_tokenizer(CHECKPOINT), 1)
    monkeypatch.setattr(training, "_SAVE_EVERY", 0.0)
    monkeypatch.setattr(training, "exact", lambda scores, batch: torch.ones(len(batch.tasks)))
    monkeypatch.setattr(language, "_POOL", 4)
    monkeypatch.setattr(language, "_COPYING_TOKENS", 100)

    def sit(steps: int) -> Watched:
        source = Watched(language.TextBatches(encoder, 1000, 77), steps)
        with pytest.raises(Interrupted):
            training.fit(model, source, tmp_path, 60.0, rate=1e-3)
        return source

    return sit


def test_each_sitting_of_an_interrupted_training_draws_other_batches(sat: Callable[[int], Watched]) -> None:
    first, second, third = sat(2), sat(2), sat(1)
    drawn = [tuple(batch) for sitting in (first, second, third) for batch in sitting.given]
    assert len(set(drawn)) == len(drawn) == 5


def test_an_uninterrupted_training_draws_as_its_source_was_seeded(sat: Callable[[int], Watched]) -> None:
    source = language.TextBatches(Encoder(CHECKPOINT), 1000, 77)
    assert sat(1).given == [next(source(0.0, 0.0)).ids.flatten().tolist()]


def test_a_training_that_goes_on_knows_what_was_copied(sat: Callable[[int], Watched]) -> None:
    assert sat(3).copied == [0.0, 0.0, 1.0]  # a step is counted when the next has begun
    assert sat(1).copied == [1.0]


def test_progress_from_before_it_held_what_was_measured_is_gone_on_with(
    sat: Callable[[int], Watched], tmp_path: Path
) -> None:
    sat(2)
    state = torch.load(tmp_path / "progress.pt", weights_only=True)
    del state["measured"]
    torch.save(state, tmp_path / "progress.pt")
    assert sat(1).copied == [0.0]


def test_processes_beside_a_training_that_goes_on_draw_differently_too() -> None:
    fresh, resumed = Feed(Telling()), Feed(Telling(), 7)
    assert {tuple(next(feed.batches(1)).tasks) for feed in (fresh, resumed)} == {
        ("1 0.00 0.00",),
        ("70001 0.00 0.00",),
    }
