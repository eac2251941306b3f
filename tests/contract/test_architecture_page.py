"""The architecture page shows the house as it stands: its rooms, and a question's way."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "server" / "quizglass_server"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MOST_ROOMS, MOST_STOPS, MOST_FILES = 16, 15, 25


def section(name: str) -> str:
    """The text below a heading, up to the next one."""
    _, _, rest = PAGE.partition(f"\n## {name}\n")
    assert rest, f"docs/architecture.md has no section {name!r}"
    return rest.partition("\n## ")[0]


def test_every_room_of_the_server_has_its_sentence_and_they_are_few() -> None:
    rows = re.findall(r"^\| `([a-z]+)/` \| ([^|]+) \|", section("The rooms"), re.MULTILINE)
    folders = {path.name for path in SERVER.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert sorted(name for name, _ in rows) == sorted(folders)
    assert len(folders) <= MOST_ROOMS
    assert [name for name, sentence in rows if not re.fullmatch(r"[A-Z][^.]+\.", sentence)] == []


def test_a_questions_way_has_few_stops_through_few_files_that_exist() -> None:
    stops = re.findall(
        r"^(\d+)\. (.*?)(?=^\d+\. |^\S|\Z)", section("One request, file by file"), re.MULTILINE | re.DOTALL
    )
    assert [int(number) for number, _ in stops] == list(range(1, len(stops) + 1))
    assert 1 < len(stops) <= MOST_STOPS
    files = {name for _, text in stops for name in re.findall(r"`([a-z_/]+\.py)`", text)}
    assert [name for name in sorted(files) if not (SERVER / name).is_file()] == []
    assert len(files) <= MOST_FILES
