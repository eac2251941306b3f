"""The everyday generator: answers in a few words from the notes it is shown, or says that it does not know.

Examples are made of facts that packages bring, of invented ones, and of templates of our own. Answers are values such
as "Paris", and values with their qualifiers, such as "every three weeks", in the note's words; of notes that people
wrote they are short sentences. Shown no note at all, the model is to say what it knows by heart and nothing else: the
base is asked which facts these are. `held-out.jsonl` has other things, other facts and other wordings.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from quizglass_export.errors import ExportError
from quizglass_lab.answering.notes import NOTES, OwnNote, notes_by_file
from quizglass_lab.everyday.facts import Fact, all_facts
from quizglass_lab.everyday.parts import held_out_things, is_taught
from quizglass_lab.everyday.wording import questions
from quizglass_lab.finetuning.asking.choice import MODEL_HELP, ModelOptions, asked_model
from quizglass_lab.finetuning.asking.interface import Ask
from quizglass_lab.finetuning.recipes.everyday_notes import NoteMaker, about_invented, recalled
from quizglass_lab.finetuning.recipes.everyday_whole_answers import (
    QUALIFIED,
    SENTENCE,
    UNQUALIFIED,
    about_own_things,
    from_notes,
)
from quizglass_lab.finetuning.recipes.questions import OutOptions, go_on
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.shared.records import Record, each_kept, write_rows
from quizglass_lab.finetuning.training.examples import HELD_OUT, TRAIN, TrainingExample, objectives
from quizglass_lab.finetuning.training.settings import Training
from quizglass_lab.scoring.answers import refuses
from quizglass_lab.scoring.claims import contains_words

_EVERYDAY = Path(str(resources.files("quizglass_export.everyday"))) / "prompts"
PROMPTS, BASE_PROMPTS = _EVERYDAY / "taught", _EVERYDAY / "base"
_CHUNK, _RECALL_TOKENS = 128, 24


class NotesAnnotation(ModelOptions, OutOptions):
    """Options of `annotate everyday-generator`."""

    workdir: Path = Field(Path("work/everyday"), description="where `quizglass-export everyday fetch` put its files")
    out: Path = Field(description="folder for train.jsonl and held-out.jsonl")
    answerer: str = Field(
        "", description=f"the base, asked without notes, to be taught to say by heart what it knows: {MODEL_HELP}"
    )
    prompts: Path | None = Field(BASE_PROMPTS, description="directory of prompt templates that the base is asked by")
    invented: int = Field(3000, ge=0, description="examples about invented things, so that reading is learned")
    qualified: int = Field(5000, ge=0, description="examples about things whose facts have qualifiers")
    notes: Path = Field(NOTES, description="folder of notes with questions that people wrote")
    from_notes: int = Field(4000, ge=0, description="examples of these notes, at most")
    held_out_notes: tuple[str, ...] = Field(
        ("a3", "b5", "b12", "c5"), description="files of notes that are measured on, without their ending"
    )
    abstain: float = Field(0.3, ge=0, lt=1, description="share of the answers whose notes do not say")
    held_out: float = Field(0.05, gt=0, lt=1, description="share of the things that is kept to measure on")
    most_held_out: int = Field(
        300,
        ge=1,
        description="examples of facts to measure on, at most; half as many are of qualifiers, a third of notes",
    )
    seed: int = Field(0, ge=0, description="of the random draws")


class Recalled(Record):
    """What the base said of a fact without any note."""

    id: str
    text: str


class NotesTraining(Training):
    """The everyday generator: LoRA 16/32, lr 5e-4, one pass in batches of 8 x 2, in bfloat16 on a CPU with AMX."""

    objectives: ClassVar[tuple[str, ...]] = (
        *("answer", "abstain", "recall", "rewrite"),
        *(QUALIFIED, UNQUALIFIED, SENTENCE),
    )
    rank: int = Field(16, ge=1, description="LoRA rank")
    alpha: int = Field(32, ge=1, description="LoRA alpha")
    learning_rate: float = Field(5e-4, gt=0, description="peak learning rate")
    warm_up: float = Field(0.05, ge=0, lt=1, description="share of the steps in which the rate rises")
    epochs: float = Field(1, gt=0, description="passes over the data")
    batch: int = Field(8, ge=1, description="examples at once")
    accumulation: int = Field(2, ge=1, description="batches that make one optimiser step")
    evaluate_every: int = Field(100, ge=1, description="steps between evaluations on held-out.jsonl and checkpoints")
    half: bool = Field(True, description="write the adapter in float16, half as large")
    bfloat16: bool = Field(
        True, description="compute in bfloat16 on a CPU that multiplies tiles of it (AMX), as on every GPU"
    )
    prompts: Path | None = Field(PROMPTS, description="directory of prompt templates; default: the everyday bundle's")
    max_tokens: int = Field(256, ge=16, description="longest prompt; the longest data of a longer one is cut")
    checkpointing: bool = Field(
        False, description="compute activations again in the backward pass: less memory, slower"
    )


def annotate(options: NotesAnnotation, progress: Progress) -> dict[str, Any]:
    """Write `train.jsonl` and `held-out.jsonl`; takes a second where no base is asked, else goes on where it stopped.

    Raises:
        ExportError: the packages' facts are not there, or the base is not.
    """
    facts = read_facts(options.workdir)
    by_thing: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        by_thing[fact.thing].append(fact)
    kept_back = held_out_things(facts, options.held_out, options.seed)
    chance = random.Random(options.seed)
    maker = NoteMaker(by_thing, sorted(by_thing.keys() - kept_back), options.abstain, chance)
    taught = [each for fact in facts if is_taught(fact, kept_back) for each in maker.examples(fact, held_out=False)]
    measured = [each for fact in facts if not is_taught(fact, kept_back) for each in _both(maker, fact)]
    wordings = [each for fact in facts if is_taught(fact, kept_back) for each in maker.examples(fact, held_out=True)]
    taught += about_invented(options.invented, options.abstain, options.seed + 1)
    for fact, known in _known(options, facts, progress).items():
        (taught if is_taught(fact, kept_back) else measured).extend(recalled(fact, known=known))
    chance.shuffle(taught)
    third = options.most_held_out // 3
    measured = [
        *chance.sample(measured, min(len(measured), options.most_held_out - third)),
        *chance.sample(wordings, min(len(wordings), third)),
    ]
    # Drawn apart, so that what is taught and measured of facts stays the same.
    taught += _whole_answers(options, held_out=False)
    measured += _whole_answers(options, held_out=True)
    chance.shuffle(taught)
    for name, rows in ((TRAIN, taught), (HELD_OUT, measured)):
        write_rows(options.out / name, rows)
    return {"facts": len(facts), "taught": objectives(taught), "held_out": objectives(measured)}


def _whole_answers(options: NotesAnnotation, *, held_out: bool) -> list[TrainingExample]:
    """Answers with their qualifiers: to teach, or to measure on."""
    own, people = options.qualified, options.from_notes
    if held_out:
        own, people = min(own, options.most_held_out // 2), min(people, options.most_held_out // 3)
    examples = about_own_things(own, options.abstain, options.seed + (3 if held_out else 2), held_out=held_out)
    return [*examples, *from_notes(_notes(options, held_out=held_out), people, options.abstain, options.seed)]


def _notes(options: NotesAnnotation, *, held_out: bool) -> list[OwnNote]:
    """Those of some files or of all others; ExportError where a file is named that is not there."""
    files = notes_by_file(options.notes)
    if unknown := sorted(set(options.held_out_notes) - set(files)):
        raise ExportError(
            f"--held-out-notes: {unknown[0]!r} is no file of {options.notes}; there are {', '.join(files)}"
        )
    return [note for name, notes in files.items() if (name in options.held_out_notes) == held_out for note in notes]


def read_facts(workdir: Path) -> list[Fact]:
    """Every fact of packages and table; ExportError that says how to get them where they are not there."""
    try:
        return all_facts(workdir)
    except (OSError, StopIteration) as error:
        raise ExportError(f"{workdir}: no facts; run `quizglass-export everyday fetch --workdir {workdir}`") from error


def _known(options: NotesAnnotation, facts: Sequence[Fact], progress: Progress) -> dict[Fact, bool]:
    """Whether the base says a fact by heart, asked in its first wording; empty where no base is to be asked."""
    if not options.answerer:
        return {}
    base = asked_model(options.answerer, options, {})
    go_on(options)
    ids = {f"{fact.kind}/{fact.thing}/{fact.name}: {fact.value}": fact for fact in facts}

    def asked(some: list[tuple[str, Fact]]) -> list[Recalled]:
        written = base.write([Ask("recall", {"question": questions(fact)[0]}) for _, fact in some], _RECALL_TOKENS)
        return [Recalled(id=name, text=each.text) for (name, _), each in zip(some, written, strict=True)]

    tick = progress.phase("asking the base", len(ids))
    pairs = {name: (name, fact) for name, fact in ids.items()}
    said = each_kept(options.out / "recalled.jsonl", Recalled, pairs, asked, chunk=_CHUNK, tick=tick)
    return {
        fact: contains_words(said[name].text, fact.value) and not refuses(said[name].text) for name, fact in ids.items()
    }


def _both(maker: NoteMaker, fact: Fact) -> Iterator[TrainingExample]:
    yield from maker.examples(fact, held_out=False)
    yield from maker.examples(fact, held_out=True)
