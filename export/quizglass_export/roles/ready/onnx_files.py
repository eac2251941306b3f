"""What every ready-made ONNX file is checked for: its hash, the names and shapes of its inputs and outputs."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from quizglass_bundle.hashes import file_sha256
from quizglass_export.checkpoints.source import OnnxSource
from quizglass_export.errors import ExportError
from quizglass_export.onnx.file import save_model, whole_model
from quizglass_export.parity import session
from quizglass_export.roles.shared.job import RoleJob
from quizglass_export.roles.text_encoder import tokenised

Axes = Sequence[int | None]
"""Sizes of a tensor's axes; None: any number."""


@dataclass(frozen=True, slots=True)
class GraphForm:
    """What the server gives a model, and what it takes from it.

    Attributes:
        inputs: axes of each input; the first is the batch and has to be free.
        optional: names of inputs that a model may lack.
        output: name of the output that is used.
        axes: of the output.
    """

    inputs: Mapping[str, Axes]
    output: str
    axes: Axes
    optional: frozenset[str] = frozenset()


def onnx_source(job: RoleJob) -> OnnxSource:
    """The role's file; ExportError where it has another source."""
    if not isinstance(job.source, OnnxSource):
        raise ExportError(f"{job.source.folder}: no ONNX file")
    return job.source


def check_file(path: Path, sha256: str | None, form: GraphForm) -> None:
    """Check a file without running it.

    Raises:
        ExportError: another file than the recipe says, or a graph that the server cannot run.
    """
    if sha256 is not None and (digest := file_sha256(path)) != sha256:
        raise ExportError(f"{path}: SHA-256 is {digest}, the recipe says {sha256}; another file")
    graph = whole_model(path).graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = {each.name: each for each in graph.input if each.name not in constants}
    outputs = {each.name: each for each in graph.output}
    if not form.inputs.keys() - form.optional <= inputs.keys() <= form.inputs.keys():
        wanted = [f"{name} (or not)" if name in form.optional else name for name in form.inputs]
        raise ExportError(f"{path}: inputs are {', '.join(inputs)}; they must be {', '.join(wanted)}. Rename them")
    if form.output not in outputs:
        raise ExportError(
            f"{path}: outputs are {', '.join(outputs)}; {form.output} is not among them. Say which it is, as in "
            f'output = "{next(iter(outputs), "")}"'
        )
    for name, value in inputs.items():
        _check_axes(path, value, form.inputs[name])
    _check_axes(path, outputs[form.output], form.axes)


def place_model(model: Path, target: Path, output: str, name: str) -> None:
    """Copy a model that `check_file` has checked, byte by byte where its output has the name that the server takes.

    Args:
        model: the file.
        target: where it goes.
        output: the output that is taken.
        name: what the server takes it by.

    Raises:
        ExportError: something else in the model has that name.
    """
    if output == name:
        shutil.copyfile(model, target)
        return
    loaded = whole_model(model)
    graph = loaded.graph
    if any(name in (*node.input, *node.output) for node in graph.node):
        raise ExportError(f"{model}: {output!r} cannot be called {name}: something else in it is")
    taken = onnx.ValueInfoProto()
    taken.CopyFrom(next(each for each in graph.output if each.name == output))
    taken.name = name
    del graph.output[:]
    graph.output.append(taken)
    graph.node.append(onnx.helper.make_node("Identity", [output], [name]))
    save_model(loaded, target)


def _check_axes(path: Path, value: onnx.ValueInfoProto, wanted: Axes) -> None:
    """The first axis must be free, the others those numbers or free."""
    axes = value.type.tensor_type.shape.dim
    sizes = [axis.dim_value if axis.HasField("dim_value") else None for axis in axes]
    fits = len(sizes) == len(wanted) and sizes[0] is None
    if not fits or any(None not in (a, b) and a != b for a, b in zip(sizes, wanted, strict=True)):
        raise ExportError(f"{path}: {value.name} is {sizes}, the recipe says {list(wanted)} (None: any number)")


TYPES = "token_type_ids"
TEXTS: Mapping[str, Axes] = dict.fromkeys(("input_ids", "attention_mask", TYPES), (None, None))
"""Inputs of models of texts, int64 [B, S]; `token_type_ids` where the model tells two texts apart."""


def runs_at_length(job: RoleJob, model: Path, limit: int, text: str | tuple[str, str]) -> None:
    """Raise ExportError where a model does not run on `limit` tokens: a text, or the second of a pair, is repeated."""
    *first, last = (text,) if isinstance(text, str) else text
    long = " ".join([last] * (1 + limit // len(last.split())))
    row = tokenised(job, model, limit, [(first[0], long) if first else long])([0])
    try:
        session(model).run(None, row)
    except Exception as error:  # ONNX Runtime's own, of many kinds
        length = row["input_ids"].shape[1]
        raise ExportError(f"{model}: does not run on {length} tokens; correct max_tokens: {error}") from error
