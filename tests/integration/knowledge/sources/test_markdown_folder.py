"""A folder of Markdown: real files, changed between questions."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quizglass_server.knowledge.sources.guarded import GuardedSource, Terms
from quizglass_server.knowledge.sources.markdown import LARGEST_FILE, MarkdownFolder, opened
from quizglass_server.knowledge.sources.protocol import Passage, SourceError, TextQuery

NOTE = "# Velmora\n\nA red car made by Tandric.\n\n## Price\n\nThe Velmora costs 45 crowns.\n"


@pytest.fixture
async def folder(tmp_path: Path) -> AsyncIterator[MarkdownFolder]:
    source = opened({"folder": str(tmp_path)})
    yield source
    await source.close()


async def found(source: MarkdownFolder, text: str, limit: int = 5) -> list[Passage]:
    return list(await source.search_text(TextQuery(text), limit))


async def test_a_paragraph_is_found_by_its_words_under_its_headings(folder: MarkdownFolder, tmp_path: Path) -> None:
    (tmp_path / "cars").mkdir()
    (tmp_path / "cars" / "velmora.md").write_text(NOTE)
    (tmp_path / "tagrin.markdown").write_text("The Tagrin lies in Brenn.\n")
    first, *_ = await found(folder, "How much does the Velmora cost?")
    assert (first.title, first.text, first.address) == (
        "Velmora, Price",
        "The Velmora costs 45 crowns.",
        "cars/velmora.md",
    )
    assert [passage.title for passage in await found(folder, "brenn")] == ["tagrin"]
    assert await found(folder, "zebra") == []


@pytest.mark.parametrize(
    "question", ["コアラは何を食べますか？", "ｺｱﾗ", "葉", "动物园在哪里", "🐨?", "what is a コアラ"]
)
async def test_words_are_found_where_none_are_written_apart(
    folder: MarkdownFolder, tmp_path: Path, question: str
) -> None:
    koala = "コアラはユーカリの葉を食べます。動物 动物园 🐨"
    (tmp_path / "koala.md").write_text(f"# 動物\n\n{koala}\n", encoding="utf-8")
    (tmp_path / "tagrin.md").write_text("The Tagrin lies in Brenn.\n")
    (passage,) = await found(folder, question)
    assert (passage.title, passage.text, passage.address) == ("動物", koala, "koala.md")


async def test_signs_that_are_no_markup_in_a_note_stay(folder: MarkdownFolder, tmp_path: Path) -> None:
    commands = 'To log in: `ssh <user>@<host>`, R&D knows &lt;host&gt;. Boil if "a" < b.'
    (tmp_path / "login.md").write_text(f'# List\\<Host>\n\n{commands}\n\n    if (a<b && c>d) "go"\n')
    (passage,) = await GuardedSource("notes", "markdown", folder, Terms()).texts(TextQuery("log in"))
    said = 'To log in: ssh <user>@<host>, R&D knows <host>. Boil if "a" < b. if (a<b && c>d) "go"'
    assert (passage.title, passage.text) == ("List<Host>", said)


async def test_what_changes_is_found_by_the_next_question(folder: MarkdownFolder, tmp_path: Path) -> None:
    note = tmp_path / "a.md"
    assert await found(folder, "crowns") == []
    note.write_text("It costs 45 crowns.")
    assert [passage.text for passage in await found(folder, "crowns")] == ["It costs 45 crowns."]
    note.write_text("Now it costs 46 crowns.")
    assert [passage.text for passage in await found(folder, "crowns")] == ["Now it costs 46 crowns."]
    note.rename(tmp_path / "b.md")
    assert [passage.address for passage in await found(folder, "crowns")] == ["b.md"]
    (tmp_path / "b.md").unlink()
    assert await found(folder, "crowns") == []


async def test_a_pipe_is_not_waited_for(folder: MarkdownFolder, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.md")
    (tmp_path / "b.md").write_text("It costs 45 crowns.")
    try:
        async with asyncio.timeout(20):
            assert [passage.address for passage in await found(folder, "crowns")] == ["b.md"]
    finally:
        os.close(os.open(tmp_path / "a.md", os.O_RDWR))  # lets go of whoever reads it


async def test_a_passage_keeps_its_name_while_its_file_stays(folder: MarkdownFolder, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("It costs 45 crowns.")
    (before,) = await found(folder, "crowns")
    (tmp_path / "b.md").write_text("Something else.")
    assert await found(folder, "crowns") == [before]


async def test_of_a_long_file_passages_are_found(folder: MarkdownFolder, tmp_path: Path) -> None:
    paragraphs = [f"Paragraph {number} is about the number {number}. " * 8 for number in range(200)]
    (tmp_path / "long.md").write_text("# Numbers\n\n" + "\n\n".join(paragraphs))
    (tmp_path / "line.md").write_text("endless " * 20_000)
    first, *_ = await found(folder, "number 137")
    assert "Paragraph 137" in first.text
    assert all(len(passage.text) <= 2_000 for passage in await found(folder, "endless number", 20))


async def test_what_is_no_note_is_left_out(folder: MarkdownFolder, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "page.html").write_text("crowns")
    (tmp_path / "secret.txt").write_text("crowns")
    (tmp_path / "notes" / "link.md").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "notes" / "large.md").write_bytes(b"crowns " * (LARGEST_FILE // 7 + 1))
    (tmp_path / "notes" / "binary.md").write_bytes(os.urandom(2000))
    assert await found(folder, "crowns") == []


async def test_any_question_is_a_search(folder: MarkdownFolder, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("It costs 45 crowns.")
    for text in ("", "?!", '"', "NEAR(crowns", "crowns AND NOT", "title:crowns*", "c " * 5000):
        await found(folder, text)
    assert await found(folder, "crowns NOT 45")


async def test_a_folder_that_is_gone_is_named_as_the_reason(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    source = opened({"folder": str(tmp_path / "notes")})
    (tmp_path / "notes").rmdir()
    with pytest.raises(SourceError, match="cannot be read"):
        await found(source, "crowns")
    await source.close()


async def test_a_name_that_is_no_text_keeps_no_other_file_from_being_found(
    folder: MarkdownFolder, tmp_path: Path
) -> None:
    odd = [Path(os.fsdecode(os.fsencode(tmp_path) + name)) for name in (b"/caf\xe9.md", b"/caf\xe8.md")]
    for path in odd:
        path.write_text("It costs 45 crowns.")
    (tmp_path / "kettle.md").write_text("It costs 46 crowns.")
    names = {"caf\\xe8.md", "caf\\xe9.md", "kettle.md"}
    assert {passage.address for passage in await found(folder, "crowns")} == names
    odd[0].unlink()
    assert {passage.address for passage in await found(folder, "crowns")} == names - {"caf\\xe9.md"}


def test_a_folder_that_may_be_listed_and_not_entered_keeps_no_other_file_from_being_found() -> None:
    code = (
        "import asyncio, os, sys; from quizglass_server.knowledge.sources.markdown import opened\n"
        "from quizglass_server.knowledge.sources.protocol import TextQuery\n"
        "async def search():\n"
        "    source = opened({'folder': sys.argv[1]})\n"
        "    print(*(each.address for each in await source.search_text(TextQuery('crowns'), 9)))\n"
        "asyncio.run(search()) if os.geteuid() == 0 else None\n"  # loads what it needs
        "os.geteuid() or os.setuid(65534)\n"
        "asyncio.run(search())"
    )
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        (folder / "closed").mkdir()
        for name in ("a.md", "closed/b.md"):
            (folder / name).write_text("It costs 45 crowns.")
        (folder / "closed").chmod(0o644)
        done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=False)
        (folder / "closed").chmod(0o755)
    assert (done.stdout.splitlines() or [done.stderr])[-1] == "a.md"


async def test_what_a_program_for_notes_has_put_into_its_bin_is_not_found(
    folder: MarkdownFolder, tmp_path: Path
) -> None:
    (tmp_path / ".trash").mkdir()
    (tmp_path / ".trash" / "kettle.md").write_text("It costs 45 crowns.")
    (tmp_path / ".kettle.md").write_text("It costs 45 crowns.")
    assert await found(folder, "crowns") == []
