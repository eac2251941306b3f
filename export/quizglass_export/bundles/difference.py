"""`diff`: what distinguishes two bundles, settings and prompts word by word, files by their hashes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from quizglass_bundle.files import Bundle

_TEXTS = (".jinja",)
_LONGEST = 1 << 16
_APART = ("files", "provenance")


def compare(first: Bundle, second: Bundle) -> dict[str, Any]:
    """Differences as JSON values; `equal` is true if there is none that a server could see."""
    one, other = first.manifest, second.manifest
    settings = [
        {"key": key, "first": a, "second": b}
        for key, a, b in _settings(
            one.model_dump(mode="json", exclude=set(_APART)), other.model_dump(mode="json", exclude=set(_APART))
        )
    ]
    files = []
    for name in sorted({*one.files, *other.files}):
        a, b = one.files.get(name), other.files.get(name)
        if a != b:
            change = "removed" if b is None else "added" if a is None else "changed"
            sizes = [entry.bytes if entry else None for entry in (a, b)]
            files.append({"name": name, "change": change, "first_bytes": sizes[0], "second_bytes": sizes[1]})
    changed = [str(entry["name"]) for entry in files if _is_text(entry)]
    texts = {name: _text(first, second, name) for name in changed}
    return {"equal": not settings and not files, "settings": settings, "files": files, "texts": texts}


def _settings(first: Any, second: Any, key: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for name in sorted({*first, *second}):
            yield from _settings(first.get(name), second.get(name), f"{key}.{name}" if key else name)
    elif first != second:
        yield key, first, second


def _is_text(entry: Mapping[str, Any]) -> bool:
    return str(entry["name"]).endswith(_TEXTS) and entry["change"] == "changed"


def _text(first: Bundle, second: Bundle, name: str) -> list[str]:
    texts = []
    for bundle in (first, second):
        with bundle.path(name).open(encoding="utf-8", errors="replace") as file:
            texts.append(file.read(_LONGEST).splitlines())
    return list(difflib.unified_diff(texts[0], texts[1], fromfile="first", tofile="second", lineterm="", n=1))
