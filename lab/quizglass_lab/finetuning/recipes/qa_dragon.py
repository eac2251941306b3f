"""QA-Dragon's decisions: one adapter for tool router, exceptions, objects, selection, entity and verifier.

Each question is run through the server's own policy with everything on (no search router, no tool router, no
verifier), so every prompt is filled as it will be served. What is right is known afterwards:

    search router   draft right, nothing to look up: direct; right all the same: verify; wrong: RAG. Where no one says
                    whether anything has to be looked up, calculations and translations alone are direct. A linear
                    decider over the server's own signs (`steps/signs.py`): `train search-router`
    tool router     image, where the trace does not name the thing; text, where the model does not know the fact even
                    even with the name (the gold query). What is not recorded a stronger model may say
    subject         the exceptions, from the data set's own domains and categories
    object(s)       as the data set records them, or as a stronger model says
    entity          whether an entry that the image search brought is the thing
    verifier        supported: the right answer and its evidence; contradicted: another answer, which has the words of
                    no right one and of no claim; unsupported: another question's evidence; incomplete: one of several
                    claims. With the turn's reason for its own answer
    line            answers with their token probabilities, right or not: `train verifier-line`
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from enum import Enum
from itertools import chain, islice
from operator import itemgetter
from typing import Any, ClassVar

from pydantic import Field, field_validator

from quizglass.values import Plan
from quizglass_client import Client
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.asking.choice import MODEL_HELP, asked_model
from quizglass_lab.finetuning.asking.interface import Ask, AskedModel, letters
from quizglass_lab.finetuning.asking.judge import GivenAnswer, right
from quizglass_lab.finetuning.asking.offline_turn import OfflineModels, OfflineTurn
from quizglass_lab.finetuning.asking.searching import EvidenceSearch, RecordedSearch, ServerSearch
from quizglass_lab.finetuning.recipes.planner import all_decomposed
from quizglass_lab.finetuning.recipes.questions import (
    AnnotationOptions,
    asked_values,
    go_on,
    held_out_ids,
    is_gold,
    make_judge,
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
from quizglass_lab.scoring.answers import refuses
from quizglass_lab.scoring.claims import contains_words
from quizglass_lab.search_router import FEATURES, branch_of
from quizglass_server.domain.state import Draft
from quizglass_server.policies.qa_dragon import Branch, Judgement, Parts, QADragon, Same, Subject
from quizglass_server.steps.generate import lines_of
from quizglass_server.steps.language.wording import stands_in, words
from quizglass_server.steps.prompt_values import line, standing, unmatched
from quizglass_server.steps.signs import features, signs

_ON = Parts(search_router=False, tool_router=False, verifier=False, additions=True)
EVERYTHING = QADragon("qa-dragon-annotated", _ON)
TURNS = "turns.jsonl"
MOST_OTHERS = 2
"""Most entries of other things that a question teaches `entity` to turn down."""


class DragonAnnotation(AnnotationOptions):
    """Options of `annotate qa-dragon`."""

    answerer: str = Field(description=f"the model that drafts and answers: {MODEL_HELP}")
    server: str = Field("", description="address of the running server that searches; default: the recorded evidence")
    writer: str = Field("", description=f"who says what is not recorded: names, gold queries, objects: {MODEL_HELP}")


class DragonTraining(Training):
    """QA-Dragon's decider: one adapter for tool router, subject, objects, entity and verifier, on mixed prompts."""

    objectives: ClassVar[tuple[str, ...]] = ("tool_router", "subject", "objects", "object", "entity", "verifier")


class SeenEntry(Record):
    """An entry that the image search brought."""

    line: str
    title: str
    same: bool


class DragonTurn(Record):
    """What the policy said to one question, and what of it was right."""

    id: str
    steps: tuple[str, ...]
    draft: str
    draft_right: bool
    features: dict[str, float]
    """Features of the draft and its trace, as the search router weighs them."""
    branch: Branch
    names_it: bool | None
    """Whether the trace names the thing, or the question does; None: unknown."""
    gold_right: bool | None
    """Whether the model knows the fact when given the name; None: no gold query is recorded."""
    candidates: tuple[SeenEntry, ...] = ()
    objects: tuple[str, ...] = ()
    object: str = ""
    reason: str = ""
    """The chain of thought that the policy wrote before its answer; empty where it wrote none."""
    answer: str
    answer_right: bool
    p_min: float
    p_mean: float

    @field_validator("features")
    @classmethod
    def _every_feature(cls, values: dict[str, float]) -> dict[str, float]:
        if missing := [name for name in FEATURES if name not in values]:
            raise ValueError(f"{missing[0]} is missing; annotate again")
        return values


def annotate(options: DragonAnnotation, progress: Progress) -> dict[str, Any]:
    """Write `turns.jsonl` and the examples; goes on where it was stopped."""
    loaded: dict[str, AskedModel] = {}
    samples = with_answers(read_questions(options))
    with ExitStack() as opened:
        client = opened.enter_context(Client(options.server)) if options.server else None
        go_on(options, client)
        runner = _PolicyRuns(options, client, loaded)
        turns = each_kept(
            options.out / TURNS,
            DragonTurn,
            samples,
            runner.turns,
            chunk=options.chunk,
            tick=progress.phase("running", len(samples)),
        )
    held_out = held_out_ids(samples.values(), options.held_out, options.seed)
    others = _others([samples[name] for name in turns if name in held_out])
    others |= _others([samples[name] for name in turns if name not in held_out])
    examples = [
        example
        for name, turn in turns.items()
        for example in dragon_examples(samples[name], turn, others[name], _pictures(samples[name], options))
    ]
    counts = write_examples(examples, held_out, options.out)
    done = list(turns.values())
    return {
        "branches": dict(Counter(turn.branch.value for turn in done)),
        "drafts_right": sum(turn.draft_right for turn in done) / len(done),
        "answers_right": sum(turn.answer_right for turn in done) / len(done),
        "examples": counts,
    }


class _PolicyRuns:
    """Runs the policy and notes what was said."""

    def __init__(self, options: DragonAnnotation, client: Client | None, loaded: dict[str, AskedModel]) -> None:
        self._options, self._client = options, client
        self._model = asked_model(options.answerer, options, loaded)
        self._writer = asked_model(options.writer, options, loaded) if options.writer else None
        self._judge = make_judge(options, loaded)

    def turns(self, samples: Sequence[Sample]) -> list[DragonTurn]:
        """The turns of some questions."""
        samples = self._completed(samples)
        with ThreadPoolExecutor(self._model.parallel) as pool:
            runs = list(pool.map(self._run, samples))
        gold = [Ask("answer", {"question": sample.gold_query or sample.question}) for sample in samples]
        told = [written.text for written in self._model.write(gold)]
        judged = []
        for sample, (turn, final), fact in zip(samples, runs, told, strict=True):
            texts = (_said(turn, "draft"), final.text, fact)
            judged += [GivenAnswer.to(sample, text) for text in texts]
        good = iter(right(self._judge, judged))
        triples = zip(good, good, good, strict=True)
        return [self._noted(s, *run, *each) for s, run, each in zip(samples, runs, triples, strict=True)]

    def _completed(self, samples: Sequence[Sample]) -> list[Sample]:
        """The questions with the name of the thing and the gold query, where they are recorded."""
        if self._writer is None:
            return list(samples)
        parts = all_decomposed(samples, self._options.out / "pictures", self._writer)
        return [
            replace(each, image_answer=part.image_answer or each.image_answer, gold_query=part.gold_query)
            for each, part in zip(samples, parts, strict=True)
        ]

    def _run(self, sample: Sample) -> tuple[OfflineTurn, Draft]:
        search: EvidenceSearch = RecordedSearch(sample.image_answer, sample.evidence, (*sample.entries, "")[0])
        if self._client is not None:
            search = ServerSearch(self._client, self._options.out / "pictures")
        picture = picture_file(sample, self._options.out / "pictures")
        models = OfflineModels(self._model, search)
        turn = OfflineTurn(models, sample.question, picture, sample.history, printed_words(sample))
        return turn, turn.run(EVERYTHING)

    def _noted(self, sample: Sample, turn: OfflineTurn, final: Draft, *good: bool) -> DragonTurn:
        draft_right, answer_right, gold_right = good
        steps = tuple(lines_of(_said(turn, "think")))[:5]
        draft = turn.drafts["draft"]
        hits = {item.entry_id: item for item in turn.evidence if item.origin == "image_search"}
        if not (sample.entries or sample.image_answer):  # which of them is the thing is not recorded
            hits = {}
        candidates = tuple(
            SeenEntry(line=line(item), title=item.title, same=is_gold(item, sample)) for item in hits.values()
        )
        objects, meant = self._objects(sample, steps)
        return DragonTurn(
            id=sample.id,
            steps=steps,
            draft=draft.text,
            draft_right=draft_right,
            features=features(draft, signs(draft, steps)),
            branch=branch_of(right=draft_right, to_look_up=_needs(sample)),
            names_it=_names_it(sample, steps),
            gold_right=gold_right if sample.gold_query or not sample.pictures else None,
            candidates=candidates,
            objects=objects,
            object=meant,
            reason=_said(turn, "reason"),
            answer=final.text,
            answer_right=answer_right,
            p_min=final.p_min,
            p_mean=final.p_mean,
        )

    def _objects(self, sample: Sample, steps: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
        recorded = tuple(map(str, sample.source.get("objects") or ()))
        if recorded or self._writer is None:
            return recorded, str(sample.source.get("meant") or "")
        picture = picture_file(sample, self._options.out / "pictures")
        shown = () if picture is None else (picture,)
        values: dict[str, Any] = {"question": sample.question, "steps": list(steps)}
        listed = lines_of(self._writer.write([Ask("objects", values, shown)])[0].text)
        meant = self._writer.write([Ask("object", {**values, "objects": listed}, shown)])[0].text
        return tuple(listed), " ".join(meant.split())


def dragon_examples(
    sample: Sample, turn: DragonTurn, other: Sample, pictures: tuple[str, ...]
) -> Iterator[TrainingExample]:
    """What one question teaches; `other` gives evidence and answers that are not its own."""
    steps = list(turn.steps)
    asked = {**asked_values(sample), "domain": sample.domain}

    def said(task: str, target: str, number: int = 0, **values: Any) -> TrainingExample:
        return TrainingExample(
            id=f"{sample.id}//{task}-{number}",
            objective=task,
            task=task,
            values={**asked, **values},
            pictures=pictures,
            target=target,
        )

    def chosen(task: str, label: Enum, number: int = 0, **values: Any) -> TrainingExample:
        named = letters(len(type(label)))
        plain = said(task, named[list(type(label)).index(label)], number, **values)
        return plain.model_copy(update={"labels": tuple(named)})

    if plan := _plan(turn):
        yield chosen("tool_router", plan, steps=steps, draft=turn.draft, signs=_shown_signs(turn.features))
    yield chosen("subject", subject_of(sample), steps=steps)
    if turn.objects:
        yield said("objects", "\n".join(turn.objects), steps=steps)
        if turn.object and len(turn.objects) > 1:
            yield said("object", turn.object, steps=steps, objects=list(turn.objects))
    noted = {"steps": steps, "objects": list(turn.objects), "draft": turn.draft}
    for number, candidate in enumerate(_candidates(turn.candidates)):
        label = Same.YES if candidate.same else Same.NO
        yield chosen("entity", label, number, seen=[candidate.line], entity=candidate.title, **noted)
    for number, (judgement, answer, evidence) in enumerate(_judgements(sample, turn, other)):
        yield chosen("verifier", judgement, number, **_judged(sample, turn, answer, evidence))


def subject_of(sample: Sample) -> Subject:
    """The exception that a data set's domain, category or kind of answer names."""
    told = f"{sample.domain} {sample.category} {sample.answer_type}".casefold()
    names = {"math": Subject.CALCULATION, "arithmetic": Subject.CALCULATION, "number": Subject.CALCULATION}
    names |= {subject.value: subject for subject in Subject if subject is not Subject.OTHER}
    return next((subject for name, subject in names.items() if name in told.replace("_", " ").split()), Subject.OTHER)


def _needs(sample: Sample) -> bool:
    """Whether something has to be looked up."""
    if sample.entries or sample.evidence:
        return True
    if sample.hops_needed is not None:
        return sample.hops_needed > 0
    return subject_of(sample) not in (Subject.CALCULATION, Subject.TRANSLATION)


def _names_it(sample: Sample, steps: Sequence[str]) -> bool | None:
    """Whether the trace names the thing in the picture, or need not; None: unknown."""
    if not sample.pictures or sample.pictured is False:
        return True
    if not sample.image_answer:
        return None
    return stands_in(words(sample.image_answer), words(" ".join(steps)))


def _plan(turn: DragonTurn) -> Plan | None:
    """What the trace lacks; None where it has the parts and not the whole, or its parts are unknown."""
    if turn.draft_right:
        return Plan.NONE
    if turn.names_it is None or turn.gold_right is None:
        return None
    lacks = not turn.names_it, not turn.gold_right
    return {(True, True): Plan.BOTH, (True, False): Plan.IMAGE, (False, True): Plan.TEXT}.get(lacks)


def _candidates(every: Sequence[SeenEntry]) -> Iterator[SeenEntry]:
    yield from [each for each in every if each.same][:1]
    yield from [each for each in every if not each.same][:MOST_OTHERS]


def _judged(sample: Sample, turn: DragonTurn, answer: str, evidence: list[str]) -> dict[str, Any]:
    """What the verifier is shown of an answer; only of the turn's own a reason and a certainty are known."""
    own = answer == turn.answer
    return {
        "answer": answer,
        "evidence": evidence,
        "reason": turn.reason if own else "",
        "certainty": Draft(probabilities=(turn.p_min,)).certainty if own and turn.p_mean else "",
        "standing": standing(answer, evidence, printed_words(sample)),
        "unmatched": unmatched(sample.question, evidence),
    }


def _recorded(sample: Sample) -> list[str]:
    """The evidence that the benchmark records, as a verifier is shown what was found."""
    return [line(item) for item in RecordedSearch(sample.image_answer, sample.evidence).text([], len(sample.evidence))]


def _judgements(sample: Sample, turn: DragonTurn, other: Sample) -> Iterator[tuple[Judgement, str, list[str]]]:
    right = turn.answer if turn.answer_right else sample.answer
    if evidence := _recorded(sample):
        yield Judgement.SUPPORTED, right, evidence
        own = not turn.answer_right and not refuses(turn.answer)  # one that says nothing contradicts nothing
        wrong = turn.answer if own else other.answer
        if wrong and not any(contains_words(wrong, told) for told in (*sample.answers, *sample.claims)):
            yield Judgement.CONTRADICTED, wrong, evidence
        if len(sample.claims) > 1:
            yield Judgement.INCOMPLETE, sample.claims[0], evidence
    if other.evidence:
        yield Judgement.UNSUPPORTED, right, _recorded(other)


def _others(every: Sequence[Sample]) -> dict[str, Sample]:
    """To each question, by id, the next one about another thing that has evidence; where none has, itself without."""
    telling = [(place, each) for place, each in enumerate(every) if each.evidence]
    others = {}
    for index, sample in enumerate(every):
        first = bisect(telling, index, key=itemgetter(0))
        behind = (each for _, each in chain(islice(telling, first, None), islice(telling, first)))
        fit = (each for each in behind if each.answers != sample.answers and not {*each.entries} & {*sample.entries})
        others[sample.id] = next(fit, replace(sample, evidence=()))
    return others


def _shown_signs(values: Mapping[str, float]) -> list[str]:
    return [name for name, value in values.items() if value and name not in ("p_min", "p_mean")]


def _said(turn: OfflineTurn, task: str) -> str:
    return turn.drafts[task].text if task in turn.drafts else ""


def _pictures(sample: Sample, options: DragonAnnotation) -> tuple[str, ...]:
    return shown_pictures([picture_file(sample, options.out / "pictures")], options.out)
