"""The keys that sign sessions: a file of them, made where there is none."""

from __future__ import annotations

import logging
import os
import secrets
import tempfile
from pathlib import Path

from quizglass_server.config.settings import SessionOptions
from quizglass_server.errors import SettingsError

_BYTES = 32
_FILE = "session.key"
_SETTING = "session_key_file"
_REMEDY = "name a file that this user may read, or one to be made in a directory that this user may write"
logger = logging.getLogger(__name__)


def keys_of(options: SessionOptions, directory: Path | None) -> tuple[bytes, ...]:
    """The keys to sign with: of the file that is named, else of one in `directory`.

    Where nothing can be kept there, a new one, which ends with this process; the log says so.

    Raises:
        SettingsError: the file that is named cannot be used.
    """
    if options.session_key_file is not None:
        return load_keys(options.session_key_file)
    try:
        if directory is not None:
            return load_keys(directory / _FILE)
        why = "the knowledge is elsewhere"
    except SettingsError as error:
        why = error.message
    logger.warning("sessions end with this process: give session_key_file to keep their key", extra={"why": why})
    return (secrets.token_bytes(_BYTES),)


def load_keys(path: Path) -> tuple[bytes, ...]:
    """The keys of a file, one of 64 hexadecimal digits a line.

    A file that is not there is made, with one key, for this user alone. Servers that do so at the same time get the
    same.

    Raises:
        SettingsError: it cannot be read or made, or holds something else; the message names file and line.
    """
    try:
        try:
            text = path.read_text(encoding="ascii")
        except FileNotFoundError:
            _make(path)
            text = path.read_text(encoding="ascii")
    except OSError as error:
        raise SettingsError(f"{_SETTING}: {path}: {error.strerror or error}; {_REMEDY}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{_SETTING}: {path} is no text of hexadecimal digits") from error
    keys = tuple(_key(line, path, number) for number, line in enumerate(text.splitlines(), 1) if line.strip())
    if not keys:
        raise SettingsError(f"{_SETTING}: {path} has no key; delete it to have one made")
    return keys


def _key(line: str, path: Path, number: int) -> bytes:
    try:
        key = bytes.fromhex(line)
    except ValueError:
        key = b""
    if len(key) != _BYTES:
        raise SettingsError(f"{_SETTING}: line {number} of {path} is no key of {2 * _BYTES} hexadecimal digits")
    return key


def _make(path: Path) -> None:
    """Whole or not at all, and never in the place of another's: a link to what was written is made, or exists."""
    descriptor, written = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{secrets.token_hex(_BYTES)}\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(written, path)
    except FileExistsError:
        pass
    finally:
        Path(written).unlink()
