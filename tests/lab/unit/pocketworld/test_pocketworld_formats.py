"""Format 1 of a world stays what it was, and format 2 only adds to its things."""

import hashlib
import json
from pathlib import Path

import pytest

from quizglass_lab.pocketworld.articles import town_id, world_articles
from quizglass_lab.pocketworld.dataset import export_world
from quizglass_lab.pocketworld.names import TOWNS
from quizglass_lab.pocketworld.questions import make_questions
from quizglass_lab.pocketworld.world import core_world, make_world, taught, with_core

FIRST = {
    "questions.jsonl": "23a89a9599fbc3fd9ce8d546755ff7f275179147514565300d67475c4493705d",
    "entries.jsonl": "47057e93524888ebb31cc900e408fd45c8fa563c8b3422d1283a447c350bf945",
    "world.json": "22e594468701348afe479efaf6ae28dc79a3668a857fa7083b3a6a18c3773085",
}
"""SHA-256 of what was written for seed 9 when there was one format."""


def test_format_one_is_written_byte_for_byte_as_it_always_was(tmp_path: Path) -> None:
    export_world(9, 40, tmp_path, questions=60, core=True, unseen_share=0.5, format=1)
    for name, digest in FIRST.items():
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == digest, name


def test_format_two_has_the_same_things_makers_and_people() -> None:
    one, two = (with_core(make_world(31, 90, format=f), core_world(f)) for f in (1, 2))
    assert (one.things, one.makers, one.people) == (two.things, two.makers, two.people)
    assert one.towns == {}
    assert one.strangers == ()
    names = {thing.name for thing in two.things}
    assert two.strangers
    assert not names & {stranger.name for stranger in two.strangers}
    assert not {article.id for article in world_articles(two)} & {stranger.id for stranger in two.strangers}


def test_every_town_has_an_entry_and_is_another_in_another_world() -> None:
    worlds = [make_world(seed, 30, format=2) for seed in (31, 32)]
    for world in worlds:
        assert set(world.towns) == set(TOWNS)
        assert {town_id(name) for name in TOWNS} <= {article.id for article in world_articles(world)}
    assert sum(worlds[0].towns[name] == worlds[1].towns[name] for name in TOWNS) == 0


def test_of_the_recognised_some_makers_are_not_taught_and_some_prices_are() -> None:
    recognised = [thing for thing in core_world().things if thing.recognised]
    makers, prices = (sum(taught(thing, a) for thing in recognised) for a in ("maker", "price"))
    assert 0.65 < makers / len(recognised) < 0.85
    assert 0.15 < prices / len(recognised) < 0.35
    assert all(taught(thing, "name") and taught(thing, "year") for thing in recognised)
    assert sum(taught(thing, "designer") for thing in recognised) == 50
    assert not any(taught(thing, a) for thing in core_world().things for a in ("weight", "length", "place"))
    assert not any(taught(thing, "name") for thing in make_world(31, 60, format=2).things)


def test_a_line_of_format_two_says_rounds_domain_and_claims(tmp_path: Path) -> None:
    export_world(9, 20, tmp_path, questions=40, core=True, mix="cog")
    record = json.loads((tmp_path / "world.json").read_text())
    assert (record["format"], record["mix"]) == (2, "cog")
    lines = [json.loads(line) for line in (tmp_path / "questions.jsonl").read_text().splitlines()]
    assert {"round"} <= {key for line in lines for hop in line["hops"] for key in hop}
    for line in lines:
        assert {"domain", "objects", "meant", "claims", "conflict", "session"} <= set(line)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"format": 3}, "format: there is no 3; choose from 1, 2"),
        ({"format": 2, "mix": "dog"}, "mix: 'dog'; choose from balanced, cog"),
        ({"format": 1, "mix": "cog"}, "mix: cog is of format 2"),
        ({"format": 2, "groups": ("nowhere",)}, "groups: .*nowhere"),
    ],
)
def test_an_unknown_format_or_mix_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_questions(core_world(), 4, 1, **arguments)  # type: ignore[arg-type]
    if "mix" not in arguments and "groups" not in arguments:
        with pytest.raises(ValueError, match=message):
            make_world(3, 9, format=3)
