"""Where values of settings come from: variables, a file, flags; and what is said when one is wrong.

Knows no setting by name.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from quizglass_server.errors import SettingMissing, SettingsError

PREFIX = "QUIZGLASS_"
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
FLAG, VARIABLE = "--{}", f"{PREFIX}{{}}"
"""How a setting is named on the command line and in the environment."""
_NOT_OURS = (f"{PREFIX}SERVER", f"{PREFIX}CLIENT_", f"{PREFIX}EXPORT_", f"{PREFIX}TEST_")
"""Other programs of the project read these."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """ "; did you mean ...?" when a known name is near, else nothing."""
    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def environment_layer(environment: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Values of variables by setting, of those that name one. Raises SettingsError for one that names none."""
    known = {f"{PREFIX}{name.upper()}": name for name in names}
    layer = {}
    for variable, value in environment.items():
        if variable in known:
            layer[known[variable]] = value
        elif variable.startswith(PREFIX) and variable != CONFIG_VARIABLE and not variable.startswith(_NOT_OURS):
            raise SettingsError(f"{variable}: no such setting{suggestion(variable, known)}")
    return layer


def file_layer(config: Path, names: Collection[str]) -> dict[str, Any]:
    """Values of a TOML file. Raises SettingsError when it cannot be read or has a name that is no setting."""
    try:
        values = tomllib.loads(config.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{config}: cannot be read ({error.strerror}); give another --config") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{config}: not valid TOML: {error}") from None
    for name in values:
        if name not in names:
            raise SettingsError(f"{config}: {name}: no such setting{suggestion(name, names)}")
    return values


def explained(error: ValidationError, layers: Mapping[str, Mapping[str, Any]]) -> SettingsError:
    """The first thing that is wrong, named as the user wrote it."""
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][0]) if first["loc"] else "settings"
    if first["type"] == "missing":
        return SettingMissing(f"{name}: required; give --{name}, {PREFIX}{name.upper()} or {name} in the file")
    where = next((place for place, layer in layers.items() if name in layer), "{}")
    shown = {FLAG: name.replace("_", "-"), VARIABLE: name.upper()}.get(where, name)
    return SettingsError(f"{where.format(shown)}: {first['msg'][:1].lower()}{first['msg'][1:]}")
