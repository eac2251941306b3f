"""`quizglass-export tensorrt`: operator reports, engines and context models of a bundle's ONNX roles."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from quizglass_export.terminal import tell

HELP = "check a bundle's models against TensorRT's operators; build engines on the machine that runs them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--role", action="append", help="only this role (may be repeated)")
    parser.add_argument("--out", type=Path, help="directory for engines; without it operators are only checked")
    parser.add_argument(
        "--context", action="store_true", help="write context models for ONNX Runtime's provider instead"
    )
    parser.add_argument(
        "--precision", choices=("fp16", "bf16", "int8"), action="append", default=[], help="allow this too"
    )
    parser.add_argument("--batch", type=int, default=16, help="largest batch (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")


@dataclass
class _Graph:
    """A model's file, which several roles may share: one engine is for all of them."""

    names: list[str] = field(default_factory=list)
    """To show: the role, and which of its graphs, where it has several."""
    roles: set[str] = field(default_factory=set)
    tokens: int = 1
    """Tokens of the longest prompt of any of them."""


def run(args: argparse.Namespace) -> int:
    """Check or build. Returns 0, 1 where a graph does not fit, or 2 when something is wrong."""
    from quizglass_bundle.errors import BundleError
    from quizglass_bundle.files import Bundle
    from quizglass_export.errors import ExportError

    try:
        if args.out is None and (args.context or args.precision):
            raise ExportError("--context and --precision are of engines; say with --out where they go")
        if args.batch < 1:
            raise ExportError(f"--batch {args.batch}: must be 1 or more")
        bundle = Bundle.load(args.bundle)
        if not (graphs := _graphs(bundle, args.role)):
            raise ExportError(f"{args.bundle}: none of its roles runs on ONNX Runtime")
        found = {name: told for file, graph in graphs.items() for name, told in _told(bundle, file, graph, args)}
    except (ExportError, BundleError, OSError) as error:
        tell(f"quizglass-export tensorrt: {error}", file=sys.stderr)
        return 2
    if args.json:
        tell(json.dumps(found, indent=1))
    else:
        for role, each in found.items():
            _show(role, each)
    return 0 if all(each["fits"] and "left_out" not in each for each in found.values()) else 1


def _graphs(bundle: Any, asked: Sequence[str] | None) -> dict[str, _Graph]:
    """By file, every graph of the roles that are asked for: of several picture sizes, of texts beside pictures."""
    from quizglass_bundle.fields import files_of
    from quizglass_export.errors import ExportError

    for role in asked or ():
        if (part := bundle.roles.part(role)) is None:
            raise ExportError(f"--role {role}: the bundle has {', '.join(bundle.roles.names())}")
        if part.engine != "onnx":
            raise ExportError(f"--role {role}: runs on {part.engine}, not on ONNX Runtime")
    graphs: dict[str, _Graph] = {}
    for role in bundle.roles.names():
        part = bundle.roles.part(role)
        for key, file in files_of(part) if part.engine == "onnx" else ():
            if key.rpartition(".")[2] in ("model", "text_model", "tower"):
                graph = graphs.setdefault(file, _Graph())
                graph.names.append(role if key == "model" else f"{role}.{key}")
                graph.roles.add(role)
                graph.tokens = max(graph.tokens, getattr(part, "max_tokens", 1))
    return {file: graph for file, graph in graphs.items() if not asked or graph.roles & set(asked)}


def _told(bundle: Any, file: str, graph: _Graph, args: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """The report on a graph, under each of its names."""
    from quizglass_export.trt.operators import check_operators

    model = bundle.path(file)
    report = check_operators(model)
    told: dict[str, Any] = {**asdict(report), "fits": report.fits}
    if args.out is not None:
        told |= _built(model, graph, args)
    return ((name, told) for name in graph.names)


def _built(model: Path, graph: _Graph, args: argparse.Namespace) -> dict[str, str]:
    """The file that was built, or why none can be ahead of time."""
    from quizglass_export.errors import ExportError
    from quizglass_export.trt.engine import (
        EngineOptions,
        Limits,
        build_engine,
        input_ranges,
        this_hardware,
        write_context_model,
    )

    limits = Limits(batch=args.batch, tokens=graph.tokens)
    try:
        input_ranges(model, limits)
    except ExportError as error:
        return {"left_out": str(error)}
    if args.context:
        return {"file": str(write_context_model(model, args.out, limits, this_hardware, args.precision))}
    how = EngineOptions(flags=tuple(args.precision), timing_cache=args.out / "timing.cache")
    return {"file": str(build_engine(model, args.out, limits, how, this_hardware()))}


def _show(role: str, found: dict[str, Any]) -> None:
    tell(f"{role}: {found['supported']} operators supported" + (", all" if found["fits"] else ""))
    for name, count in found["unsupported"].items():
        tell(f"  not supported: {name} ({count})")
    for name, version in found["later"].items():
        tell(f"  needs TensorRT {version}: {name}")
    for line in found["restricted"]:
        tell(f"  restricted: {line}")
    if "left_out" in found:
        tell(f"  left out: {found['left_out']}")
    if "file" in found:
        tell(f"  {found['file']}")
