"""The server's settings, read from flags before the environment before a file; unknown names are refused.

Environment and file are read by pydantic-settings' own sources. Three things are done by hand:

- Laying one source over the other. `settings_customise_sources` does that too, but what comes of it does not say which
  source a value is from, and errors name the flag, variable or key as it was written: what each source has is kept.
- The command line (`cli`). `CliSettingsSource` lists the options from the last group to the first, without the groups'
  titles, with Python's types in place of units (`--grace-s float`), and does not say which flag was probably meant.
- Unknown variables. `EnvSettingsSource` takes what it knows and leaves the rest, so that a mistyped name would pass for
  a default.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import sys
import textwrap
from collections import ChainMap
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from quizglass_bundle.speech_server import speech_server
from quizglass_server.config.address import knowledge_address, proxy_network, web_origin
from quizglass_server.config.generator_address import generator_address
from quizglass_server.config.settings import (
    AddressOptions,
    BundleOptions,
    ClientOptions,
    EngineOptions,
    GeneratorOptions,
    GivenOptions,
    KnowledgeOptions,
    LinkOptions,
    LogOptions,
    MemoryOptions,
    NetworkOptions,
    OperationsOptions,
    Options,
    PictureLimits,
    PrivacyOptions,
    RequestLimits,
    SessionOptions,
    SourceOptions,
    SpeechOptions,
    TurnOptions,
    WebOptions,
)
from quizglass_server.config.sources import (
    CONFIG_VARIABLE,
    FLAG,
    PREFIX,
    VARIABLE,
    explained,
    file_values,
    refuse_unknown_variables,
)

_OWN_KNOWLEDGE = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "quizglass" / "knowledge"
"""Where a generator alone keeps what is imported, though it cannot look it up."""
_BEYOND_ASCII = re.compile(r"[^ -~]")
_COLLECTIONS = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class Settings(  # type: ignore[misc]  # frozen as its groups are, which mypy cannot see
    BaseModel,
    BundleOptions,
    KnowledgeOptions,
    SourceOptions,
    EngineOptions,
    GivenOptions,
    GeneratorOptions,
    SpeechOptions,
    MemoryOptions,
    AddressOptions,
    WebOptions,
    OperationsOptions,
    NetworkOptions,
    PictureLimits,
    PrivacyOptions,
    RequestLimits,
    TurnOptions,
    SessionOptions,
    LinkOptions,
    ClientOptions,
    LogOptions,
):
    """What a server is started with. Relative paths are relative to the working directory.

    It is each of its groups, and is handed as such to who needs one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator(
        "bundle",
        "require_signature",
        "generator",
        "projector",
        "generator_token_file",
        "knowledge_token_file",
        "sources",
        "engine_cache",
        "llama_server",
        "state_directory",
        "memory_directory",
        "session_key_file",
        "tls_cert",
        "tls_key",
        "tls_client_ca",
        "tokens",
        "tenants",
        "audit_log",
        mode="before",
    )
    @classmethod
    def _path(cls, given: Any) -> Any:
        if given == "":
            why = "empty, which would be the working directory; name a path, or leave the setting out"
            raise PydanticCustomError("path", "{why}", {"why": why})
        if isinstance(given, str) and "\0" in given:
            raise PydanticCustomError("path", "{why}", {"why": "no path has a zero character"})
        return given

    @field_validator("knowledge", mode="before")
    @classmethod
    def _place(cls, given: Any) -> Any:
        try:
            return knowledge_address(given)
        except ValueError as error:
            raise PydanticCustomError("knowledge_address", "{why}", {"why": str(error)}) from None

    @field_validator("knowledge_collections")
    @classmethod
    def _collections(cls, given: str) -> str:
        if not _COLLECTIONS.fullmatch(given):
            wanted = f"String should match pattern '{_COLLECTIONS.pattern}'"
            raise PydanticCustomError("knowledge_collections", "{wanted}", {"wanted": wanted})
        return given

    @model_validator(mode="before")
    @classmethod
    def _without_bundle(cls, given: Any) -> Any:
        """A generator alone can be served; it has nothing to look up, and so needs no knowledge of one's own."""
        if isinstance(given, dict) and "bundle" not in given and (given.get("generator") or given.get("generator_url")):
            return {"knowledge": _OWN_KNOWLEDGE, **given, "bundle": None}
        return given

    @field_validator("generator_url", mode="before")
    @classmethod
    def _generators(cls, given: Any) -> Any:
        return _listed(given, generator_address)

    @field_validator("hearing", "voice", mode="before")
    @classmethod
    def _speech(cls, given: Any) -> Any:
        try:
            return speech_server(given) if isinstance(given, str) else given
        except ValueError as error:
            raise PydanticCustomError("speech_server", "{why}", {"why": str(error)}) from None

    @model_validator(mode="after")
    def _one_generator(self) -> Settings:
        if self.generator is not None and self.generator_url:
            why = "generator: goes without generator_url; give a model of this machine, or servers elsewhere"
            raise PydanticCustomError("generator", "{why}", {"why": why})
        return self

    @field_validator("web_origins", mode="before")
    @classmethod
    def _origins(cls, given: Any) -> Any:
        return _listed(given, web_origin)

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _proxies(cls, given: Any) -> Any:
        return _listed(given, proxy_network)


def _listed(given: Any, read: Callable[[str], object]) -> Any:
    """What a setting lists, each as `read` has it: a text with commas, or in a file a list."""
    named = given.split(",") if isinstance(given, str) else given
    if not isinstance(named, list | tuple) or not all(isinstance(each, str) for each in named):
        return given
    try:
        return tuple(read(each.strip()) for each in named if each.strip())
    except ValueError as error:
        raise PydanticCustomError("listed", "{why}", {"why": str(error)}) from None


class Sources(BaseSettings, Settings):  # type: ignore[misc]  # the same
    """What pydantic-settings' sources are asked for; `Settings` that are made in code read none."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, enable_decoding=False)


GROUPS: tuple[type[Options], ...] = tuple(base for base in Settings.__bases__ if issubclass(base, Options))
"""The groups of options, in the order of the help."""


def fields_of(group: type[Options]) -> dict[str, FieldInfo]:
    """The options of a group, in their order, each with its docstring as its description."""
    options: dict[str, FieldInfo] = {}
    for kind in reversed([kind for kind in group.__mro__ if issubclass(kind, Options)]):
        for declared, says in pairwise(_classes(kind.__module__)[kind.__name__].body):
            match declared, says:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                    options[name] = Settings.model_fields[name]
                    options[name].description = " ".join(text.split())
    return options


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """The classes of a module as they are written; parsed once, since every start needs many of them."""
    written = ast.parse(inspect.getsource(sys.modules[module])).body
    return {each.name: each for each in written if isinstance(each, ast.ClassDef)}


def all_fields() -> dict[str, FieldInfo]:
    """The options of every group."""
    return {name: field for group in GROUPS for name, field in fields_of(group).items()}


def load_settings(flags: Mapping[str, Any], config: Path | None = None) -> Settings:
    """Settings from flags, then the environment, then a file.

    Args:
        flags: values by name, only those that were given.
        config: TOML file; None: the file that QUIZGLASS_CONFIG names, if any.

    Raises:
        SettingsError: an unknown name, a wrong value, a missing required setting, an unreadable file; it says where.
    """
    refuse_unknown_variables(Settings.model_fields)
    if config is None and (named := os.environ.get(CONFIG_VARIABLE)):
        config = Path(named)
    layers: dict[str, dict[str, Any]] = {
        FLAG: {name: value for name, value in flags.items() if value is not None},
        VARIABLE: EnvSettingsSource(Sources)(),
    }
    if config is not None:
        layers[f"{config}: {{}}"] = file_values(config, Sources)
    try:
        return Settings(**ChainMap(*layers.values()))
    except ValidationError as error:
        raise explained(error, layers, list(all_fields())) from None


def setting_of(name: str, flag: object = None, config: Path | None = None) -> str:
    """One setting as a server finds it, for commands that need no more of them; empty where it is not given.

    Args:
        name: its name.
        flag: what was given on the command line, if anything.
        config: TOML file; None: the file that QUIZGLASS_CONFIG names, if any.

    Raises:
        SettingsError: the file cannot be read.
    """
    if given := flag or os.environ.get(f"{PREFIX}{name.upper()}"):
        return str(given)
    file = config or os.environ.get(CONFIG_VARIABLE)
    return str((file_values(Path(file), Sources) if file else {}).get(name) or "")


def as_toml(settings: Settings) -> str:
    """Settings as a file that `load_settings` reads back, each with its description."""
    lines = []
    for name, field in all_fields().items():
        value = getattr(settings, name)
        unset = "# " if value is None else ""
        lines += textwrap.wrap(field.description or "", 100, initial_indent="# ", subsequent_indent="# ")
        if isinstance(value, tuple):
            value = ",".join(map(str, value))
        shown = value if isinstance(value, bool | int | float | str) else str(value or "")
        lines.append(f"{unset}{name} = {_toml(shown)}")
    return "\n".join(lines) + "\n"


def _toml(value: bool | int | float | str) -> str:
    """A value as TOML writes it: like JSON, which has other escapes for what is not ASCII."""
    return _BEYOND_ASCII.sub(lambda match: f"\\U{ord(match[0]):08x}", json.dumps(value, ensure_ascii=False))
