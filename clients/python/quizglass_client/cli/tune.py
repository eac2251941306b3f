"""`quizglass knowledge tune`: proposes thresholds from what the store itself holds.

`image_accept`: entries are looked up by their own pictures taken anew. The score of the entry itself is a right one,
that of the best other entry what a thing would get that the store does not know; pictures that show nothing have to be
refused. `view_accept`: the same of a score and its lead before the next one, where there are two to compare; right are
those of pictures that are most like their own entry. `rerank_accept`: questions are asked about attributes of entries.
Of the passages that the reranker judged, the best one of the entry itself that says the value is right; those that are
not are others.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from statistics import quantiles

from PIL import Image
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from quizglass.values import AnswerDelta, Capabilities, Evidence, EvidenceFound
from quizglass_client.cli import subcommands
from quizglass_client.cli.tuning.anew import taken_anew
from quizglass_client.cli.tuning.thresholds import Proposal, Scores, propose, tells_apart
from quizglass_client.errors import ClientError, InvalidRequest, NotSupported
from quizglass_client.sync import Client
from quizglass_client.terminal.output import print_json, say, stdout
from quizglass_client.terminal.usage import OK, UsageError
from quizglass_client.types import Entry

VIEWS = ((6.0, 0.85), (-10.0, 0.6), (15.0, 0.4))
"""Degrees and size of each picture taken anew."""
FEW = 20
"""Right scores below which a proposal is little more than a guess."""
_SIDE = 256
Scored = Mapping[str, tuple[Scores, Proposal]]


def add_commands(commands: subcommands.Subcommands) -> None:
    """Declare `tune`."""
    made = commands.add("tune", tune)
    entries = "entries looked up by their own pictures (default 200)"
    made.add_argument("--entries", type=subcommands.count, default=200, metavar="N", help=entries)
    questions = "questions asked, where the bundle reranks (default 100)"
    made.add_argument("--questions", type=subcommands.count, default=100, metavar="N", help=questions)
    keep = "share of the right scores that are to pass, above 0 to 1 (default 0.99)"
    made.add_argument("--keep", type=subcommands.share, default=0.99, metavar="SHARE", help=keep)


def tune(client: Client, arguments: argparse.Namespace) -> int:
    """Propose the thresholds, and say where they are put."""
    entries = list(client.list_entries())
    capabilities = client.capabilities()
    with Progress(console=Console(stderr=True), disable=arguments.json) as progress:
        image = _image_scores(client, _spread(_pictured(entries), arguments.entries), progress)
        rerank = _rerank_scores(client, entries, capabilities, arguments, progress)
    measured = image | ({"rerank_accept": rerank} if rerank else {})
    proposals = {name: (scores, propose(scores, arguments.keep)) for name, scores in measured.items()}
    if arguments.json:
        print_json({name: _as_json(*each) for name, each in proposals.items()})
    else:
        _show(proposals)
    return OK


def _pictured(entries: Sequence[Entry]) -> list[Entry]:
    if pictured := [entry for entry in entries if entry.picture_sha256]:
        return pictured
    raise UsageError("no entry has a picture, and thresholds are proposed from pictures; import some first")


def _spread(entries: Sequence[Entry], most: int) -> list[Entry]:
    """So many of them, evenly from the first to the last."""
    step = max(1.0, len(entries) / most)
    return [entries[int(at * step)] for at in range(min(most, len(entries)))]


def _image_scores(client: Client, entries: Sequence[Entry], progress: Progress) -> dict[str, Scores]:
    """The scores that each threshold of searches by picture is proposed from."""
    noted, unreadable = _Noted(), 0
    for entry in progress.track(entries, description="pictures taken anew"):
        try:
            pictures = [taken_anew(client.get_picture(entry.picture_sha256[0]), *turned) for turned in VIEWS]
        except NotSupported as error:
            raise UsageError(f"{error}; thresholds are proposed from a store that keeps its pictures") from error
        except InvalidRequest:
            unreadable += 1
            continue
        for picture in pictures:
            noted.anew(client.search(picture=picture, limit=100), entry.id)
    if unreadable:
        say(f"{unreadable} pictures could not be read again and were passed over")
    for name, picture in plain_pictures().items():
        noted.plain(client.search(picture=picture, limit=2), name)
    return noted.scores()


class _Noted:
    """Scores of searches by picture: of hits, and of what they lead by."""

    def __init__(self) -> None:
        self._right, self._others, self._plain = list[float](), list[float](), dict[str, float]()
        self._led_right, self._led_others, self._led_plain = list[float](), list[float](), dict[str, float]()

    def anew(self, hits: Sequence[Evidence], own: str) -> None:
        """Hits of a new picture of an entry; without the entry itself they are those of a thing that is not there."""
        others = [hit.search_score for hit in hits if hit.entry_id != own]
        self._right += [hit.search_score for hit in hits if hit.entry_id == own][:1]
        self._others += others[:1]
        known = bool(hits) and hits[0].entry_id == own
        (self._led_right if known else self._led_others).extend(_led([hit.search_score for hit in hits]))
        self._led_others += _led(others)

    def plain(self, hits: Sequence[Evidence], name: str) -> None:
        """Hits of a picture that shows nothing."""
        scores = [hit.search_score for hit in hits]
        self._plain[name] = max(scores, default=-1.0)
        self._led_plain.update((name, led) for led in _led(scores))

    def scores(self) -> dict[str, Scores]:
        """Those of each threshold that can be proposed. Raises UsageError where that is none."""
        if not self._right:
            raise UsageError("no entry was brought back by its own picture; is the image encoder the right one?")
        image = {"image_accept": Scores(self._right, self._others, self._plain)}
        if self._led_right and self._led_others:
            return image | {"view_accept": Scores(self._led_right, self._led_others, self._led_plain)}
        say("view_accept compares entries with each other, and too few have pictures: it is not proposed")
        return image


def _led(scores: Sequence[float]) -> list[float]:
    """The first score and its lead before the second, as `view_accept` is compared with; empty: there is no second."""
    return [2 * scores[0] - scores[1]] if len(scores) > 1 else []


def plain_pictures() -> dict[str, Image.Image]:
    """Pictures that show nothing, by name: grey, black and white ones, noise, and a gradient."""
    noise = Image.frombytes("RGB", (_SIDE, _SIDE), random.Random(0).randbytes(3 * _SIDE * _SIDE))
    plain = {name: Image.new("RGB", (_SIDE, _SIDE), name) for name in ("grey", "black", "white")}
    return plain | {"noise": noise, "gradient": Image.linear_gradient("L").convert("RGB")}


def _rerank_scores(
    client: Client,
    entries: Sequence[Entry],
    capabilities: Capabilities,
    arguments: argparse.Namespace,
    progress: Progress,
) -> Scores | None:
    """None where the bundle does not rerank, or no entry has an attribute to ask for."""
    told = [entry for entry in entries if entry.attributes]
    told = [entry for entry in told if entry.picture_sha256] or told  # things that are asked about, not their makers
    if not {"reranker", "generator"} <= {role.role for role in capabilities.roles}:
        return None
    if "text" not in capabilities.policies or not told:
        say("no entry has an attribute to ask for, so rerank_accept is not proposed")
        return None
    right: list[float] = []
    others: list[float] = []
    asked = _spread(told, arguments.questions)
    for number, entry in enumerate(progress.track(asked, description="questions reranked")):
        attributes = sorted(entry.attributes.items())  # they come in any order
        name, value = attributes[number % len(attributes)]
        passages = _reranked(client, f"What is the {name} of {entry.title}?")
        own = [item for item in passages if item.entry_id == entry.id and value.casefold() in item.text.casefold()]
        right += [max(item.rerank_score for item in own)] if own else []  # one passage that says it is enough
        others += [item.rerank_score for item in passages if item not in own]
    return Scores(right, others) if right else None


def _reranked(client: Client, question: str) -> Sequence[Evidence]:
    """The passages of a turn as they were judged; the turn is left before it answers."""
    try:
        with closing(client.ask(question, policy="text")) as turn:
            for event in turn:
                match event.payload:
                    case EvidenceFound(items=items) if any(item.rerank_score for item in items):
                        return items
                    case AnswerDelta():
                        break
    except ClientError as error:
        say(f"{question!r} was passed over: {error}")
    return ()


def _as_json(scores: Scores, proposal: Proposal) -> dict[str, object]:
    rows = {name: dict(zip(_COLUMNS, values, strict=True)) for name, values in _rows(scores)}
    useful = tells_apart(scores, proposal)
    return asdict(proposal) | {"value": proposal.value if useful else None, "useful": useful, "scores": rows}


_COLUMNS = ("count", "least", "5 %", "median", "95 %", "most")


def _rows(scores: Scores) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Name and statistics of each kind of score."""
    named = {"right": scores.right, "others": scores.others}
    named |= {f"plain: {name}": [score] for name, score in scores.plain.items()}
    for name, values in named.items():
        if values:
            cuts = quantiles(values, n=20, method="inclusive") if len(values) > 1 else [values[0]] * 19
            summary = (min(values), cuts[0], cuts[9], cuts[18], max(values))
            yield name, (len(values), *(round(value, 4) for value in summary))


def _show(proposals: Scored) -> None:
    console = stdout()
    for name, (scores, proposal) in proposals.items():
        table = Table(title=name, title_justify="left", box=None, pad_edge=False)
        table.add_column("score of")
        for column in _COLUMNS:
            table.add_column(column, justify="right")
        for row, (count, *values) in _rows(scores):
            table.add_row(row, f"{count:.0f}", *(f"{value:.3f}" for value in values))
        console.print(table)
        console.print(Text(_sentence(name, scores, proposal)), soft_wrap=True)
        console.print()
    console.print(Text(_where(proposals)), soft_wrap=True)


def _sentence(name: str, scores: Scores, proposal: Proposal) -> str:
    if not tells_apart(scores, proposal):
        return f"{name}: {_useless(proposal)}; leave it as it is"
    told = f"{name} = {proposal.value}: keeps {proposal.right_kept:.1%} of the right ones and refuses "
    told += f"{proposal.others_refused:.1%} of the others"
    if scores.plain:
        refused = len(scores.plain) - len(proposal.plain_passed)
        told += f" and {refused} of {len(scores.plain)} pictures that show nothing"
    if len(scores.right) < FEW:
        told += f". From {len(scores.right)} right scores alone this is little more than a guess"
    return told


def _useless(proposal: Proposal) -> str:
    """Why the best value is not proposed."""
    told = f"no value keeps {proposal.right_kept:.1%} of the right ones and refuses "
    if proposal.plain_passed:
        return f"{told}pictures that show nothing ({', '.join(proposal.plain_passed)})"
    return f"{told}most of the others (the best one refuses {proposal.others_refused:.1%})"


def _where(proposals: Scored) -> str:
    useful = {name: proposal.value for name, (scores, proposal) in proposals.items() if tells_apart(scores, proposal)}
    if not useful:
        return "There is nothing to set."
    settings = " ".join(f"--set thresholds.{name}={value}" for name, value in useful.items())
    command = f"quizglass-export repack BUNDLE --out NEW {settings}"
    return f"To set this: {command}\nor write it under [thresholds] of the bundle's recipe and build it again."
