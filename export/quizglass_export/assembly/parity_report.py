"""The parity report of a build, for machines and for people, and as it is read again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, ValidationError

from quizglass_bundle.files import Bundle
from quizglass_export.checkpoints.files import read_json
from quizglass_export.checks import Check
from quizglass_export.errors import ExportError


class ParityReport(BaseModel):
    """Content of a bundle's `parity.json`, which may come from elsewhere and leave anything out."""

    passed: bool | None = None
    samples: dict[str, Any] | None = None
    checks: list[Check] = []
    compared: dict[str, str] | None = None
    """SHA-256 of each file that was compared; None: of a version that did not say."""

    @classmethod
    def of(cls, bundle: Bundle) -> ParityReport:
        """The report of a bundle. Raises ExportError where it is none."""
        path = bundle.path(bundle.manifest.parity)
        try:
            return cls.model_validate(read_json(path))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise ExportError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def parity_document(checks: Sequence[Check], source: str, samples: int, compared: Mapping[str, str]) -> dict[str, Any]:
    """Content of `parity.json`; `compared` is the SHA-256 of each file that the comparisons were made with."""
    return {
        "passed": all(check.passed for check in checks),
        "samples": {"source": source, "count": samples},
        "checks": [asdict(check) for check in checks],
        "compared": dict(compared),
    }


def markdown(name: str, checks: Sequence[Check], sizes: Mapping[str, int], source: str) -> str:
    """Content of `report.md`."""
    lines = [f"# Export of {name}", "", f"Compared with PyTorch on samples from {source}.", ""]
    lines += table(
        ("role", "measure", "value", "demanded", "samples", "holds"),
        (
            (c.role, c.measure, f"{c.value:.6g}", c.demand, str(c.samples), "yes" if c.passed else "**no**")
            for c in checks
        ),
    )
    notes = [f"- {check.role}, {check.measure}: {check.detail}" for check in checks if check.detail]
    lines += ["", *notes, "", "## Files", ""]
    lines += table(("file", "bytes"), ((file, f"{size:,}") for file, size in sorted(sizes.items())))
    return "\n".join([*lines, "", f"Together {sum(sizes.values()):,} bytes.", ""])


def failures(checks: Sequence[Check]) -> str:
    """One line for each check that failed."""
    return "\n".join(
        f"  {check.role}: {check.measure} is {check.value:.6g}, demanded {check.demand}"
        + (f" ({check.detail})" if check.detail else "")
        for check in checks
        if not check.passed
    )


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Lines of a Markdown table."""
    marks = "| " + " | ".join("---" for _ in head) + " |"
    return ["| " + " | ".join(head) + " |", marks, *("| " + " | ".join(row) + " |" for row in rows)]
