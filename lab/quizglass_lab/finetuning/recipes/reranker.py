"""The fine reranker of QA-Dragon: yes or no, with hard negatives from the project's own indexes.

A passage of an entry that holds the answer is relevant where it says the answer, and so is a recorded evidence. What
the server's own text search puts first of other entries is not, unless it says the answer too: those are the passages
that the reranker will have to turn down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

from pydantic import Field

from quizglass_client import Client
from quizglass_export.roles.shared.entry import RELEVANCE_LABELS
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.asking.searching import RecordedSearch, ServerSearch
from quizglass_lab.finetuning.recipes.questions import (
    PartsOptions,
    QuestionOptions,
    go_on,
    held_out_ids,
    is_gold,
    only_where,
    read_questions,
    write_examples,
)
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.shared.records import Record, each_kept
from quizglass_lab.finetuning.training.examples import TrainingExample
from quizglass_lab.finetuning.training.settings import Training
from quizglass_lab.scoring.answers import normalise, words_of
from quizglass_server.steps.prompt_values import line

YES, NO = (text for _, text in RELEVANCE_LABELS)


class RerankerAnnotation(QuestionOptions, PartsOptions):
    """Options of `annotate reranker`, which asks no model."""

    server: str = Field(description="address of the running server whose text search brings the passages")
    candidates: int = Field(24, ge=2, le=100, description="passages that are looked at for each query")
    negatives: int = Field(4, ge=1, description="hard negatives for each query")
    parallel: int = Field(8, ge=1, description="searches under way at once")
    chunk: int = Field(64, ge=1, description="questions between two savings")


class RerankerTraining(Training):
    """The fine reranker: LoRA on yes and no, one pass (the paper names no figures)."""

    objectives: ClassVar[tuple[str, ...]] = ("rerank",)
    epochs: float = Field(1, gt=0, description="passes over the data")
    max_tokens: int = Field(256, ge=16, description="longest prompt, as bundles have it for rerankers")


class Ranked(Record):
    """A query with passages that answer it and passages that do not."""

    id: str
    query: str
    relevant: tuple[str, ...]
    hard: tuple[str, ...]
    """Passages that do not answer the query, in the order of the server's search, best first."""


def annotate(options: RerankerAnnotation, progress: Progress) -> dict[str, Any]:
    """Write `ranked.jsonl` and the examples; goes on where it was stopped."""
    every = read_questions(options)
    samples = only_where(
        every, lambda sample: bool(sample.gold_query) or not sample.pictures, "gold_query: stands without its picture"
    )
    with Client(options.server) as client:
        go_on(options, client)
        search = ServerSearch(client, options.out / "pictures")

        def ranked(some: Sequence[Sample]) -> list[Ranked]:
            with ThreadPoolExecutor(options.parallel) as pool:
                return list(pool.map(lambda sample: _ranked(sample, search, options), some))

        rows = each_kept(
            options.out / "ranked.jsonl",
            Ranked,
            samples,
            ranked,
            chunk=options.chunk,
            tick=progress.phase("searching", len(samples)),
        )
    taught = {name: row for name, row in rows.items() if row.relevant}
    examples = [example for row in taught.values() for example in rerank_examples(row)]
    counts = write_examples(examples, held_out_ids(samples.values(), options.held_out, options.seed), options.out)
    return {"queries": len(rows), "without_a_relevant_passage": len(rows) - len(taught), "examples": counts}


def rerank_examples(row: Ranked) -> Iterator[TrainingExample]:
    """Every relevant passage as yes, every hard one as no."""
    labelled = [(text, YES) for text in row.relevant] + [(text, NO) for text in row.hard]
    for number, (passage, label) in enumerate(labelled):
        yield TrainingExample(
            id=f"{row.id}//{number}",
            objective="rerank",
            task="rerank",
            values={"query": row.query, "passage": passage},
            target=label,
            labels=(YES, NO),
        )


def _ranked(sample: Sample, search: ServerSearch, options: RerankerAnnotation) -> Ranked:
    query = sample.gold_query or sample.question
    hits = search.text([query], options.candidates)
    telling = [item for item in hits if _says(line(item), sample)]
    recorded = RecordedSearch(sample.image_answer, sample.evidence).text([query], len(sample.evidence))
    # Of a right entry's passages those that say the answer are sure to be relevant, of another's those that do not say
    # it are sure not to be.
    relevant = dict.fromkeys(map(line, (*recorded, *(item for item in telling if is_gold(item, sample)))))
    told = {normalise(text) for text in sample.evidence}
    wrong = [item for item in hits if item not in telling and not is_gold(item, sample)]
    hard = [line(item) for item in wrong if normalise(item.text) not in told]
    return Ranked(id=sample.id, query=query, relevant=tuple(relevant), hard=tuple(hard[: options.negatives]))


def _says(text: str, sample: Sample) -> bool:
    """Whether a passage has the words of a gold answer, in a row."""
    said, *answers = (" ".join(words_of(each)) for each in (text, *sample.answers))
    return any(f" {answer} " in f" {said} " for answer in answers if answer)
