"""CoRe-MMRAG's choice among five entries: with their pictures beside their captions, against captions alone.

The starter's decider, as it was trained: to choose by the wearer's picture and captions. No prompt that it learned
from shows pictures of entries, so this says what such a model makes of them, and not what one makes that was taught to.
Asked with PyTorch, on questions whose right entry is among the first five of the server's picture search.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from bench.accuracy.ground import Ground
from bench.results import Row
from bench.sections import Part
from bench.worlds import Trial, picture
from quizglass_bundle.inputs.prompts import PromptValue
from quizglass_client import Client
from quizglass_export.assembly.plan import DEFAULT_PROMPTS
from quizglass_lab.finetuning.asking.checkpoint import CheckpointModel
from quizglass_lab.finetuning.asking.interface import Ask, letters
from quizglass_lab.finetuning.asking.searching import ServerSearch
from quizglass_lab.finetuning.models.checkpoint import load
from quizglass_lab.pocketworld.questions import Question
from quizglass_lab.scoring.intervals import confidence_interval, wilson_interval
from quizglass_server.domain.turns import Evidence
from quizglass_server.policies.core_mmrag import TOP_ENTRIES, Entry
from quizglass_server.steps.prompt_values import line

SHARE = 0.5
CHECKPOINTS = Path("models/starter/checkpoints")
CAPTIONS, PICTURES = "captions alone", "pictures and captions"
ORDERS = ("in the order of the search", "in an order that tells nothing")
_PICTURE = (112, 112)
_SHOWN = ("Entry {{ loop.index }}: {{ line }}", "Entry {{ loop.index }}: {{ images[loop.index] }} {{ line }}")
"""What the starter's prompt says of an entry, and what it says with its picture."""


def run(ground: Ground) -> Part:
    """Both ways in both orders, on the same questions and entries."""
    right: dict[str, list[bool]] = {f"{way}, {order}": [] for order in ORDERS for way in (CAPTIONS, PICTURES)}
    asked = 0
    for seed in ground.seeds:
        trial = ground.trial(seed, share=SHARE)
        with ground.server(trial.folder) as target, Client(target, timeout=120) as client:
            search = ServerSearch(client, trial.folder / "entry-pictures")
            cases, seen = _cases(ground, trial, search)
            asked += seen
            for way in (CAPTIONS, PICTURES):
                model = _model(trial.folder / "prompts", pictures=way == PICTURES)
                for order in ORDERS:
                    ground.say(f"{way}, {order}: {len(cases)} questions")
                    right[f"{way}, {order}"] += _choose(model, cases, search, mixed=order != ORDERS[0])
    return Part(rows(right), {"asked": asked, "right": {way: sum(each) for way, each in right.items()}})


def rows(right: dict[str, list[bool]]) -> list[Row]:
    """The share of right entries by each way, and the differences that pictures make, in pairs."""
    table = []
    for way, each in right.items():
        low, high = wilson_interval(sum(each), len(each))
        name = f"entry chosen by {way} (95 % interval {100 * low:.1f} to {100 * high:.1f}, {len(each)} questions)"
        table.append(Row(name, 100 * sum(each) / len(each), "%"))
    for order in ORDERS:
        pairs = zip(right[f"{PICTURES}, {order}"], right[f"{CAPTIONS}, {order}"], strict=True)
        differences = [100.0 * (one - two) for one, two in pairs]
        low, high = confidence_interval(differences)
        name = f"entry chosen with pictures, minus captions alone, {order} ({low:+.1f} to {high:+.1f})"
        table.append(Row(name, sum(differences) / len(differences), "points"))
    return table


Case = tuple[Question, Path, Sequence[Evidence], int]
"""A question, its picture, the entries found, and the place of the right one."""


def _cases(ground: Ground, trial: Trial, search: ServerSearch) -> tuple[list[Case], int]:
    """Those that can be chosen right, and how many questions were looked up."""
    pointing = [question for question in trial.questions if question.group in ("image", "both")]
    tick, cases = ground.ticker("picture searches", len(pointing)), list[Case]()
    for question in pointing:
        frame = trial.folder / "frames" / f"{sha256(question.id.encode()).hexdigest()[:24]}.jpg"
        frame.parent.mkdir(exist_ok=True)
        frame.write_bytes(picture(question))
        found = search.image(frame, TOP_ENTRIES)
        place = next((at for at, entry in enumerate(found) if entry.entry_id == question.gold_entries[0]), None)
        if place is not None and all(search.picture(entry) for entry in found):
            cases.append((question, frame, found, place))
        tick()
    return cases, len(pointing)


def _model(folder: Path, *, pictures: bool) -> CheckpointModel:
    """The starter's decider with its own prompt, which shows entries' pictures or does not."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DEFAULT_PROMPTS, folder)
    if pictures:
        prompt = folder / "select.jinja"
        text = prompt.read_text(encoding="utf-8")
        if _SHOWN[0] not in text:
            raise ValueError(f"{prompt.name}: says something else of an entry than {_SHOWN[0]!r}")
        prompt.write_text(text.replace(*_SHOWN), encoding="utf-8")
    adapter = CHECKPOINTS / "planner"
    return CheckpointModel(load(CHECKPOINTS / "base", prompts=folder, picture=_PICTURE, device="cpu", adapter=adapter))


def _choose(model: CheckpointModel, cases: Sequence[Case], search: ServerSearch, *, mixed: bool) -> list[bool]:
    asks, places = [], []
    for question, frame, found, right in cases:
        order = sorted(range(len(found)), key=lambda at: _key(question, found[at])) if mixed else [*range(len(found))]
        shown = [path for at in order if (path := search.picture(found[at])) is not None]
        history = [{"question": asked, "answer": said} for asked, said in question.history]
        values: dict[str, PromptValue] = {
            "question": question.text,
            "history": history,
            "seen": [line(found[at]) for at in order],
        }
        asks.append(Ask("select", values, (frame, *shown)))
        places.append(order.index(right))
    chosen = model.choose(asks, letters(len(Entry)))
    return [each.best == place for each, place in zip(chosen, places, strict=True)]


def _key(question: Question, entry: Evidence) -> bytes:
    return sha256(f"{question.id} {entry.entry_id}".encode()).digest()
