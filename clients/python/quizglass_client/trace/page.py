"""One page that shows a turn: picture, answer, timeline, steps and evidence.

Everything that it shows may come from strangers: questions, evidence, what models wrote. All of it is escaped, stripped
of marks that turn the direction of writing, and isolated from the text around it. The page loads nothing, runs nothing
and follows no link, and its policy forbids all three; the style is allowed by its hash.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from html import escape

from quizglass.text import plain
from quizglass.values import Accepted, Done, Evidence, EvidenceFound, LedgerEntry, StepDetail, Verdict
from quizglass_client.terminal.show import marked
from quizglass_client.terminal.timeline import Row, Timeline, why
from quizglass_client.trace.crops import Crops
from quizglass_client.trace.style import STYLE
from quizglass_client.types import Event

_DEEPEST = 3


def page(question: str, events: Sequence[Event], crops: Crops) -> str:
    """The page, whole. `events` are all of a turn, or those until it broke off."""
    hashed = b64encode(sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{hashed}'; base-uri 'none'; form-action 'none'"
    body = "\n".join([*_head(question, events, crops), *_steps(events, crops), *_evidence(events)])
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{_text(question)[:200]}</title>
<style>{STYLE}</style>
</head>
<body>
<a class="skip" href="#steps">To the steps</a>
{body}
</body>
</html>
"""


def _text(text: str) -> str:
    return escape(plain(text), quote=True)


def _apart(text: str) -> str:
    """Foreign text, whose direction of writing ends where it does."""
    return f"<bdi>{_text(text)}</bdi>"


def _head(question: str, events: Sequence[Event], crops: Crops) -> Iterator[str]:
    payloads = [event.payload for event in events]
    yield f"<header><h1>{_apart(question)}</h1>"
    if crops.whole:
        yield f'<img class="whole" src="{crops.whole}" alt="The picture asked about">'
    done = next((each for each in payloads if isinstance(each, Done)), None)
    if done is None:
        yield '<p class="off">The turn did not come to its end.</p>'
    else:
        yield f'<p class="answer">{_apart(marked(done.answer, done.citations))}</p>'
    verdict = next((each for each in payloads if isinstance(each, Verdict)), None)
    accepted = next((each for each in payloads if isinstance(each, Accepted)), None)
    facts = [
        ("policy", accepted.policy if accepted else ""),
        ("check", verdict.outcome if verdict else ""),
        *(verdict.notes.items() if verdict else ()),
        ("not known because", done.abstain_reason if done else ""),
        ("time", f"{done.total * 1e3:.0f} ms" if done else ""),
        ("budget", f"{accepted.budget:.3g} s" if accepted else ""),
        ("handed over", "; ".join(map(_handed, done.ledger)) if done else ""),
        ("turn", events[0].turn_id if events else ""),
    ]
    yield _definitions([(name, _apart(value)) for name, value in facts if value])
    yield "</header>"


def _handed(entry: LedgerEntry) -> str:
    kept = f", keeps {entry.kept}" if entry.kept else ""
    return f"{entry.to} {entry.bytes:,} bytes{' elsewhere' if entry.elsewhere else ''}{kept}"


def _steps(events: Sequence[Event], crops: Crops) -> Iterator[str]:
    timeline, current_round = Timeline.of(events), 0
    yield f'<main id="steps"><h2>Steps <span class="dim">{timeline.total * 1e3:.0f} ms from left to right</span></h2>'
    if not timeline.rows:
        yield '<p class="dim">None were told of.</p>'
    for row in timeline.rows:
        if row.step.round != current_round:
            current_round = row.step.round
            yield f"<h3>Round {current_round}</h3>" if current_round else "<h3>After the rounds</h3>"
        yield _step(row, crops)
    yield "</main>"


def _step(row: Row, crops: Crops) -> str:
    step = row.step
    depth = min((step.round > 0) + (step.branch.count(".") + 1 if step.branch else 0), _DEEPEST)
    branch = f" <span class='dim'>branch {_text(step.branch)}</span>" if step.branch else ""
    took = f"{step.duration * 1e3:.1f} ms"
    outcome = f'<span class="off">{_text(why(step.reason))}</span>' if step.reason else took
    facts = [
        ("done by", _text(step.role)),
        ("left out or cut off", _text(why(step.reason))),
        ("began after", f"{step.started * 1e3:.1f} ms"),
        ("took", f"{took}, {step.engine * 1e3:.1f} ms of it in an engine" if step.duration else ""),
    ]
    return f"""<details class="depth{depth}"><summary><span>{_text(step.name)}{branch}</span>{_bar(row)}
<span class="time">{outcome}</span></summary><div>{_definitions([(name, value) for name, value in facts if value])}
{_details("Given", step.inputs, crops)}{_details("Brought", step.outputs, crops)}</div></details>"""


def _bar(row: Row) -> str:
    """Where a step stands in time; its share inside an engine is lighter."""
    left, width, step = min(100 * row.left, 99.5), max(100 * row.width, 0.5), row.step
    engine = width * min(step.engine / step.duration, 1.0) if step.duration > 0 else 0.0
    kind = "bar off" if step.reason else "bar"
    return (
        f'<svg role="img" aria-label="from {step.started * 1e3:.0f} to {(step.started + step.duration) * 1e3:.0f} ms">'
        f'<rect class="{kind}" x="{left:.2f}%" width="{width:.2f}%" height="100%"/>'
        f'<rect class="engine" x="{left:.2f}%" y="70%" width="{engine:.2f}%" height="30%"/></svg>'
    )


def _details(title: str, details: Sequence[StepDetail], crops: Crops) -> str:
    if not details:
        return ""
    rows = [(detail.label, _value(detail, crops)) for detail in details]
    return f"<h3>{title}</h3>{_definitions(rows)}"


def _value(detail: StepDetail, crops: Crops) -> str:
    parts = [f"<mark>[{_text(detail.evidence_id)}]</mark>"] if detail.evidence_id else []
    if detail.text:
        parts.append(_apart(detail.text))
    if detail.score is not None:
        parts.append(f"<strong>{detail.score:.3f}</strong>")
    if (region := detail.region) is not None:
        where = ", ".join(f"{100 * side:.0f} %" for side in (region.left, region.top, region.right, region.bottom))
        image = f'<img src="{uri}" alt="">' if (uri := crops.crop(region)) else ""
        parts.append(f"<figure>{image}<figcaption>left, top, right, bottom: {where}</figcaption></figure>")
    return " ".join(parts)


def _definitions(rows: Sequence[tuple[str, str]]) -> str:
    """Names, and values that are HTML already."""
    return f"<dl>{''.join(f'<dt>{_text(name)}</dt><dd>{value}</dd>' for name, value in rows)}</dl>"


def _evidence(events: Sequence[Event]) -> Iterator[str]:
    items = {
        each.id: each for event in events if isinstance(event.payload, EvidenceFound) for each in event.payload.items
    }
    if not items:
        return
    yield '<section><h2>Evidence</h2><table><thead><tr><th scope="col">number</th><th scope="col">from</th>'
    yield '<th scope="col">title</th><th scope="col">text</th><th scope="col">source</th>'
    yield '<th scope="col">search</th><th scope="col">rerank</th></tr></thead><tbody>'
    yield from map(_item, items.values())
    yield '</tbody></table><p class="dim">What the generator was not shown is dim.</p></section>'


def _item(item: Evidence) -> str:
    texts = (item.origin.replace("_", " "), item.title, item.text, item.source)
    scores = ("" if item.origin == "read_text" else f"{item.search_score:.3f}", f"{item.rerank_score:.3f}")
    cells = [f"<td>{_apart(text)}</td>" for text in texts]
    cells += [f'<td class="number">{score}</td>' for score in scores]
    shown = "used" if item.used else "unused"
    return f'<tr class="{shown}"><td class="number">[{_text(item.id)}]</td>{"".join(cells)}</tr>'
