"""Runs the checks and shows what they found."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from quizglass.text import plain
from quizglass_server import __version__
from quizglass_server.config.load import Settings
from quizglass_server.doctor import engines, machine
from quizglass_server.doctor.finding import Finding, Status
from quizglass_server.engines.generator.checks.machine import cpu_features
from quizglass_server.engines.onnx.providers import AUTO

_COLOURS = {Status.OK: "green", Status.SLOW: "yellow", Status.WRONG: "red", Status.UNKNOWN: "dim"}
WRONG_STATUS = 1


def run(settings: Settings | None, as_json: bool) -> int:
    """Look at everything and print it.

    Args:
        settings: what a server would be started with; None: only the machine and its engines are looked at.
        as_json: whether to print one JSON object instead of a table.

    Returns:
        0, or 1 where something is wrong.
    """
    with Console(stderr=True).status("looking at this machine, and starting the models once"):
        findings = asyncio.run(_findings(settings))
    if as_json:
        print(json.dumps({"version": __version__, "findings": [asdict(each) for each in findings]}, indent=2))
    else:
        Console().print(_table(findings))
    return WRONG_STATUS if any(each.status is Status.WRONG for each in findings) else 0


async def _findings(settings: Settings | None) -> list[Finding]:
    features = frozenset(cpu_features())
    temporary = machine.disk(Path(tempfile.gettempdir()), "temporary files")
    if settings is None:
        text = "bundle, address and models were not looked at"
        remedy = "name them as to a server: --bundle DIR --knowledge DIR"
        serving_unknown = Finding("serving", Status.UNKNOWN, text, remedy)
        return [*machine.looked_at(0), temporary, *engines.looked_at(features, AUTO), serving_unknown]
    from quizglass_server.doctor import serving  # heavy, and needs what the engines' findings may say is missing
    from quizglass_server.doctor.sources import beside

    told, elsewhere = await serving.elsewhere(settings)
    about, bundle = serving.bundle_of(settings, elsewhere)
    findings = [
        *machine.looked_at(serving.model_bytes(bundle) if bundle else 0, settings.work_memory_bytes),
        temporary,
        *serving.directories(settings),
        *engines.looked_at(
            features,
            settings.provider,
            settings.llama_server,
            generates=bundle is None or bundle.has("generator"),
        ),
        serving.address(settings.host, settings.port),
        *serving.web(settings),
        *serving.network(settings),
        serving.connections(settings.max_connections),
        *serving.frame_filter(settings.frame_filter),
        *told,
        about,
    ]
    if bundle is not None:
        findings += [
            serving.policies(bundle, settings.default_policy, beside(settings, bundle.has)),
            *await serving.models(bundle, settings, elsewhere),
        ]
    elif elsewhere is not None:
        await elsewhere.close()
    return findings


def _table(findings: Iterable[Finding]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    for each in findings:
        table.add_row(Text(plain(each.name)), Text(each.status, _COLOURS[each.status]), Text(plain(each.text)))
        if each.remedy:
            table.add_row("", "", Text(f"→ {plain(each.remedy)}", "dim"))
    return table
