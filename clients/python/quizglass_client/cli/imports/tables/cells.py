"""What a cell says: a text, a moment, pictures. Cells are texts, numbers, truths, bytes, and lists of these."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

from quizglass_client.cli.imports.entries import picture_within
from quizglass_client.cli.imports.folder import Folder
from quizglass_client.types import PictureLike

_BETWEEN_PATHS = ";"
_BETWEEN_ITEMS = ", "
_WHOLE = re.compile(r"[+-]?\d{1,40}(\.0*)?")
_CALENDAR = re.compile(r"(?:1[5-9]|2[01])\d\d(?:\d{4})?")
"""A year, or a date without its marks: as seconds they would be some minutes or months after 1970."""
_LARGEST_EXACT = 1 << 53  # of whole numbers that a float holds each by itself


class _Pairs(list[list[Any]]):
    """Keys and values of an object of JSON, also of keys that are there twice."""


class Unreadable:
    """What stands for a cell that its file holds in a form that cannot be read; `why` says which."""

    def __init__(self, why: str) -> None:
        self.why = why


def is_empty(cell: Any) -> bool:
    """Whether a cell says nothing."""
    return cell is None or cell == "" or cell == [] or (isinstance(cell, float) and math.isnan(cell))


def text(name: str, cell: Any) -> str:
    """A cell as a text; a list is its items with commas between.

    Raises:
        ValueError: it is none.
    """
    if is_empty(cell):
        return ""
    if isinstance(cell, Unreadable):
        raise ValueError(f"{name}: {cell.why}")
    if isinstance(cell, list):
        return _BETWEEN_ITEMS.join(text(name, item) for item in cell if not is_empty(item))
    if isinstance(cell, bytes):
        raise ValueError(f"{name}: must be a text or a number")
    said = str(cell)
    try:
        said.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name}: is not UTF-8") from error
    return said


def seconds(name: str, cell: Any) -> int:
    """A number of seconds, 0 where there is none. Raises ValueError when the cell says something else."""
    if is_empty(cell):
        return 0
    number = _whole(cell.strip() if isinstance(cell, str) else cell)
    if number is None:
        raise ValueError(f"{name}: must be a whole number of seconds")
    if number < 0:
        raise ValueError(f"{name}: {number} is below 0")
    return number


def moment(name: str, cell: Any) -> int:
    """A time in seconds since 1970: a number of them, or a date as "2024-05-01 12:00:00", in UTC where it has no zone.

    Raises:
        ValueError: the cell says something else, a time before 1970, or a number that is a year or a date.
    """
    said = cell.strip() if isinstance(cell, str) else cell
    if is_empty(said):
        return 0
    number = _whole(said)
    if number is not None and (day := _day(number)):
        raise ValueError(f"{name}: {number} would be seconds since 1970; write {day} if that is a date")
    if number is None and isinstance(said, str):
        try:
            at = datetime.fromisoformat(said)
            number = math.floor((at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp())
        except (ValueError, OverflowError):
            number = None
    if number is None:
        raise ValueError(f"{name}: must be seconds since 1970, or a date and time as 2024-05-01 12:00:00")
    if number < 0:
        raise ValueError(f"{name}: {said} is before 1970; to keep it as an attribute, name the column otherwise")
    return number


def _day(number: int) -> str:
    """The day that a number is if it is a year or a date, empty if it is none."""
    if _CALENDAR.fullmatch(str(number)) is None:
        return ""
    try:
        return date.fromisoformat(f"{number}0101"[:8]).isoformat()
    except ValueError:  # the 31st of February
        return ""


def _whole(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_EXACT:
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value) is not None:
        return int(value.partition(".")[0])
    return None


def pairs(cell: Any) -> Iterator[tuple[str, Any]]:
    """Keys and values of a cell that holds attributes: a list of pairs, or a JSON object.

    Raises:
        ValueError: it is neither.
    """
    if is_empty(cell):
        return
    if isinstance(cell, Unreadable):
        raise ValueError(f"attributes: {cell.why}")
    if isinstance(cell, str) and cell.lstrip().startswith("{"):
        cell = _object(cell)
    if not isinstance(cell, list) or not all(isinstance(item, list) and len(item) == 2 for item in cell):
        raise ValueError("attributes: must be a map of texts")
    yield from ((text("attributes", key), value) for key, value in cell)


def _object(cell: str) -> list[list[Any]]:
    """An object of JSON, its numbers and truths as they are written there. Raises ValueError for one that is none."""
    try:
        found: _Pairs = json.loads(cell, object_pairs_hook=_object_pairs, parse_float=str, parse_int=str)
    except (ValueError, RecursionError) as error:
        raise ValueError("attributes: is no JSON object") from error
    for key, value in found:
        if any(isinstance(one, list) for one in (value if type(value) is list else [value])):
            raise ValueError(f"attributes: {key!r} must be a text or a number")
    return found


def _object_pairs(given: list[tuple[str, Any]]) -> _Pairs:
    return _Pairs([key, _as_written(value)] for key, value in given)


def _as_written(value: Any) -> Any:
    if type(value) is list:
        return [_as_written(one) for one in value]
    return json.dumps(value) if isinstance(value, bool) else value


def pictures(name: str, cell: Any, folder: Folder, first: int) -> Iterator[PictureLike]:
    """Pictures that a cell holds or names, the first of which is the entry's picture of that number.

    Raises:
        PictureOutside: a path leads out of the folder.
        ValueError: the cell holds something else.
    """
    if is_empty(cell):
        return
    several = cell.split(_BETWEEN_PATHS) if isinstance(cell, str) else cell if isinstance(cell, list) else [cell]
    named = (one for one in several if not is_empty(one) and not (isinstance(one, str) and not one.strip()))
    for number, one in enumerate(named, first):
        if isinstance(one, bytes):
            yield one
        elif isinstance(one, str):
            yield picture_within(folder, number, text(name, one.strip()))
        else:
            why = one.why if isinstance(one, Unreadable) else "must be paths or encoded bytes"
            raise ValueError(f"{name}: {why}")
