"""An image encoder from an ONNX file that somebody else made: looked into, compared with itself and with the checkpoint
that it was made of where there is one, and copied byte by byte.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx

from quizglass_export.checkpoints.source import OnnxSource
from quizglass_export.errors import ExportError
from quizglass_export.onnx.file import whole_model
from quizglass_export.parity import Check, Floats, batches, check_vectors, session
from quizglass_export.recipe import schema
from quizglass_export.roles import image_encoder
from quizglass_export.roles.job import Exported, Exporter, RoleJob
from quizglass_server.models import vision_inputs
from quizglass_server.roles.image_encoder import ImageEncoderPart

_INPUT, _OUTPUT = "pixel_values", "image_embeds"


def prepare(job: RoleJob, spec: schema.ReadyImageEncoder) -> None:
    """Check hash, names and shapes.

    Raises:
        ExportError: another file than the recipe says, or a graph that the server cannot run.
    """
    path = _source(job).model
    if spec.sha256 is not None:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != spec.sha256:
            raise ExportError(f"{path}: SHA-256 is {digest}, the recipe says {spec.sha256}; another file")
    graph = whole_model(path).graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [each for each in graph.input if each.name not in constants]
    if [each.name for each in inputs] != [_INPUT] or _OUTPUT not in {each.name for each in graph.output}:
        names = [each.name for each in (*inputs, *graph.output)]
        raise ExportError(f"{path}: inputs and outputs are {names}; they must be {_INPUT} and {_OUTPUT}. Rename them")
    output = next(each for each in graph.output if each.name == _OUTPUT)
    picture = spec.picture
    _check_axes(path, inputs[0], (None, 3, picture.height, picture.width))
    _check_axes(path, output, (None, spec.dimension))


def export(job: RoleJob, spec: schema.ReadyImageEncoder) -> Exported:
    """Copy the file that `prepare` has checked."""
    part = ImageEncoderPart(
        engine="onnx",
        kind="image-encoder",
        model=f"{job.role}/model.onnx",
        picture=spec.picture,
        dimension=spec.dimension,
    )
    shutil.copyfile(_source(job).model, job.path(part.model))
    return Exported(part, {"precision": spec.precision, "ready_made": True})


def check(job: RoleJob, spec: schema.ReadyImageEncoder, part: ImageEncoderPart) -> list[Check]:
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
    checkpoint = _source(job).checkpoint
    if checkpoint is not None:
        described = schema.ImageEncoder(checkpoint=checkpoint.folder, precision=spec.precision, accept=spec.accept)
        checks += image_encoder.check(replace(job, source=checkpoint), described, part)
    return checks


def _source(job: RoleJob) -> OnnxSource:
    if not isinstance(job.source, OnnxSource):
        raise ExportError(f"{job.source.folder}: no ONNX file")
    return job.source


def _check_axes(path: Path, value: onnx.ValueInfoProto, wanted: Sequence[int | None]) -> None:
    """The first axis must be free, the others those numbers or free."""
    axes = value.type.tensor_type.shape.dim
    sizes = [axis.dim_value if axis.HasField("dim_value") else None for axis in axes]
    fits = len(sizes) == len(wanted) and sizes[0] is None
    if not fits or any(None not in (a, b) and a != b for a, b in zip(sizes, wanted, strict=True)):
        raise ExportError(f"{path}: {value.name} is {sizes}, the recipe says {list(wanted)} (None: any number)")


EXPORTERS = {"onnx": Exporter(prepare, export, check, {})}
"""As of the other roles; ONNX files have no model type of their own."""
