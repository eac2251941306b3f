"""The imports benchmark's own parts: what it draws, what plain readers see in it, and how losses are judged."""

from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bench.imports.__main__ import SHARES
from bench.imports.drawing import PLAIN, Drawn, Seen, damaged
from bench.imports.judging import Arrived, losses
from bench.imports.running import Ran, run_import


def drawn(kind: str, number: int, folder: Path) -> Drawn:
    folder.mkdir(parents=True)
    made: Drawn = import_module(f"bench.imports.inputs.{kind}").draw(Random(f"7 {kind} {number}"), folder)
    return made


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", SHARES)
def test_the_same_seed_draws_the_same_inputs_and_plain_readers_see_what_is_in_them(kind: str, tmp_path: Path) -> None:
    seen = 0
    for number in range(6):
        one, other = (drawn(kind, number, tmp_path / name / str(number)) for name in ("one", "other"))
        assert (one.state, one.seen, one.pictures) == (other.state, other.seen, other.pictures)
        if one.state == PLAIN:
            assert content(tmp_path / "one" / str(number)) == content(tmp_path / "other" / str(number))
        seen += len(one.seen) + len(one.pictures)
    assert seen > 0


def test_the_formats_are_a_hundred_parts() -> None:
    assert sum(SHARES.values()) == 100


def test_damage_is_drawn_by_the_seed_and_damages() -> None:
    made = {damaged(Random(number), b"word " * 200) for number in range(30)}
    assert len(made) > 15
    assert damaged(Random(3), b"word " * 200) == damaged(Random(3), b"word " * 200)
    assert isinstance(damaged(Random(3), b""), bytes)


INPUT = Drawn(Path("table.csv"), PLAIN, (Seen("zqaaaaaaa", frozenset({"column 'price'"}), 2),), ("a.png",))


def ran(status: int = 0, errors: str = "", **report: Any) -> Ran:
    return Ran(status, 1.0, 60.0, errors, {"file": "table.csv", "added": 1, "refused": [], **report})


def refusal(line: int, message: str) -> dict[str, Any]:
    return {"line": line, "id": "", "field": "", "message": message}


HERE = Arrived(frozenset({"zqaaaaaaa"}), frozenset({"zqaaaaaaa"}), 1)
GONE = Arrived(frozenset(), frozenset(), 1)


def test_what_is_there_is_not_lost() -> None:
    assert losses(INPUT, ran(), HERE) == []


@pytest.mark.parametrize(
    "report",
    [
        {"refused": [refusal(2, "is wrong")]},
        {"refused": [refusal(1, "is not CSV, so that nothing after it can be read")]},
        {"passed_over": [{"name": "column 'price'", "message": "is not read"}]},
    ],
)
def test_what_is_told_of_is_not_lost_without_a_word(report: dict[str, Any]) -> None:
    assert losses(INPUT, ran(1, **report), GONE) == []


@pytest.mark.parametrize(
    ("outcome", "has"),
    [
        (ran(), GONE),
        (ran(1, refused=[refusal(3, "is wrong")]), GONE),
        (ran(noted=[{"name": "column 'price'", "message": "is an index"}]), GONE),
        (ran(), Arrived(frozenset({"zqaaaaaaa"}), frozenset(), 1)),
        (ran(), Arrived(HERE.words, HERE.found, 0)),
        (ran(1), HERE),
        (ran(0, cut=[{"name": "column 'price'", "message": "is cut"}]), HERE),
        (ran(2, errors="it cannot be read"), GONE),
    ],
)
def test_all_else_is(outcome: Ran, has: Arrived) -> None:
    assert len(losses(INPUT, outcome, has)) == 1


def test_an_end_without_a_word_is_a_crash() -> None:
    assert ran().crash == ran(2, errors="no file").crash == ""
    assert Ran(-9, 1.0, 60.0, "").crash
    assert Ran(1, 1.0, 60.0, "Traceback (most recent call last)\n").crash
    assert Ran(1, 1.0, 60.0, "").crash
    assert Ran(2, 1.0, 60.0, "usage: quizglass knowledge import\n").crash


def test_the_command_is_one_that_there_is(tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text('{"id": "a", "title": "A"}')
    tried = run_import("127.0.0.1:1", tmp_path / "e.jsonl")
    assert (tried.status, "127.0.0.1:1" in tried.errors) == (3, True)  # no server is there
    assert 10 < tried.peak_mib < 1000


def test_the_peak_is_the_commands_and_not_that_of_whoever_starts_it(tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text('{"id": "a", "title": "A"}')
    held = b"x" * (1 << 30)
    assert run_import("127.0.0.1:1", tmp_path / "e.jsonl").peak_mib < 500
    assert len(held) == 1 << 30
