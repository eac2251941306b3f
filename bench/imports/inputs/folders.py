"""Folders as phones, network storage and browsers leave them: every text is read back, and every picture counted."""

from __future__ import annotations

from pathlib import Path
from random import Random

from bench.imports.drawing import DAMAGED, HOSTILE, ODD, PLAIN, Drawn, Seen, Words, damaged, either_form
from bench.imports.inputs import markdown, pages, pictures, texts

_NAMES = ("koala", "Café Zürich", "한국어", "がっこう", "red kettle", "Ångström 2", "a.b", "Sam", "Nikon D750")
_OF_CAMERAS = (
    "IMG_2041",
    "DSC01234",
    "Screenshot 2024-05-01 at 10.22.33",
    "PXL_20240501_102233123",
    "image0",
    "DJI_0012",
)
_OF_SYSTEMS = (
    "Thumbs.db",
    ".DS_Store",
    "._koala.jpg",
    "@eaDir/koala.jpg/THUMB.jpg",
    "#recycle/old.md",
    "desktop.ini",
    ".git/config",
)
_NOT_READ = (
    "manual.pdf",
    "letter.docx",
    "Makefile",
    "film.mp4",
    "drawing.svg",
    "sheet.xlsx",
    "raw.dng",
    "notes.odt",
    "a.zip",
)


def draw(random: Random, folder: Path) -> Drawn:
    """A folder of several folders, texts and pictures."""
    state = random.choices((PLAIN, ODD, DAMAGED, HOSTILE), (2, 5, 3, 1))[0]
    root = folder / "notes"
    root.mkdir()
    words = Words(random)
    if state == HOSTILE:
        _hostile(random, root, words)
        return Drawn(root, state)
    found: list[Seen] = []
    shown: list[str] = []
    for below in random.sample(("", "zoo", "zoo/koala", "Küche", "DCIM/100"), random.randrange(1, 4)):
        at = root / below
        at.mkdir(parents=True, exist_ok=True)
        for _ in range(random.randrange(3)):
            found += _document(random, at, words, root, state)
        for _ in range(random.randrange(4)):
            shown += _picture(random, at, root, state)
        if state != PLAIN and random.random() < 0.6:
            _others(random, at)
    found += _saved_page(random, root, words) if random.random() < 0.2 else []
    return Drawn(root, state, tuple(found), tuple(shown))


def _document(random: Random, at: Path, words: Words, root: Path, state: str) -> list[Seen]:
    path = at / f"{either_form(random, random.choice(_NAMES))}{random.choice(('.md', '.txt', '.html', '.MD', '.rst'))}"
    if path.exists():
        return []
    body = (
        f"# {words()}\n\n{words.sentence()}\n" if path.suffix != ".html" else f"<h1>{words()}</h1><p>{words.sentence()}"
    )
    raw = body.encode()
    if state == DAMAGED and random.random() < 0.3:
        raw = damaged(random, raw)
    path.write_bytes(raw)
    name = path.relative_to(root).as_posix()
    read = {".html": pages.seen, ".md": markdown.seen}.get(path.suffix.lower(), texts.seen)
    return read(raw, name)


def _picture(random: Random, at: Path, root: Path, state: str) -> list[str]:
    stem = random.choice(
        (random.choice(_NAMES), random.choice(_OF_CAMERAS), f"{random.choice(_NAMES)} {random.randrange(20)}")
    )
    kind, ending = random.choice(
        (("JPEG", ".jpg"), ("PNG", ".png"), ("GIF", ".gif"), ("WEBP", ".jpg.webp"), ("JPEG", ".JFIF"))
    )
    path = at / f"{either_form(random, stem)}{ending}"
    if path.exists():
        return []
    raw = pictures.picture(random, kind, odd=False)
    if state == DAMAGED and random.random() < 0.3:
        raw = damaged(random, raw)
    path.write_bytes(raw)
    return [path.relative_to(root).as_posix()] if pictures.decodes(raw) else []


def _others(random: Random, at: Path) -> None:
    for name in random.sample(_OF_SYSTEMS, 2) + random.sample(_NOT_READ, 2):
        path = at / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"nothing that is read")


def _saved_page(random: Random, root: Path, words: Words) -> list[Seen]:
    raw = f"<title>{words()}</title><h1>{words()}</h1><p>{words.sentence()}<img src=Saved_files/a.jpg>".encode()
    (root / "Saved.html").write_bytes(raw)
    (root / "Saved_files").mkdir()
    (root / "Saved_files" / "a.png").write_bytes(pictures.picture(random, "PNG", odd=False))
    (root / "Saved_files" / "frame.html").write_text("<p>An advertisement.")
    return pages.seen(raw, "Saved.html")


def _hostile(random: Random, root: Path, words: Words) -> None:
    (root / "koala.md").write_text(f"# {words()}\n\n{words.sentence()}\n")
    match random.randrange(6):
        case 0:  # deep
            deep = root
            for _ in range(120):
                deep /= "d"
            deep.mkdir(parents=True)
            (deep / "note.md").write_text(words.sentence())
        case 1:  # many
            for number in range(3_000):
                (root / f"n{number}.pdf").write_bytes(b"")
        case 2:  # in circles
            (root / "again").symlink_to(root)
            (root / "gone.md").symlink_to("nothing.md")
            (root / "secret.md").symlink_to("/etc/passwd")
        case 3:  # without an end
            with (root / "huge.md").open("wb") as file:
                file.truncate(1 << 40)
            with (root / "koala.jpg").open("wb") as file:
                file.truncate(1 << 40)
        case 4:  # 16 pictures of 60 MB
            raw = pictures.picture(random, "PNG", odd=False)
            for number in range(16):
                (root / f"koala {number}.png").write_bytes(raw + bytes(60 << 20))
        case _:  # names that few programs write
            for name in ("\n.md", "a\u202eb.md", "%s%n.md", "x" * 200 + ".md", "-rf.md", "\x1b[31m.md"):
                (root / name).write_text(words.sentence())
            Path(bytes(root).decode() + "/bad\udcff.md").write_text(words.sentence())
