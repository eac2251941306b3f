"""What can be said of the store in a directory before it is opened: who has it, and whether it is as it was written.

Everything here needs the files alone, and so comes before the models are loaded.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from quizglass_server.knowledge.content.records import VectorKind
from quizglass_server.knowledge.database.lock import check_free, lock_directory
from quizglass_server.knowledge.database.reader import UNUSABLE, DatabaseReader
from quizglass_server.knowledge.database.schema import FILE, explained, is_new, naming
from quizglass_server.knowledge.ingest.drafts import spaces
from quizglass_server.knowledge.repair.inspection import check_before_opening
from quizglass_server.knowledge.repair.swapping import interrupted, undo_interrupted
from quizglass_server.roles.image_encoder import ImageEncoder
from quizglass_server.roles.text_encoder import TextEncoder

_INTERRUPTED = "a store whose repair was interrupted, which the next start undoes"


@dataclass(frozen=True, slots=True)
class StoreSurvey:
    """A store that no process has open and that is sound, as far as a start checks."""

    entries: int
    """How many it holds; 0 where that is not known before it was `mended`."""
    mended: str = ""
    """What it is, if the next start has to bring it into shape first."""


def survey(directory: Path) -> StoreSurvey:
    """Look at a store and change nothing.

    Raises:
        KnowledgeLocked: another process has it open.
        KnowledgeFailed: it is damaged, incomplete, of a newer version, no knowledge store, or may not be read.
    """
    path = directory / FILE
    with naming(directory), explained(path):
        check_free(directory)
        if not is_new(path) and interrupted(directory):
            return StoreSurvey(0, _INTERRUPTED)
        state = check_before_opening(directory, untouched=True)
        return StoreSurvey(0 if state is None else state.count)


def check_openable(directory: Path) -> None:
    """Refuse a directory that cannot be opened now; it is made if need be. Opening it later looks again.

    Raises:
        KnowledgeLocked: another process has it open.
        KnowledgeFailed: as `survey`, or it may not be written.
    """
    path = directory / FILE
    with naming(directory), explained(path), closing(lock_directory(directory)):
        if not is_new(path):
            undo_interrupted(directory)
        check_before_opening(directory)


def vectors_of_others(
    directory: Path, text_encoder: TextEncoder | None, image_encoder: ImageEncoder | None
) -> dict[VectorKind, int]:
    """How many vectors of a sound store are not of these encoders, and are made anew when it is opened with them.

    Those of a kind without an encoder are all among them, and stay as they are.

    Raises:
        KnowledgeLocked, KnowledgeFailed: as `survey`.
    """
    path = directory / FILE
    with naming(directory), explained(path):
        check_free(directory)
        if check_before_opening(directory, untouched=True) is None:
            return {}
        with closing(DatabaseReader(path, untouched=True)) as reader:
            stored = {kind: reader.labels(kind) for kind in VectorKind}
    ours = {kind: space.name for kind, space in spaces(text_encoder, image_encoder).items()}
    counts = {}
    for kind, by_space in stored.items():
        usual = (ours.get(kind), f"{UNUSABLE}{ours.get(kind)}")
        counts[kind] = sum(len(rows) for space, rows in by_space.items() if space not in usual)
    return {kind: count for kind, count in counts.items() if count}
