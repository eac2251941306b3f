"""`quizglass-export tensorrt`: operator reports, engines and context models of a bundle's ONNX roles."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

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


def run(args: argparse.Namespace) -> int:
    """Check or build. Returns 0, 1 where operators do not fit, or 2 when something is wrong."""
    from quizglass_export.errors import ExportError
    from quizglass_server.bundle.files import Bundle
    from quizglass_server.errors import BundleError

    try:
        bundle = Bundle.load(args.bundle)
        roles = args.role or [role for role in bundle.roles.names() if _part(bundle, role).engine == "onnx"]
        found = {name: _one(bundle, role, file, args) for role in roles for name, file in _graphs(bundle, role)}
    except (ExportError, BundleError, OSError) as error:
        print(f"quizglass-export tensorrt: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        for role, each in found.items():
            _show(role, each)
    return 0 if all(each["fits"] for each in found.values()) else 1


def _part(bundle: Any, role: str) -> Any:
    from quizglass_export.errors import ExportError

    part = bundle.roles.part(role)
    if part is None:
        raise ExportError(f"--role {role}: the bundle has {', '.join(bundle.roles.names())}")
    return part


def _graphs(bundle: Any, role: str) -> list[tuple[str, str]]:
    """Name to show and file of every graph of a role: it has several for several picture sizes, or for its texts."""
    from quizglass_export.errors import ExportError
    from quizglass_server.models.fields import files_of

    part = _part(bundle, role)
    if part.engine != "onnx":
        raise ExportError(f"--role {role}: runs on {part.engine}, not on ONNX Runtime")
    files = [(key, name) for key, name in files_of(part) if key.rpartition(".")[2] in ("model", "text_model")]
    return [(role if key == "model" else f"{role}.{key}", name) for key, name in files]


def _one(bundle: Any, role: str, file: str, args: argparse.Namespace) -> dict[str, Any]:
    from quizglass_export.trt.engine import EngineOptions, Limits, build_engine, this_hardware, write_context_model
    from quizglass_export.trt.operators import check_operators

    model = bundle.path(file)
    report = check_operators(model)
    found: dict[str, Any] = {**asdict(report), "fits": report.fits}
    if args.out is None:
        return found
    limits = Limits(batch=args.batch, tokens=getattr(_part(bundle, role), "max_tokens", 1))
    if args.context:
        found["file"] = str(write_context_model(model, args.out, limits, this_hardware, args.precision))
    else:
        how = EngineOptions(flags=tuple(args.precision), timing_cache=args.out / "timing.cache")
        found["file"] = str(build_engine(model, args.out, limits, how, this_hardware()))
    return found


def _show(role: str, found: dict[str, Any]) -> None:
    print(f"{role}: {found['supported']} operators supported" + (", all" if found["fits"] else ""))
    for name, count in found["unsupported"].items():
        print(f"  not supported: {name} ({count})")
    for name, version in found["later"].items():
        print(f"  needs TensorRT {version}: {name}")
    for line in found["restricted"]:
        print(f"  restricted: {line}")
    if "file" in found:
        print(f"  {found['file']}")
