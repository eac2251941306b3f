"""What a role is called by, what its part of a manifest can do, and what its model is loaded from and runs with."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.roles.shared.fitting import PictureFitter

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
    reading: int = 1
    """Threads of a run that reads words."""
    _shared: dict[Hashable, Any] = field(default_factory=dict)

    def once(self, key: Hashable, load: Callable[[], Loaded]) -> Loaded:
        """What `load` gives, made for the first role that asks and handed to all others with an equal key."""
        if key not in self._shared:
            self._shared[key] = load()
        return cast(Loaded, self._shared[key])
