"""Entries as lines of JSON: read back line by line with `json`."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from bench.imports.drawing import DAMAGED, HOSTILE, ODD, PLAIN, Drawn, Seen, Words, damaged, seen_in

_ODD_VALUES: tuple[object, ...] = (None, 7, True, [], {}, -1, 1 << 70, "\ud800", "a\0b", "x" * 700, "x" * 250_000, 1.5)
_HOSTILE = (
    b"[" * 400_000,
    b'{"id":"a","title":"b","text":"' + b"x" * (9 << 20) + b'"}',
    b'{"id":"a","title":"b","attributes":{' + b",".join(b'"k%d":"v"' % n for n in range(60_000)) + b"}}",
    b'{"id":"a","title":"b","pictures":[' + b",".join(b'"p"' for _ in range(90_000)) + b"]}",
    b"1" * 5_000_000,
    b'{"a":' * 100_000,
    b"\0" * 20_000_000,
)


def draw(random: Random, folder: Path) -> Drawn:
    """A file of entries."""
    path = folder / random.choice(("entries.jsonl", "some.jsonl", "some.ndjson", "some.json"))
    state = random.choices((PLAIN, ODD, DAMAGED, HOSTILE), (2, 4, 4, 2))[0]
    words = Words(random)
    lines = [_line(random, words, number, odd=state != PLAIN) for number in range(random.randrange(1, 12))]
    if state == HOSTILE:
        lines.insert(random.randrange(len(lines) + 1), random.choice(_HOSTILE))
    raw = random.choice((b"\n", b"\r\n") if state != PLAIN else (b"\n",)).join(lines)
    if state == ODD and random.random() < 0.2:
        raw = b"\xef\xbb\xbf" + raw
    if state == DAMAGED:
        raw = damaged(random, raw)
    path.write_bytes(raw)
    return Drawn(path, state, () if state == HOSTILE else tuple(seen(raw)))


def seen(raw: bytes) -> list[Seen]:
    """The words of each line that is a JSON object."""
    found: list[Seen] = []
    for number, line in enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        found += seen_in(json.dumps(record), [f"line {number}"], number)
    return found


def _line(random: Random, words: Words, number: int, *, odd: bool) -> bytes:
    record: dict[str, object] = {
        "id": f"e{number}",
        "title": words(),
        "text": f"{words.sentence()}\n\n{words.sentence()}",
    }
    if random.random() < 0.6:
        record |= {"kind": words(), "caption": words(), "attributes": {"price": words(), "Größe": words()}}
    if odd and random.random() < 0.4:
        key = random.choice(
            ("id", "title", "text", "kind", "time", "attributes", "pictures", "text_format", "nonsense")
        )
        record[key] = random.choice(_ODD_VALUES)
    if odd and random.random() < 0.2:
        record |= {
            "text_format": random.choice(("markdown", "html", "")),
            "text": f"# {words()}\n\n## {words()}\n\n<p>{words()}",
        }
    line = json.dumps(record, ensure_ascii=random.random() < 0.5)
    return (
        line.encode("utf-8", "surrogatepass")
        if not (odd and random.random() < 0.05)
        else b"  \t" + line.encode("utf-8", "surrogatepass")
    )
