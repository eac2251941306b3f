"""Reference tables that are generated from the code: settings, metrics, statuses, and the keys of a manifest.

What a key of a manifest means stands below it in the class that declares it, as a docstring. Python keeps none of
these, so they are read from the source.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bench.markdown import cell, table
from quizglass_bundle import parts
from quizglass_bundle.parts import RolePart
from quizglass_bundle.tuning import EvidenceLimits, Thresholds

_SHARED = ("engine", "kind")
"""Keys of every role, which have a table of their own."""


def metrics() -> str:
    """Every metric of the operations port."""
    from quizglass_server.observe.metrics import EVERY

    rows = ["| metric | type | labels | what it says |", "|---|---|---|---|"]
    for metric in EVERY.values():
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        rows.append(f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |")
    return "\n".join(rows)


def settings() -> str:
    """Every setting of the server with its default and trade-off."""
    from quizglass_server.config.load import all_fields
    from quizglass_server.config.sources import PREFIX

    rows = (
        (
            f"`{name}`",
            "required" if field.is_required() else f"`{field.default}`",
            cell(field.description or ""),
            f"`--{name.replace('_', '-')}`, `{PREFIX}{name.upper()}`",
        )
        for name, field in all_fields().items()
    )
    return table(("setting", "default", "what it trades", "flag, variable"), rows)


def statuses() -> str:
    """Domain errors and the gRPC status of each, from the server's own table."""
    from quizglass_server.errors import QuizglassError
    from quizglass_server.rpc.transport.status import STATUS

    rows = [
        (f"`{error.code}`", f"`{status.name}`", cell(re.split(r"[.;\n]", error.__doc__ or "")[0]))
        for error, status in STATUS.items()
        if error is not QuizglassError
    ]
    return table(("reason", "status", "meaning"), rows)


def thresholds() -> str:
    """Every key of a manifest's `thresholds`."""
    return _keys("thresholds", Thresholds)


def evidence() -> str:
    """Every key of a manifest's `evidence`."""
    return _keys("evidence", EvidenceLimits)


def role_keys() -> str:
    """Every key of the roles of a manifest; of those that mean the same, the kinds of models stand together."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for part in _role_parts():
        described = _described(part)
        for key, field in part.model_fields.items():
            if key not in _SHARED:
                meaning = described.get(key) or field.description or ""
                kinds = found.setdefault((key, meaning, _default(field)), [])
                kinds += [kind for kind in _kinds(part) if kind not in kinds]
    rows = [
        (f"`{key}`", ", ".join(f"`{kind}`" for kind in kinds), default, cell(meaning))
        for (key, meaning, default), kinds in sorted(found.items(), key=lambda each: each[0][0])
    ]
    return table(("key of a role", "of the kinds", "default", "meaning"), rows)


def _keys(name: str, part: type[BaseModel]) -> str:
    described = _described(part)
    rows = [(f"`{key}`", _default(field), cell(described[key])) for key, field in part.model_fields.items()]
    return table((f"key of `{name}`", "default", "meaning"), rows)


def _role_parts() -> Iterator[type[RolePart]]:
    """The classes that a manifest's roles are made of: those that name a kind."""
    for part in vars(parts).values():
        if isinstance(part, type) and issubclass(part, RolePart) and _kinds(part):
            yield part


def _kinds(part: type[RolePart]) -> tuple[str, ...]:
    annotation: Any = part.model_fields["kind"].annotation
    return getattr(annotation, "__args__", ())


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if isinstance(value, BaseModel):
        return _shown(value.model_dump())
    return "none" if value is None else f"`{_shown(value)}`" if value != "" else "empty"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"`{key}` {_shown(each)}" for key, each in value.items())
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_shown(each) for each in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _described(part: type[BaseModel]) -> dict[str, str]:
    """What stands below each key, in the class or one that it is made of."""
    found: dict[str, str] = {}
    for base in reversed(part.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel and base.__module__.startswith("quizglass"):
            found |= dict(_docstrings(base))
    return found


def _docstrings(part: type[BaseModel]) -> Iterator[tuple[str, str]]:
    (declared,) = ast.parse(inspect.getsource(part)).body
    body = declared.body if isinstance(declared, ast.ClassDef) else []
    for key, below in pairwise(body):
        if isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name) and isinstance(below, ast.Expr):
            text = below.value
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield key.target.id, text.value
