"""Answers from notes that are shown: the base as its package brings it, beside the same with its adapter.

The questions are the recipe's held-out ones (`quizglass-lab annotate everyday-generator`): about things and kinds of
facts that no training example has, and in wordings that none has.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.everyday.setup import Setup, between
from bench.results import Row, ratio
from bench.sections import Part
from quizglass_export.everyday.base import gguf_file, write_checkpoint
from quizglass_export.everyday.build import KIND, PROMPTS, adapter
from quizglass_export.gguf.merged import write_merged
from quizglass_lab.finetuning.asking.gguf import GgufModel
from quizglass_lab.finetuning.asking.interface import Ask, Written
from quizglass_lab.finetuning.recipes.everyday_generator import NotesAnnotation, annotate
from quizglass_lab.finetuning.recipes.everyday_whole_answers import QUALIFIED, SENTENCE, UNQUALIFIED
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.training.examples import HELD_OUT, TrainingExample, read_examples
from quizglass_lab.scoring.answers import exact_match, refuses
from quizglass_lab.scoring.claims import contains_words
from quizglass_lab.scoring.intervals import confidence_interval

BASE, TAUGHT = "base", "with its adapter"
_TOKENS = 48
"""Of an answer, as the bundle has it."""
_LEAST, _ABOVE = 80.0, 30.0
_EXACT = "answers from notes, exact"


@dataclass(frozen=True)
class Said:
    """What a model said to an example."""

    example: TrainingExample
    written: Written

    @property
    def exact(self) -> bool:
        """Equal to what was to be said, after normalisation."""
        return exact_match(self.written.text.rstrip("."), self.example.target)

    @property
    def holds(self) -> bool:
        """Whether it is exact, or contains the words of the expected answer: generous to whole sentences."""
        return self.exact or contains_words(self.written.text, self.example.target)

    @property
    def refuses(self) -> bool:
        """Whether it says that it does not know."""
        return refuses(self.written.text)


def answers(setup: Setup) -> Part:
    """Both models on the same held-out examples; the second only where its adapter lies in the repository."""
    examples = _examples(setup)
    trained = adapter("generator", setup.adapters)
    said = {BASE: _said(setup, examples, None)}
    if trained is not None:
        said[TAUGHT] = _said(setup, examples, trained)
    data = {
        name: [{"id": each.example.id, "target": each.example.target, "said": each.written.text} for each in some]
        for name, some in said.items()
    }
    return Part(_rows(said), {"said": data})


def _examples(setup: Setup) -> list[TrainingExample]:
    folder = setup.folder / ("notes-quick" if setup.quick else "notes")
    how = {"workdir": setup.workdir, "out": folder, "most_held_out": setup.count(300, 6)}
    # The seed stays the recipe's: it says which things are held out.
    annotate(NotesAnnotation.model_validate(how), Progress(quiet=True))
    return read_examples(folder / HELD_OUT)


def _said(setup: Setup, examples: Sequence[TrainingExample], trained: Path | None) -> list[Said]:
    name = TAUGHT if trained else BASE
    setup.say(f"asking {len(examples)} questions about notes: {name}")
    model = GgufModel(_gguf(setup, trained), PROMPTS / ("taught" if trained else "base"))
    written = model.write([Ask(each.task, each.values) for each in examples], _TOKENS)
    return [Said(example, each) for example, each in zip(examples, written, strict=True)]


def _gguf(setup: Setup, trained: Path | None) -> Path:
    """The base in the bundle's type, with an adapter merged or without, its tokenizer beside it; made once."""
    weights = None if trained is None else trained / "adapter_model.safetensors"
    name = BASE if weights is None else hashlib.sha256(weights.read_bytes()).hexdigest()[:12]
    model = setup.folder / "generators" / name / "generator.gguf"
    if not model.is_file():
        setup.say(f"writing SmolLM2 as {KIND.upper()}: {TAUGHT if trained else BASE}")
        checkpoint = write_checkpoint(setup.workdir)
        model.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(checkpoint / "tokenizer.json", model.parent)
        write_merged(gguf_file(setup.workdir), model, KIND, ((trained, 1.0),) if trained else ())
    return model


def _rows(said: dict[str, list[Said]]) -> list[Row]:
    rows: list[Row] = []
    for objective, title, judge in (
        ("answer", _EXACT, lambda each: each.exact),
        ("answer", "answers from notes that hold the right words", lambda each: each.holds),
        ("rewrite", "questions that point, named from the note, exact", lambda each: each.exact),
        ("abstain", '"I don\'t know" where the notes do not say', lambda each: each.refuses),
        ("answer", '"I don\'t know" where the notes do say', lambda each: each.refuses),
        (QUALIFIED, "answers with their qualifiers", lambda each: each.holds),
        (UNQUALIFIED, "answers without one, of such notes, exact", lambda each: each.exact),
        (SENTENCE, "answers that are a short sentence of a person's note", lambda each: each.holds),
    ):
        rows += _beside(said, objective, title, judge)
    rows += [
        Row(f"answers from notes: one answer, {name}", 1e3 * median(each.written.seconds for each in some), "ms")
        for name, some in said.items()
    ]
    if TAUGHT not in said:
        return [*rows, Row(f"answers from notes, {TAUGHT}", None, "", "there is no trained adapter")]
    return [*rows, _gain(said)]


def _beside(said: dict[str, list[Said]], objective: str, title: str, judge: Callable[[Said], bool]) -> list[Row]:
    rows: list[Row] = []
    base: float | None = None
    for name, some in said.items():
        judged = [judge(each) for each in some if each.example.objective == objective]
        if not judged:
            continue
        value, count = 100 * sum(judged) / len(judged), len(judged)
        label = f"{title}, {name} ({between(sum(judged), count)} questions)"
        if base is None:
            rows, base = [Row(label, value, "%")], value
            continue
        bar, ok = _bar(title, value)
        rows.append(Row(label, value, "%", BASE, base, ratio(value, base), bar, ok))
    return rows


def _bar(title: str, value: float) -> tuple[str, bool | None]:
    if title == _EXACT:
        return f">= {_LEAST:g}", value >= _LEAST
    if title.endswith("do not say"):
        return ">= 85", value >= 85
    return ("<= 8", value <= 8) if title.endswith("do say") else ("", None)


def _gain(said: dict[str, list[Said]]) -> Row:
    pairs = zip(said[TAUGHT], said[BASE], strict=True)
    gains = [100.0 * (ours.exact - base.exact) for ours, base in pairs if ours.example.objective == "answer"]
    low, high = confidence_interval(gains)
    gain = sum(gains) / len(gains)
    title = f"answers from notes, {TAUGHT} over {BASE} (95 % interval {low:.1f} to {high:.1f})"
    return Row(title, gain, "points", bar=f">= {_ABOVE:g}", ok=gain >= _ABOVE)
