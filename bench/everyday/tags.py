"""What the tagger says of photographed things, beside the words of their captions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from bench.everyday.fetched.things import on_plain, things
from bench.everyday.setup import THREADS, Setup, between
from bench.results import Row
from bench.sections import Part
from quizglass_bundle.files import Bundle
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.roles.load import load_role
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.shared.loading import Loading

_QUICK = 6
_SAY_NOTHING = {"a", "an", "and", "at", "by", "for", "from", "in", "it", "of", "on", "or", "that", "the", "this"}


@dataclass(frozen=True)
class Tagged:
    """A thing, and the labels of its picture, likeliest first."""

    caption: str
    tags: Sequence[str]

    def matches(self, first: int) -> bool:
        """Whether one of the first so many labels shares a word with the caption."""
        return any(words(tag) & words(self.caption) for tag in self.tags[:first])


def words(text: str) -> set[str]:
    """The words that say something, in lower case, plurals as one."""
    every = re.findall(r"[a-z]+", text.lower())
    return {word.removesuffix("s") if len(word) > 3 else word for word in every} - _SAY_NOTHING


async def tags(setup: Setup) -> Part:
    """On a plain background, turned and resized, as in section `plain`."""
    stored, version = things(setup.folder / "debian")
    stored = stored[: setup.count(len(stored), _QUICK)]
    bundle, pool = Bundle.load(setup.bundle, hashes=False), EnginePool(1)
    part = bundle.roles.tagger
    if part is None:
        raise SystemExit(f"{setup.bundle}: it has no tagger; run `quizglass-export everyday bundle`")
    loading = Loading(bundle, pool, PictureFitter(), OnnxOptions(THREADS, "cpu"))
    tagger = await pool.run(lambda: load_role("tagger", part, loading))
    setup.say(f"tagging {len(stored)} things on a plain background")
    tagged, seconds = list[Tagged](), list[float]()
    for thing in stored:
        picture = on_plain(thing, setup.seed)
        began = perf_counter()
        told = await tagger.tags(picture)
        seconds.append(perf_counter() - began)
        tagged.append(Tagged(thing.caption, [name for name, _ in told]))
    rows = [*shares(tagged, part.least), Row("tags: to name what one picture shows", 1e3 * median(seconds), "ms")]
    details = {"package": version, "seed": setup.seed, "least": part.least, "most": part.most}
    # Captions are the package's own words, which are not passed on.
    kept = [{"tags": each.tags, "matches": each.matches(len(each.tags))} for each in tagged]
    return Part(rows, details | {"tagged": kept})


def shares(tagged: Sequence[Tagged], least: float) -> list[Row]:
    """How many things are named at all, and how many of these by a word of their caption."""
    named = [each for each in tagged if each.tags]
    rows = [_share(f"tags: things with a label of probability {least:g} or more", len(named), len(tagged))]
    if named:  # of a few things it may be sure of none
        most = max(len(each.tags) for each in named)
        for which, first in (("the first label", 1), ("any label that is used", most)):
            hits = sum(each.matches(first) for each in named)
            rows.append(_share(f"tags: {which} shares a word with the caption", hits, len(named)))
    return rows


def _share(name: str, hits: int, count: int) -> Row:
    return Row(f"{name} ({between(hits, count)} things)", 100 * hits / count, "%")
