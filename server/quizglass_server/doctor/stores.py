"""Whether the stores of knowledge and visual memory could be opened, and are of the bundle's encoders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from quizglass_server.config.load import Settings
from quizglass_server.doctor import machine
from quizglass_server.doctor.finding import Finding, Status
from quizglass_server.errors import KnowledgeFailed, KnowledgeLocked
from quizglass_server.knowledge.content.records import VectorKind
from quizglass_server.knowledge.survey import survey, vectors_of_others
from quizglass_server.roles.image_encoder import IMAGE_ENCODER
from quizglass_server.roles.table import Models
from quizglass_server.roles.text_encoder import TEXT_ENCODER

_LEAST_DISK = 64 << 10
"""Bytes without which SQLite cannot even open a database."""
_MADE_BY = {VectorKind.CHUNKS: ("passages", TEXT_ENCODER.name), VectorKind.PICTURES: ("pictures", IMAGE_ENCODER.name)}


def store(directory: Path, name: str) -> Finding:
    """Whether a directory can be written, no process has it open, and what is in it is sound as far as a start
    looks.
    """
    place = machine.disk(directory, name)
    if place.status is Status.WRONG:
        return place
    if place.values["free_bytes"] < _LEAST_DISK:
        remedy = "free some space: a server does not start on it"
        return replace(place, status=Status.WRONG, text=f"{directory}: the disk is full", remedy=remedy)
    try:
        found = survey(directory)
    except (KnowledgeLocked, KnowledgeFailed) as error:
        text, _, remedy = error.message.partition("; ")
        return replace(place, status=Status.WRONG, text=text, remedy=remedy)
    text = f"{place.text}; {found.mended or f'{found.entries} entries'}"
    return replace(place, text=text, values={**place.values, "entries": found.entries})


def vectors(settings: Settings, models: Models) -> Iterator[Finding]:
    """What of the stores the bundle's encoders did not make. A store that cannot be read is left to `store`."""
    for name, place in {"knowledge": settings.knowledge, "visual memory": settings.memory_directory}.items():
        if not isinstance(place, Path):
            continue
        with suppress(KnowledgeLocked, KnowledgeFailed):
            for kind, count in vectors_of_others(place, models[TEXT_ENCODER], models[IMAGE_ENCODER]).items():
                yield _of_others(name, kind, count, models)


def _of_others(name: str, kind: VectorKind, count: int, models: Models) -> Finding:
    things, role = _MADE_BY[kind]
    text = f"{things} that another encoder than the bundle's {role} has embedded: {count}"
    remedy = "a start embeds them anew in the background, and logs when it is done; or take the bundle of before"
    if models.get(role) is None:
        text = f"{things} that the bundle has no {role} to search with: {count}"
        remedy = "take the bundle that they were imported with, or add the role to this one (quizglass-export add-role)"
    return Finding(f"vectors of the {name}", Status.SLOW, text, remedy, {"kind": kind.value, "count": count})
