"""Where the generator's kept prefixes wait between two runs of the server.

The processes write and read the files; this decides which directory they use. A directory is complete or not there:
files are written beside it and moved in place. It is moved away before it is read, so that a state which kills its
process is tried once and never again. One directory belongs to one set of model files: restored under others, the
numbers would be read as something they are not, and answers would be wrong without a sign.
"""

from __future__ import annotations

import logging
import shutil
from contextlib import suppress
from pathlib import Path

from quizglass_server.errors import SettingsError

_PREFIX = "generator-"
logger = logging.getLogger(__name__)


class StateDirectory:
    """The saved state of one generator.

    Args:
        root: directory of the setting; made when it does not exist.
        key: what decides whether a state fits: models and sizes, as hexadecimal digits.

    Raises:
        SettingsError: the directory cannot be used.
    """

    def __init__(self, root: Path, key: str) -> None:
        self._root = root
        self._saved = root / f"{_PREFIX}{key}"
        self._reading, self._writing = root / f"{_PREFIX}reading", root / f"{_PREFIX}writing"
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fresh(self._writing).rmdir()
        except OSError as error:
            raise SettingsError(
                f"state_directory: {root} cannot be used ({error.strerror}); let this user write it, or name another"
            ) from None

    def take(self) -> Path | None:
        """The saved state, to be restored once; None when there is none."""
        try:
            _remove(self._reading)
            self._saved.rename(self._reading)
        except FileNotFoundError:
            return None
        except OSError as error:
            logger.warning("the generator's state cannot be read and is left out: %s", error)
            return None
        return self._reading

    def taken(self) -> None:
        """What `take` gave is not needed any more."""
        _remove(self._reading)

    def clear(self) -> None:
        """Remove what is saved, of other models too."""
        for saved in self._root.glob(f"{_PREFIX}*"):
            _remove(saved)

    def begin(self) -> Path:
        """An empty directory to save to; `commit` makes it the state.

        Raises:
            OSError: it cannot be made.
        """
        return self._fresh(self._writing)

    def commit(self) -> None:
        """What was written is the state from now on, and states of other models go.

        Raises:
            OSError: it cannot be moved.
        """
        for old in self._root.glob(f"{_PREFIX}*"):
            if old != self._writing:
                _remove(old)
        self._writing.rename(self._saved)

    def _fresh(self, path: Path) -> Path:
        _remove(path)
        path.mkdir(mode=0o700)
        return path


def _remove(path: Path) -> None:
    """A directory or whatever is in its place; what cannot be removed is met again when its place is needed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)
