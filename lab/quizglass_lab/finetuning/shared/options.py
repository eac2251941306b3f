"""Options of a command, declared once: a flag each, a key each in a TOML file, with default, bounds and meaning."""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from quizglass_export.errors import ExportError


def _picture_size(given: str | int) -> str:
    text = str(given)
    width, times, height = text.partition("x")
    sides = [width, height if times else width]
    if not all(re.fullmatch("[1-9][0-9]{0,4}", side) for side in sides):
        raise ValueError(f"{text!r} is no size of a picture; give WIDTHxHEIGHT, as in 448x448, or one side of a square")
    return "x".join(sides)


PictureSize = Annotated[str, BeforeValidator(_picture_size)]
"""Width and height of pictures in pixels, such as 448x448; 448 stands for that."""
DEVICE = "^(auto|cpu|cuda)$"


class Options(BaseModel):
    """A group of options; fields have descriptions, which become the help of their flags."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), allow_inf_nan=False)


Kind = TypeVar("Kind", bound=Options)


def flag(name: str) -> str:
    """The flag of a field."""
    return f"--{name.replace('_', '-')}"


def add_flags(parser: argparse.ArgumentParser, kind: type[Options]) -> None:
    """Declare a flag for every field, and `--config`."""
    parser.add_argument("--config", type=Path, help="TOML file with these options as keys; flags go before it")
    for name, field in kind.model_fields.items():
        inner = _inner(field.annotation)
        default = (
            "" if field.is_required() or field.default in (None, (), "") else f" (default: {_shown(field.default)})"
        )
        how: dict[str, Any] = {"dest": name, "default": argparse.SUPPRESS}
        how["help"] = f"{field.description}{default}".replace("%", "%%")
        if inner is bool:
            parser.add_argument(flag(name), action=argparse.BooleanOptionalAction, **how)
        elif get_origin(inner) is tuple:
            parser.add_argument(flag(name), nargs="+", metavar=name.upper(), **how)
        else:
            parser.add_argument(flag(name), metavar=name.upper(), **how)


def read_options(kind: type[Kind], args: argparse.Namespace, section: str) -> Kind:
    """Read options: defaults, over them the file's table `[section]`, over both the flags.

    Raises:
        ExportError: the file cannot be read, or a value is unknown, missing or out of range; names flag or key.
    """
    flags = {name: getattr(args, name) for name in kind.model_fields if hasattr(args, name)}
    written = {} if args.config is None else _table(args.config, section)
    try:
        return kind.model_validate({**written, **flags})
    except ValidationError as error:
        lines = []
        for each in error.errors(include_url=False):
            name = str(each["loc"][0]) if each["loc"] else ""
            key = flag(name) if name in flags or name not in written else f"{args.config}: {section}.{name}"
            message = "unknown key" if each["type"] == "extra_forbidden" else each["msg"].removeprefix("Value error, ")
            lines.append(f"{key}: {message}" if name else message)
        raise ExportError("\n".join(lines)) from None


def _table(path: Path, section: str) -> Mapping[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ExportError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ExportError(f"{path}: not valid TOML: {error}") from None
    if section not in values:
        raise ExportError(f"{path}: {section}: missing; options stand in a table [{section}]")
    table = values[section]
    if not isinstance(table, dict):
        raise ExportError(f"{path}: {section}: must be a table")
    return table


def _inner(annotation: Any) -> Any:
    """The type of a field that may be None."""
    parts = [part for part in get_args(annotation) if part is not NoneType]
    return parts[0] if NoneType in get_args(annotation) and len(parts) == 1 else annotation


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
