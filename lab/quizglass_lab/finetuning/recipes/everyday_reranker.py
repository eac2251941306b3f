"""The everyday reranker: LoRA on the bundle's own text encoder, which becomes a cross-encoder (`answering`)."""

from __future__ import annotations

import json
import platform
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, fields
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from quizglass_export.checkpoints.files import ADAPTER_WEIGHTS, TOKENIZER, TRAINING, weight_files
from quizglass_export.errors import ExportError
from quizglass_lab.answering.notes import NOTES, OwnNote, notes_by_file, signs_by_file
from quizglass_lab.answering.pairs import QuestionCandidates, candidates_of
from quizglass_lab.answering.relations import RELATIONS, read_relations
from quizglass_lab.answering.sign_pairs import drawn_sign_candidates, sign_candidates
from quizglass_lab.finetuning.shared.options import Options
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.shared.records import file_hash, written_whole

if TYPE_CHECKING:
    from quizglass_lab.answering.cross_encoder import PairScorer

ADAPTER = "adapter"


class AnsweringTraining(Options):
    """The everyday reranker: which sentence of a note or line of a sign answers, if any; LoRA on the text encoder."""

    checkpoint: Path = Field(Path("work/everyday/minilm"), description="a BERT text encoder, as transformers writes it")
    notes: Path = Field(NOTES, description="folder of notes and signs with questions")
    held_out: tuple[str, ...] = Field(
        ("a3", "b5", "b12", "c5"),
        description="files of notes and signs that are measured on and not learned from, without their ending",
    )
    out: Path = Field(description="folder for the adapter and training.json")
    adapter: Path | None = Field(None, description="an adapter to go on from, widened where --rank is higher")
    mix: float = Field(
        0, ge=0, lt=1, description="share of the adapter to go on from in each weight of the one that is written"
    )
    rank: int = Field(4, ge=1, description="LoRA rank")
    alpha: int = Field(8, ge=1, description="LoRA alpha")
    dropout: float = Field(0.05, ge=0, lt=1, description="LoRA dropout")
    learning_rate: float = Field(1e-3, gt=0, description="peak learning rate; falls to 0")
    epochs: int = Field(3, ge=1, description="passes over the questions")
    minutes: float = Field(0, ge=0, description="time limit, at which the rate is down to 0; 0: none")
    composed: int = Field(300, ge=0, description="notes composed of relations that are learned from, in each pass")
    batch: int = Field(8, ge=1, description="questions at once, each with its candidates")
    others: int = Field(1, ge=0, description="passages of other notes that a question is shown beside those of its own")
    max_tokens: int = Field(128, ge=16, description="longest pair")
    threads: int = Field(0, ge=0, description="CPU threads; 0: as PyTorch chooses")
    seed: int = Field(0, ge=0, description="of the adapter's weights, the other passages and the order")


def train(options: AnsweringTraining, progress: Progress) -> dict[str, Any]:
    """Train, measure on what was held out, and write the adapter in float16 with `training.json`; returns that."""
    import torch  # heavy from here on: --help needs none of it

    from quizglass_export.checkpoints.cross_encoder import load_base
    from quizglass_export.checkpoints.merge import merge_adapter
    from quizglass_export.checkpoints.peft_models import save_adapter
    from quizglass_lab.answering.cross_encoder import PairScorer, learned, mix
    from quizglass_lab.answering.learning import LearningPlan, learn

    notes, held_out = _parts(options)
    signs, held_out_signs = _signs(options)
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    began = time.monotonic()
    tokenizer = options.checkpoint / TOKENIZER
    model = _model(options)
    plan = LearningPlan(**{each.name: getattr(options, each.name) for each in fields(LearningPlan)})
    relations = read_relations()

    def drawn(rng: random.Random) -> list[QuestionCandidates]:
        composed = candidates_of(relations.notes(options.composed, rng))
        return [*notes, *composed, *drawn_sign_candidates(signs, rng)]

    tick = progress.phase("learning", plan.steps(len(drawn(random.Random(options.seed)))))
    before = learned(model)
    losses = learn(PairScorer(model, tokenizer, options.max_tokens), drawn, plan, tick)
    mix(model, before, options.mix)
    adapter = options.out / ADAPTER
    save_adapter(model, adapter, base=options.checkpoint.name, half=True)
    kept = PairScorer(merge_adapter(load_base(options.checkpoint), adapter), tokenizer, options.max_tokens)
    facts = {
        **_facts(options),
        "questions": len(notes),
        "questions_of_signs": sum(len(sign.questions) for sign in signs),
        "minutes": round((time.monotonic() - began) / 60, 2),
        "losses": losses,
        "held_out": _held_out(kept, held_out) if held_out else {},
        "held_out_signs": _held_out(kept, held_out_signs) if held_out_signs else {},
    }
    with written_whole(options.out / TRAINING) as file:
        file.write(json.dumps(facts, indent=1) + "\n")
    return facts


def _model(options: AnsweringTraining) -> Any:
    from quizglass_export.checkpoints.cross_encoder import load_base
    from quizglass_lab.answering.cross_encoder import trainable, with_adapter

    base = load_base(options.checkpoint)
    if options.adapter is None:
        return with_adapter(base, options.rank, options.alpha, options.dropout)
    return trainable(base, options.adapter, options.rank, options.dropout)


def _held_out(kept: PairScorer, some: Sequence[QuestionCandidates]) -> dict[str, Any]:
    """How well questions are answered that were not learned from, and from which score on a sentence is quoted."""
    from quizglass_lab.answering.calibrating import calibrated
    from quizglass_lab.answering.measuring import measured, weigh_all

    weighed = weigh_all(kept.probabilities, some)
    return {**measured(weighed), "calibrated": asdict(calibrated(weighed))}


def _parts(options: AnsweringTraining) -> tuple[list[QuestionCandidates], list[QuestionCandidates]]:
    """What is learned from, and what is measured on; ExportError where a file is named that is not there."""
    files = notes_by_file(options.notes)
    if unknown := sorted(set(options.held_out) - set(files) - set(signs_by_file(options.notes))):
        raise ExportError(f"--held-out: {unknown[0]!r} is no file of {options.notes}; there are {', '.join(files)}")
    learned = [note for name, notes in files.items() if name not in options.held_out for note in notes]
    if not learned:
        raise ExportError(f"{options.notes}: no notes to learn from")
    return candidates_of(learned), candidates_of([note for name in options.held_out for note in files.get(name, [])])


def _signs(options: AnsweringTraining) -> tuple[list[OwnNote], list[QuestionCandidates]]:
    """Signs that are learned from, and what is measured on."""
    files = signs_by_file(options.notes)
    learned = [sign for name, signs in files.items() if name not in options.held_out for sign in signs]
    return learned, sign_candidates([sign for name in options.held_out for sign in files.get(name, [])])


def _facts(options: AnsweringTraining) -> dict[str, Any]:
    files = sorted([*options.notes.glob("*.notes"), *options.notes.glob("*.signs"), *RELATIONS.iterdir()])
    return {
        "recipe": "everyday-reranker",
        "config": options.model_dump(mode="json", exclude={"out", "checkpoint", "notes", "threads", "adapter"}),
        "base": {
            "name": options.checkpoint.name,
            "weights": {p.name: file_hash(p) for p in weight_files(options.checkpoint)},
        },
        "adapter": None if options.adapter is None else file_hash(options.adapter / ADAPTER_WEIGHTS),
        "data": {path.name: file_hash(path) for path in files},
        "versions": {name: version(name) for name in ("torch", "transformers", "peft")},
        "machine": platform.machine(),
    }
