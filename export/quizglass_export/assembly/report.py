"""The report of a build: sizes, parity, agreement, how each role is stored, and how long it took here.

It lies beside the bundle and not in it: it has times, and equal inputs are to give equal bundles.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quizglass_export.assembly.carry_out import Built
from quizglass_export.assembly.estimate import Estimate
from quizglass_export.assembly.manifest import versions, write_json
from quizglass_export.assembly.parity_report import table
from quizglass_export.reading.measure import Reading


def write_report(built: Built, estimates: list[Estimate], out: Path) -> tuple[Path, Path]:
    """Write `OUT.report.json` and `OUT.report.md` beside a bundle; returns both paths."""
    document = report_document(built, estimates)
    paths = out.with_name(f"{out.name}.report.json"), out.with_name(f"{out.name}.report.md")
    write_json(paths[0], document)
    paths[1].write_text(report_markdown(document), encoding="utf-8")
    return paths


def report_document(built: Built, estimates: list[Estimate]) -> dict[str, Any]:
    """The report as JSON values."""
    bundle = built.bundle
    roles = {}
    for each in estimates:
        files = {name: entry.bytes for name, entry in bundle.manifest.files.items() if name.startswith(f"{each.role}/")}
        roles[each.role] = {
            "checkpoint_bytes": each.checkpoint,
            "parameters": each.parameters,
            "bytes": sum(files.values()),
            "files": files,
            **built.notes[each.role],
        }
    return {
        "bundle": {"name": bundle.manifest.name, "version": bundle.manifest.version, "digest": bundle.digest},
        "machine": {"processor": platform.machine(), "python": platform.python_version(), "packages": versions()},
        "roles": roles,
        "checks": [
            {"role": c.role, "measure": c.measure, "value": c.value, "demand": c.demand, "passed": c.passed}
            for c in built.checks
        ],
        "reading": built.reading.told() if isinstance(built.reading, Reading) else None,
    }


def report_markdown(document: dict[str, Any]) -> str:
    """A build's report as Markdown, for people to read."""
    bundle = document["bundle"]
    lines = [f"# Build of {bundle['name']} {bundle['version']}", "", f"Bundle {bundle['digest']}.", ""]
    rows = []
    for role, entry in document["roles"].items():
        rows.append(
            (
                role,
                _precision(entry),
                f"{entry['parameters']:,}",
                f"{entry['checkpoint_bytes']:,}",
                f"{entry['bytes']:,}",
                _latency(entry),
                f"{entry['seconds']:.1f}",
            )
        )
    head = ("role", "precision", "parameters", "checkpoint bytes", "bundle bytes", "median ms a sample", "export s")
    lines += [*table(head, rows), "", "Times are of the machine of the build, one thread.", "", "## Comparisons", ""]
    checks = [
        (c["role"], c["measure"], f"{c['value']:.6g}", c["demand"], "yes" if c["passed"] else "**no**")
        for c in document["checks"]
    ]
    lines += table(("role", "measure", "value", "demanded", "holds"), checks)
    measured = {role: entry["quickest"] for role, entry in document["roles"].items() if "quickest" in entry}
    return "\n".join([*lines, *_measured(measured), *_reading(document["reading"]), ""])


def _measured(measured: Mapping[str, dict[str, Any]]) -> list[str]:
    """By which figures precisions were chosen."""
    if not measured:
        return []
    lines = ["", "## Precisions that were chosen by measurement", ""]
    rows = []
    for role, found in measured.items():
        lines.append(f"- {role}: {found['chosen']}, {found['why']}; {found['runs']:,} runs of each, on {found['cpu']}")
        for each in found["candidates"]:
            time = "" if each["milliseconds"] is None else f"{each['milliseconds']:.3f}"
            quartiles = "" if each["quartiles"] is None else "{:.3f} to {:.3f}".format(*each["quartiles"])
            size = "" if each["bytes"] is None else f"{each['bytes']:,}"
            rows.append((role, each["precision"], time, quartiles, size, _apart(each), each["refused"]))
    head = ("role", "precision", "ms", "quartiles of the rounds", "bytes", "beside fp32", "refused")
    return [*lines, "", *table(head, rows)]


def _apart(candidate: dict[str, Any]) -> str:
    """How far a candidate is from float32, in one cell."""
    return "; ".join(
        f"{check['role']}: {check['measure']} {check['value']:.6g} of {check['samples']:,}"
        for check in candidate["checks"]
    )


def _reading(reading: dict[str, Any] | None) -> list[str]:
    """What came of the reading set."""
    if reading is None:
        return []
    rows = [
        (way, *(f"{each[name]:g}" for name in ("right", "refused", "wrong", "words")))
        for way, each in reading["answers"].items()
    ]
    lines = ["", "## Reading set", "", f"{reading['asked']} questions about notes; proposed: {reading['best']}.", ""]
    return [*lines, *table(("answers", "right", "refused", "wrong", "median words"), rows)]


def _latency(entry: dict[str, Any]) -> str:
    """Of one sample; that of a vision tower, which runs once a picture, or that of float32 behind it."""
    latency, tower = entry.get("latency_ms"), entry.get("tower", {}).get("latency_ms")
    told = "" if latency is None else f"{latency:.2f}"
    if (whole := entry.get("float32_latency_ms")) is not None:
        told += f" ({whole:.2f} in fp32)"
    return told if tower is None else f"{told} + {tower:.2f} a picture"


def _precision(entry: dict[str, Any]) -> str:
    """What the weights were stored in, and whether that changed any."""
    unchanged = entry.get("products") == 0
    return f"{entry['precision']}: no product is large enough" if unchanged else str(entry["precision"])
