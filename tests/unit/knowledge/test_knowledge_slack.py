"""What SQLite leaves in the middle of its pages is overwritten, and nothing else."""

import os
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from quizglass_server.knowledge.database.slack import overwrite_slack

LIKE_A_PAGE = b"\x0d\0\0\0\0\x0f\xff\0" * 40
"""What pages of large values begin with might be taken for the head of a page of rows."""


def filled(path: Path, page: int, seed: int) -> tuple[set[str], list[tuple[object, ...]]]:
    """A database in which rows were added and deleted for a while: what has gone, and what is there."""
    rng, alive, gone = random.Random(seed), dict[str, str](), set[str]()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for name, value in (("page_size", page), ("auto_vacuum", "INCREMENTAL"), ("secure_delete", "ON")):
            db.execute(f"PRAGMA {name} = {value}")
        db.execute("CREATE TABLE things (number INTEGER PRIMARY KEY, id TEXT UNIQUE, text TEXT, large BLOB)")
        db.execute("PRAGMA synchronous = OFF")
        for number in range(500):
            id_, word = f"e{rng.randint(0, 100)}", f"zq{number:06d}x"
            gone |= {alive.pop(id_)} if id_ in alive else set()
            db.execute("BEGIN")
            db.execute("DELETE FROM things WHERE id = ?", (id_,))
            if number < 450 or rng.random() < 0.3:
                alive[id_] = word
                row = (number, id_, word + "w" * rng.randint(0, 900), LIKE_A_PAGE * rng.randint(0, 30))
                db.execute("INSERT INTO things VALUES (?, ?, ?, ?)", row)
            db.execute("COMMIT")
        db.execute("PRAGMA incremental_vacuum").fetchall()
        return gone, db.execute("SELECT * FROM things").fetchall()


@pytest.mark.parametrize("page", [512, 4096, 65_536])
def test_the_middle_of_pages_is_overwritten_and_all_else_is_as_it_was(tmp_path: Path, page: int) -> None:
    path = tmp_path / "things.sqlite3"
    gone, rows = filled(path, page, 3)
    file = os.open(path, os.O_RDWR)
    assert (overwrite_slack(file) > 0, overwrite_slack(file)) == (True, 0)
    os.close(file)
    content = path.read_bytes()
    assert not [word for word in gone if word.encode() in content]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT * FROM things").fetchall() == rows
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_file_without_a_pointer_map_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "plain.sqlite3"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE things (number INTEGER PRIMARY KEY)")
    before = path.read_bytes()
    for content in (before, b"", before[:60]):
        path.write_bytes(content)
        file = os.open(path, os.O_RDWR)
        assert overwrite_slack(file) == 0
        os.close(file)
        assert path.read_bytes() == content
