"""Deciders: exported as scorers, described for the manifest, and compared with PyTorch.

Several may share one graph. It belongs to one of them, which is exported with the rows of all their labels; the others
have its files with a prompt, labels and rows of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from quizglass_bundle.errors import BundleError
from quizglass_export.errors import ExportError
from quizglass_export.graphs.qwen_vl import VISION_CLASSES
from quizglass_export.roles.shared.entry import Entry, Labels, Scorer, TemplateName
from quizglass_export.roles.shared.job import Exporter, RoleJob, by_type, prompt_name
from quizglass_export.roles.shared.scorers import (
    TEXT_CLASSES,
    check_text_scorer,
    check_vision_scorer,
    export_text_scorer,
    export_vision_scorer,
    prepare_text_scorer,
    prepare_vision_scorer,
    text_scorer_runs,
    vision_scorer_runs,
)
from quizglass_server.roles.decider import check_labels

PLAN_LABELS = (("none", " A"), ("image", " B"), ("text", " C"), ("both", " D"))


class Planner(Scorer):
    """The planner's defaults: the four lookups as letters."""

    labels: Labels = PLAN_LABELS
    prompt: Annotated[TemplateName, Field(min_length=1)] = "plan"


class SharingDecider(Entry):
    """A decider that uses the model of another one, with labels and a prompt of its own."""

    shares: Annotated[str, Field(min_length=1)]
    """Name of the other: `planner`, `tool_router`, `verifier` or `deciders.NAME`."""
    labels: Labels
    prompt: Annotated[TemplateName, Field(min_length=1)]


class LinearDecider(Entry):
    """A decider by weighted sums of numbers."""

    linear: Path
    """JSON with `features`, `labels`, `weights` (a row for each label) and `bias`."""


def _kind(value: Any) -> str:
    keys = value if isinstance(value, Mapping) else getattr(value, "model_fields_set", ())
    return next((f"<{key}>" for key in ("shares", "linear") if key in keys), "<scorer>")


Decider = Annotated[
    Annotated[Scorer, Tag("<scorer>")]
    | Annotated[SharingDecider, Tag("<shares>")]
    | Annotated[LinearDecider, Tag("<linear>")],
    Discriminator(_kind),
]


def prepare_vision(job: RoleJob, spec: Scorer) -> None:
    """Check what is known without weights: prompt, labels, tokenizer, picture sizes."""
    _check_labels(job, spec)
    prepare_vision_scorer(job, spec)


def prepare_text(job: RoleJob, spec: Scorer) -> None:
    """Check what is known without weights: prompt, labels, tokenizer."""
    _check_labels(job, spec)
    prepare_text_scorer(job, spec)


def _check_labels(job: RoleJob, spec: Scorer) -> None:
    try:
        check_labels(job.role, [name for name, _ in spec.labels])
    except BundleError as error:
        raise ExportError(str(error)) from error


def shared_part(job: RoleJob, spec: Scorer, owner: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest's entry of a decider that uses another's graph.

    Args:
        job: of the decider, with the texts of the graph's rows.
        spec: what the recipe says: labels and prompt are its own.
        owner: the entry of the decider whose graph it is.
    """
    places = job.places(spec.labels)
    rows = {} if places is None else {"rows": list(places)}
    own = {"prompt": prompt_name(spec.prompt), "labels": [list(label) for label in spec.labels]}
    return {key: value for key, value in owner.items() if key != "rows"} | own | rows


EXPORTERS = by_type(
    Exporter(prepare_vision, export_vision_scorer, check_vision_scorer, VISION_CLASSES, vision_scorer_runs),
    Exporter(prepare_text, export_text_scorer, check_text_scorer, TEXT_CLASSES, text_scorer_runs),
)
"""transformers' model type to what exports the role from it."""
