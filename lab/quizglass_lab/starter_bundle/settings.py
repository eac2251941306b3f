"""What the starter bundle says besides its models, read from `settings.json` beside the checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from quizglass_bundle.fields import Count, ManifestPart, Size
from quizglass_bundle.tuning import EvidenceLimits, Thresholds
from quizglass_export.checkpoints.files import read_json
from quizglass_export.errors import ExportError

SETTINGS = "settings.json"


class StarterSettings(ManifestPart):
    """Everything has a default; unknown keys are refused."""

    name: str = "starter"
    version: str = "0.1.0"
    picture: Size = Size(width=112, height=112)
    """Pictures of planner and generator, in pixels."""
    thresholds: Thresholds = Thresholds()
    evidence: EvidenceLimits = EvidenceLimits()
    abstain: Annotated[str, Field(min_length=1)] = "I don't know"
    planner_tokens: Count = 512
    """Longest prompt of the planner, in tokens."""
    reranker_tokens: Count = 256
    context: Count = 2048
    """The generator's context in tokens."""
    answer_tokens: Count = 64
    """Longest answer of the generator in tokens."""
    gate: Annotated[float, Field(ge=0, le=1)] | None = None
    """Probability of words from which a picture is read; None: as the server's gate was fitted."""


def read_settings(root: Path) -> StarterSettings:
    """Settings of a directory of checkpoints; the defaults if it has no `settings.json`.

    Raises:
        ExportError: a key is unknown or its value out of range.
    """
    path = root / SETTINGS
    if not path.is_file():
        return StarterSettings()
    try:
        return StarterSettings.model_validate(read_json(path))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ExportError(f"{path}: {key}: {first['msg']}") from None
