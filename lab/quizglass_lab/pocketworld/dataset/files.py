"""A world on disk: pictures, articles and questions, as PNG and JSONL.

    OUT/pictures/<thing id>.png    one reference picture of each thing
    OUT/scenes/<question id>.png   one picture of each question
    OUT/entries.jsonl              one knowledge entry a line
    OUT/questions.jsonl            one question a line, with everything that is known to be right about it
    OUT/world.json                 seed and counts, written last: a folder without it is unfinished

The same arguments give the same bytes, for one version of this package and of Pillow.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quizglass_lab.pocketworld.arrangement import boxes
from quizglass_lab.pocketworld.articles import Article, world_articles
from quizglass_lab.pocketworld.disputes import DISPUTE_KINDS, with_disputes
from quizglass_lab.pocketworld.draw import draw_scene, draw_thing
from quizglass_lab.pocketworld.names import CORE_SEED, CORE_THINGS
from quizglass_lab.pocketworld.question import Hop
from quizglass_lab.pocketworld.questions import (
    Question,
    make_conflicts,
    make_questions,
    make_sessions,
    make_unknowable,
)
from quizglass_lab.pocketworld.world import Thing, World, core_world, make_world, with_core

FORMAT = 2
"""What is written unless another format is asked for."""
PICTURE_SIZE = 224
SCENE_SIZE = 448

Progress = Callable[[str, int, int], None]
"""Called with a stage ("pictures", "scenes"), how many are done, and how many there are."""


@dataclass(frozen=True)
class Summary:
    """What was written, in numbers."""

    seed: int
    things: int
    entries: int
    pictures: int
    questions: int
    unknowable: int
    groups: dict[str, int]
    conflicts: int = 0
    sessions: int = 0
    turns: int = 0
    """Number of questions of all sessions together."""

    def record(self, format: int) -> dict[str, Any]:
        """What world.json tells of it."""
        later = {"conflicts", "sessions", "turns"} if format == 1 else set()
        return {key: value for key, value in vars(self).items() if key not in later}


@dataclass(frozen=True)
class Amounts:
    """How many questions of each sort are written. Conflicts and sessions are of format 2."""

    questions: int = 400
    unknowable: int | None = None
    """Questions that nothing answers; None: a tenth of `questions`."""
    conflicts: int = 0
    """Over all kinds of disputes that the world has; none leaves it without any."""
    sessions: int = 0

    def check(self, format: int) -> None:
        """Raise ValueError for a negative number, or for what format 1 lacks."""
        for name, number in vars(self).items():
            if (number or 0) < 0:
                raise ValueError(f"{name}: the number of questions cannot be negative")
        if format == 1 and (self.conflicts or self.sessions):
            raise ValueError("conflicts, sessions: format 1 has none; choose format 2")


def entry_record(article: Article, pictures: Iterable[str] = ()) -> dict[str, Any]:
    """A line of entries.jsonl, as the knowledge import reads it; `pictures` are paths relative to the file."""
    return {
        "id": article.id,
        "title": article.title,
        "kind": article.kind,
        "caption": article.caption,
        "text": "\n\n".join(article.paragraphs),
        "attributes": article.attributes,
        "pictures": list(pictures),
        "source": article.source,
    }


def question_record(question: Question, picture: str, *, format: int = 1) -> dict[str, Any]:
    """A line of questions.jsonl; `picture` is the path of its scene relative to the file."""
    record = _first_record(question, picture)
    return record if format == 1 else record | _second_record(question)


def _second_record(question: Question) -> dict[str, Any]:
    """What format 2 adds to a question, and hops with their rounds."""
    return {
        "hops": [asdict(hop) for hop in question.hops],
        "domain": question.domain,
        "objects": list(question.objects),
        "meant": question.meant,
        "claims": list(question.claims),
        "conflict": asdict(question.conflict) if question.conflict else None,
        "session": question.session or None,
        "things": [
            {"id": placed.thing.id, "kind": placed.thing.kind, "slot": placed.slot, "box": [round(x, 4) for x in box]}
            for placed, box in zip(question.scene.things, boxes(question.scene), strict=True)
        ],
    }


def _hop_record(hop: Hop) -> dict[str, str]:
    return {"action": hop.action, "query": hop.query, "answer": hop.answer, "entry": hop.entry}


def _first_record(question: Question, picture: str) -> dict[str, Any]:
    fault = question.scene.fault
    return {
        "id": question.id,
        "family": question.family,
        "group": question.group,
        "picture": picture,
        "question": question.text,
        "answer": question.answer,
        "aliases": list(question.aliases),
        "gold_query": question.gold_query,
        "image_query": question.image_query,
        "image_answer": question.image_answer,
        "gold_entries": list(question.gold_entries),
        "gold_attribute": question.gold_attribute,
        "hops": [_hop_record(hop) for hop in question.hops],
        "history": [{"question": asked, "answer": answered} for asked, answered in question.history],
        "target": question.target,
        "words": question.words,
        "things": [{"id": placed.thing.id, "slot": placed.slot} for placed in question.scene.things],
        "fault": {"name": fault.name, "strength": fault.strength} if fault else None,
    }


def _write_lines(path: Path, records: Iterable[dict[str, Any]]) -> int:
    """Write one JSON object a line, all or none: whoever finds the file takes it for whole. Returns how many."""
    count, partial = 0, path.with_name(f"{path.name}.partial")
    with partial.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += 1
    partial.replace(path)
    return count


def _pictured(world: World) -> list[Thing]:
    """Things that have an entry, which has a picture."""
    return [thing for thing in world.things if thing.id not in world.disputes.hidden]


def _entries(world: World) -> Iterable[dict[str, Any]]:
    pictured = {thing.id for thing in _pictured(world)}
    for article in world_articles(world):
        yield entry_record(article, [f"pictures/{article.id}.png"] if article.id in pictured else [])


def write_entries(world: World, out: Path, *, size: int = PICTURE_SIZE, progress: Progress | None = None) -> int:
    """Write pictures/ and entries.jsonl: all that a knowledge store needs. Returns the number of entries."""
    folder = out / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    things = _pictured(world)
    for done, thing in enumerate(things, 1):
        look = world.disputes.pictured.get(thing.id, thing.look)
        draw_thing(look, size).save(folder / f"{thing.id}.png")
        if progress:
            progress("pictures", done, len(things))
    return _write_lines(out / "entries.jsonl", _entries(world))


def write_questions(
    questions: list[Question],
    out: Path,
    *,
    size: int = SCENE_SIZE,
    progress: Progress | None = None,
    format: int = 1,
) -> int:
    """Write scenes/ and questions.jsonl. Returns the number of questions."""
    folder = out / "scenes"
    folder.mkdir(parents=True, exist_ok=True)
    for done, question in enumerate(questions, 1):
        draw_scene(question.scene, size).save(folder / f"{question.id}.png")
        if progress:
            progress("scenes", done, len(questions))
    records = (question_record(q, f"scenes/{q.id}.png", format=format) for q in questions)
    return _write_lines(out / "questions.jsonl", records)


def build_world(seed: int, things: int, *, core: bool = False, format: int = 1) -> World:
    """The world of a seed; with `core`, mixed with the things the starter models were trained on.

    Raises ValueError for the core's own seed with another number of things: its things would bear the core's ids
    but not be the ones that were taught.
    """
    if seed == CORE_SEED and (things != CORE_THINGS or core):
        raise ValueError(
            f"seed: {CORE_SEED} is the trained core's, which has {CORE_THINGS} things; "
            f"ask for {CORE_THINGS} things without mixing, or choose another seed"
        )
    world = make_world(seed, things, format=format)
    return with_core(world, core_world(format)) if core else world


def export_world(
    seed: int,
    things: int,
    out: Path,
    *,
    questions: int = 400,
    unknowable: int | None = None,
    conflicts: int = 0,
    sessions: int = 0,
    core: bool = False,
    unseen_share: float | None = None,
    format: int = FORMAT,
    mix: str = "balanced",
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Summary:
    """Write a world and `questions` questions to `out`, and `unknowable` more that nothing answers (a tenth).

    `conflicts` more are about sources that disagree, which the world then has; `sessions` have two to six questions.
    Raises FileExistsError when `out` holds something and `overwrite` is not set; ValueError for bad numbers.
    """
    if out.exists() and not overwrite and any(out.iterdir()):
        raise FileExistsError(f"{out} is not empty; choose another folder or pass --overwrite")
    amounts = Amounts(questions, unknowable, conflicts, sessions)
    amounts.check(format)
    world = build_world(seed, things, core=core, format=format)
    if conflicts:
        world = _disputed(world)
    asked, nothing, disputed, turns = _ask(world, seed, amounts, unseen_share, format, mix)
    out.mkdir(parents=True, exist_ok=True)
    (out / "world.json").unlink(missing_ok=True)
    entries = write_entries(world, out, progress=progress)
    write_questions([*asked, *nothing, *disputed, *turns], out, progress=progress, format=format)
    groups, pictures = dict(Counter(str(question.group) for question in asked)), len(_pictured(world))
    counts = (len(world.things), entries, pictures, len(asked), len(nothing))
    summary = Summary(seed, *counts, groups, len(disputed), sessions, len(turns))
    record = {"format": format, "core": core, **({} if mix == "balanced" else {"mix": mix}), **summary.record(format)}
    (out / "world.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return summary


def _disputed(world: World) -> World:
    """The world with disputes; ValueError where it can have none."""
    if world.seed == CORE_SEED:
        raise ValueError("conflicts: the trained core's own world has none; choose another seed")
    disputed = with_disputes(world)
    if not disputed.disputes.cases:
        raise ValueError(f"conflicts: a world of {len(world.things)} things has none; ask for more things")
    return disputed


def _ask(
    world: World, seed: int, amounts: Amounts, unseen_share: float | None, format: int, mix: str
) -> tuple[list[Question], list[Question], list[Question], list[Question]]:
    """Questions, those that nothing answers, those about disputes, and the turns of sessions."""
    nothing = amounts.questions // 10 if amounts.unknowable is None else amounts.unknowable
    kinds = [kind for kind in DISPUTE_KINDS if any(case.kind == kind for case in world.disputes.cases)]
    return (
        make_questions(world, amounts.questions, seed, unseen_share=unseen_share, format=format, mix=mix),
        make_unknowable(world, nothing, seed, format=format),
        make_conflicts(world, amounts.conflicts, seed, kinds=kinds),
        make_sessions(world, amounts.sessions, seed, unseen_share=unseen_share),
    )
