"""The header of a GGUF file, read with a bound on every number before it is believed.

GGUF parsers have had memory errors; a file from elsewhere goes through this reader before any other one. Only the
header is read, never a tensor. Format: github.com/ggml-org/ggml, docs/gguf.md, versions 2 and 3, little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import gguf

from quizglass_export.errors import ExportError

_MOST_HEADER = 256 << 20
_MOST_TENSORS = 1 << 16
_MOST_KEYS = 1 << 12
_MOST_ITEMS = 1 << 23
"""Most values of all arrays together: as Python's they take many times what they take in the file."""
_MOST_NAME = 1 << 10
_NESTED = 2
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor: its sizes, fastest axis first, and ggml's name of its type."""

    shape: tuple[int, ...]
    type: str
    offset: int
    bytes: int


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Metadata and tensors of a file."""

    version: int
    metadata: Mapping[str, Any]
    tensors: Mapping[str, TensorInfo]

    @property
    def parameters(self) -> int:
        """How many numbers the tensors hold."""
        return sum(prod(tensor.shape) for tensor in self.tensors.values())


class _Bad(Exception):
    """What is wrong with the header."""


def read_gguf(path: Path) -> GgufHeader:
    """Read and check a header.

    Raises:
        ExportError: the file is no GGUF, ends early, or has sizes that are absurd or lie outside the file.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            return _HeaderReader(file, size).header()
    except OSError as error:
        raise ExportError(f"{path}: cannot be read: {error.strerror}") from error
    except _Bad as error:
        raise ExportError(f"{path}: not a usable GGUF file: {error}") from None


class _HeaderReader:
    def __init__(self, file: BinaryIO, size: int) -> None:
        self.file, self.size, self.place = file, size, 0
        self.items = 0
        """Values of all arrays so far."""

    def header(self) -> GgufHeader:
        if self._take(4) != b"GGUF":
            raise _Bad("it does not begin with GGUF")
        version = self._number("<I")
        if version not in (2, 3):
            raise _Bad(f"version {version}; 2 and 3 are known")
        tensors = self._count("tensors", _MOST_TENSORS)
        keys = self._count("keys", _MOST_KEYS)
        metadata: dict[str, Any] = {}
        for _ in range(keys):
            key = self._text("a key", _MOST_NAME)
            if key in metadata:
                raise _Bad(f"key {key!r} twice")
            metadata[key] = self._value(key, self._number("<I"), _NESTED)
        found: dict[str, TensorInfo] = {}
        for _ in range(tensors):
            name = self._text("a tensor's name", _MOST_NAME)
            if name in found:
                raise _Bad(f"tensor {name!r} twice")
            found[name] = self._tensor(name)
        self._check_places(metadata, found)
        return GgufHeader(version, metadata, found)

    def _tensor(self, name: str) -> TensorInfo:
        axes = self._number("<I")
        if not 1 <= axes <= 4:
            raise _Bad(f"tensor {name!r} has {axes} axes")
        shape = tuple(self._number("<Q") for _ in range(axes))
        kind = self._number("<I")
        try:
            kind_name = gguf.GGMLQuantizationType(kind)
            block, block_bytes = gguf.GGML_QUANT_SIZES[kind_name]
        except (ValueError, KeyError):
            raise _Bad(f"tensor {name!r} has the unknown type {kind}") from None
        # Each axis fits the file on its own, so the product is exact and cannot be astronomically large.
        if min(shape) < 1 or max(shape) > self.size * block or shape[0] % block:
            raise _Bad(f"tensor {name!r} has the shape {list(shape)} in a file of {self.size:,} bytes")
        return TensorInfo(shape, kind_name.name.lower(), self._number("<Q"), prod(shape) // block * block_bytes)

    def _check_places(self, metadata: Mapping[str, Any], tensors: Mapping[str, TensorInfo]) -> None:
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment not in {2**power for power in range(3, 17)}:
            raise _Bad(f"general.alignment is {alignment!r}")
        start = -(-self.place // alignment) * alignment
        end = 0
        for name, tensor in sorted(tensors.items(), key=lambda item: item[1].offset):
            if tensor.offset % alignment or tensor.offset < end:
                raise _Bad(f"tensor {name!r} begins at {tensor.offset}, inside another or unaligned")
            end = tensor.offset + tensor.bytes
            if start + end > self.size:
                raise _Bad(f"tensor {name!r} ends at {start + end:,}, the file at {self.size:,}; copy it again")

    def _value(self, key: str, kind: int, depth: int) -> Any:
        if kind in _SCALARS:
            return self._number(_SCALARS[kind])
        if kind == _STRING:
            return self._text(key, self.size)
        if kind == _ARRAY and depth:
            inner = self._number("<I")
            count = self._count(f"items of {key}", _MOST_ITEMS - self.items)
            self.items += count
            if inner in _SCALARS:
                width = struct.calcsize(_SCALARS[inner])
                return list(struct.unpack(f"<{count}{_SCALARS[inner][1]}", self._take(count * width)))
            return [self._value(key, inner, depth - 1) for _ in range(count)]
        raise _Bad(f"{key} has the unknown type {kind}")

    def _count(self, what: str, most: int) -> int:
        count: int = self._number("<Q")
        if count > most:
            raise _Bad(f"{count} {what}; at most {most} are read")
        return count

    def _text(self, what: str, most: int) -> str:
        length = self._number("<Q")
        if length > most:
            raise _Bad(f"{what} of {length} bytes")
        try:
            return self._take(length).decode("utf-8")
        except UnicodeDecodeError:
            raise _Bad(f"{what} is not UTF-8") from None

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _take(self, count: int) -> bytes:
        if self.place + count > min(self.size, _MOST_HEADER):
            raise _Bad(f"the header goes beyond byte {min(self.size, _MOST_HEADER):,}")
        content = self.file.read(count)
        if len(content) != count:
            raise _Bad("it ends early")
        self.place += count
        return content
