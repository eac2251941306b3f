"""What the policies' benchmark gives to policies, and its own arithmetic; nothing is measured here."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

import pytest

from bench.policies import __main__ as policies
from bench.policies import budget, hops
from bench.policies.budget import ended_well
from bench.policies.given import GivenDecider, GivenGenerator, Record, Span, busy_s
from bench.policies.overlap import by_turns
from bench.policies.stage import Outcome
from quizglass.values import AbstainReason, Done, FinishReason, Plan
from quizglass_bundle.inputs.prompts import Values
from quizglass_lab.pocketworld.questions import Question, make_questions
from quizglass_lab.pocketworld.world import World, core_world, make_world, with_core
from quizglass_server.domain.turns import GenerationEnd, Picture, Token
from quizglass_server.policies.qa_dragon import Judgement
from quizglass_server.roles.generator import GenerationRequest


def test_both_ways_of_a_comparison_get_as_many_questions_of_every_kind() -> None:
    questions = [q for q in make_questions(make_world(5, 60), 200, 5) if q.hops and q.hops[0].action == "image"]
    counts = Counter((question.group, len(question.hops), way) for question, way in by_turns(questions))
    kinds = {(group, hops) for group, hops, _ in counts}
    assert len(kinds) > 3, "or this test is about nothing"
    assert all(abs(counts[group, hops, 0] - counts[group, hops, 1]) <= 1 for group, hops in kinds)


@pytest.mark.parametrize("main", [policies.main])
def test_without_a_checkout_a_benchmark_says_what_it_takes(
    main: Callable[[Sequence[str]], int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/no/git/here")
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "--seed" in capsys.readouterr().out


class Generator:
    """Says the same to everything, and notes what it was asked."""

    def __init__(self) -> None:
        self.tasks: list[str] = []

    sees_pictures = True

    def names(self, task: str) -> frozenset[str]:
        return frozenset()

    def shows_entries(self, task: str) -> bool:
        return False

    async def generate(self, request: GenerationRequest) -> AsyncIterator[Token | GenerationEnd]:
        self.tasks.append(request.task)
        yield Token("own", 0.5)
        yield GenerationEnd("stop", 7, 1)

    async def choose(self, request: GenerationRequest, labels: Sequence[str]) -> list[float]:
        self.tasks.append(request.task)
        return [1.0 / len(labels)] * len(labels)

    async def forget(self) -> None:
        self.tasks.clear()

    async def score(self, request: GenerationRequest, answer: str) -> list[float]:
        return []

    async def prepare(self, picture: Picture, known: Values | None = None) -> None:
        pass

    async def read_ahead(self, request: GenerationRequest) -> None:
        pass


@pytest.fixture(scope="module")
def world() -> World:
    return with_core(make_world(31, 200), core_world())


@pytest.fixture(scope="module")
def chain(world: World) -> Question:
    many = make_questions(world, 400, 5, groups=("both",), unseen_share=0.5)
    return next(question for question in many if question.family == "founder-birthplace")


async def lines(generator: GivenGenerator, task: str) -> list[str]:
    request = GenerationRequest(task, {})
    return "".join([piece.text async for piece in generator.generate(request) if isinstance(piece, Token)]).splitlines()


async def label(generator: GivenGenerator, task: str, count: int, **values: list[str]) -> int:
    weighed = await generator.choose(GenerationRequest(task, values), [" A"] * count)
    assert len(weighed) == count
    return weighed.index(1.0)


async def test_rounds_are_given_hop_by_hop(chain: Question) -> None:
    own = Generator()
    given = GivenGenerator(own)
    with given.about(chain):
        rounds = [(await lines(given, "reformulate"), await label(given, "act", 3)) for _ in range(4)]
    queries = [hop.query for hop in chain.hops]
    assert rounds == [([queries[0]], 2), ([queries[1]], 1), ([queries[2]], 1), ([queries[2]], 0)]
    assert own.tasks == ["rewrite", "plan"] * 4
    assert [span.task for span in given.spans] == ["reformulate", "act"] * 4


async def test_every_question_begins_anew(chain: Question) -> None:
    given = GivenGenerator(Generator())
    for _ in range(2):
        with given.about(chain):
            assert await lines(given, "ask") == [chain.hops[0].query]


async def test_answers_are_the_generators_own(chain: Question) -> None:
    own = Generator()
    given = GivenGenerator(own)
    with given.about(chain):
        tasks = ["answer", "draft", "reason", "conclude", "conclude_from_reason", "weigh", "reconcile", "rewrite"]
        for task in tasks:
            assert await lines(given, task) == ["own"]
        assert await given.choose(GenerationRequest("plan", {}), [" A", " B"]) == [0.5, 0.5]
    assert own.tasks == [*tasks, "plan"]
    assert given.spans == []


async def test_the_entry_is_known_by_the_name_of_the_things_in_the_picture(chain: Question) -> None:
    given, name = GivenGenerator(Generator()), chain.hops[0].answer
    with given.about(chain):
        assert await label(given, "select", 6, seen=["Other: a car", f"{name}: a boat"]) == 1
        assert await label(given, "select", 6, seen=["Other: a car"]) == 5
        assert await label(given, "entity", 2, seen=[f"{name}: a boat"]) == 0
        assert await label(given, "entity", 2, seen=[f"{name}x: a boat"]) == 1


async def test_the_right_answer_is_supported_and_no_other(chain: Question) -> None:
    given = GivenGenerator(Generator())
    with given.about(chain):
        judged = [
            given.decision("verifier", {"answer": said}) for said in (chain.answer, f"{chain.answer}.", "Elsewhere")
        ]
    assert judged == [Judgement.SUPPORTED, Judgement.SUPPORTED, Judgement.UNSUPPORTED]


@pytest.mark.parametrize(
    ("family", "plan"),
    [
        ("visible", Plan.NONE),
        ("identity", Plan.IMAGE),
        ("named", Plan.TEXT),
        ("specific", Plan.BOTH),
        ("founder-birthplace", Plan.BOTH),
    ],
)
def test_the_searches_of_a_question_are_those_of_its_hops(world: World, family: str, plan: Plan) -> None:
    many = make_questions(world, 800, 5, unseen_share=0.5)
    assert {Record(question).plan for question in many if question.family == family} == {plan}


def test_time_in_which_two_things_are_done_counts_once() -> None:
    spans = [Span("a", 1.0, 2.0), Span("b", 1.5, 3.0), Span("a", 5.0, 6.0), Span("c", 2.5, 9.0), Span("b", 1.6, 1.7)]
    assert busy_s(spans, ("a", "b")) == pytest.approx(3.0)
    assert busy_s([], ("a",)) == 0.0


@pytest.mark.parametrize(
    ("answer", "reason", "seconds", "well"),
    [
        ("45 crowns", AbstainReason.NONE, 1.09, True),
        ("45 crowns", AbstainReason.NONE, 1.11, False),
        ("", AbstainReason.NONE, 0.5, False),
        ("I don't know", AbstainReason.NONE, 0.5, False),
        ("I don't know", AbstainReason.BUDGET, 1.0, True),
        ("I don't know", AbstainReason.BUDGET, 1.2, False),
    ],
)
def test_a_turn_ends_well_with_an_answer_or_a_reason_in_time(
    chain: Question, answer: str, reason: AbstainReason, seconds: float, well: bool
) -> None:
    assert ended_well(outcome(chain, answer, reason, seconds), 1.0) == well


def outcome(question: Question, answer: str, reason: AbstainReason, seconds: float = 0.5) -> Outcome:
    done = Done(answer, FinishReason.BUDGET, abstain_reason=reason)
    return Outcome(question, done, seconds, (), ())


def test_what_is_refused_is_not_answered(chain: Question) -> None:
    turns = [
        outcome(chain, chain.answer, AbstainReason.NONE),
        outcome(chain, "somewhere else", AbstainReason.NONE),
        outcome(chain, "I don't know", AbstainReason.BUDGET),
        outcome(chain, "", AbstainReason.NONE),
    ]
    well = [ended_well(each, 1.0) for each in turns]
    told = budget.summary(0.5, turns, well)
    assert told == {"50%: ended in time %": 75, "50%: answered %": 50, "50%: right %": 25}


def test_each_policy_tells_how_many_of_its_turns_ended_well() -> None:
    fine, late = ({share: [True, good] for share in budget.SHARES} for good in (True, False))
    told = {row.name.split(":")[0]: row for row in budget.rows({"none": fine, "both": late})}
    half = told["answer_by at 50% of a policy's median"]
    assert (half.value, half.ok) == (75, False)
    assert [told[f"answer_by at all shares, {name}"].value for name in ("none", "both")] == [8, 4]
    assert told["answer_by at all shares, both"].unit == "of 8 turns"


class Decider:
    """Always chooses its first label."""

    executor, needs, shows_several = "cpu", frozenset({"seen"}), False

    async def probabilities(self, pictures: Sequence[Picture], values: Mapping[str, object]) -> list[tuple[str, float]]:
        return [("image", 0.9), ("text", 0.06), ("none", 0.04)]

    async def look_at(self, picture: Picture) -> None:
        pass


async def test_a_decider_s_choice_is_given_and_its_time_counts_as_planning(chain: Question) -> None:
    given = GivenGenerator(Generator())
    act = GivenDecider(Decider(), "act", given)
    with given.about(chain):
        chosen = []
        for place in range(4):
            asked = {"found": [f"passage {number}" for number in range(place)]}
            await act.probabilities((), asked)
            chosen.append(likeliest_of(await act.probabilities((), {**asked, "words": "read meanwhile"})))
    assert chosen == [*(hop.action for hop in chain.hops), "none"]
    assert [span.task for span in given.spans] == ["act"] * 8


async def test_a_plan_is_the_planner_s_own(chain: Question) -> None:
    given = GivenGenerator(Generator())
    with given.about(chain):
        assert likeliest_of(await GivenDecider(Decider(), "planner", given).probabilities((), {})) == "image"
    assert given.spans == []


def likeliest_of(weighed: Sequence[tuple[str, float]]) -> str:
    return max(weighed, key=lambda each: each[1])[0]


def test_a_policy_that_is_always_right_still_has_an_interval(chain: Question) -> None:
    done = Done(chain.answer, FinishReason.COMPLETE)
    turns = [Outcome(chain, done, 0.1, (chain.hops[-1].entry,), ())] * 200
    (row, *_) = hops._rows("omnisearch+", turns, "both", 0.0)
    assert (row.value, "95 % interval 98.1 to 100.0" in row.name) == (100, True)
