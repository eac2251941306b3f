"""What a role is called by, what its part of a manifest can do, and what its model is loaded from and runs with."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

from quizglass_bundle.fields import ManifestPart
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.errors import BundleError
from quizglass_server.models.fitting import PictureFitter

Loaded = TypeVar("Loaded")
Asked = TypeVar("Asked")
"""What may be asked of a role's model."""


@dataclass(frozen=True)  # with slots, Python 3.11 cannot make one of a given type
class RoleKey(Generic[Asked]):
    """A role by its name in manifests, with the type that may fill it: the key of `Models`."""

    name: str


class ModelFiles(Protocol):
    """The files of a verified bundle."""

    def path(self, name: str) -> Path:
        """Where a file is; BundleError if the bundle does not list it."""
        ...

    def sha256(self, name: str) -> str:
        """The SHA-256 of a file's content, in hex; BundleError if the bundle does not list it."""
        ...


@dataclass(frozen=True, slots=True)
class Loading:
    """What the models of a bundle share while they are loaded, one after the other, and after."""

    files: ModelFiles
    pool: EnginePool
    fitter: PictureFitter
    how: OnnxOptions
    _shared: dict[Hashable, Any] = field(default_factory=dict)

    def once(self, key: Hashable, load: Callable[[], Loaded]) -> Loaded:
        """What `load` gives, made for the first role that asks and handed to all others with an equal key."""
        if key not in self._shared:
            self._shared[key] = load()
        return cast(Loaded, self._shared[key])


class RolePart(ManifestPart):
    """What a manifest says of a role's model."""

    engine: str
    kind: str

    def sizes(self) -> list[tuple[int, int]]:
        """(width, height) of every size of pictures that the model takes; none of one without pictures, or of any."""
        return []

    @property
    def sees_pictures(self) -> bool:
        """Whether the model is given pictures."""
        return bool(self.sizes())

    def load(self, role: str, loading: Loading) -> Any:
        """Load the model that fills a role.

        Raises:
            BundleError: a file is damaged, or does not fit the manifest or the role; names it.
            EngineFailed: an engine is not installed, or does not start.
        """
        raise BundleError(f"roles.{role}.kind: {self.kind!r} is not run in this process")
