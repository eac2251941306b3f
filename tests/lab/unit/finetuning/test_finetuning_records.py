"""Files of records: what models wrote comes back as it was, and a sitting that was killed anywhere goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_export.errors import ExportError
from quizglass_lab.finetuning.shared.records import Record, each_kept, kept_rows, read_rows, write_rows

TEXTS = st.lists(
    st.text(max_size=12) | st.sampled_from(["a\u2028b", "a\u2029b", "a\x85b", "a\x1cb", "a\r\nb"]), max_size=4
)


class Said(Record):
    """What a model said."""

    id: str
    text: str


@given(texts=TEXTS, cut=st.integers(min_value=0), whole=st.booleans())
def test_a_killed_sitting_goes_on_wherever_its_file_ends(texts: list[str], cut: int, whole: bool) -> None:
    items = {str(number): text for number, text in enumerate(texts)}

    def kept(path: Path) -> tuple[dict[str, Said], int]:
        asked: list[str] = []

        def make(some: list[tuple[str, str]]) -> list[Said]:
            asked.extend(name for name, _ in some)
            return [Said(id=name, text=text) for name, text in some]

        pairs = {name: (name, text) for name, text in items.items()}
        return each_kept(path, Said, pairs, make, chunk=2), len(asked)

    with TemporaryDirectory() as folder:
        path = Path(folder) / "said.jsonl"
        first, _ = kept(path)
        written = path.read_bytes()
        left = written if whole else written[: cut % (len(written) + 1)]
        path.write_bytes(left)
        again, asked = kept(path)
        assert again == first == {name: Said(id=name, text=text) for name, text in items.items()}
        assert asked == len(items) - left.count(b"\n"), "what was finished is not asked again"
        assert path.read_bytes() == written
        assert read_rows(path, Said) == list(first.values())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"id": "1", "text": "\xff"}\n', "said.jsonl:1: Invalid JSON: invalid unicode code point"),
        (b'\n{"id": "1"}\n', "said.jsonl:2: text: Field required"),
    ],
)
def test_a_wrong_line_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "said.jsonl").write_bytes(content)
    with pytest.raises(ExportError, match=re.escape(message)):
        read_rows(tmp_path / "said.jsonl", Said)


def test_what_is_kept_is_not_written_anew_when_a_cut_line_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "said.jsonl"
    path.write_text('{"id": "1", "text": "a"}\n{"id": "2", "te', encoding="utf-8")

    def killed(self: Path, content: bytes) -> int:
        with self.open("wb"):
            raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", killed)
    assert kept_rows(path, Said) == {"1": Said(id="1", text="a")}
    assert path.read_text(encoding="utf-8") == '{"id": "1", "text": "a"}\n'


def test_rows_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    def stopped() -> Iterator[Said]:
        yield Said(id="2", text="b")
        raise KeyboardInterrupt

    write_rows(tmp_path / "said.jsonl", [Said(id="1", text="a")])
    with pytest.raises(KeyboardInterrupt):
        write_rows(tmp_path / "said.jsonl", stopped())
    assert read_rows(tmp_path / "said.jsonl", Said) == [Said(id="1", text="a")]
