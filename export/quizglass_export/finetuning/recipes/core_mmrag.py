"""CoRe-MMRAG's fine-tuning: which source to believe, which entry to choose, how to answer from it.

The model is run under each condition (sections 3 and 4): from memory, from the entry that it chooses, choosing by the
pictures alone and by the texts alone. Where exactly one of two is right, there is something to learn:

    D_int, D_ext   memory or the entry alone is right ....... L_PRKI   `reconcile` gives the right one's answer
    D_v, D_t       picture or text alone finds the entry .... L_VTKI   `select` names the right entry
                   the same questions ....................... L_SFT    `answer` from the right entry

The one-stage baseline answers from all entries at once, and is trained on the same questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, model_validator

from quizglass_client import Client
from quizglass_export.datasets.reading.sample import Sample
from quizglass_export.finetuning.asking.choice import MODEL_HELP, asked_model
from quizglass_export.finetuning.asking.interface import Ask, AskedModel, letters
from quizglass_export.finetuning.asking.judge import AnswerJudge, GivenAnswer, right
from quizglass_export.finetuning.asking.searching import EvidenceSearch, ServerSearch
from quizglass_export.finetuning.recipes.questions import (
    AnnotationOptions,
    asked_values,
    go_on,
    held_out_ids,
    is_gold,
    make_judge,
    picture_file,
    read_questions,
    shown_pictures,
    with_answers,
    write_examples,
)
from quizglass_export.finetuning.shared.progress import Progress
from quizglass_export.finetuning.shared.records import Record, each_kept
from quizglass_export.finetuning.training.examples import TrainingExample
from quizglass_export.finetuning.training.settings import Training
from quizglass_server.policies.core_mmrag import TOP_ENTRIES, Entry
from quizglass_server.steps.prompt_values import line

LETTERS = tuple(letters(len(Entry)))
ONE_STAGE = "one_stage"


class CoReAnnotation(AnnotationOptions):
    """Options of `annotate core-mmrag`."""

    answerer: str = Field(description=f"the model that is to be trained: {MODEL_HELP}")
    server: str = Field(description="address of the running server whose image search brings the entries")


class CoReTraining(Training):
    """CoRe-MMRAG: LoRA 8 on all layers, 3 epochs, lr 1e-4, batch 1 x 2; ablations by --without."""

    objectives: ClassVar[tuple[str, ...]] = ("prki", "vtki", "sft", ONE_STAGE)
    rank: int = Field(8, ge=1, description="LoRA rank")
    alpha: int = Field(16, ge=1, description="LoRA alpha (the paper names none)")
    accumulation: int = Field(2, ge=1, description="batches that make one optimiser step")
    max_tokens: int = Field(2048, ge=16, description="longest prompt; the longest data of a longer one is cut")
    baseline: bool = Field(False, description="train the one-stage baseline instead, on the same questions")

    @model_validator(mode="before")
    @classmethod
    def _baseline_or_not(cls, data: dict[str, Any]) -> dict[str, Any]:
        without, only = data.get("without", ()), data.get("only", ())
        if not isinstance(without, list | tuple) or not isinstance(only, list | tuple):
            return data  # which is an error of its own
        if not data.get("baseline"):
            return {**data, "without": tuple({*without, ONE_STAGE} - {*only})}
        if without or only:
            raise ValueError("--baseline: has one objective; leave out --without and --only")
        return {**data, "only": (ONE_STAGE,)}


class Conditions(Record):
    """What the model does with a question under each condition; places count from 0, -1 is none."""

    id: str
    entries: tuple[str, ...]
    pictures: tuple[str, ...]
    """Of the entries, from the folder of the file; fewer where one has none."""
    gold: int
    """Place of the right entry."""
    chosen: int
    """By pictures and texts together, as it is served."""
    by_picture: int
    by_text: int
    """Of entries that are shown in an order which tells nothing of the picture, unlike that of the search."""
    memory: str
    external: str
    memory_right: bool
    external_right: bool
    reason: str = ""
    """What `weigh` says, where there is a conflict."""

    @property
    def conflict(self) -> str:
        """int: memory alone is right; ext: the entry alone; empty: both, neither, or no entry was chosen."""
        if self.chosen < 0 or self.memory_right == self.external_right:
            return ""
        return "int" if self.memory_right else "ext"

    @property
    def modality(self) -> str:
        """v: the pictures alone find the entry; t: the texts alone; empty: both or neither."""
        if self.gold < 0 or (self.by_picture == self.gold) == (self.by_text == self.gold):
            return ""
        return "v" if self.by_picture == self.gold else "t"


def annotate(options: CoReAnnotation, progress: Progress) -> dict[str, Any]:
    """Write `conditions.jsonl` and the examples; goes on where it was stopped."""
    loaded: dict[str, AskedModel] = {}
    samples = {name: each for name, each in with_answers(read_questions(options)).items() if each.pictures}
    model, judge = asked_model(options.answerer, options, loaded), make_judge(options, loaded)
    with Client(options.server) as client:
        go_on(options, client)
        search = ServerSearch(client, options.out / "pictures")
        run = each_kept(
            options.out / "conditions.jsonl",
            Conditions,
            samples,
            partial(conditions, model=model, judge=judge, search=search, out=options.out),
            chunk=options.chunk,
            tick=progress.phase("asking", len(samples)),
        )
    examples = [example for name, each in run.items() for example in core_examples(samples[name], each, options.out)]
    counts = write_examples(examples, held_out_ids(samples.values(), options.held_out, options.seed), options.out)
    return _measured(list(run.values())) | {"examples": counts}


def conditions(
    samples: Sequence[Sample], model: AskedModel, judge: AnswerJudge, search: EvidenceSearch, out: Path
) -> list[Conditions]:
    """Run the model on some questions under each condition."""
    pictures = [picture_file(sample, out / "pictures") for sample in samples]
    hits = [search.image(picture, TOP_ENTRIES) for picture in pictures]
    lines = [[line(item) for item in items] for items in hits]
    shown = [shown_pictures([search.picture(item) for item in items], out) for items in hits]
    seen = [_all(picture, names, out) for picture, names in zip(pictures, shown, strict=True)]

    chosen = _choices("select", samples, lines, seen, model)
    by_picture = _choices("select_by_picture", samples, lines, seen, model)
    by_text = _choices_by_text(samples, lines, seen, model)
    memory = _said(model, [Ask("answer", asked_values(s), paths[:1]) for s, paths in zip(samples, seen, strict=True)])
    asks = [_from_entry(*each) for each in zip(samples, lines, seen, chosen, strict=True)]
    external = [text if place >= 0 else "" for text, place in zip(_said(model, asks), chosen, strict=True)]
    every = zip((*samples, *samples), (*memory, *external), strict=True)
    good = right(judge, [GivenAnswer(sample.question, sample.answers, text) for sample, text in every])
    runs = [
        Conditions(
            id=sample.id,
            entries=tuple(lines[index]),
            pictures=shown[index],
            gold=next((place for place, item in enumerate(hits[index]) if is_gold(item, sample)), -1),
            chosen=chosen[index],
            by_picture=by_picture[index],
            by_text=by_text[index],
            memory=memory[index],
            external=external[index],
            memory_right=good[index],
            external_right=good[len(samples) + index],
        )
        for index, sample in enumerate(samples)
    ]
    return _weighed(runs, samples, seen, model)


def _choices(
    task: str,
    samples: Sequence[Sample],
    lines: Sequence[Sequence[str]],
    seen: Sequence[tuple[Path, ...]],
    model: AskedModel,
) -> list[int]:
    """Place of the entry that the model chooses for each question, as the task shows them; -1: none of them."""
    asks = [
        Ask(task, {**asked_values(sample), "seen": list(rows)}, paths)
        for sample, rows, paths in zip(samples, lines, seen, strict=True)
    ]
    best = [max(range(len(LETTERS)), key=shares.__getitem__) for shares in model.choose(asks, LETTERS)]
    return [place if place < len(rows) else -1 for place, rows in zip(best, lines, strict=True)]


def _choices_by_text(
    samples: Sequence[Sample], lines: Sequence[Sequence[str]], seen: Sequence[tuple[Path, ...]], model: AskedModel
) -> list[int]:
    """The same by texts alone, whose prompts show no pictures; in the order of the search they would show what is near.

    That order is a picture's, and a model that takes the first would choose by the picture.
    """
    orders = [_order(sample, rows) for sample, rows in zip(samples, lines, strict=True)]
    mixed = [[rows[place] for place in order] for rows, order in zip(lines, orders, strict=True)]
    chosen = _choices("select_by_text", samples, mixed, seen, model)
    return [order[place] if place >= 0 else -1 for place, order in zip(chosen, orders, strict=True)]


def _order(sample: Sample, entries: Sequence[str]) -> list[int]:
    """Places of entries in an order by their texts and the question alone."""
    return sorted(range(len(entries)), key=lambda place: sha256(f"{sample.id} {entries[place]}".encode()).digest())


def core_examples(sample: Sample, run: Conditions, out: Path) -> Iterator[TrainingExample]:
    """What one question teaches."""
    own = shown_pictures([picture_file(sample, out / "pictures")], out)

    def example(objective: str, task: str, values: Mapping[str, Any], pictures: Sequence[str], target: str) -> Any:
        return TrainingExample(
            id=f"{sample.id}//{objective}",
            objective=objective,
            task=task,
            values={**asked_values(sample), **values},
            pictures=(*own, *pictures),
            target=target,
            labels=LETTERS if task == "select" else (),
        )

    if run.conflict:
        told = {"memory": run.memory, "external": run.external, "reason": run.reason}
        values = {**told, "seen": [run.entries[run.chosen]]}
        winner = run.memory if run.conflict == "int" else run.external
        yield example("prki", "reconcile", values, run.pictures[run.chosen : run.chosen + 1], winner)
    if run.modality:
        yield example("vtki", "select", {"seen": list(run.entries)}, run.pictures, LETTERS[run.gold])
        entry = run.pictures[run.gold : run.gold + 1]
        yield example("sft", "answer", {"seen": [run.entries[run.gold]]}, entry, sample.answer)
    if run.conflict or run.modality:
        yield example(ONE_STAGE, "answer", {"seen": list(run.entries)}, run.pictures, sample.answer)


def _all(picture: Path | None, names: Sequence[str], out: Path) -> tuple[Path, ...]:
    return () if picture is None else (picture, *(out / name for name in names))


def _from_entry(sample: Sample, lines: Sequence[str], seen: Sequence[Path], place: int) -> Ask:
    kept = slice(place, place + 1) if place >= 0 else slice(0, 0)
    return Ask("answer", {**asked_values(sample), "seen": list(lines[kept])}, (*seen[:1], *seen[1:][kept]))


def _said(model: AskedModel, asks: Sequence[Ask]) -> list[str]:
    return [written.text for written in model.write(asks)]


def _weighed(
    runs: Sequence[Conditions], samples: Sequence[Sample], seen: Sequence[tuple[Path, ...]], model: AskedModel
) -> list[Conditions]:
    """The same with the reason that is written before answers are reconciled, where they are."""
    open_ = [place for place, run in enumerate(runs) if run.conflict]
    asks = []
    for place in open_:
        run = runs[place]
        asked = _from_entry(samples[place], run.entries, seen[place], run.chosen)
        values = {**asked.values, "memory": run.memory, "external": run.external}
        asks.append(Ask("weigh", values, asked.pictures))
    reasons = dict(zip(open_, _said(model, asks) if asks else (), strict=True))
    return [run.model_copy(update={"reason": reasons.get(place, "")}) for place, run in enumerate(runs)]


def _measured(runs: Sequence[Conditions]) -> dict[str, Any]:
    """The untuned model under each condition, and how many questions teach what."""
    reachable = [run for run in runs if run.gold >= 0]

    def share(hits: Sequence[bool]) -> float:
        return round(sum(hits) / len(hits), 4) if hits else 0.0

    return {
        "questions": len(runs),
        "right_entry_found": share([run.gold >= 0 for run in runs]),
        "answers_right": {
            "memory": share([run.memory_right for run in runs]),
            "entry": share([run.external_right for run in runs]),
        },
        "entry_chosen": {
            "both": share([run.chosen == run.gold for run in reachable]),
            "picture": share([run.by_picture == run.gold for run in reachable]),
            "text": share([run.by_text == run.gold for run in reachable]),
        },
        "D": {
            "int": sum(run.conflict == "int" for run in runs),
            "ext": sum(run.conflict == "ext" for run in runs),
            "v": sum(run.modality == "v" for run in runs),
            "t": sum(run.modality == "t" for run in runs),
        },
    }
