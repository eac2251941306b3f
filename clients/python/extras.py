"""The extras of the package `quizglass`: hatchling runs this whenever it is built or installed.

Bundle format, server, exporter and laboratory are packages of their own. Extras bring them from the clone that is being
installed: no index has them, and their names there could be anybody's. Released wheels are installed side by side
instead (`make wheels`).
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELEASE = "QUIZGLASS_RELEASE"
"""Environment variable of builds whose wheels leave this machine: they name no folder of it."""
CLI = "quizglass[cli]"
"""Who installs a server wants the command as well."""


class Extras(MetadataHookInterface):
    """The client's own extras, the server's by their own names, and `server`, `export` and `lab`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in `optional-dependencies`."""
        if os.environ.get(RELEASE):
            metadata["optional-dependencies"] = self.config["extras"]
            return
        bundle, server, export, lab = (Path(self.root, name) for name in ("bundle", "server", "export", "lab"))
        project = tomllib.loads((server / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        metadata["optional-dependencies"] = {
            **self.config["extras"],
            **{name: [_package(bundle), _package(server, name), CLI] for name in project["optional-dependencies"]},
            "server": [_package(bundle), _package(server), CLI],
            "export": [_package(bundle), _package(server), _package(export, "train")],
            "lab": [_package(bundle), _package(server), _package(export, "train"), _package(lab)],
        }


def _package(folder: Path, extra: str = "") -> str:
    return f"quizglass-{folder.name}{f'[{extra}]' if extra else ''} @ {folder.as_uri()}"
