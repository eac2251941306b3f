"""A world on disk, and the command that writes one."""

from quizglass_lab.pocketworld.dataset.files import (
    FORMAT,
    PICTURE_SIZE,
    SCENE_SIZE,
    Progress,
    Summary,
    build_world,
    entry_record,
    export_world,
    question_record,
    write_entries,
    write_questions,
)

__all__ = [
    "FORMAT",
    "PICTURE_SIZE",
    "SCENE_SIZE",
    "Progress",
    "Summary",
    "build_world",
    "entry_record",
    "export_world",
    "question_record",
    "write_entries",
    "write_questions",
]
