"""The reader of printed words. Its models come with a package; a bundle may have a quicker detector of lines.

Of reading a photograph the package's detector takes three quarters of the time. With its convolutions in INT8 a reading
takes half as long, and 96 of 100 lines are read alike (docs/bundles.md). The recogniser stays in float32: in INT8 it
saved a twentieth of a reading, and read 90 of 100 lines alike.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from quizglass_bundle.parts import ReaderPart
from quizglass_export.checkpoints.source import OnnxSource
from quizglass_export.checks import Acceptance, Check
from quizglass_export.errors import ExportError
from quizglass_export.printed_words.detector import check_detector, source_file, write_detector
from quizglass_export.roles.shared.entry import Entry
from quizglass_export.roles.shared.job import Exported, Exporter, RoleJob

FILE = "reader/detector.onnx"
"""The detector's name in a bundle."""


class Reader(Entry):
    """Reads printed words; its models come with a package."""

    reads_text: ClassVar[bool] = False

    engine: Literal["rapidocr"] = "rapidocr"
    gate: Annotated[float, Field(ge=0, le=1)] | None = None
    """Probability of words from which a picture is read; None: as the server's gate was fitted."""
    precision: Literal["fp32", "int8"] = "fp32"
    """Of the detector of lines; with `int8` it is made from the package's and lies in the bundle."""
    accept: Acceptance = Acceptance()


ENTRY = Reader
"""What a recipe says of the role."""


def reader_source() -> OnnxSource:
    """The package's detector, of which a quicker one is made. Raises ExportError where it is not installed."""
    return OnnxSource(source_file())


def prepare(job: RoleJob, spec: Reader) -> None:
    """The source is the package's own: there is nothing to check."""


def export(job: RoleJob, spec: Reader) -> Exported:
    """Make the detector in INT8."""
    part = ReaderPart(engine=spec.engine, kind="reader", gate=spec.gate, detector=FILE)
    return Exported(part, write_detector(source_file(), job.path(FILE)))


def check(job: RoleJob, spec: Reader, part: ReaderPart) -> list[Check]:
    """Compare lines of words on held-out signs with those read by the package's detector."""
    if part.detector is None:
        raise ExportError(f"roles.{job.role}.detector: the bundle has none, the recipe says {spec.precision}")
    return check_detector(job.role, job.path(part.detector), spec.accept.lines)


EXPORTERS = {"onnx": Exporter(prepare, export, check, {})}
"""The role's exporter; the package's models have no model type."""
