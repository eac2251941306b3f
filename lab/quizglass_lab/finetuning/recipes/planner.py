"""The planner of "Efficient Multimodal Planning Agent for VQA" (sections 4.2 and 5, appendix A.1).

Visual query decomposition: of each question q a strong model writes the image query q_i, its answer a_i and the gold
query q_g. The answering model answers all three without any lookup, a judge compares, and

    right on q ............................ none  (c1)
    else right on q_i alone ............... text  (c2)
    else right on q_g alone ............... image (c3)
    else wrong on both .................... both  (c4)      right on both: illogical, dropped

A bundle may show what a recognised entry says of itself behind its caption (`evidence.own_passages`). Then the picture
alone brings text: with `--own-passages` q is asked a fourth time, shown what is recorded as its evidence as such a
bundle shows it, and where that is answered rightly, c4 is image.

The model is then trained to say the letter. Whose letters they are is the answering model's: annotate again for a
second answerer.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from quizglass.values import Origin
from quizglass_bundle.inputs.prompts import PromptValue
from quizglass_export.errors import ExportError
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.asking.choice import MODEL_HELP, asked_model
from quizglass_lab.finetuning.asking.interface import Ask, AskedModel, letters
from quizglass_lab.finetuning.asking.judge import RIGHT, AnswerJudge, GivenAnswer
from quizglass_lab.finetuning.recipes.questions import (
    AnnotationOptions,
    asked_values,
    go_on,
    held_out_ids,
    make_judge,
    picture_file,
    read_questions,
    shown_pictures,
    with_answers,
    write_examples,
)
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.shared.records import Record, each_kept, write_rows
from quizglass_lab.finetuning.training.examples import TrainingExample
from quizglass_lab.finetuning.training.settings import Training
from quizglass_lab.scoring.plans import plan_label
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.prompt_values import line

PLANS = ("none", "image", "text", "both")
TARGET = {"none": 30_000, "image": 8_806, "text": 30_000, "both": 30_000}
"""The paper's training set, balanced from 173,255 annotations."""
RECORDED = "recorded"
_NAMED = ', or record "pictured": false where the question names all it is about'
_OR = {"gold_query": "", "image_query": _NAMED, "image_answer": _NAMED}


class PlannerAnnotation(AnnotationOptions):
    """Options of `annotate planner`."""

    answerer: str = Field(description=f"the model that the planner is to plan for: {MODEL_HELP}")
    balance: bool = Field(True, description="as many of none, text and both, as the paper has them; else all there are")
    own_passages: int = Field(
        0, ge=0, description="passages that the bundle shows behind a recognised entry's caption; 0: the paper's labels"
    )
    writer: str = Field(RECORDED, description=f"who writes q_i, a_i and q_g that are not recorded: {MODEL_HELP}")


class PlannerTraining(Training):
    """The planner: LoRA 32/128, lr 1e-4, 3 epochs, batch 1 x 16, evaluated every 500 steps, loss on the letter."""

    objectives: ClassVar[tuple[str, ...]] = ("plan",)


class Decomposition(Record):
    """A question taken apart; without an image query nothing in the picture has to be told."""

    id: str
    image_query: str = ""
    image_answer: str = ""
    gold_query: str


class Probe(Record):
    """What the answering model said to q, q_i and q_g, and the judge's scores, 0 to 100."""

    id: str
    answers: tuple[str, str, str]
    scores: tuple[float, float, float]
    from_entry: str = ""
    """What it said to q where it was shown the entry's own passages."""
    from_entry_score: float = 0.0


def annotate(options: PlannerAnnotation, progress: Progress) -> dict[str, Any]:
    """Write `decomposed.jsonl`, `probes.jsonl`, `labels.jsonl`, and the examples; goes on where it was stopped."""
    go_on(options)
    loaded: dict[str, AskedModel] = {}
    samples = with_answers(read_questions(options))
    folder = options.out / "pictures"
    writer = None if options.writer == RECORDED else asked_model(options.writer, options, loaded)
    answerer = asked_model(options.answerer, options, loaded)
    judge = make_judge(options, loaded)
    parts = each_kept(
        options.out / "decomposed.jsonl",
        Decomposition,
        samples,
        lambda some: all_decomposed(some, folder, writer),
        chunk=options.chunk,
        tick=progress.phase("decomposing", len(samples)),
    )
    probes = each_kept(
        options.out / "probes.jsonl",
        Probe,
        samples,
        lambda some: probed(some, parts, answerer, judge, folder, options.own_passages),
        chunk=options.chunk,
        tick=progress.phase("asking", len(samples)),
    )
    plans = {name: plan_of(probes[name], asks_picture=bool(parts[name].image_query)) for name in samples}
    write_rows(options.out / "labels.jsonl", [{"id": name, "plan": plan} for name, plan in plans.items()])
    return _written(options, samples, {name: plan for name, plan in plans.items() if plan}, folder)


def all_decomposed(samples: Sequence[Sample], folder: Path, writer: AskedModel | None) -> list[Decomposition]:
    """Take each sample apart, as many at once as the writer gains from; errors as `decomposed`."""
    with ThreadPoolExecutor(1 if writer is None else writer.parallel) as pool:
        return list(pool.map(lambda sample: decomposed(sample, picture_file(sample, folder), writer), samples))


def decomposed(sample: Sample, picture: Path | None, writer: AskedModel | None) -> Decomposition:
    """q_i, a_i and q_g: what is recorded, and the rest as the writer says.

    Raises:
        ExportError: something is not recorded and there is no writer; names the place and field.
    """
    wanted = {"gold_query": sample.gold_query}
    if picture is not None and sample.pictured is not False:
        wanted |= {"image_query": sample.image_query, "image_answer": sample.image_answer}
    missing = [name for name, value in wanted.items() if not value]
    if missing and writer is None:
        raise ExportError(f"{sample.place}: {missing[0]}: is not recorded; name a model with --writer{_OR[missing[0]]}")
    for task in ("image_query", "image_answer", "gold_query"):
        if task in missing and writer is not None:
            entity = wanted.get("image_answer", "")
            values = {
                "question": sample.question,
                "answer": sample.answer,
                "entity": entity,
                "query": wanted.get("image_query", ""),
            }
            shown = () if picture is None else (picture,)
            wanted[task] = " ".join(writer.write([Ask(task, values, shown)])[0].text.split())
    return Decomposition(id=sample.id, **wanted)


def probed(
    samples: Sequence[Sample],
    parts: Mapping[str, Decomposition],
    answerer: AskedModel,
    judge: AnswerJudge,
    folder: Path,
    own_passages: int = 0,
) -> list[Probe]:
    """Ask the model q and q_i with the picture, and q_g alone, and judge what it says; no q_i, and none is asked.

    With `own_passages`, q is asked once more beside so many of its entry's passages, where it has q_i and passages.
    """
    asks: list[Ask | None] = []
    for sample in samples:
        picture, part = picture_file(sample, folder), parts[sample.id]
        shown = () if picture is None else (picture,)
        image = Ask("answer", asked_values(sample, part.image_query), shown) if part.image_query else None
        asks += [Ask("answer", asked_values(sample), shown), image, Ask("answer", {"question": part.gold_query})]
        told = _told(part, sample.evidence[:own_passages])
        asks.append(Ask("answer", asked_values(sample) | told, shown) if told else None)
    answers = iter(answerer.write([ask for ask in asks if ask]))
    said = [next(answers).text if ask else "" for ask in asks]
    judged: list[GivenAnswer] = []
    for index, sample in enumerate(samples):
        part, (own_, image_, gold_, entry_) = parts[sample.id], said[4 * index : 4 * index + 4]
        judged += [
            GivenAnswer.to(sample, own_),
            GivenAnswer(part.image_query, (part.image_answer,), image_),
            GivenAnswer(part.gold_query, sample.answers, gold_, sample),
            GivenAnswer.to(sample, entry_),
        ]
    scores = judge.scores(judged)
    fours = zip(samples, zip(*[iter(said)] * 4, strict=True), zip(*[iter(scores)] * 4, strict=True), strict=True)
    return [
        Probe(id=sample.id, answers=texts[:3], scores=points[:3], from_entry=texts[3], from_entry_score=points[3])
        for sample, texts, points in fours
    ]


def _told(part: Decomposition, passages: Sequence[str]) -> dict[str, PromptValue]:
    """What a turn is shown of the entry that its picture brought; nothing where no picture is needed to name it."""
    if not part.image_query or not passages:
        return {}
    shown = Evidence("1", Origin.IMAGE_SEARCH, "", part.image_answer, " ".join(passages))
    return {"seen": [line(shown)], "names": [shown.title]}


def plan_of(probe: Probe, *, asks_picture: bool) -> str:
    """The label; empty for the illogical. Where nothing in the picture has to be told, q_i counts as right."""
    own, image, gold = (score >= RIGHT for score in probe.scores)
    plan = plan_label(own, image or not asks_picture, gold)
    return "image" if plan == "both" and probe.from_entry_score >= RIGHT else plan or ""


def balanced(plans: Mapping[str, str], seed: int) -> list[str]:
    """Ids in the paper's shape, as many as there are: of none, text and both alike, of image 8,806 to 30,000."""
    by_plan = {plan: sorted(name for name, label in plans.items() if label == plan) for plan in PLANS}
    large = [len(by_plan[plan]) / TARGET[plan] for plan in PLANS if plan != "image" and by_plan[plan]]
    scale = min([1.0, *large])
    chance = random.Random(seed)
    return [
        name
        for plan, names in by_plan.items()
        for name in chance.sample(names, min(len(names), max(1, round(scale * TARGET[plan]))))
    ]


def plan_example(sample: Sample, plan: str, pictures: tuple[str, ...]) -> TrainingExample:
    """The planner's prompt and its letter."""
    named = letters(len(PLANS))
    return TrainingExample(
        id=f"{sample.id}//plan",
        objective="plan",
        task="plan",
        values=asked_values(sample),
        pictures=pictures,
        target=named[PLANS.index(plan)],
        labels=tuple(named),
    )


def _written(
    options: PlannerAnnotation, samples: Mapping[str, Sample], plans: Mapping[str, str], folder: Path
) -> dict[str, Any]:
    kept_back = held_out_ids(samples.values(), options.held_out, options.seed)
    taught = {name: plan for name, plan in plans.items() if name not in kept_back}
    chosen = balanced(taught, options.seed) if options.balance else list(taught)
    chosen += [name for name in plans if name in kept_back]
    examples = [
        plan_example(samples[name], plans[name], shown_pictures([picture_file(samples[name], folder)], options.out))
        for name in chosen
    ]
    if examples:
        counts = write_examples(examples, kept_back, options.out)
    else:
        raise ExportError(f"{options.out}: every question was dropped as illogical; nothing to train on")
    trained = Counter(plans[name] for name in chosen if name not in kept_back)
    return {
        "annotated": dict(Counter(plans.values())),
        "dropped_as_illogical": len(samples) - len(plans),
        "training_set": {plan: trained[plan] for plan in PLANS},
        "examples": counts,
    }
