"""What a text says of itself before it begins, between two lines of "---" (YAML) or "+++" (TOML)."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import yaml

from quizglass.note_marks import link_words

_LONGEST = 16_384
"""Characters; longer ones are text."""
_YAML = re.compile(
    r"---[ \t]*(?:\r\n?|\n)(?P<said>(?:.*?(?:\r\n?|\n))??)(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)", re.DOTALL
)
_TOML = re.compile(r"\+\+\+[ \t]*(?:\r\n?|\n)(?P<said>(?:.*?(?:\r\n?|\n))??)\+\+\+[ \t]*(?:\r\n?|\n|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What a text says of itself, and the text."""

    text: str
    """The text behind it; all of it where there is no front matter that can be read."""
    title: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    """All else that it says, by its keys."""
    problem: str = ""
    """Why what looks like front matter cannot be read, and so is text."""
    behind: str = ""
    """With a problem: the text without what cannot be read, which no title is to be taken from."""


def front_matter(text: str) -> FrontMatter:
    """The front matter of a text, if it has any."""
    beginning = text[:_LONGEST]
    match = _YAML.match(beginning) or _TOML.match(beginning)
    if match is None:
        return FrontMatter(text)
    try:
        said = _of_yaml(match["said"]) if match[0].startswith("-") else _of_toml(match["said"])
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        why = getattr(error, "problem", None) or (str(error) or type(error).__name__).splitlines()[0]
        problem = f"its front matter cannot be read ({why}) and is taken as text"
        return FrontMatter(text, problem=problem, behind=text[match.end() :])
    if said is None:
        return FrontMatter(text)  # two thematic breaks with something between them
    facts = dict[str, str]()
    for key, value in _facts(said):
        facts[key] = f"{facts[key]}, {value}" if key in facts else value
    titles = [key for key in facts if key.casefold() == "title"]
    title = facts.pop(titles[0]) if titles else ""
    return FrontMatter(text[match.end() :], title, facts)


class _Loader(yaml.BaseLoader):  # type: ignore[misc]  # PyYAML has no types
    """YAML of texts alone: nothing is taken for a number or a date, and nothing is repeated by its name."""

    def compose_node(self, parent: yaml.Node | None, index: object) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "aliases are not read", self.peek_event().start_mark)
        return super().compose_node(parent, index)


def _of_toml(said: str) -> dict[str, object]:
    """What TOML says, with its fractions as they are written. Raises ValueError."""
    return tomllib.loads(said.replace("\r\n", "\n").replace("\r", "\n"), parse_float=str)


def _of_yaml(said: str) -> dict[str, object] | None:
    """What YAML says; None where it is no mapping. Raises yaml.YAMLError."""
    node = yaml.compose(said, Loader=_Loader)
    if node is None:
        return {}
    value = _value(node)
    return value if isinstance(value, dict) else None


def _value(node: yaml.Node) -> object:
    if isinstance(node, yaml.SequenceNode):
        return [_value(item) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        values: dict[str, object] = {}
        for key, item in node.value:
            name, value = _words(_value(key)), _value(item)
            values[name] = [values[name], value] if name in values else value
        return values
    return (
        "" if node.tag == "tag:yaml.org,2002:null" or (not node.style and node.value in ("~", "null")) else node.value
    )


def _facts(said: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Keys and values as texts; those within another are called by both keys."""
    for key, value in said.items():
        parts = {f"{key} {name}": one for name, one in value.items()} if isinstance(value, dict) else {key: value}
        for name, one in parts.items():
            if words := _words(one):
                yield _clean(name), words


def _words(value: object) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{_clean(str(key))}: {_words(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(filter(None, (_words(item) for item in value)))
    return _clean(str(value).lower() if isinstance(value, bool) else link_words(str(value)))


def _clean(text: str) -> str:
    """On one line, without what no text has."""
    kept = (character if unicodedata.category(character) not in ("Cc", "Cs") else " " for character in text)
    return " ".join("".join(kept).split())
