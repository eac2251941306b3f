"""The file of sources: one table each, and what opens them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from quizglass_server.config.sources import suggestion
from quizglass_server.errors import SettingsError
from quizglass_server.knowledge.sources.guarded import GuardedSource, KnowledgeSources, Terms
from quizglass_server.knowledge.sources.protocol import GROUP, ImageSource, KnowledgeSource, TextSource

KINDS = {"markdown": "markdown", "mcp": "mcp_tool", "milvus": "milvus", "searxng": "searxng"}
"""Those that come with the server, by the module that has `opened`."""
MOST = 8
"""Sources of one file: each is a value of labels in the metrics."""
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")


_OWN_DEFAULTS = {"trust": 1.0, "cache_s": 0.0}
"""Terms of a source of this machine: as good as the store, and looked at anew for each question."""


def open_sources(file: Path | None, *, local_only: bool = False) -> KnowledgeSources:
    """The sources that a file names; none without one. None of them is asked anything yet.

    Args:
        file: TOML, a table for each source.
        local_only: whether those that are remote stay shut.

    Raises:
        SettingsError: the file cannot be read, or a table is wrong; it names file, table and key.
    """
    if file is None:
        return KnowledgeSources()
    tables = _read(file)
    if len(tables) > MOST:
        raise SettingsError(f"{file}: {len(tables)} sources; at most {MOST} can be asked in a turn")
    return KnowledgeSources([_opened(f"{file}: [{name}]", name, table, local_only) for name, table in tables.items()])


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"sources: {file}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise SettingsError(f"sources: {file}: not valid TOML: {error}") from None


def _opened(where: str, name: str, table: Any, local_only: bool) -> GuardedSource:
    if not isinstance(table, dict) or not _NAME.fullmatch(name):
        raise SettingsError(f"{where}: a source is a table, [web], whose name has small letters, digits, - and _")
    own = {each.name for each in fields(Terms)}
    kind = str(table.get("type", ""))
    make = _kind(where, kind)
    try:
        source = make({key: value for key, value in table.items() if key not in own and key != "type"})
        if not isinstance(source, TextSource | ImageSource):
            raise SettingsError(f"{where}: type {kind!r} gives no source of text or pictures")
        given = {key: value for key, value in table.items() if key in own}
        defaults = {} if source.remote else _OWN_DEFAULTS
        terms = TypeAdapter(Terms).validate_python(defaults | given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise SettingsError(f"{where} {key}: {first['msg'][:1].lower()}{first['msg'][1:]}") from None
    except ValueError as error:
        raise SettingsError(f"{where} {error}") from None
    return GuardedSource(name, kind, source, terms, open=not (local_only and source.remote))


def _kind(where: str, kind: str) -> Callable[[Mapping[str, Any]], KnowledgeSource]:
    """What opens sources of a kind."""
    if kind in KINDS:
        opened: Callable[[Mapping[str, Any]], KnowledgeSource] = import_module(f"{__package__}.{KINDS[kind]}").opened
        return opened
    others = {each.name: each for each in entry_points(group=GROUP)}
    if kind not in others:
        known = sorted({*KINDS, *others})
        near = suggestion(kind, known)
        raise SettingsError(f"{where} type: there is no kind {kind!r} of source{near}; it is one of {', '.join(known)}")
    try:
        made: Callable[[Mapping[str, Any]], KnowledgeSource] = others[kind].load()
    except Exception as error:  # whatever another package does when it is loaded
        raise SettingsError(f"{where} type: {kind!r} cannot be loaded: {error}") from error
    return made
