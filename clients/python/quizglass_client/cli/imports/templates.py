"""Which files of a vault are templates, by the settings of the program for notes: new notes are copied from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from quizglass_client.cli.imports.folder import Folder
from quizglass_client.cli.imports.folder_tree import FolderTree
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.files import read_file
from quizglass_client.names.kinds import same_name

_SETTINGS = ".obsidian"
_FOLDERS = {"templates.json": "folder", "plugins/templater-obsidian/data.json": "templates_folder"}
"""Files of settings, and the key that has a folder's name."""
_FILES = {"daily-notes.json": "template"}
"""The same for the name of one note, without its ending."""
_LONGEST = 1 << 20
"""Bytes of a file of settings."""


def leave_templates(folder: Path, tree: FolderTree, report: ImportReport) -> None:
    """Take the templates of the vaults in a folder out of what is imported; `report` gets their names."""
    templates = [*_templates(folder, tree.documents)]
    for document in [*tree.documents] if templates else ():
        paths = (document, *document.parents, document.with_suffix(""))
        if any(same_name(str(path)) in templates for path in paths):
            tree.documents.remove(document)
            told = "is a template, as the settings of the program for notes say"
            report.passed_over(document.relative_to(folder).as_posix(), told)


def _templates(folder: Path, documents: Sequence[Path]) -> Iterator[str]:
    """Folders and files that the settings of vaults name; a vault's own folder is none."""
    within = Folder(folder)
    above = {parent for document in documents for parent in document.parents if parent.is_relative_to(folder)}
    for vault in sorted(above):
        if not (vault / _SETTINGS).is_dir():
            continue
        for file, key in (_FOLDERS | _FILES).items():
            name = _setting(within, (vault / _SETTINGS / file).relative_to(folder), key)
            if path := name.strip("/ ").removesuffix(".md" if file in _FILES else ""):
                yield same_name(str(vault / path))


def _setting(within: Folder, file: Path, key: str) -> str:
    """A name in a file of settings; empty where there is none, or the file cannot be read."""
    try:
        settings = json.loads(read_file(within.file(file), _LONGEST))
    except (OSError, ValueError, RecursionError):
        return ""
    value = settings.get(key) if isinstance(settings, dict) else None
    return value if isinstance(value, str) else ""
