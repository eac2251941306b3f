"""How many threads llama-server computes with: kept for a machine and a model, and one fewer beside busy programs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.engines.generator.process.options import Patience, ProcessOptions
from quizglass_server.engines.generator.process.programs import Origin, Program
from quizglass_server.engines.generator.process.threads import Neighbours, OthersLoad, ThreadChoice

PROGRAM = Program(Origin.WHEEL, ("/opt/llama-server",), "1")


@pytest.fixture
def options(tmp_path: Path) -> ProcessOptions:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    return ProcessOptions(model, None, 2048, threads=0, cores=8)


def test_half_of_the_cores_are_taken_only_where_that_is_clearly_sooner_and_that_is_kept(
    options: ProcessOptions, tmp_path: Path
) -> None:
    for number, (seconds, wanted) in enumerate((({4: 1.0, 8: 1.3}, 4), ({4: 1.0, 8: 1.05}, 8), ({4: 2.0, 8: 1.0}, 8))):
        folder = tmp_path / str(number)
        choice = ThreadChoice(options, folder)
        assert choice.now == 8
        assert choice.to_compare(PROGRAM) == (4, 8)
        choice.learn(seconds)
        assert choice.now == wanted
        again = ThreadChoice(options, folder)
        assert again.to_compare(PROGRAM) == (), "it is known"
        assert again.now == wanted
        assert choice.to_compare(PROGRAM) == (), "nothing is compared twice"


def test_what_was_kept_is_for_one_model_one_program_and_so_many_cores(options: ProcessOptions, tmp_path: Path) -> None:
    first = ThreadChoice(options, tmp_path)
    first.to_compare(PROGRAM)
    first.learn({4: 1.0, 8: 2.0})
    other = Program(Origin.WHEEL, PROGRAM.command, "2")
    assert ThreadChoice(options, tmp_path).to_compare(other)
    assert ThreadChoice(replace(options, cores=6), tmp_path).to_compare(PROGRAM) == (3, 6)
    options.model.write_bytes(b"GGUF, another one")
    assert ThreadChoice(options, tmp_path).to_compare(PROGRAM)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"threads": 0}', '{"threads": 99}', '{"threads": "many"}'])
def test_a_damaged_file_is_as_good_as_none(options: ProcessOptions, tmp_path: Path, content: str) -> None:
    first = ThreadChoice(options, tmp_path)
    first.to_compare(PROGRAM)
    first.learn({4: 1.0, 8: 2.0})
    (kept,) = tmp_path.glob("threads-*.json")
    kept.write_text(content)
    choice = ThreadChoice(options, tmp_path)
    assert choice.to_compare(PROGRAM) == (4, 8)
    assert choice.now == 8


def test_a_folder_that_cannot_be_written_keeps_nothing_and_hinders_nothing(
    options: ProcessOptions, tmp_path: Path
) -> None:
    choice = ThreadChoice(options, options.model / "folder")
    assert choice.to_compare(PROGRAM) == (4, 8)
    choice.learn({4: 1.0, 8: 2.0})
    assert choice.now == 4


def test_a_model_that_cannot_be_compared_in_time_has_all_cores(options: ProcessOptions, tmp_path: Path) -> None:
    choice = ThreadChoice(options, tmp_path)
    choice.to_compare(PROGRAM)
    choice.learn({4: 9.0})
    assert choice.now == 8
    assert ThreadChoice(options, tmp_path).to_compare(PROGRAM) == (), "and is not tried at every start"


@pytest.mark.parametrize(("threads", "cores"), [(3, 8), (1, 8), (0, 1)])
def test_what_the_operator_has_decided_or_leaves_no_choice_is_never_changed(
    options: ProcessOptions, tmp_path: Path, threads: int, cores: int
) -> None:
    choice = ThreadChoice(replace(options, threads=threads, cores=cores), tmp_path)
    choice.beside_others = True
    assert choice.to_compare(PROGRAM) == ()
    assert choice.now == (threads or cores)


def test_beside_others_it_is_one_fewer(options: ProcessOptions, tmp_path: Path) -> None:
    choice = ThreadChoice(options, tmp_path)
    choice.beside_others = True
    assert choice.now == 7


def test_neighbours_count_once_they_have_been_busy_for_minutes_and_until_they_are_idle_for_minutes() -> None:
    neighbours = Neighbours(Patience(steady_s=180))
    for second in range(0, 170, 10):
        neighbours.seen(1.0, second)
    neighbours.seen(0.0, 170)  # a moment's rest
    for second in range(180, 360, 10):
        neighbours.seen(1.0, second)
        assert not neighbours.busy
    neighbours.seen(1.0, 360)
    assert neighbours.busy
    for second in range(370, 560, 10):
        neighbours.seen(0.5, second)  # neither busy nor idle
    assert neighbours.busy
    for second in range(560, 750, 10):
        neighbours.seen(0.1, second)
    assert not neighbours.busy


@given(st.lists(st.floats(0, 64), max_size=60))
def test_neighbours_change_at_most_once_in_so_long(cores: list[float]) -> None:
    neighbours = Neighbours(Patience(steady_s=100))
    changes = []
    for number, each in enumerate(cores):
        before = neighbours.busy
        neighbours.seen(each, 10.0 * number)
        if neighbours.busy is not before:
            changes.append(10.0 * number)
    assert all(later - sooner >= 100 for sooner, later in pairwise(changes))


def test_where_a_quota_leaves_fewer_cores_nothing_is_known_of_others() -> None:
    load = OthersLoad(10_000)
    assert load.cores(0.0) == 0.0
    assert load.cores(0.0) == 0.0
