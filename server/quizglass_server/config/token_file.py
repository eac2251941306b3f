"""A token that a setting's file holds, for a server that this one asks."""

from __future__ import annotations

from pathlib import Path

from quizglass_server.errors import SettingsError


def token_of(file: Path | None, setting: str, form: str) -> str:
    """The token in a file, in ASCII; empty where no file is named.

    Args:
        file: what the setting names.
        setting: its name, for errors.
        form: what a token looks like, for errors.

    Raises:
        SettingsError: the file cannot be read, or holds anything but one word.
    """
    if file is None:
        return ""
    try:
        token = file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SettingsError(f"{setting}: {file}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{setting}: {file}: is not text") from error
    if not token.isascii() or len(token.split()) != 1:
        raise SettingsError(f"{setting}: {file}: holds no token, which is one word{form}")
    return token
