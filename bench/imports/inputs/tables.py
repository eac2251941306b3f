"""Tables of text as programs write them: read back by `csv`, and where it does not agree with itself, by line."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from random import Random
from typing import Literal

from bench.imports.drawing import DAMAGED, HOSTILE, ODD, PLAIN, Drawn, Seen, Words, damaged, seen_in

_DELIMITERS = (",", ",", ";", "\t", "|")
_ENCODINGS = ("utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252")
_HOSTILE = (
    b'id,title\na,"' + b"x" * (40 << 20),
    b"id,title\n" + b"," * 5_000_000,
    b"id,title," + b",".join(b"c%d" % n for n in range(60_000)) + b"\n" + b"a,b" + b"," * 60_000,
    b'id,title\n"' * 200_000,
    b"id,title\n" + b"\0" * 20_000_000,
    b"id,title\n" + b"a,b\r" * 2_000,
    b'id,title\na,b\n"' + b"c\n" * 400_000,
    b"sep=x\nidxtitle\naxb\n",
    b"id,title\n" + b"a,b\n" * 2 + b'"' * 3_000_001,
)


def draw(random: Random, folder: Path) -> Drawn:
    """A table of entries."""
    state = random.choices((PLAIN, ODD, DAMAGED, HOSTILE), (2, 5, 4, 2))[0]
    if state == HOSTILE:
        path = folder / "table.csv"
        path.write_bytes(random.choice(_HOSTILE))
        return Drawn(path, state)
    words = Words(random)
    odd = state != PLAIN
    delimiter = random.choice(_DELIMITERS) if odd else ","
    encoding = random.choice(_ENCODINGS) if odd else "utf-8"
    path = folder / random.choice(("table.tsv", "table.tab") if delimiter == "\t" else ("table.csv", "Table.CSV"))
    raw = _table(random, words, delimiter, odd=odd).encode(encoding, "replace")
    if state == DAMAGED:
        raw = damaged(random, raw)
    path.write_bytes(raw)
    wide = "utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "latin-1"
    return Drawn(path, state, tuple(seen(raw.decode(wide, "replace"), delimiter)), what=f"{delimiter!r} {encoding}")


def seen(text: str, delimiter: str) -> list[Seen]:
    """The words of each row, by the columns of the header, which is the first row that has an id."""
    text = text.removeprefix("\ufeff").removeprefix("\xef\xbb\xbf")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header: list[str] = []
    found: list[Seen] = []
    first = 1
    try:
        for row in rows:
            if not header and "title" in [name.strip().casefold() for name in row]:
                header = row
            elif header:
                names = [header[at] if at < len(header) else "" for at in range(len(row))]
                for at, (name, cell) in enumerate(zip(names, row, strict=True)):
                    column = [f"column {name!r}", f"column {at + 1}"]
                    found += seen_in(cell, [*column, f"line {first}"], first)
            first = rows.line_num + 1
    except csv.Error:  # of a line that it does not take at all; each line before was read
        pass
    return found


def _table(random: Random, words: Words, delimiter: str, *, odd: bool) -> str:
    columns = ["id", "title", "text", "kind", "price", "größe", "time"]
    if odd:
        random.shuffle(columns)
        columns = [
            random.choice((name, name.capitalize(), f" {name} ")) if random.random() < 0.2 else name for name in columns
        ]
        if random.random() < 0.3:
            columns.insert(0, random.choice(("", "Unnamed: 0", "__index_level_0__")))
        if random.random() < 0.2:
            columns.append(random.choice(("", "note", "price")))
    out = io.StringIO(newline="")
    quoting: Literal[0, 1] = csv.QUOTE_ALL if odd and random.random() < 0.5 else csv.QUOTE_MINIMAL
    end = random.choice(("\r\n", "\n", "\r")) if odd else "\n"
    writer = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=end)
    if odd and random.random() < 0.1:
        out.write(f"sep={delimiter}{end}")
    writer.writerow(columns)
    for number in range(random.randrange(12)):
        row = [_cell(random, words, name.strip().casefold(), number, odd=odd) for name in columns]
        if odd and random.random() < 0.05:
            row = random.choice((row[:-1], [*row, words()], [""] * len(row), []))
        writer.writerow(row)
    return out.getvalue()


def _cell(random: Random, words: Words, column: str, number: int, *, odd: bool) -> str:
    match column:
        case "id":
            return (
                f"e{number}" if not odd or random.random() < 0.95 else random.choice(("", "a b", f"e{number} ", "1.0"))
            )
        case "time":
            return random.choice(
                ("", "1700000000", "2024-05-01", "1700000000.0", "soon") if odd else ("", "1700000000")
            )
        case "" | "unnamed: 0" | "__index_level_0__":
            return str(number) if random.random() < 0.8 else words()
        case "text":
            return random.choice(
                (words.sentence(), f'{words()} "{words()}"\n\n{words()}', f"{words()}, {words()}; {words()}")
            )
        case _:
            return (
                words()
                if not odd or random.random() < 0.9
                else random.choice(("", f" {words()} ", "=1+1", "1,5", f"{words()}\0"))
            )
