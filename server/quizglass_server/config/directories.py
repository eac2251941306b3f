"""Which directories of the settings must not be one another's."""

from __future__ import annotations

from pathlib import Path

from quizglass_server.config.load import Settings
from quizglass_server.errors import SettingsError

_WRITTEN = (
    "knowledge",
    "memory_directory",
    "tenants",
    "state_directory",
    "engine_cache",
    "session_key_file",
    "audit_log",
)


def check_directories(settings: Settings) -> None:
    """Refuse directories that a server would spoil by writing to another.

    Raises:
        SettingsError: something would be written into the bundle, which would be refused from then on, or the visual
            memory into the knowledge.
    """
    given = {name: getattr(settings, name) for name in _WRITTEN}
    places = {name: place.resolve() for name, place in given.items() if isinstance(place, Path)}
    bundle = None if settings.bundle is None else settings.bundle.resolve()
    for name, place in places.items():
        if bundle is not None and place.is_relative_to(bundle):
            told = f"{name}: {given[name]} is in the bundle, which holds listed files only"
            raise SettingsError(f"{told}; give another place")
    memory = places.get("memory_directory")
    if memory is not None and memory == places.get("knowledge"):
        told = f"memory_directory: {settings.memory_directory} is the knowledge directory"
        raise SettingsError(f"{told}; give one of its own")
