"""What becomes of a turn that is given less time than it takes: every policy, at shares of its own median."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from bench.policies.stage import Outcome, Setup, Stage
from bench.results import Row, at_least
from bench.sections import Part
from quizglass_server.policies import POLICIES

SHARES = (0.25, 0.5, 1.0, 2.0)
"""Of a policy's median time."""
LATE = 1.1
"""A turn may end so many times its budget after it began."""
_WARM_UP = 4


async def run(setup: Setup, stage: Stage) -> Part:
    """`answer_by` at shares of each policy's median, over questions of every group."""
    ended: dict[float, list[bool]] = {share: [] for share in SHARES}
    data: dict[str, dict[str, float]] = {}
    questions = stage.trial.questions[: setup.count(48, 4)]
    for policy in POLICIES:
        setup.say(f"{policy}: with plenty of time")
        for question in questions[:_WARM_UP]:
            await stage.ask(question, policy)
        usual = median([(await stage.ask(question, policy)).seconds for question in questions])
        data[policy] = {"p50 ms": usual * 1e3}
        for share in SHARES:
            setup.say(f"{policy}: with {share:.0%} of {usual * 1e3:.0f} ms")
            turns = [await stage.ask(question, policy, share * usual) for question in questions]
            in_time = [ended_well(one, share * usual) for one in turns]
            ended[share] += in_time
            data[policy] |= _summary(share, turns, in_time)
    return Part([_row(share, done) for share, done in ended.items()], {"policies": data})


def ended_well(turn: Outcome, budget_s: float) -> bool:
    """Whether there is an answer or a reason for having none, at most a tenth of the budget late."""
    told = bool(turn.done.answer) or turn.done.abstain_reason is not None
    return told and turn.seconds <= LATE * budget_s


def _summary(share: float, turns: Sequence[Outcome], in_time: Sequence[bool]) -> dict[str, float]:
    answered = [one for one in turns if one.done.abstain_reason is None]
    return {
        f"{share:.0%}: ended in time %": 100 * sum(in_time) / len(turns),
        f"{share:.0%}: answered %": 100 * len(answered) / len(turns),
        f"{share:.0%}: right %": 100 * sum(one.right for one in turns) / len(turns),
    }


def _row(share: float, ended: Sequence[bool]) -> Row:
    name = f"answer_by at {share:.0%} of a policy's median: answered or refused with a reason, at most 10 % late"
    return at_least(name, 100 * sum(ended) / len(ended), "%", 99)
