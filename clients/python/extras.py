"""The extras of the package `quizglass`: hatchling runs this whenever it is built or installed.

Server and exporter are packages of their own. Extras bring them from the clone that is being installed: no index has
them, and their names there could be anybody's.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Extras(MetadataHookInterface):
    """Those that pyproject.toml has for the client, each of the server's by its own name, and `server` and `export`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in `optional-dependencies`."""
        server, export = Path(self.root, "server"), Path(self.root, "export")
        project = tomllib.loads((server / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        metadata["optional-dependencies"] = {
            **self.config["extras"],
            **{name: [_package(server, name)] for name in project["optional-dependencies"]},
            "server": [_package(server)],
            "export": [_package(server), _package(export, "train")],
        }


def _package(folder: Path, extra: str = "") -> str:
    return f"quizglass-{folder.name}{f'[{extra}]' if extra else ''} @ {folder.as_uri()}"
