"""The questions that recipes annotate: read from any benchmark, with their pictures as files, parted for measuring."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import Field

from quizglass_bundle.inputs.prompts import PromptValue
from quizglass_client import Client, ClientError
from quizglass_export.checkpoints.files import read_json
from quizglass_export.errors import ExportError
from quizglass_lab.datasets.benchmarks import BENCHMARKS, read_samples
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.asking.choice import MODEL_HELP, ModelOptions, asked_model, model_files
from quizglass_lab.finetuning.asking.interface import AskedModel
from quizglass_lab.finetuning.asking.judge import AnswerJudge, ContainsJudge, ExactJudge, GradingJudge
from quizglass_lab.finetuning.models.chat import template_files
from quizglass_lab.finetuning.shared.options import Options, flag
from quizglass_lab.finetuning.shared.records import file_hash, write_rows
from quizglass_lab.finetuning.training.examples import HELD_OUT, TRAIN, TrainingExample, objectives
from quizglass_lab.scoring.answers import normalise
from quizglass_lab.scoring.retrieval import names_one_of
from quizglass_server.domain.turns import Evidence

DATASETS = ", ".join(BENCHMARKS)
_DECISIVE = {
    *("dataset", "split", "answerer", "writer", "judge", "policy", "deciders", "prompts", "picture", "max_tokens"),
    *("published", "mmstar"),
    *("candidates", "negatives", "own_passages", "history"),
}
"""Options that what is kept between sittings hangs on."""
_FILES = " files"
_MODELS = ("answerer", "writer", "judge", "deciders")
"""Options that name models, whose files may change under the same name."""


class OutOptions(Options):
    """Options of where to write."""

    out: Path = Field(description="folder for what comes of it")


class QuestionOptions(OutOptions):
    """Options of which questions are taken."""

    data: tuple[Path, ...] = Field(description="files of the questions")
    dataset: str = Field("plain", description=f"their format: {DATASETS}")
    pictures: Path | None = Field(None, description="folder in which pictures are looked for")
    split: str = Field("", description="only questions of this split")
    limit: int | None = Field(None, ge=1, description="at most so many questions")


class PartsOptions(Options):
    """How many questions are kept back."""

    held_out: float = Field(0.05, ge=0, lt=1, description="share of the questions that is kept to measure on")
    seed: int = Field(0, ge=0, description="of the random draws")


class DataOptions(QuestionOptions, ModelOptions):
    """Options of which questions models are asked, and who judges what they say."""

    judge: str = Field(
        "exact",
        description="exact: equal after normalisation to a gold answer, or right by the benchmark's own rule; "
        f"contains: a gold answer's words stand in one sentence; or a model: {MODEL_HELP}",
    )


class AnnotationOptions(DataOptions, PartsOptions):
    """Options of which questions models are asked, and how many are kept back to measure on."""

    chunk: int = Field(64, ge=1, description="questions between two savings")


def go_on(options: OutOptions, client: Client | None = None, *, apart_from: Sequence[str] = ()) -> None:
    """Note in `out` what answers hang on, so that those of another model, prompt or question are never taken for these.

    A model whose files have changed is another one. Files may be added to `data`; those that answers were kept of must
    still be there, and as they were. Nothing is lost to other options where no answer was kept yet.

    Args:
        options: of the command.
        client: of the server that answers or searches.
        apart_from: options on which what is kept does not hang.

    Raises:
        ExportError: `out` was begun with other options; names them.
    """
    said = options.model_dump(mode="json", include=_DECISIVE - {*apart_from})
    said |= _model_hashes({name: said[name] for name in _MODELS if name in said})
    if isinstance(options, ModelOptions) and "prompts" in said:
        said["prompts"] = {name: file_hash(path) for name, path in template_files(options.prompts).items()}
    if isinstance(options, QuestionOptions):
        said["data"] = [file_hash(path) for path in _files(options) if path.is_file()]
    if client is not None:
        with suppress(ClientError):  # what was kept can be scored without it, and what was not is asked of it soon
            said["server"] = client.capabilities().bundle
    elif "server" in type(options).model_fields:
        said["server"] = None  # recorded evidence is another than what a server finds
    path = options.out / "begun.json"
    before = read_json(path) if path.is_file() and _keeps_answers(options) else {}
    differing = [name for name, value in said.items() if name in before and _other(name, before[name], value)]
    if changed := dict.fromkeys(flag(name.removesuffix(_FILES)) for name in differing):
        raise ExportError(f"{options.out}: begun with another {', '.join(changed)}; choose another --out, or delete it")
    write_rows(path, [before | said])


def _other(name: str, before: Any, now: Any) -> bool:
    return not set(before) <= set(now) if name == "data" else bool(before != now)


def _model_hashes(named: Mapping[str, str | Sequence[str]]) -> dict[str, dict[str, str]]:
    """Of each option that names models with files, under its name and " files": their SHA-256 by path."""
    hashes: dict[Path, str] = {}  # large files, which several options may name
    noted = {}
    for name, value in named.items():
        specs = [value] if isinstance(value, str) else [each.partition("=")[2] for each in value]
        files = [path for spec in specs for path in model_files(spec)]
        hashes |= {path: file_hash(path) for path in {*files} - {*hashes}}
        if files:
            noted[name + _FILES] = {str(path): hashes[path] for path in files}
    return noted


def _files(options: QuestionOptions) -> list[Path]:
    """The files of the questions, those of a folder one by one."""
    return [file for path in options.data for file in (sorted(path.iterdir()) if path.is_dir() else [path])]


def _keeps_answers(options: OutOptions) -> bool:
    questions = {path.absolute() for path in options.data} if isinstance(options, QuestionOptions) else set()
    return any(file.stat().st_size for file in options.out.glob("*.jsonl") if file.absolute() not in questions)


def read_questions(options: QuestionOptions) -> dict[str, Sample]:
    """Samples by id, in order.

    Raises:
        ExportError: a file is not in its format (names file, line and field), or an id is there twice.
    """
    samples: dict[str, Sample] = {}
    try:
        for sample in read_samples(
            options.dataset, options.data, pictures=options.pictures, split=options.split, limit=options.limit
        ):
            if sample.id in samples:
                raise ExportError(f"{sample.place}: id: {sample.id!r} is there twice")
            samples[sample.id] = sample
    except (DatasetError, OSError) as error:
        raise ExportError(str(error)) from error
    if not samples:
        raise ExportError(f"{', '.join(map(str, options.data))}: no questions")
    return samples


def picture_file(sample: Sample, folder: Path) -> Path | None:
    """The question's first picture as a file, which lies in `folder` where the benchmark has bytes; None: it has none.

    Raises:
        ExportError: it names a picture that is not at hand.
    """
    if not sample.pictures:
        return None
    first = sample.pictures[0]
    if first.path is not None:
        return first.path.absolute()
    if first.data is None:
        raise ExportError(f"{sample.place}: pictures: {first.name} is not at hand; name its folder with --pictures")
    path = folder / f"{sha256(first.data).hexdigest()[:24]}.jpg"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.{uuid4().hex}")  # others may be reading it
        partial.write_bytes(first.data)
        partial.replace(path)
    return path.absolute()


def shown_pictures(paths: Iterable[Path | None], out: Path) -> tuple[str, ...]:
    """Pictures of an example, as they are found from the folder of its file; those up to the first that is None."""
    names: list[str] = []
    for path in paths:
        if path is None:
            break
        names.append(os.path.relpath(path, out.absolute()))
    return tuple(names)


def asked_values(sample: Sample, question: str = "") -> dict[str, PromptValue]:
    """What a prompt about a sample is filled from in a turn, perhaps with another question than its own."""
    turns = [{"question": asked, "answer": answered} for asked, answered in sample.history]
    return {"question": question or sample.question, "history": turns, "words": printed_words(sample)}


def printed_words(sample: Sample) -> str:
    """What is printed in the picture; empty where the data set does not record it."""
    return str(sample.source.get("words") or "")


def is_gold(item: Evidence, sample: Sample) -> bool:
    """Whether evidence is of an entry that holds the answer: by its id or address, or the name of the thing shown."""
    if names_one_of((item.entry_id, item.source, item.title), sample.entries):
        return True
    return bool(sample.image_answer) and normalise(item.title) == normalise(sample.image_answer)


def make_judge(options: DataOptions, loaded: dict[str, AskedModel]) -> AnswerJudge:
    """The judge that the options name."""
    plain: Mapping[str, AnswerJudge] = {"exact": ExactJudge(), "contains": ContainsJudge()}
    return plain.get(options.judge) or GradingJudge(asked_model(options.judge, options, loaded))


def with_answers(samples: Mapping[str, Sample]) -> dict[str, Sample]:
    """The samples that can be judged: answerable, with a gold answer.

    Raises:
        ExportError: there is none.
    """
    return only_where(samples, lambda sample: sample.answerable and bool(sample.answers), "answers: has a gold answer")


def only_where(samples: Mapping[str, Sample], fit: Callable[[Sample], bool], what: str) -> dict[str, Sample]:
    """The samples that fit.

    Args:
        samples: by id; one at least.
        fit: whether a sample can be annotated.
        what: the field, and what a sample that fits has there, for the error.

    Raises:
        ExportError: none fits; names the first one's place and the field.
    """
    fitting = {name: sample for name, sample in samples.items() if fit(sample)}
    if not fitting:
        field, _, has = what.partition(": ")
        first = next(iter(samples.values()))
        raise ExportError(f"{first.place}: {field}: no question, of {len(samples)}, {has}; nothing can be annotated")
    return fitting


def inseparable(samples: Sequence[Sample]) -> list[str]:
    """The name of each sample's group: its samples share an entry or a session, or are linked by others that do.

    A question with several lookups has several entries, and a later turn of a session tells the answers before it.
    Where there is neither, the picture makes the group, or the question itself.
    """
    above: dict[str, str] = {}

    def top(name: str) -> str:
        while (other := above.setdefault(name, name)) != name:
            above[name] = name = above[other]
        return name

    firsts = []
    for sample in samples:
        first, *rest = _about(sample)
        firsts.append(first)
        for name in rest:
            above[top(name)] = top(first)
    return [top(first) for first in firsts]


def _about(sample: Sample) -> list[str]:
    shared = [f"entry {entry}" for entry in sample.entries] + [f"session {sample.session}"] * bool(sample.session)
    shown = [f"picture {each.name}" for each in sample.pictures if each.name]
    return shared or shown[:1] or [f"question {sample.id}"]


def held_out_ids(samples: Iterable[Sample], share: float, seed: int) -> set[str]:
    """Ids of the samples to measure on: whole groups, so that nothing asked about is in both parts.

    Groups are drawn until the share of the samples is reached; one that is larger than what is missing is trained on.
    """
    every = list(samples)
    groups: dict[str, list[str]] = {}
    for group, sample in zip(inseparable(every), every, strict=True):
        groups.setdefault(group, []).append(sample.id)
    drawn: set[str] = set()
    for name in random.Random(seed).sample(sorted(groups), len(groups)):
        if len(drawn) + len(groups[name]) <= round(share * len(every)):
            drawn |= {*groups[name]}
    return drawn


def write_examples(examples: Sequence[TrainingExample], held_out: set[str], out: Path) -> dict[str, dict[str, int]]:
    """Write `train.jsonl` and `held-out.jsonl`; an example's id is that of its sample, "//" and more ("7//act-1").

    Returns:
        Of each part the examples by objective.
    """
    parts = {
        TRAIN: [each for each in examples if each.id.rpartition("//")[0] not in held_out],
        HELD_OUT: [each for each in examples if each.id.rpartition("//")[0] in held_out],
    }
    if not parts[TRAIN]:
        raise ExportError(f"{out / TRAIN}: nothing to train on came of the annotation")
    for name, rows in parts.items():
        write_rows(out / name, rows)
    return {name: objectives(rows) for name, rows in parts.items()}
