"""What a server's operations port says, read over HTTP, and shown in a terminal."""

from __future__ import annotations

import json
import re
import ssl
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request, build_opener

from rich.console import Group
from rich.table import Table
from rich.text import Text

from quizglass.text import plain
from quizglass_client.access import Metadata, is_local
from quizglass_client.errors import InvalidRequest, NotPermitted, ServerUnavailable, Unauthenticated

DEFAULT_URL = "http://127.0.0.1:50063"
_MOST_BYTES = 16 << 20
_TIMEOUT_S = 10.0
_SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class OperationsPort:
    """Where the port is, and what it asks for.

    Args:
        url: http://HOST:PORT or https://HOST:PORT.
        ca: certificates that are trusted, PEM; None: those of public authorities.
        metadata: goes with every request.

    Raises:
        InvalidRequest: the URL is none, or a token would leave this machine in clear.
    """

    url: str
    ca: Path | None = None
    metadata: Metadata = ()

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            named = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) > 0
        except ValueError:
            named = False
        if not named or parts.path.strip("/") or parts.query:
            raise InvalidRequest.of("operations", f"{self.url!r} is no http://HOST:PORT or https://HOST:PORT")
        if self.metadata and parts.scheme == "http" and not self._is_here:
            raise InvalidRequest.of(
                "operations", f"the token would go to {self.url} in clear; name an https:// address"
            )

    @property
    def _is_here(self) -> bool:
        """Whether it is on this machine."""
        parts = urlsplit(self.url)
        return is_local(parts.netloc if parts.port else f"{parts.netloc}:80")

    def _opener(self) -> OpenerDirector:
        """Asks it. A proxy that leads to others cannot reach this machine, and its token is nothing for it."""
        context = ssl.create_default_context(cafile=self.ca) if self.url.startswith("https:") else None
        direct = (ProxyHandler({}),) if self._is_here else ()
        return build_opener(_Here, HTTPSHandler(context=context), *direct)

    def text(self, path: str) -> str:
        """What is at a path.

        Raises:
            ServerUnavailable, Unauthenticated, NotPermitted: it cannot be had.
        """
        request = Request(f"{self.url.rstrip('/')}{path}")  # noqa: S310  # the scheme is checked
        for name, value in self.metadata:
            request.add_header(name, str(value))
        opener = self._opener()
        try:
            with opener.open(request, timeout=_TIMEOUT_S) as answer:
                return bytes(answer.read(_MOST_BYTES)).decode(errors="replace")
        except HTTPError as error:
            if error.code in (401, 403):
                kind = Unauthenticated if error.code == 401 else NotPermitted
                raise kind(f"{self.url} takes a token that allows operate; give --token-file") from None
            raise ServerUnavailable(f"{self.url}{path} answers with status {error.code}") from None
        except (OSError, HTTPException) as error:
            why = getattr(error, "reason", None) or error
            told = f"nothing answers at {self.url} ({why}); start the server with --operations-port, name it here with"
            raise ServerUnavailable(f"{told} --operations") from None

    def samples(self) -> Samples:
        """What it counted so far.

        Raises:
            ServerUnavailable, Unauthenticated, NotPermitted: it cannot be had.
        """
        try:
            found = Samples(self.text("/metrics"))
        except ValueError:
            raise self._other() from None
        if not found.by("quizglass_ready", "part"):
            raise self._other()
        return found

    def turns(self) -> list[dict[str, Any]]:
        """The turns that ended last, the newest last.

        Raises:
            ServerUnavailable, Unauthenticated, NotPermitted: they cannot be had.
        """
        try:
            turns = json.loads(self.text("/turns"))["turns"]
            if all(isinstance(turn["id"], str) for turn in turns):
                return list(turns)
        except (ValueError, TypeError, KeyError):
            pass
        raise self._other()

    def _other(self) -> ServerUnavailable:
        return ServerUnavailable(f"{self.url} is no operations port; name the server's with --operations")


class _Here(HTTPRedirectHandler):
    """Follows no redirection: the port has none, and the token is not for wherever another server points."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Have the answer be taken as a failure."""


class Samples:
    """What `/metrics` says, in Prometheus' text format."""

    def __init__(self, text: str) -> None:
        self._found: dict[str, dict[Labels, float]] = defaultdict(dict)
        for line in text.splitlines():
            match = _SAMPLE.fullmatch(line)
            if match is not None and not line.startswith("#"):
                self._found[match[1]][frozenset(_LABEL.findall(match[2] or ""))] = float(match[3])

    def sum(self, name: str, **labels: str) -> float:
        """Of all samples of a name that have these labels; 0 where there are none."""
        wanted = set(labels.items())
        return sum(value for having, value in self._found.get(name, {}).items() if wanted <= having)

    def by(self, name: str, label: str) -> dict[str, float]:
        """Samples of a name, summed by one label."""
        found: dict[str, float] = defaultdict(float)
        for having, value in self._found.get(name, {}).items():
            found[dict(having).get(label, "")] += value
        return dict(found)

    def quantile(self, name: str, share: float, before: Samples | None = None) -> float | None:
        """Of a histogram, interpolated in its bucket; None where nothing was counted.

        Args:
            name: of the histogram, without `_bucket`.
            share: 0 to 1.
            before: an earlier look, to tell what came since; None: all that was counted.
        """
        earlier = before.by(f"{name}_bucket", "le") if before else {}
        counts = sorted(
            (float(bound), count - earlier.get(bound, 0.0)) for bound, count in self.by(f"{name}_bucket", "le").items()
        )
        if not counts or counts[-1][1] <= 0:
            return None
        wanted, low, below = share * counts[-1][1], 0.0, 0.0
        for high, count in counts:
            if count >= wanted:
                inside = (wanted - below) / (count - below) if count > below else 1.0
                return low if high == float("inf") else low + (high - low) * inside
            low, below = high, count
        return low


def overview(now: Samples, before: Samples | None, seconds: float) -> Group:
    """The server at a glance.

    Args:
        now: what it says.
        before: what it said `seconds` ago; None: rates are since its start.
        seconds: between the two.
    """

    def rate(name: str, **labels: str) -> float:
        earlier = before.sum(name, **labels) if before else 0.0
        return (now.sum(name, **labels) - earlier) / seconds

    not_ready = sorted(part for part, ready in now.by("quizglass_ready", "part").items() if not ready)
    step = int(now.sum("quizglass_drain_step"))
    state = f"stopping, step {step}" if step else f"not ready: {', '.join(not_ready)}" if not_ready else "ready"
    table = _table()
    table.add_row("state", Text(plain(state), "yellow" if step or not_ready else "green"))
    running, waiting, places = (now.sum(f"quizglass_turn{name}") for name in ("s_running", "s_waiting", "_places"))
    table.add_row("turns", f"{running:.0f} of {places:.0f} run, {waiting:.0f} wait")
    for outcome in sorted(now.by("quizglass_turns_total", "outcome")):
        a_second = rate("quizglass_turns_total", outcome=outcome)
        table.add_row(f"  {plain(outcome)}", f"{a_second:.2f} a second, {_count(now, outcome)} in all")
    for title, name in (("first words", "first_words"), ("whole turns", "turn"), ("waiting", "queue")):
        table.add_row(title, _quantiles(now, before, f"quizglass_{name}_seconds"))
    read, reused = (rate("quizglass_prompt_tokens_total", how=how) for how in ("read", "reused"))
    written = rate("quizglass_written_tokens_total")
    table.add_row("tokens a second", f"{read:.0f} read, {reused:.0f} reused, {written:.0f} written")
    table.add_row("sessions", f"{now.sum('quizglass_sessions'):.0f}")
    table.add_row("generator restarts", f"{now.sum('quizglass_generator_restarts_total'):.0f}")
    table.add_row("memory", f"{now.sum('process_resident_memory_bytes') / 2**20:,.0f} MiB")
    return Group(table, *_refusals(now))


def figures(now: Samples, before: Samples | None, seconds: float) -> dict[str, Any]:
    """The same for programs: counts since the server's start, rates and times of the last `seconds`, null where none.

    Args:
        now: what it says.
        before: what it said `seconds` ago; None: rates are since its start.
        seconds: between the two.
    """

    def rates(name: str, label: str) -> dict[str, float]:
        earlier = before.by(name, label) if before else {}
        return {key: (count - earlier.get(key, 0.0)) / seconds for key, count in sorted(now.by(name, label).items())}

    def times(name: str) -> dict[str, float | None]:
        return {
            f"p{share * 100:.0f}": now.quantile(f"quizglass_{name}_seconds", share, before) for share in (0.5, 0.95)
        }

    return {
        "seconds": seconds,
        "not_ready": sorted(part for part, ready in now.by("quizglass_ready", "part").items() if not ready),
        "drain_step": int(now.sum("quizglass_drain_step")),
        "turns_running": int(now.sum("quizglass_turns_running")),
        "turns_waiting": int(now.sum("quizglass_turns_waiting")),
        "turn_places": int(now.sum("quizglass_turn_places")),
        "turns": {outcome: int(count) for outcome, count in sorted(now.by("quizglass_turns_total", "outcome").items())},
        "turns_per_second": rates("quizglass_turns_total", "outcome"),
        "first_words_seconds": times("first_words"),
        "turn_seconds": times("turn"),
        "queue_seconds": times("queue"),
        "prompt_tokens_per_second": rates("quizglass_prompt_tokens_total", "how"),
        "written_tokens_per_second": rates("quizglass_written_tokens_total", "").get("", 0.0),
        "sessions": int(now.sum("quizglass_sessions")),
        "generator_restarts": int(now.sum("quizglass_generator_restarts_total")),
        "memory_bytes": int(now.sum("process_resident_memory_bytes")),
        "refusals": {
            reason: int(count) for reason, count in sorted(now.by("quizglass_refusals_total", "reason").items())
        },
    }


def _count(now: Samples, outcome: str) -> str:
    return f"{now.sum('quizglass_turns_total', outcome=outcome):,.0f}"


def _quantiles(now: Samples, before: Samples | None, name: str) -> str:
    half, most = (now.quantile(name, share, before) for share in (0.5, 0.95))
    return "none" if half is None or most is None else f"half within {half:.2f} s, 95 % within {most:.2f} s"


def _refusals(now: Samples) -> list[Table]:
    refused = {reason: count for reason, count in now.by("quizglass_refusals_total", "reason").items() if count}
    if not refused:
        return []
    table = _table("refused")
    for reason, count in sorted(refused.items(), key=lambda each: -each[1]):
        table.add_row(plain(reason), f"{count:,.0f}")
    return [table]


def explained(turn: Mapping[str, Any]) -> Group:
    """One of the turns of `/turns`: what it came to, what it left out, and where its time went."""
    table = _table()
    for name in ("id", "policy", "plan", "outcome", "reason", "caller"):
        if turn[name]:
            table.add_row(name, plain(str(turn[name])))
    table.add_row("took", f"{turn['seconds']:.3f} s")
    if turn["first_words_seconds"] is not None:
        table.add_row("first words", f"after {turn['first_words_seconds']:.3f} s")
    for step, reason in turn["skipped"]:
        table.add_row("left out", f"{plain(step)}: {plain(reason)}")
    stages = _table("stages", "seconds", "of them engines")
    for stage, seconds, engine in turn["stages"]:
        stages.add_row(plain(stage), f"{seconds:.3f}", f"{engine:.3f}")
    return Group(table, stages)


def _table(*titles: str) -> Table:
    table = Table(box=None, show_header=bool(titles), pad_edge=False)
    for title in titles or ("",):
        table.add_column(title, style=None if titles else "dim")
    if len(titles) < 2:
        table.add_column("")
    return table
