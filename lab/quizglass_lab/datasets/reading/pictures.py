"""Finding a benchmark's pictures in a folder, by the names that the benchmark gives them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.record import shown
from quizglass_lab.datasets.reading.sample import SamplePicture

EXTENSIONS = (".jpg", ".jpeg", ".JPEG", ".JPG", ".png", ".PNG", ".webp")


def last_of_address(url: str) -> str:
    """The last part of an address, under which a picture that was stored may be found; empty where it has none."""
    try:
        return unquote(urlsplit(url).path).rpartition("/")[2]
    except ValueError:  # an address that is none
        return ""


class PictureFolder:
    """A folder of pictures, or none. Names come from files of strangers: none leads out of the folder."""

    def __init__(self, root: Path | None) -> None:
        """`root` None: no picture is looked for."""
        self.root = root

    def picture(self, name: str, candidates: Iterable[str] = (), *, url: str = "") -> SamplePicture:
        """The picture of a name: the first of `candidates`, paths below the folder, that is a file."""
        for candidate in candidates if self.root else ():
            if (path := self._inside(candidate)) is not None:
                return SamplePicture(name, path, url=url)
        return SamplePicture(name, url=url)

    def _inside(self, candidate: str) -> Path | None:
        parts = PurePosixPath(candidate).parts
        if self.root is None or not parts or ".." in parts or parts[0] == "/":
            return None
        path = self.root.joinpath(*parts)
        try:
            return path if path.is_file() else None
        except (OSError, ValueError):  # a name that no file can have
            return None

    @cached_property
    def shards(self) -> tuple[str, ...]:
        """The folders right below, in order of name."""
        try:
            return tuple(sorted(path.name for path in self.root.iterdir() if path.is_dir())) if self.root else ()
        except OSError:
            return ()


def picture_in_row(value: object, name: str, pictures: PictureFolder, place: str) -> SamplePicture | None:
    """The picture of a table's cell, as Hugging Face `datasets` stores it: encoded, or its path in `pictures`.

    Returns:
        None where the cell has neither.

    Raises:
        DatasetError: the cell is not such an object; `place` names row and column.
    """
    if value is None:
        return None
    if not isinstance(value, dict):
        raise DatasetError(f"{place}: expected an object with bytes and path, not {shown(value)}")
    data, path = value.get("bytes"), value.get("path")
    if isinstance(data, bytes):
        return SamplePicture(path if isinstance(path, str) and path else name, data=data)
    if isinstance(path, str):
        return pictures.picture(path, (path, path.rpartition("/")[2]))
    return None
