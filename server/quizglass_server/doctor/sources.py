"""Whether the sources beside the knowledge can be opened, and answer."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from quizglass_server.config.load import Settings
from quizglass_server.doctor.finding import Finding, Status
from quizglass_server.errors import BudgetExceeded, SettingsError, SourceFailed
from quizglass_server.knowledge.sources.guarded import GuardedSource
from quizglass_server.knowledge.sources.protocol import TextQuery
from quizglass_server.knowledge.sources.table import open_sources
from quizglass_server.roles.text_encoder import TextEncoder

_QUERY = "quizglass"


async def sources(settings: Settings, encoder: TextEncoder | None) -> list[Finding]:
    """A finding for each source, which is asked once; some are searched by vectors, which the encoder makes."""
    try:
        opened = open_sources(settings.sources, local_only=settings.local_only)
    except SettingsError as error:
        text, _, remedy = error.message.partition("; ")
        return [Finding("sources", Status.WRONG, text, remedy)]
    query = TextQuery(_QUERY, None if encoder is None else (await encoder.embed_queries([_QUERY]))[0])
    findings = [await _asked(each, query) for each in opened.each]
    await opened.close()
    return findings


def beside(settings: Settings, has: Callable[[str], bool]) -> Callable[[str], bool]:
    """Says what there is besides what a bundle has; sources that cannot be opened are nothing, and a finding."""
    try:
        return open_sources(settings.sources).beside(has)
    except SettingsError:
        return has


async def _asked(source: GuardedSource, query: TextQuery) -> Finding:
    name, about = f"source {source.name}", f"{source.kind}, {'remote' if source.remote else 'on this machine'}"
    if not source.open or "text" not in source.finds:
        return Finding(name, Status.UNKNOWN, f"{about}; {source.status.notice or 'it finds pictures alone, not asked'}")
    begun = monotonic()
    try:
        found = await source.texts(query)
    except (SourceFailed, BudgetExceeded):
        remedy = "mend it or its table; until then turns go on without it, and name it as skipped"
        return Finding(name, Status.WRONG, f"{about}: {source.why}", remedy)
    return Finding(name, Status.OK, f"{about}; answers in {monotonic() - begun:.1f} s with {len(found)} passages")
