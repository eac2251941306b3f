"""What a GGUF file says of itself: its keys, and whether it is whole. No tensor is read.

The file is a stranger's: sizes are checked before anything of that size is read or kept. Layout and numbers are those
of ggml's `docs/gguf.md`, versions 2 and 3.
"""

from __future__ import annotations

import mmap
import re
import struct
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_MOST_KEYS, _MOST_TENSORS = 1 << 16, 1 << 20
_MOST_HEAD, _MOST_ITEMS = 256 << 20, 1 << 23
"""Bytes of the head, and values of all its lists together: as Python's they take many times what they take there. A
file may have holes, and so say that it is far larger than what was sent."""
_MOST_DIMENSIONS = 4
_DEFAULT_ALIGNMENT = 32
_ONE_OF_SEVERAL = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf")
"""How llama.cpp names the files of a model that it has split."""
Scalar = str | int | float | bool
Value = Scalar | list[str] | list[int] | list[float] | list[bool]


class GgufError(ValueError):
    """The file is no GGUF that can be used; the message says why, without the file's name."""


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """A tensor's place in the file."""

    name: str
    shape: tuple[int, ...]
    """Innermost dimension first."""
    type: int
    offset: int
    """Bytes from the beginning of the file."""


@dataclass(frozen=True, slots=True)
class GgufFile:
    """The head of a GGUF file."""

    values: dict[str, Value]
    tensors: tuple[GgufTensor, ...]
    size: int
    """Bytes of the whole file."""
    more: tuple[GgufFile, ...] = ()
    """Heads of the other files of a model that is split."""

    @property
    def whole(self) -> int:
        """Bytes of the model, in all its files."""
        return self.size + sum(each.size for each in self.more)

    @property
    def architecture(self) -> str:
        """llama, qwen2vl, clip, …; empty where the file does not say."""
        return str(self.values.get("general.architecture", ""))

    def number(self, key: str, default: int = 0) -> int:
        """The value of a key that is a whole number."""
        value = self.values.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else default

    def strings(self, key: str) -> list[str]:
        """The value of a key that is a list of strings; empty where there is none."""
        value = self.values.get(key)
        return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []

    def numbers(self, key: str) -> list[int]:
        """The value of a key that is a list of whole numbers, or one; empty where there is none."""
        value = self.values.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return [value]
        return [each for each in value if isinstance(each, int)] if isinstance(value, list) else []


def read_gguf(path: Path) -> GgufFile:
    """Read the head of a file.

    Raises:
        GgufError: it is no GGUF, of a version that is not known, or shorter than it says.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise GgufError("is no GGUF file; llama.cpp's convert_hf_to_gguf.py makes one")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            try:
                return _GgufReader(content).read()
            except (struct.error, IndexError):
                raise GgufError(f"is cut off after {len(content)} bytes; copy it again") from None
            except UnicodeDecodeError:
                raise GgufError("has a key or text that is not UTF-8; convert it again") from None


def read_model(path: Path) -> GgufFile:
    """The head of a model, with those of its other files where it is split.

    Args:
        path: the file, or the first of several.

    Raises:
        GgufError: as `read_gguf`; or it is another than the first of several, or one of the others is missing.
        OSError: it cannot be read.
    """
    first = read_gguf(path)
    count = first.number("split.count", 1)
    if count <= 1:
        return first
    files = files_of(path)
    number = first.number("split.no") + 1
    if number > 1:
        named = f", {files[0].name}" if len(files) == count else ""
        raise GgufError(f"is file {number} of {count} of a model; name the first one{named}")
    if len(files) != count or files[0] != path:
        raise GgufError(
            f"is the first of {count} files of a model, and their names end with -00001-of-{count:05}.gguf and so on; "
            "give it its name again"
        )
    return replace(first, more=tuple(map(_further, files[1:])))


def files_of(path: Path) -> tuple[Path, ...]:
    """A model's files by their names: one, or all of a split one in their order."""
    found = _ONE_OF_SEVERAL.fullmatch(path.name)
    if found is None:
        return (path,)
    begin, _, count = found.groups()
    return tuple(path.with_name(f"{begin}-{number:05}-of-{count}.gguf") for number in range(1, int(count) + 1))


def _further(path: Path) -> GgufFile:
    try:
        return read_gguf(path)
    except FileNotFoundError:
        raise GgufError(f"is one of several files, and {path.name} is not beside it; copy that too") from None
    except GgufError as error:
        raise GgufError(f"goes with {path.name}, which {error}") from None


class _GgufReader:
    """Reads one file from its beginning."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content = content
        self._at = len(_MAGIC)
        self._items = 0

    def read(self) -> GgufFile:
        """The whole head."""
        version: int = self._one("I")
        if version not in _VERSIONS:
            raise GgufError(f"is a GGUF of version {version}; this server reads versions 2 and 3")
        tensors, keys = self._count(_MOST_TENSORS, "tensors"), self._count(_MOST_KEYS, "keys")
        values = {self._text(): self._value() for _ in range(keys)}
        heads = [self._tensor() for _ in range(tensors)]
        step = values.get("general.alignment", _DEFAULT_ALIGNMENT)
        alignment = step if isinstance(step, int) and step > 0 else _DEFAULT_ALIGNMENT
        begin = -(-self._at // alignment) * alignment
        size = len(self._content)
        placed = tuple(GgufTensor(name, shape, kind, begin + offset) for name, shape, kind, offset in heads)
        # The least that a tensor takes is a bit and a half a weight, whatever its type.
        if any(tensor.offset + prod(tensor.shape) // 8 > size for tensor in placed):
            raise GgufError(f"is cut off after {size} bytes; copy it again")
        return GgufFile(values, placed, size)

    def _tensor(self) -> tuple[str, tuple[int, ...], int, int]:
        name = self._text()
        dimensions: int = self._one("I")
        if dimensions > _MOST_DIMENSIONS:
            raise GgufError(f"has a tensor of {dimensions} dimensions; convert it again")
        shape = self._some("Q", dimensions)
        kind, offset = self._one("I"), self._one("Q")
        return name, shape, kind, offset

    def _value(self) -> Value:
        kind: int = self._one("I")
        if kind == _ARRAY:
            return self._array()
        return self._scalar(kind)

    def _array(self) -> Value:
        kind: int = self._one("I")
        count = self._count(_MOST_ITEMS - self._items, "items in a list")
        self._items += count
        if kind == _STRING:
            return [self._text() for _ in range(count)]
        if kind not in _SCALARS:
            raise GgufError(f"has a list of values of type {kind}, which is not known")
        return list(self._some(_SCALARS[kind], count))

    def _scalar(self, kind: int) -> Scalar:
        if kind == _STRING:
            return self._text()
        if kind not in _SCALARS:
            raise GgufError(f"has a value of type {kind}, which is not known")
        value: Scalar = self._one(_SCALARS[kind])
        return value

    def _text(self) -> str:
        length: int = self._one("Q")
        begin = self._pass(length)
        return self._content[begin : self._at].decode()

    def _pass(self, length: int) -> int:
        """Go on behind so many bytes; where they begin. Raises IndexError, GgufError."""
        begin, end = self._at, self._at + length
        if end > len(self._content):
            raise IndexError
        if end > _MOST_HEAD:
            raise GgufError(f"has a head of more than {_MOST_HEAD} bytes; convert it again")
        self._at = end
        return begin

    def _count(self, most: int, what: str) -> int:
        count: int = self._one("Q")
        if count > most:
            raise GgufError(f"claims {count} {what}; convert it again")
        return count

    def _one(self, code: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - as the code says
        return self._some(code, 1)[0]

    def _some(self, code: str, count: int):  # type: ignore[no-untyped-def]  # noqa: ANN202
        layout = struct.Struct(f"<{count}{code}")
        return layout.unpack_from(self._content, self._pass(layout.size))
