"""`quizglass-lab build --checkpoints`: a directory of checkpoints in the starter's layout to a bundle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from quizglass_bundle.files import Bundle
from quizglass_export.assembly.carry_out import carry_out
from quizglass_export.assembly.plan import Plan, make_plan
from quizglass_export.checkpoints.files import Checkpoints
from quizglass_export.directory import check_free
from quizglass_export.errors import ExportError
from quizglass_export.gguf.jobs import FILE_TYPES
from quizglass_export.recipe.schema import Samples
from quizglass_export.roles.shared.entry import Demands
from quizglass_lab.starter_bundle.recipe import starter_recipe
from quizglass_lab.starter_bundle.samples import pocketworld_samples
from quizglass_lab.starter_bundle.settings import read_settings


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What to build and how strictly to compare.

    Attributes:
        checkpoints: directory of checkpoints.
        out: the bundle's directory; it must not exist unless `replace`.
        replace: whether an existing bundle may be replaced.
        source: where parity samples come from, "pocketworld" or "random".
        samples: how many samples scorers and encoders are compared on.
        generated: how many of them the generator answers.
        file_type: quantisation of the generator's text model.
        demands: bounds of the comparison.
        threads: CPU threads for PyTorch.
    """

    checkpoints: Path
    out: Path
    replace: bool = False
    source: str = "pocketworld"
    samples: int = 160
    generated: int = 80
    file_type: str = "q8_0"
    demands: Demands = field(default_factory=Demands)
    threads: int = 1


def plan_starter(options: BuildOptions) -> Plan:
    """The plan of a directory of checkpoints.

    Raises:
        ExportError: a file is missing or of another architecture, or an option is out of range.
    """
    if options.samples < 2 or options.generated < 1:
        raise ExportError("--samples must be at least 2 and --generated at least 1, or nothing is compared")
    if options.threads < 1:
        raise ExportError(f"--threads {options.threads}: must be at least 1")
    if options.file_type not in FILE_TYPES:
        raise ExportError(f"--quantisation {options.file_type!r}: must be one of {', '.join(FILE_TYPES)}")
    Checkpoints.find(options.checkpoints)
    samples = Samples(source="random", count=options.samples, generated=options.generated)
    draw = None
    if options.source == "pocketworld":
        samples = samples.model_copy(update={"source": options.source})  # as reports name it; no recipe can say it
        draw = pocketworld_samples
    recipe = starter_recipe(
        options.checkpoints,
        read_settings(options.checkpoints),
        samples=samples,
        demands=options.demands,
        quantisation=options.file_type,
        threads=options.threads,
    )
    return make_plan(recipe, draw)


def build(options: BuildOptions, advance: Callable[[str], None] = lambda step: None) -> Bundle:
    """Build a bundle.

    Args:
        options: what to build.
        advance: called with the name of each step as it starts.

    Returns:
        The bundle, verified as a server would verify it.

    Raises:
        ExportError: an input is wrong, or an exported model differs from its source. Nothing is left at `out`.
    """
    check_free(options.out, options.replace)
    return carry_out(plan_starter(options), options.out, replace=options.replace, advance=advance).bundle
