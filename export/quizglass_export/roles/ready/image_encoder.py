"""An image encoder from a ready-made ONNX file: looked into, compared with itself and with the checkpoint
that it was made of where there is one, and copied byte by byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quizglass_bundle.inputs import vision_inputs
from quizglass_bundle.parts import ImageEncoderPart
from quizglass_export.checks import Check
from quizglass_export.errors import ExportError
from quizglass_export.parity import Floats, batches, check_vectors, session
from quizglass_export.roles import image_encoder
from quizglass_export.roles.image_encoder import ImageEncoder, ReadyImageEncoder
from quizglass_export.roles.ready.library_encoder import LIBRARY
from quizglass_export.roles.ready.onnx_files import GraphForm, check_file, onnx_source, place_model
from quizglass_export.roles.shared.job import Exported, Exporter, RoleJob

_INPUT, _OUTPUT = "pixel_values", "image_embeds"


def prepare(job: RoleJob, spec: ReadyImageEncoder) -> None:
    """Check hash, names and shapes.

    Raises:
        ExportError: another file than the recipe says, or a graph that the server cannot run.
    """
    picture = spec.picture
    form = GraphForm({_INPUT: (None, 3, picture.height, picture.width)}, spec.output, (None, spec.dimension))
    check_file(onnx_source(job).model, spec.sha256, form)


def export(job: RoleJob, spec: ReadyImageEncoder) -> Exported:
    """Copy the file that `prepare` has checked."""
    part = ImageEncoderPart(
        engine="onnx",
        kind="image-encoder",
        model=f"{job.role}/model.onnx",
        picture=spec.picture,
        dimension=spec.dimension,
    )
    place_model(onnx_source(job).model, job.path(part.model), spec.output, _OUTPUT)
    return Exported(part, {"precision": spec.precision, "ready_made": True})


def check(job: RoleJob, spec: ReadyImageEncoder, part: ImageEncoderPart) -> list[Check]:
    """Pictures alone beside the same in batches, and beside the checkpoint where there is one."""
    run = session(job.path(part.model))

    def vectors(indices: Sequence[int]) -> Floats:
        pictures = [vision_inputs.channels(job.samples[index].picture, part.picture) for index in indices]
        values: Floats = run.run([_OUTPUT], {_INPUT: np.stack(pictures)})[0]
        if values.shape != (len(indices), spec.dimension):
            raise ExportError(f"{part.model}: vectors are {values.shape}, not {(len(indices), spec.dimension)}")
        return values

    alone = [vectors([index])[0] for index in range(len(job.samples))]
    together = [row for size in job.batches for part_of in batches(len(alone), size) for row in vectors(part_of)]
    itself = check_vectors(job.role, together, alone * len(job.batches), job.cosine(spec))
    checks = [replace(itself, measure="smallest cosine, batches beside one at a time")]
    checkpoint = onnx_source(job).checkpoint
    if checkpoint is not None:
        described = ImageEncoder(checkpoint=checkpoint.folder, precision=spec.precision, accept=spec.accept)
        checks += image_encoder.check(replace(job, source=checkpoint), described, part)
    return checks


EXPORTERS = {"onnx": Exporter(prepare, export, check, {}), "library": LIBRARY}
"""The role's exporters; neither has a model type of its own."""
