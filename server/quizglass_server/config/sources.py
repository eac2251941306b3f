"""Where values of settings come from: variables, a file, flags; and what is said when one is wrong.

Knows no setting by name but those that are gone.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, TomlConfigSettingsSource

from quizglass_server.errors import SettingMissing, SettingsError

PREFIX = "QUIZGLASS_"
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
FLAG, VARIABLE = "--{}", f"{PREFIX}{{}}"
"""How a setting is named on the command line and in the environment."""
_CLIENTS = frozenset({f"{PREFIX}SERVER", f"{PREFIX}TOKEN_FILE", f"{PREFIX}CA"})
_NOT_OURS = (f"{PREFIX}CLIENT_", f"{PREFIX}EXPORT_", f"{PREFIX}TEST_")
"""Other programs of the project read those, and what begins with these."""


_GONE = {"vision_threads": "pictures are encoded with the generator's own threads"}
"""Settings of earlier releases, with the reason."""
_TELLING = 4
"""Letters of a part of a name by which it is recognised."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Why a former setting is gone; "; did you mean ...?" when a known name is near or has it within, else nothing."""
    former = name.lower().removeprefix(PREFIX.lower()).removeprefix("--").replace("-", "_")
    if former in _GONE:
        return f" any more: {_GONE[former]}; leave it out"
    known = list(known)
    within = [each for each in known if len(former) >= _TELLING and former in each.lower().replace("-", "_")]
    near = sorted(within, key=len) or get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def refuse_unknown_variables(names: Iterable[str]) -> None:
    """Raise SettingsError for a variable of ours that names no setting."""
    variables = {f"{PREFIX}{name.upper()}" for name in names} | {CONFIG_VARIABLE}
    for variable in sorted(os.environ.keys() - variables - _CLIENTS):
        if variable.startswith(PREFIX) and not variable.startswith(_NOT_OURS):
            raise SettingsError(f"{variable}: no such setting{suggestion(variable, variables)}")


def file_values(config: Path, settings: type[BaseSettings]) -> dict[str, Any]:
    """What a TOML file says. Raises SettingsError when it cannot be read."""
    try:
        config.open("rb").close()  # the source takes a file that is not there for an empty one
        return TomlConfigSettingsSource(settings, config)()
    except OSError as error:
        raise SettingsError(f"{config}: cannot be read ({error.strerror}); give another --config") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{config}: not valid TOML: {error}") from None


def explained(error: ValidationError, layers: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> SettingsError:
    """What is wrong first, as the user wrote it: an unknown name, a wrong value, or what is missing of `names`."""

    def place(each: ErrorDetails) -> tuple[int, int]:
        kind = {"extra_forbidden": 0, "missing": 2}.get(each["type"], 1)
        return kind, names.index(_name(each)) if _name(each) in names else -1

    first = min(error.errors(include_url=False), key=place)
    name = _name(first)
    if first["type"] == "missing":
        return SettingMissing(f"{name}: required; give --{name}, {PREFIX}{name.upper()} or {name} in the file")
    where = next((place for place, layer in layers.items() if name in layer), "{}")
    shown = {FLAG: name.replace("_", "-"), VARIABLE: name.upper()}.get(where, name)
    if first["type"] == "extra_forbidden":
        return SettingsError(f"{where.format(shown)}: no such setting{suggestion(name, names)}")
    return SettingsError(f"{where.format(shown)}: {first['msg'][:1].lower()}{first['msg'][1:]}")


def _name(error: ErrorDetails) -> str:
    return str(error["loc"][0]) if error["loc"] else "settings"
