"""Reads the tensors of a `.pth` file without PyTorch, and without pickle: a file from elsewhere runs nothing here.

`torch.save` writes plain numbers, storage by storage, and a pickle that says which tensors they are: today in a zip
archive, until version 1.5 one after the other. The few opcodes of such pickles are carried out here, on a stack of
plain values; whatever else stands in one is an error. Memory is bounded before anything is read: a pickle has a largest
size, numbers lie in the file as they are, and no tensor has more of them than its storage.
"""

from __future__ import annotations

import io
import pickletools
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from quizglass_export.errors import ExportError

_MOST_PICKLE = 4 << 20
"""Bytes of the pickle; a tensor's description takes about a hundred."""
_MOST_BYTES = 2 << 30
"""Of a file."""
_MAGIC = 0x1950A86A20F9469CFC6C
"""What a file that is no archive begins with."""
_MOST_AXES = 8
_STORAGES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}
"""PyTorch's name of a storage's type, and NumPy's of its numbers."""
_ORDERED, _REBUILD = "collections OrderedDict", "torch._utils _rebuild_tensor_v2"


class _Unfit(Exception):
    """What the pickle says is nothing that is read here."""


@dataclass(frozen=True, slots=True)
class _Name:
    """A global of the pickle, by its name alone."""

    name: str


@dataclass(frozen=True, slots=True)
class _Storage:
    kind: str
    key: str
    count: int

    @property
    def numbers(self) -> np.dtype[Any]:
        """Type of its numbers."""
        return np.dtype(_STORAGES[self.kind])

    @property
    def size(self) -> int:
        """Bytes of its numbers."""
        return self.count * self.numbers.itemsize


@dataclass(frozen=True, slots=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def of(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """The tensor's numbers among its storage's."""
        steps = [stride * numbers.itemsize for stride in self.strides]
        return as_strided(numbers[self.offset :], self.shape, steps, writeable=False)


class _Mark:
    """Where a run of values begins on the stack."""


def read_pickled(path: Path) -> dict[str, NDArray[Any]]:
    """The state dict of a file that `torch.save` wrote: name to array.

    Raises:
        ExportError: it is no such file, it is damaged, or there is something else than tensors in it.
        OSError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            if (size := path.stat().st_size) > _MOST_BYTES:
                raise _Unfit(f"it has {size:,} bytes, at most {_MOST_BYTES:,} are read")
            return _from_archive(file) if zipfile.is_zipfile(file) else _from_sequence(file)
    except _Unfit as error:
        raise ExportError(f"{path}: not read: {error}; only tensors that torch.save wrote are") from None
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, struct.error) as error:
        raise ExportError(f"{path}: not a whole file of torch.save: {error}; fetch it again") from error


def _from_archive(file: BinaryIO) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(file) as archive:
        folder = _folder(archive)
        tensors = _state_dict(_unpickled(io.BytesIO(_content(archive, f"{folder}/data.pkl", _MOST_PICKLE))))
        storages = _storages(tensors)
        numbers = {key: _content(archive, f"{folder}/data/{key}", each.size) for key, each in storages.items()}
    return _arrays(tensors, storages, numbers)


def _folder(archive: zipfile.ZipFile) -> str:
    names = [name for name in archive.namelist() if name.count("/") == 1 and name.endswith("/data.pkl")]
    if len(names) != 1:
        raise _Unfit("it has no data.pkl of its own")
    folder = names[0].partition("/")[0]
    order = f"{folder}/byteorder"
    if order in archive.namelist() and _content(archive, order, 16) != b"little":
        raise _Unfit("its numbers are not in little-endian order")
    return folder


def _content(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """A member's bytes, which lie in the archive as they are."""
    try:
        member = archive.getinfo(name)
    except KeyError:
        raise _Unfit(f"{name} is missing") from None
    if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 or member.file_size != member.compress_size:
        raise _Unfit(f"{name} is compressed or encrypted")
    if member.file_size > most:
        raise _Unfit(f"{name} has {member.file_size:,} bytes, at most {most:,} are read")
    return archive.read(member)


def _from_sequence(file: BinaryIO) -> dict[str, NDArray[Any]]:
    """Of a file from before the archives: a magic number, a version, the machine, the tensors, then the storages."""
    file.seek(0)
    if _unpickled(file) != _MAGIC:
        raise _Unfit("it begins with something else than its magic number")
    _unpickled(file)
    match _unpickled(file):
        case {"little_endian": True}:
            pass
        case _:
            raise _Unfit("its numbers are not in little-endian order")
    tensors = _state_dict(_unpickled(file))
    storages, order = _storages(tensors), _unpickled(file)
    if not isinstance(order, list) or sorted(map(str, order)) != sorted(storages):
        raise _Unfit("it has other storages than its tensors")
    numbers: dict[str, bytes] = {}
    for key in order:
        (count,) = struct.unpack("<q", file.read(8))
        if count != storages[key].count:
            raise _Unfit(f"storage {key} has {count:,} numbers, not {storages[key].count:,}")
        numbers[key] = file.read(storages[key].size)
    return _arrays(tensors, storages, numbers)


def _state_dict(found: Any) -> dict[str, _Tensor]:
    if not isinstance(found, dict) or not all(
        isinstance(name, str) and isinstance(tensor, _Tensor) for name, tensor in found.items()
    ):
        raise _Unfit("it holds something else than a state dict")
    return found


def _storages(tensors: dict[str, _Tensor]) -> dict[str, _Storage]:
    """Key to storage, each once."""
    storages: dict[str, _Storage] = {}
    for tensor in tensors.values():
        if storages.setdefault(tensor.storage.key, tensor.storage) != tensor.storage:
            raise _Unfit(f"storage {tensor.storage.key} is described in two ways")
    return storages


def _arrays(
    tensors: dict[str, _Tensor], storages: dict[str, _Storage], numbers: dict[str, bytes]
) -> dict[str, NDArray[Any]]:
    for key, storage in storages.items():
        if len(numbers[key]) != storage.size:
            raise _Unfit(f"the numbers of storage {key} are {len(numbers[key]):,} bytes, not {storage.size:,}")
    flat = {key: np.frombuffer(numbers[key], each.numbers) for key, each in storages.items()}
    return {name: each.of(flat[each.storage.key]) for name, each in tensors.items()}


def _unpickled(stream: BinaryIO) -> Any:
    """What the next pickle of a stream describes, in plain values and the classes above."""
    machine, begins = _Machine(), stream.tell()
    # A pickle can ask for more bytes than there are: of so many they are not read from a file.
    content = io.BytesIO(stream.read(_MOST_PICKLE))
    try:
        for opcode, argument, _ in pickletools.genops(content):
            if opcode.name == "STOP":
                stream.seek(begins + content.tell())
                return machine.result()
            machine.step(opcode.name, argument)
    except ValueError as error:
        raise _Unfit(f"its pickle is damaged, or larger than {_MOST_PICKLE:,} bytes: {error}") from None
    raise _Unfit("its pickle has no end")


class _Machine:
    """Carries out the opcodes by which torch.save describes tensors. Every value is plain, or of a class above."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._plain: dict[str, Callable[[], Any]] = {
            "EMPTY_DICT": dict,
            "EMPTY_LIST": list,
            "EMPTY_TUPLE": tuple,
            "MARK": _Mark,
            "NONE": lambda: None,
            "NEWTRUE": lambda: True,
            "NEWFALSE": lambda: False,
        }

    def result(self) -> Any:
        """What is on top of the stack."""
        return self._pop()

    def step(self, name: str, argument: Any) -> None:
        """Carry one opcode out."""
        match name:
            case "PROTO" | "FRAME":
                pass
            case "BINUNICODE" | "SHORT_BINUNICODE" | "BININT" | "BININT1" | "BININT2" | "LONG1":
                self._stack.append(argument)
            case "BINPUT" | "LONG_BINPUT":
                self._memo[argument] = self._top()
            case "MEMOIZE":
                self._memo[len(self._memo)] = self._top()
            case "BINGET" | "LONG_BINGET":
                self._stack.append(self._remembered(argument))
            case "GLOBAL":
                self._stack.append(_named(argument))
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                self._stack.append(tuple(reversed([self._pop() for _ in range(int(name[-1]))])))
            case "TUPLE":
                self._stack.append(tuple(self._since_mark()))
            case "BINPERSID":
                self._stack.append(_storage(self._pop()))
            case "REDUCE":
                arguments, function = self._pop(), self._pop()
                self._stack.append(_called(function, arguments))
            case "SETITEM":
                value, key = self._pop(), self._pop()
                self._set([key, value])
            case "SETITEMS":
                self._set(self._since_mark())
            case "APPEND":
                self._append([self._pop()])
            case "APPENDS":
                self._append(self._since_mark())
            case "BUILD":  # a state dict's versions of modules, of which nothing is made
                self._pop()
                self._dict()
            case _ if name in self._plain:
                self._stack.append(self._plain[name]())
            case _:
                raise _Unfit(f"its pickle has the opcode {name}")

    def _top(self) -> Any:
        if not self._stack:
            raise _Unfit("its pickle takes more than it gives")
        return self._stack[-1]

    def _pop(self) -> Any:
        value = self._top()
        self._stack.pop()
        return value

    def _remembered(self, place: int) -> Any:
        if place not in self._memo:
            raise _Unfit("its pickle remembers what it was not given")
        return self._memo[place]

    def _since_mark(self) -> list[Any]:
        taken = []
        while not isinstance(value := self._pop(), _Mark):
            taken.append(value)
        return taken[::-1]

    def _dict(self) -> dict[Any, Any]:
        target = self._top()
        if not isinstance(target, dict):
            raise _Unfit("its pickle fills something else than a dict")
        return target

    def _append(self, values: list[Any]) -> None:
        target = self._top()
        if not isinstance(target, list):
            raise _Unfit("its pickle appends to something else than a list")
        target += values

    def _set(self, pairs: list[Any]) -> None:
        target = self._dict()
        if len(pairs) % 2 or not all(isinstance(key, str) for key in pairs[::2]):
            raise _Unfit("its pickle fills a dict with other keys than names")
        target.update(zip(pairs[::2], pairs[1::2], strict=True))


def _named(argument: str) -> _Name:
    """A global; one of those that tensors are made of."""
    module, _, name = argument.partition(" ")
    if argument not in (_ORDERED, _REBUILD) and not (module == "torch" and name in _STORAGES):
        raise _Unfit(f"its pickle names {argument[:80].replace(' ', '.')}")
    return _Name(argument)


def _storage(described: Any) -> _Storage:
    """A storage, of `("storage", type, key, device, count)`, with a sixth value in old files, which is None."""
    match described:
        case ("storage", _Name(name), str(key), str(), int(count)) | (
            "storage",
            _Name(name),
            str(key),
            str(),
            int(count),
            None,
        ) if name.partition(" ")[0] == "torch":
            if count < 0 or not key.isdecimal():
                raise _Unfit("its pickle describes a storage that cannot be")
            return _Storage(name.partition(" ")[2].split(".")[-1], key, count)
    raise _Unfit("its pickle describes something else than a storage")


def _called(function: Any, arguments: Any) -> Any:
    match function, arguments:
        case _Name(name), () if name == _ORDERED:
            return {}
        case _Name(name), (_Storage(), int(), tuple(), tuple(), bool(), dict()) if name == _REBUILD:
            return _tensor(*arguments[:4])
    raise _Unfit("its pickle calls something else than what makes a tensor")


def _tensor(storage: _Storage, offset: int, shape: tuple[Any, ...], strides: tuple[Any, ...]) -> _Tensor:
    sizes = (offset, *shape, *strides)
    if not all(isinstance(each, int) and each >= 0 for each in sizes) or not len(strides) == len(shape) <= _MOST_AXES:
        raise _Unfit("its pickle describes a tensor that cannot be")
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if prod(shape) > storage.count or (prod(shape) and last >= storage.count) or offset > storage.count:
        raise _Unfit(f"a tensor of shape {list(shape)} is larger than its storage")
    return _Tensor(storage, offset, shape, strides)
