"""A thing as it is typed on the command line: pictures of it, and a text or a file with one, in any order."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quizglass_client.cli.imports.encodings import decoded
from quizglass_client.cli.imports.entries import MOST_PICTURES
from quizglass_client.cli.imports.texts.html_pages import declared_encoding
from quizglass_client.cli.imports.texts.titles import title_of_markup
from quizglass_client.files import read_file
from quizglass_client.names.kinds import FORMATS, is_document, is_picture
from quizglass_client.terminal.usage import UsageError

_LARGEST = 4 << 20  # bytes of a text's file


@dataclass(frozen=True, slots=True)
class TypedThing:
    """What the words of a command line say."""

    pictures: tuple[Path, ...] = ()
    text: str = ""
    text_format: str = ""
    title: str = ""
    """That a file gives itself."""


def typed(words: Sequence[str], text: str = "") -> TypedThing:
    """Which of these words are pictures and which are the text; words that are neither are one text without quotes.

    Args:
        words: as they were typed.
        text: of an option, which takes the place of a text among the words.

    Raises:
        UsageError: a file is missing, is a folder or of another kind, or there are two texts.
        OSError: a file cannot be read.
    """
    pictures, documents, said = list[Path](), list[Path](), list[str]()
    for word in words:
        path = Path(word)
        if _is_file_name(word, path) and is_picture(path):
            pictures.append(path)
        elif _is_file_name(word, path) and is_document(path):
            documents.append(path)
        else:
            said.append(_no_other_file(word, path))
    if len(documents) + bool(said) + bool(text) > 1:
        raise UsageError("there is more than one text; an entry has one")
    if len(pictures) > MOST_PICTURES:
        more = "if they show more than one thing, add each by itself, or import them"
        raise UsageError(f"an entry takes {MOST_PICTURES} pictures, and these are {len(pictures)}; {more}")
    return _of_file(documents[0], pictures) if documents else TypedThing(tuple(pictures), text or " ".join(said))


def _is_file_name(word: str, path: Path) -> bool:
    """Whether a word is a file. Raises UsageError for one that can only be meant as such, and is not there."""
    if _exists(path):
        return path.is_file()
    if len(word.split()) == 1 and (is_picture(path) or is_document(path)) and path.stem:
        raise UsageError(f"{word} is no file; give a picture of the thing, and a text about it in quotes")
    return False


def _no_other_file(word: str, path: Path) -> str:
    """The word. Raises UsageError where it is a folder, or a file of another kind."""
    if _exists(path):
        folder = f"a folder; import it: quizglass knowledge import {shlex.quote(word)}"
        raise UsageError(f"{word} is {folder if path.is_dir() else 'neither a picture nor a text'}")
    return word


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a text is longer than the name of a file may be
        return False


def _of_file(document: Path, pictures: Sequence[Path]) -> TypedThing:
    text_format = FORMATS[document.suffix.lower()]
    raw = read_file(document, _LARGEST)
    try:
        text, _ = decoded(raw, declared_encoding(raw) if text_format == "html" else "")
    except ValueError as error:
        raise UsageError(f"{document}: {error}") from None
    return TypedThing(tuple(pictures), text, text_format, title_of_markup(text, text_format))
