"""What the parts of a manifest are made of: file names, picture sizes, and the graphs that go with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, Protocol, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

MANIFEST = "manifest.json"


def _inside(name: str) -> str:
    """Accept a relative POSIX path in normal form that stays inside the bundle."""
    path = PurePosixPath(name)
    if (
        not name
        or path.is_absolute()
        or str(path) != name
        or ".." in path.parts
        or any(character in name for character in ("\\", ":", "\x00"))
    ):
        raise ValueError(f"{name!r} is not a plain relative path inside the bundle")
    if name == MANIFEST:
        raise ValueError(f"{MANIFEST} cannot list itself")
    return name


class _File(str):
    """Marks a text as the name of a file, once it is checked."""

    __slots__ = ()


FileName = Annotated[str, AfterValidator(_inside), AfterValidator(_File)]
Count = Annotated[int, Field(ge=1)]
Channels = tuple[float, float, float]


class ManifestPart(BaseModel):
    """A part of the manifest; a key that it does not know is an error, and so is a number that is none."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), allow_inf_nan=False)


def files_of(part: ManifestPart) -> Iterator[tuple[str, str]]:
    """(key, file name) of every place where a part names a file, such as `grids.0.model`."""
    for name in type(part).model_fields:
        yield from _files(name, getattr(part, name))


def _files(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, _File):
        yield key, str(value)
    elif isinstance(value, ManifestPart):
        yield from ((f"{key}.{inner}", name) for inner, name in files_of(value))
    elif isinstance(value, Mapping):
        for inner, each in value.items():
            yield from _files(f"{key}.{inner}", each)
    elif isinstance(value, tuple):
        for index, each in enumerate(value):
            yield from _files(f"{key}.{index}", each)


class Size(ManifestPart):
    """Picture size in pixels."""

    width: Count
    height: Count


class Normalised(Size):
    """A picture as an encoder takes it: resized to width x height, scaled to 0..1, then (x - mean) / std per
    channel.
    """

    mean: Channels
    std: Annotated[Channels, AfterValidator(lambda std: _positive(std))]


class Patched(Normalised):
    """A picture as a Qwen2-VL vision tower takes it: `patch` pixels a side, `merge` x `merge` patches to a
    token.
    """

    patch: Count
    merge: Count
    temporal: Count

    @model_validator(mode="after")
    def _whole_tokens(self) -> Patched:
        side = self.patch * self.merge
        if self.width % side or self.height % side:
            raise ValueError(f"width {self.width} and height {self.height} must be multiples of {side}")
        return self


def _positive(std: Channels) -> Channels:
    if min(std) <= 0:
        raise ValueError("std must be positive in every channel")
    return std


class Grid(Size):
    """A further picture size of a model, with a graph of its own; all else is as for the model's first size."""

    model: FileName


class Gridded(ManifestPart):
    """A model of pictures. A graph takes one size: `picture` and `model` are the first, `grids` the others."""

    grids: Annotated[tuple[Grid, ...], Field(min_length=1)] | None = None
    """Further sizes, each with `width`, `height` and a `model` of its own; None: one size."""

    @model_validator(mode="after")
    def _sizes_fit(self: _HasGraphs[Normalised]) -> _HasGraphs[Normalised]:
        sizes = [(picture.width, picture.height) for picture, _ in graphs(self)]
        for index, size in enumerate(sizes):
            if size in sizes[:index]:
                raise ValueError(f"grids.{index - 1}: the size {size[0]} x {size[1]} is there already")
        return self

    def sizes(self: _HasGraphs[Normalised]) -> list[tuple[int, int]]:
        """(width, height) of every size of pictures that the model takes."""
        return [(picture.width, picture.height) for picture, _ in graphs(self)]


Taken = TypeVar("Taken", bound=Normalised, covariant=True)


class _HasGraphs(Protocol[Taken]):
    @property
    def model(self) -> str: ...
    @property
    def picture(self) -> Taken: ...
    @property
    def grids(self) -> tuple[Grid, ...] | None: ...


def graphs(part: _HasGraphs[Taken]) -> list[tuple[Taken, str]]:
    """Every size of a model's pictures and the name of its graph, the first one first.

    Raises:
        ValueError: a size is none that the model can take; names the grid.
    """
    pairs = [(part.picture, part.model)]
    for index, grid in enumerate(part.grids or ()):
        size = {**part.picture.model_dump(), "width": grid.width, "height": grid.height}
        try:
            pairs.append((type(part.picture).model_validate(size), grid.model))
        except ValidationError as error:
            raise ValueError(f"grids.{index}: {error.errors()[0]['msg']}") from None
    return pairs
