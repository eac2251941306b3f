"""The everyday planner: the planning-agent paper's four labels for a model of text alone and facts of the real world.

The base itself is asked, so what it knows by heart is real knowledge, and what it only thinks it knows is looked up. A
question that names its thing needs no picture; one that points ("this country") needs it, since the model does not see.
The bundle shows what a recognised thing's entry says of itself, so such a question needs no text where that answers it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image
from pydantic import Field

from quizglass_lab.everyday.facts import Fact
from quizglass_lab.everyday.knowledge import told
from quizglass_lab.everyday.parts import is_taught
from quizglass_lab.everyday.wording import pointing, questions
from quizglass_lab.finetuning.asking.choice import MODEL_HELP
from quizglass_lab.finetuning.recipes import planner
from quizglass_lab.finetuning.recipes.everyday_generator import BASE_PROMPTS, PROMPTS, read_facts
from quizglass_lab.finetuning.recipes.questions import AnnotationOptions
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.shared.records import write_rows

QUESTIONS = "questions.jsonl"
_UNSEEN = "unseen.png"


class EverydayPlannerAnnotation(AnnotationOptions):
    """Options of `annotate everyday-planner`."""

    workdir: Path = Field(Path("work/everyday"), description="where `quizglass-export everyday fetch` put its files")
    answerer: str = Field(description=f"the model that the planner is to plan for: {MODEL_HELP}")
    data: tuple[Path, ...] = Field((), description="questions of one's own in their place, as plain JSON lines")
    judge: str = Field(
        "contains", description="as for `annotate planner`; default: the gold answer's words stand in it"
    )
    own_passages: int = Field(2, ge=0, description="as for `annotate planner`; default: as the everyday bundle has it")
    balance: bool = Field(False, description="as for `annotate planner`; default: as often as the answerer knows")
    prompts: Path | None = Field(
        BASE_PROMPTS, description="directory of prompt templates that the answerer is asked by"
    )


class EverydayPlannerTraining(planner.PlannerTraining):
    """The everyday planner: the paper's LoRA 32/128 and lr 1e-4, on the attention alone, so that it is small enough to
    be shipped; one pass in batches of 16, for two cores.
    """

    epochs: float = Field(1, gt=0, description="passes over the data")
    batch: int = Field(16, ge=1, description="examples at once")
    accumulation: int = Field(1, ge=1, description="batches that make one optimiser step")
    evaluate_every: int = Field(50, ge=1, description="steps between evaluations on held-out.jsonl and checkpoints")
    layers: str = Field(
        "attention", pattern="^(all|attention)$", description="linear layers with an adapter: all, attention"
    )
    half: bool = Field(True, description="write the adapter in float16, half as large")
    bfloat16: bool = Field(
        True, description="compute in bfloat16 on a CPU that multiplies tiles of it (AMX), as on every GPU"
    )
    prompts: Path | None = Field(PROMPTS, description="directory of prompt templates; default: the everyday bundle's")
    max_tokens: int = Field(256, ge=16, description="longest prompt; the longest data of a longer one is cut")
    checkpointing: bool = Field(
        False, description="compute activations again in the backward pass: less memory, slower"
    )


def annotate(options: EverydayPlannerAnnotation, progress: Progress) -> dict[str, Any]:
    """Write the questions, ask the model, label and write the examples; goes on where it was stopped."""
    data = options.data
    if not data:
        options.out.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (16, 16), "grey").save(options.out / _UNSEEN)  # stands for a picture, which it is not shown
        facts = read_facts(options.workdir)
        asked = list(_questions(facts))
        random.Random(options.seed).shuffle(asked)  # so that `limit` takes some of every kind
        write_rows(options.out / QUESTIONS, asked)
        data = (options.out / QUESTIONS,)
    same = options.model_dump(exclude={"workdir", "data"})
    return planner.annotate(planner.PlannerAnnotation(**same, data=data), progress)


def _questions(facts: Sequence[Fact]) -> Iterator[Mapping[str, Any]]:
    """Each fact asked for by name and by pointing, but those that are never taught; things are held out afterwards."""
    texts = {(entry["kind"], entry["title"]): entry["text"] for entry in told(list(facts))}
    for number, fact in enumerate(fact for fact in facts if is_taught(fact)):
        named = questions(fact)
        question = named[number % len(named)]
        about = {"answers": [fact.value], "entries": [fact.thing], "gold_query": question, "category": fact.name}
        name = f"{fact.kind}/{fact.thing}/{fact.name}"
        yield {"id": name, "question": question, **about}
        if (points := pointing(fact, question)) != question:
            shown = {
                "evidence": [texts[fact.kind, fact.thing]],
                "image_query": f"What is this {fact.kind}?",
                "image_answer": fact.thing,
                "pictures": [_UNSEEN],
            }
            yield {"id": f"{name}/this", "question": points, **about, **shown}
