"""The documents and pictures of a folder and those below; all else that lies there is named or counted."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.names.kinds import (
    FORMATS,
    is_document,
    is_of_a_system,
    is_picture,
    page_of,
    same_name,
    why_not_read,
)

_SMALLEST_OF_A_PAGE = 100
"""Pixels; pictures of a saved page with a shorter side are its buttons and signs."""
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "AVIF")


@dataclass(slots=True)
class FolderTree:
    """What lies in a folder and those below, in the order of their names."""

    documents: list[Path] = field(default_factory=list)
    pictures: list[Path] = field(default_factory=list)
    of_pages: dict[Path, list[Path]] = field(default_factory=dict)
    """Pictures that a browser saved with a page, the largest first, by the page."""


def folder_tree(folder: Path, report: ImportReport, *, only: str = "") -> FolderTree:
    """What lies in a folder and those below, or the one `only` of these; `report` gets what is none of both.

    Raises:
        OSError: the folder cannot be read. One below that cannot be is passed over.
    """
    tree = FolderTree()

    def failed(error: OSError) -> None:
        if error.filename == str(folder):
            raise error
        name = _within(folder, Path(error.filename))
        report.unread.append(name)
        report.passed_over(name, f"cannot be read ({error.strerror})")

    for here, folders, names in _walked(folder, failed):
        files = [here / name for name in sorted(names) if not _left_out(name, report)]
        pages = {same_name(path.stem): path for path in files if FORMATS.get(path.suffix.lower()) == "html"}
        below = []
        for name in sorted(folders):
            page = pages.get(same_name(page_of(name) or ""))
            if page is not None:
                tree.of_pages.setdefault(page, []).extend(_of_a_page(here / name, report, failed))
            elif (here / name).is_symlink():
                report.passed_over(
                    _within(folder, here / name), "is a link to a folder; links to folders are not followed"
                )
            elif not _left_out(name, report) and (not only or here != folder or same_name(name) == same_name(only)):
                below.append(name)
        folders[:] = below
        for path in files:
            _sort_in(path, folder, tree, report)
    return tree


def _sort_in(path: Path, folder: Path, tree: FolderTree, report: ImportReport) -> None:
    if not path.is_file():
        report.passed_over(
            _within(folder, path), "is a link to nothing" if path.is_symlink() else "is not a regular file"
        )
    elif is_document(path):
        tree.documents.append(path)
    elif is_picture(path):
        tree.pictures.append(path)
    else:
        report.passed_over(_within(folder, path), why_not_read(path))


def _left_out(name: str, report: ImportReport) -> bool:
    if not is_of_a_system(name):
        return False
    report.leave_out("hidden files and folders, and those of systems")
    return True


def _walked(folder: Path, failed: Callable[[OSError], None]) -> Iterator[tuple[Path, list[str], list[str]]]:
    """As `os.walk`; a folder that may be listed and not entered is one that cannot be read."""
    for at, folders, names in os.walk(folder, onerror=failed):
        if os.access(at, os.X_OK):
            yield Path(at), folders, names
        else:
            folders.clear()
            failed(PermissionError(errno.EACCES, os.strerror(errno.EACCES), at))


def _of_a_page(folder: Path, report: ImportReport, failed: Callable[[OSError], None]) -> list[Path]:
    """Pictures that a page shows, the largest first; its scripts, frames, buttons and signs are left out."""
    files = [at / name for at, _, names in _walked(folder, failed) for name in names]
    shown = (path for path in files if is_picture(path) and path.is_file() and _shows_something(path))
    pictures = sorted(shown, key=_size, reverse=True)
    if left := len(files) - len(pictures):
        report.leave_out("files that belong to saved pages", left)
    return pictures


def _size(path: Path) -> tuple[int, str]:
    return path.stat().st_size, str(path)


def _shows_something(path: Path) -> bool:
    try:
        with Image.open(path, formats=_FORMATS) as image:
            return min(image.size) >= _SMALLEST_OF_A_PAGE
    except Exception:  # parsers of damaged files raise anything
        return False


def _within(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()
