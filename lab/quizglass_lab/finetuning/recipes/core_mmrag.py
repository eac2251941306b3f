"""CoRe-MMRAG's fine-tuning: which source to believe, which entry to choose, how to answer from it.

The model is run under each condition (sections 3 and 4): from memory, from the evidence that the policy brings it,
choosing an entry by the pictures alone and by the texts alone. Where exactly one of two is right, there is something to
learn:

    D_int, D_ext   memory or the evidence alone is right .... L_PRKI   `reconcile` gives the right one's answer
    D_v, D_t       picture or text alone finds the entry .... L_VTKI   `select` names the right entry
                   the same questions ....................... L_SFT    `answer` from the right entry

Evidence is what `core-mmrag+` makes of its choice: the entry with those of its passages that fit the question
rewritten, or what a text search finds where no entry is chosen or named. With `published` it is what `core-mmrag` makes
of it: an entry is always chosen, the question stays as it was asked, and no reason stands before the final answer.

The baselines are trained on the same questions:

    one_stage      `answer` from all entries at once, with the passage of each that fits best
    two_stage      `select_by_text` names the right entry, `answer` from it
    mmstar         `reason` over all entries and `conclude_from_reason`, with the reasons by which the model answered
                   right, or did so once it was shown the answer (STaR)

The paper gives the two-stage baseline one loss in section 4.3 and another in 4.4; here it has both of its steps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, model_validator

from quizglass.values import Origin
from quizglass_client import Client
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.asking.choice import MODEL_HELP, asked_model
from quizglass_lab.finetuning.asking.interface import Ask, AskedModel, letters
from quizglass_lab.finetuning.asking.judge import AnswerJudge, GivenAnswer, right
from quizglass_lab.finetuning.asking.offline_turn import OfflineModels, OfflineTurn
from quizglass_lab.finetuning.asking.searching import EvidenceSearch, ServerSearch
from quizglass_lab.finetuning.recipes.questions import (
    AnnotationOptions,
    asked_values,
    go_on,
    held_out_ids,
    is_gold,
    make_judge,
    only_where,
    picture_file,
    printed_words,
    read_questions,
    shown_pictures,
    with_answers,
    write_examples,
)
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.shared.records import Record, each_kept
from quizglass_lab.finetuning.training.examples import TrainingExample
from quizglass_lab.finetuning.training.settings import Training
from quizglass_server.domain.state import Draft, State
from quizglass_server.domain.turns import Evidence
from quizglass_server.policies.core_mmrag import Entry, Shown, from_best, from_evidence, reading
from quizglass_server.steps.prompt_values import line

LETTERS = tuple(letters(len(Entry)))
ONE_STAGE, TWO_STAGE, MMSTAR = _BASELINES = ("one_stage", "two_stage", "mmstar")
"""Objectives of the baselines, each trained alone."""
_OF_EACH = 1
"""Passages of each entry that the one-stage baseline is shown."""


class CoReAnnotation(AnnotationOptions):
    """Options of `annotate core-mmrag`."""

    answerer: str = Field(description=f"the model that is to be trained: {MODEL_HELP}")
    server: str = Field(description="address of the running server whose searches bring entries and passages")
    published: bool = Field(False, description="evidence and choices as core-mmrag has them (default: core-mmrag+)")
    mmstar: bool = Field(False, description="also write the reasons that the baseline MMSTaR learns from")


class CoReTraining(Training):
    """CoRe-MMRAG: LoRA 8 on all layers, 3 epochs, lr 1e-4, batch 1 x 2; ablations by --without, baselines by --only."""

    objectives: ClassVar[tuple[str, ...]] = ("prki", "vtki", "sft", *_BASELINES)
    rank: int = Field(8, ge=1, description="LoRA rank")
    alpha: int = Field(16, ge=1, description="LoRA alpha (the paper names none)")
    accumulation: int = Field(2, ge=1, description="batches that make one optimiser step")
    max_tokens: int = Field(2048, ge=16, description="longest prompt; the longest data of a longer one is cut")
    baseline: bool = Field(False, description="train the one-stage baseline instead: --only one_stage")

    @model_validator(mode="before")
    @classmethod
    def _baseline_or_not(cls, data: dict[str, Any]) -> dict[str, Any]:
        without, only = data.get("without", ()), data.get("only", ())
        if not isinstance(without, list | tuple) or not isinstance(only, list | tuple):
            return data  # which is an error of its own
        if not data.get("baseline"):
            return {**data, "without": tuple({*without, *_BASELINES} - {*only})}
        if without or only:
            raise ValueError("--baseline: has one objective; leave out --without and --only")
        return {**data, "only": (ONE_STAGE,)}


class Told(Record):
    """What an answer is written from besides the question, as its prompt shows it."""

    seen: tuple[str, ...] = ()
    """Lines of the entries shown, "<title>: <caption>"."""
    names: tuple[str, ...] = ()
    """Titles of these entries."""
    found: tuple[str, ...] = ()
    """Lines of the passages shown, "<title>: <text>"."""
    queries: tuple[str, ...] = ()
    """The question rewritten so that it stands alone; empty where it was not."""
    pictures: tuple[str, ...] = ()
    """Paths of the pictures of the entries in `seen`, relative to the file; up to the first without one."""

    def values(self) -> dict[str, Any]:
        """Values of prompts, by their names there."""
        listed = {"seen": self.seen, "names": self.names, "found": self.found, "queries": self.queries}
        return {"query": "; ".join(self.queries), **{name: list(value) for name, value in listed.items()}}


class Conditions(Record):
    """What the model does with a question under each condition; places count from 0, -1 is none."""

    id: str
    entries: tuple[str, ...]
    pictures: tuple[str, ...]
    """Paths of the entries' pictures, relative to the file; up to the first entry without one."""
    gold: int
    """Place of the right entry among `entries`; -1 where it is not among them."""
    chosen: int
    """Place of the entry that is chosen by pictures and texts together, as it is served."""
    by_picture: int
    by_text: int
    """Chosen by texts alone, shown in an order which tells nothing of the picture, unlike that of the search."""
    evidence: Told
    """What y_ext is answered from: the chosen entry and its passages, or what the text search found."""
    memory: str
    external: str
    """y_ext: the answer from `evidence`; empty where there was none."""
    memory_right: bool
    external_right: bool
    reason: str = ""
    """What `weigh` says, where there is a conflict."""
    right_entry: Told = Told()
    """The right entry with its passages, for `sft`; empty unless exactly one modality finds it."""
    every_entry: Told = Told()
    """All of them with a passage each, where there is anything to learn."""
    choices: int = len(Entry)
    """Letters that `select` chooses among: those of the entries, and perhaps one for none."""
    told_reason: str = ""
    """What `reason` says of all entries, where the answer by that is right; empty where it was not asked for."""

    @property
    def conflict(self) -> str:
        """int: memory alone is right; ext: the evidence alone; empty: both, neither, or there was no evidence."""
        if not (self.evidence.seen or self.evidence.found) or self.memory_right == self.external_right:
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
    judged = with_answers(read_questions(options))
    samples = only_where(judged, lambda sample: bool(sample.pictures), "pictures: has one, and a gold answer")
    model, judge = asked_model(options.answerer, options, loaded), make_judge(options, loaded)
    with Client(options.server) as client:
        go_on(options, client)
        search = ServerSearch(client, options.out / "pictures")
        run = each_kept(
            options.out / "conditions.jsonl",
            Conditions,
            samples,
            partial(conditions, model=model, judge=judge, search=search, options=options),
            chunk=options.chunk,
            tick=progress.phase("asking", len(samples)),
        )
    examples = [example for name, each in run.items() for example in core_examples(samples[name], each, options.out)]
    counts = write_examples(examples, held_out_ids(samples.values(), options.held_out, options.seed), options.out)
    return _measured(list(run.values())) | {"examples": counts}


class _CoreTurn:
    """A turn of the policy on one question, up to what its evidence says (stages 2 and 3).

    Attributes:
        picture: the question's.
        entries: what the image search brought, best first.
        chosen: place of the one that the model chose; -1: none.
        told: what the answer is written from.
        external: that answer; empty without evidence.
    """

    def __init__(self, sample: Sample, model: AskedModel, search: EvidenceSearch, options: CoReAnnotation) -> None:
        self._sample, self._search, self._out = sample, search, options.out
        self._published = options.published
        self.picture = picture_file(sample, options.out / "pictures")
        models, printed = OfflineModels(model, search), printed_words(sample)
        self._turn = OfflineTurn(models, sample.question, self.picture, sample.history, printed)
        self.told, self.external = self._from_evidence()
        self.entries = [item for item in self._turn.evidence if item.origin is Origin.IMAGE_SEARCH]
        place = [entry.value for entry in Entry].index(dict(self._turn.spent.decisions).get("select", Entry.NONE.value))
        self.chosen = place if place < len(self.entries) else -1

    def _from_evidence(self) -> tuple[State, Draft]:
        told = from_best if self._published else from_evidence
        return asyncio.run(told(self._turn.start(), self._turn))

    def shown(self, items: Sequence[Evidence]) -> tuple[str, ...]:
        """Pictures of entries, from the folder of the file; up to the first that has none."""
        return shown_pictures([self._search.picture(item) for item in items], self._out)

    def as_told(self, state: State) -> Told:
        """What prompts show of a state."""
        seen, found = (tuple(line(item) for item in items) for items in (state.seen, state.found))
        names = tuple(item.title for item in state.seen if item.title)
        return Told(seen=seen, names=names, found=found, queries=state.queries, pictures=self.shown(state.seen))

    def taught(self, run: Conditions) -> Conditions:
        """The same with what its examples need: why one side is believed, and what else answers are written from."""
        more: dict[str, Any] = {}
        if run.conflict and not self._published:
            said = {"memory": run.memory, "external": run.external}
            more["reason"] = asyncio.run(self._turn.write("weigh", self.told, **said)).text
        if run.modality:
            gold = self.entries[run.gold]
            more["right_entry"] = run.evidence if self.told.seen == (gold,) else self._read([gold])
        if run.conflict or run.modality:
            more["every_entry"] = self._read(self.entries, _OF_EACH)
        return run.model_copy(update=more)

    def reasoned(self, run: Conditions, judge: AnswerJudge) -> Conditions:
        """The same with the reason by which the model answers right from all entries: its own, or else the one that it
        writes once it is shown the answer. Without either where the answer by it is wrong both times."""
        if not (run.conflict or run.modality):
            return run
        state = self._state_of(self.entries, _OF_EACH)
        told = replace(state, question=f"{state.question} (The answer is {self._sample.answer}.)")
        for asked in (state, told):
            reason = asyncio.run(self._turn.write("reason", asked)).text
            answer = asyncio.run(self._turn.write("conclude_from_reason", state, reason=reason)).text
            if right(judge, [GivenAnswer.to(self._sample, answer)])[0]:
                return run.model_copy(update={"told_reason": reason})
        return run

    def _read(self, entries: Sequence[Evidence], limit: int = 0) -> Told:
        return self.as_told(self._state_of(entries, limit))

    def _state_of(self, entries: Sequence[Evidence], limit: int) -> State:
        turn = self._turn
        return asyncio.run(reading(entries, turn.start(), turn, limit, rewritten=not self._published))


def conditions(
    samples: Sequence[Sample], model: AskedModel, judge: AnswerJudge, search: EvidenceSearch, options: CoReAnnotation
) -> list[Conditions]:
    """Run the model on some questions under each condition."""
    out, choices = options.out, len(Shown if options.published else Entry)
    with ThreadPoolExecutor(model.parallel) as pool:
        turns = list(pool.map(lambda sample: _CoreTurn(sample, model, search, options), samples))
        lines = [[line(item) for item in turn.entries] for turn in turns]
        shown = [turn.shown(turn.entries) for turn in turns]
        seen = [_all(turn.picture, names, out) for turn, names in zip(turns, shown, strict=True)]
        by_picture = _choices("select_by_picture", samples, lines, seen, model, choices)
        by_text = _choices_by_text(samples, lines, seen, model, choices)
        memory = [w.text for w in model.write([_from_memory(*each) for each in zip(samples, turns, strict=True)])]
        good = right(judge, _given(samples, memory) + _given(samples, [turn.external.text for turn in turns]))
        runs = [
            Conditions(
                id=sample.id,
                entries=tuple(lines[index]),
                pictures=shown[index],
                gold=next((place for place, item in enumerate(turn.entries) if is_gold(item, sample)), -1),
                chosen=turn.chosen,
                by_picture=by_picture[index],
                by_text=by_text[index],
                evidence=turn.as_told(turn.told),
                memory=memory[index],
                external=turn.external.text,
                memory_right=good[index],
                external_right=good[len(samples) + index],
                choices=choices,
            )
            for index, (sample, turn) in enumerate(zip(samples, turns, strict=True))
        ]
        runs = list(pool.map(_CoreTurn.taught, turns, runs))
        if options.mmstar:
            runs = [turn.reasoned(run, judge) for turn, run in zip(turns, runs, strict=True)]
        return runs


def _from_memory(sample: Sample, turn: _CoreTurn) -> Ask:
    return Ask("answer", asked_values(sample), () if turn.picture is None else (turn.picture,))


def _given(samples: Sequence[Sample], texts: Sequence[str]) -> list[GivenAnswer]:
    return [GivenAnswer.to(each, text) for each, text in zip(samples, texts, strict=True)]


def _choices(
    task: str,
    samples: Sequence[Sample],
    lines: Sequence[Sequence[str]],
    seen: Sequence[tuple[Path, ...]],
    model: AskedModel,
    choices: int,
) -> list[int]:
    """Place of the entry that the model chooses for each question, as the task shows them; -1: none of them."""
    asks = [
        Ask(task, {**asked_values(sample), "seen": list(rows)}, paths)
        for sample, rows, paths in zip(samples, lines, seen, strict=True)
    ]
    chosen = zip(model.choose(asks, LETTERS[:choices]), lines, strict=True)
    return [each.best if each.best < len(rows) else -1 for each, rows in chosen]


def _choices_by_text(
    samples: Sequence[Sample],
    lines: Sequence[Sequence[str]],
    seen: Sequence[tuple[Path, ...]],
    model: AskedModel,
    choices: int,
) -> list[int]:
    """The same by texts alone, whose prompts show no pictures; in the order of the search they would show what is near.

    That order is a picture's, and a model that takes the first would choose by the picture.
    """
    orders = [_order(sample, rows) for sample, rows in zip(samples, lines, strict=True)]
    mixed = [[rows[place] for place in order] for rows, order in zip(lines, orders, strict=True)]
    chosen = _choices("select_by_text", samples, mixed, seen, model, choices)
    return [order[place] if place >= 0 else -1 for place, order in zip(chosen, orders, strict=True)]


def _order(sample: Sample, entries: Sequence[str]) -> list[int]:
    """Places of entries in an order by their texts and the question alone."""
    return sorted(range(len(entries)), key=lambda place: sha256(f"{sample.id} {entries[place]}".encode()).digest())


def core_examples(sample: Sample, run: Conditions, out: Path) -> Iterator[TrainingExample]:
    """The training examples of one question: none, or some of each objective."""
    own = shown_pictures([picture_file(sample, out / "pictures")], out)

    def example(
        objective: str, task: str, values: Mapping[str, Any], pictures: Sequence[str], target: str
    ) -> TrainingExample:
        return TrainingExample(
            id=f"{sample.id}//{objective}" + (f"/{task}" if objective in (TWO_STAGE, MMSTAR) else ""),
            objective=objective,
            task=task,
            values={**asked_values(sample), **values},
            pictures=(*own, *pictures),
            target=target,
            labels=LETTERS[: run.choices] if task.startswith("select") else (),
        )

    def answered(objective: str, told: Told) -> TrainingExample:
        return example(objective, "answer", told.values(), told.pictures, sample.answer)

    if run.conflict:
        sides = {"memory": run.memory, "external": run.external, "reason": run.reason}
        winner = run.memory if run.conflict == "int" else run.external
        yield example("prki", "reconcile", run.evidence.values() | sides, run.evidence.pictures, winner)
    if run.modality:
        yield example("vtki", "select", {"seen": list(run.entries)}, run.pictures, LETTERS[run.gold])
        yield answered("sft", run.right_entry)
        yield example(TWO_STAGE, "select_by_text", {"seen": list(run.entries)}, run.pictures, LETTERS[run.gold])
        yield answered(TWO_STAGE, run.right_entry)
    if run.conflict or run.modality:
        yield answered(ONE_STAGE, run.every_entry)
    if run.told_reason:
        every = run.every_entry
        yield example(MMSTAR, "reason", every.values(), every.pictures, run.told_reason)
        concluded = every.values() | {"reason": run.told_reason}
        yield example(MMSTAR, "conclude_from_reason", concluded, every.pictures, sample.answer)


def _all(picture: Path | None, names: Sequence[str], out: Path) -> tuple[Path, ...]:
    return () if picture is None else (picture, *(out / name for name in names))


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
            "evidence": share([run.external_right for run in runs]),
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
