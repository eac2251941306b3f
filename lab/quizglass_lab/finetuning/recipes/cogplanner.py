"""CogPlanner's planning expert: says round by round how the question is put now (Q_t) and what is looked up (A_t).

Traces come from any policy of a running server, by the events of its turns, or from a model that plans itself and
searches on that server. One whose answer is right is kept, and each of its rounds becomes examples of `reformulate` and
`act`, as `cogplanner-parallel` asks (both from Q_t-1) and as `cogplanner-sequential` does (the action from Q_t).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

from pydantic import Field, model_validator

from quizglass.values import Decided, Done, EvidenceFound, Origin, Queries, QueryRewritten
from quizglass_client import Client
from quizglass_client.types import Event
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.asking.choice import MODEL_HELP, asked_model
from quizglass_lab.finetuning.asking.interface import AskedModel, letters
from quizglass_lab.finetuning.asking.judge import AnswerJudge, GivenAnswer, right
from quizglass_lab.finetuning.asking.offline_turn import OfflineModels, OfflineTurn
from quizglass_lab.finetuning.asking.searching import ServerSearch, own_evidence
from quizglass_lab.finetuning.asking.served import served_turn
from quizglass_lab.finetuning.recipes.questions import (
    AnnotationOptions,
    asked_values,
    go_on,
    held_out_ids,
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
from quizglass_server.domain.state import State
from quizglass_server.domain.turns import Evidence
from quizglass_server.policies import POLICIES
from quizglass_server.policies.cogplanner import Action, CogPlanner
from quizglass_server.steps.generate import lines_of
from quizglass_server.steps.prompt_values import line

ACTIONS = {Origin.IMAGE_SEARCH: Action.IMAGE, Origin.TEXT_SEARCH: Action.TEXT}


class CogPlannerAnnotation(AnnotationOptions):
    """Options of `annotate cogplanner`."""

    server: str = Field(description="address of the running server that searches")
    policy: str = Field("cogplanner-sequential", description="whose turns become traces; with --answerer a cogplanner")
    answerer: str = Field("", description=f"plan and answer with this model instead of the server's: {MODEL_HELP}")
    budget: float = Field(120.0, gt=0, description="seconds for a turn of the server")

    @model_validator(mode="after")
    def _plans_in_rounds(self) -> CogPlannerAnnotation:
        if self.answerer and not isinstance(POLICIES.get(self.policy), CogPlanner):
            planners = ", ".join(name for name, policy in POLICIES.items() if isinstance(policy, CogPlanner))
            raise ValueError(f"--policy: {self.policy!r} is no policy that an --answerer plans by; take {planners}")
        return self


class CogPlannerTraining(Training):
    """CogPlanner: all weights, lr 2e-6, cosine, 2 epochs, batch 32, warm-up 0.1, 1:1 with general tasks."""

    objectives: ClassVar[tuple[str, ...]] = ("reformulate", "act")

    full: bool = Field(True, description="train all weights; --no-full: an adapter (learning rate 1e-4)")
    learning_rate: float = Field(2e-6, gt=0, description="peak learning rate")
    schedule: str = Field("cosine", pattern="^(linear|cosine|constant)$", description="linear, cosine or constant")
    warm_up: float = Field(0.1, ge=0, lt=1, description="share of the steps in which the rate rises")
    epochs: float = Field(2, gt=0, description="passes over the data")
    accumulation: int = Field(32, ge=1, description="batches that make one optimiser step")


class PlanningRound(Record):
    """One round of a turn: the state S_t-1 before it, the queries Q_t and the action A_t decided from it."""

    queries: tuple[str, ...]
    seen: tuple[str, ...]
    found: tuple[str, ...]
    pictures: tuple[str, ...]
    """Paths of the pictures of the entries in `seen`, relative to the file; up to the first without one."""
    reformulated: tuple[str, ...]
    action: str


class Trace(Record):
    """One question's turn: the answer, whether it was right, and its planning rounds in order."""

    id: str
    answer: str
    right: bool
    words: str = ""
    """Printed in the picture, as the prompts of the turn had them."""
    rounds: tuple[PlanningRound, ...] = ()


def annotate(options: CogPlannerAnnotation, progress: Progress) -> dict[str, Any]:
    """Write `traces.jsonl` and the examples; goes on where it was stopped."""
    loaded: dict[str, AskedModel] = {}
    samples = with_answers(read_questions(options))
    model = asked_model(options.answerer, options, loaded) if options.answerer else None
    with Client(options.server, timeout=options.budget) as client:
        go_on(options, client)
        tracer = _Tracer(options, client, make_judge(options, loaded), model)
        traces = each_kept(
            options.out / "traces.jsonl",
            Trace,
            samples,
            tracer.traces,
            chunk=options.chunk,
            tick=progress.phase("tracing", len(samples)),
        )
    kept = {name: trace for name, trace in traces.items() if trace.right}
    folder = options.out / "pictures"
    examples = [
        example
        for name, trace in kept.items()
        for example in trace_examples(
            samples[name], trace, shown_pictures([picture_file(samples[name], folder)], options.out)
        )
    ]
    counts = write_examples(examples, held_out_ids(samples.values(), options.held_out, options.seed), options.out)
    actions = Counter(each.action for trace in kept.values() for each in trace.rounds)
    return {"traces": len(traces), "right": len(kept), "actions": dict(actions), "examples": counts}


class _Tracer:
    """Runs turns and writes down their rounds."""

    def __init__(
        self, options: CogPlannerAnnotation, client: Client, judge: AnswerJudge, model: AskedModel | None
    ) -> None:
        self._options, self._client, self._judge, self._model = options, client, judge, model
        self._folder = options.out / "pictures"
        self._search = ServerSearch(client, self._folder)

    def traces(self, samples: Sequence[Sample]) -> list[Trace]:
        """Traces of some questions, several at once where the model gains from that."""
        with ThreadPoolExecutor(self._options.parallel if self._model is None else self._model.parallel) as pool:
            turns = list(pool.map(self._turn, samples))
        judged = [GivenAnswer.to(s, turn[0]) for s, turn in zip(samples, turns, strict=True)]
        return [
            Trace(id=sample.id, answer=answer, right=good, words=words, rounds=tuple(rounds))
            for sample, (answer, words, rounds), good in zip(samples, turns, right(self._judge, judged), strict=True)
        ]

    def _turn(self, sample: Sample) -> tuple[str, str, list[PlanningRound]]:
        picture = picture_file(sample, self._folder)
        if self._model is not None:
            models, printed = OfflineModels(self._model, self._search), printed_words(sample)
            turn = OfflineTurn(models, sample.question, picture, sample.history, printed)
            draft = turn.run(POLICIES[self._options.policy])
            # What a second look found, the rounds did not: where they ended is not what is to be learned.
            answer = "" if turn.spent.calls["rewrite"] else draft.text
            return answer, printed, list(self._offline_rounds(turn))
        policy, budget = self._options.policy, self._options.budget
        events = served_turn(self._client, sample.question, picture, sample.history, policy=policy, budget=budget)
        return self._events_read(sample.question, events)

    def _events_read(self, question: str, events: Sequence[Event]) -> tuple[str, str, list[PlanningRound]]:
        answer, words = "", ""
        walk = _Walk(question)
        for payload in (event.payload for event in events):
            walk.enters(payload.round)
            if isinstance(payload, Queries):
                walk.asks(payload.texts)
            elif isinstance(payload, QueryRewritten):
                walk.asks((payload.text,))
            elif isinstance(payload, Decided) and payload.by == "act":
                walk.decided = Action(payload.label)
            elif isinstance(payload, EvidenceFound):
                items = [own_evidence(item) for item in payload.items]
                words = next((item.text for item in items if item.origin is Origin.READ_TEXT), words)
                walk.finds([item for item in items if item.origin in ACTIONS])
            elif isinstance(payload, Done):
                walk.ends()
                answer = "" if payload.abstain_reason else payload.answer
        return answer, words, [self._round(*each) for each in walk.rounds]

    def _offline_rounds(self, turn: OfflineTurn) -> Iterator[PlanningRound]:
        asked = [step for step in turn.steps if step.task in ("reformulate", "act")]
        for first, second in zip(asked[::2], asked[1::2], strict=True):
            reformulate, act = (first, second) if first.task == "reformulate" else (second, first)
            values: Mapping[str, Any] = reformulate.values
            action, queries = list(Action)[act.labels.index(act.said)], tuple(values["queries"])
            yield PlanningRound(
                queries=queries,
                seen=tuple(values["seen"]),
                found=tuple(values["found"]),
                pictures=shown_pictures(reformulate.pictures[1:], self._options.out),
                reformulated=tuple(lines_of(reformulate.said)) or queries or (values["question"],),
                action=action.value,
            )

    def _round(self, state: State, queries: tuple[str, ...], action: Action) -> PlanningRound:
        pictures = [self._search.picture(item) for item in state.seen[:6]]
        return PlanningRound(
            queries=state.queries,
            seen=tuple(line(item) for item in state.seen),
            found=tuple(line(item) for item in state.found),
            pictures=shown_pictures(pictures, self._options.out),
            reformulated=queries,
            action=action.value,
        )


class _Walk:
    """Follows a turn's events and notes S_t-1, Q_t and A_t of each round; every search ends one."""

    def __init__(self, question: str) -> None:
        self.rounds: list[tuple[State, tuple[str, ...], Action]] = []
        self.decided: Action | None = None
        """What `act` said, until the search that follows from it."""
        self._state = State(question)
        self._queries: tuple[str, ...] = ()
        self._round = 0

    def enters(self, number: int) -> None:
        """Whether a round has events. A search without results has none, and ended one."""
        if number > self._round:
            self._round = number
            self._close_search()

    def asks(self, queries: Sequence[str]) -> None:
        """The question was put anew."""
        self._queries = tuple(queries)

    def finds(self, items: list[Evidence]) -> None:
        """A search brought something back."""
        if items:
            self._close(ACTIONS[items[0].origin], [item for item in items if item.used])

    def ends(self) -> None:
        """The answer is there: nothing more was looked up."""
        self._close_search()
        self._close(Action.NONE, [])

    def _close_search(self) -> None:
        """End a round whose search was decided and brought nothing back."""
        if self.decided in (Action.TEXT, Action.IMAGE):
            self._close(self.decided, [])

    def _close(self, action: Action, items: list[Evidence]) -> None:
        queries = self._queries or self._state.asked
        self.rounds.append((self._state, queries, action))
        self._state = self._state.asking(self._queries).having(items)
        self._queries, self.decided = (), None


def trace_examples(sample: Sample, trace: Trace, pictures: tuple[str, ...]) -> Iterator[TrainingExample]:
    """For each round an example of its reformulation, and of its action by the queries before and by those after it."""
    named = tuple(letters(len(Action)))
    for number, each in enumerate(trace.rounds, 1):
        shown = (*pictures, *each.pictures) if pictures else ()
        values = {**asked_values(sample), "words": trace.words, "seen": list(each.seen), "found": list(each.found)}

        def example(name: str, target: str, queries: Iterable[str], labels: tuple[str, ...] = ()) -> TrainingExample:
            asked = list(queries)
            return TrainingExample(
                id=f"{sample.id}//{number}-{name}",  # noqa: B023 - used in this round alone
                objective="act" if labels else "reformulate",
                task="act" if labels else "reformulate",
                values={**values, "query": "; ".join(asked), "queries": asked},  # noqa: B023
                pictures=shown,  # noqa: B023
                target=target,
                labels=labels,
            )

        letter = named[[action.value for action in Action].index(each.action)]
        yield example("reformulate", "\n".join(each.reformulated), each.queries)
        yield example("act-parallel", letter, each.queries, named)
        if each.reformulated != each.queries:
            yield example("act-sequential", letter, each.reformulated, named)
