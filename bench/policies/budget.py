"""What becomes of a turn that is given less time than it takes: every policy, at shares of its own median.

No question is asked twice: the generator would find the prefix of the first time, and take less than usual.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from statistics import median

from bench.policies.stage import PLENTY_S, Outcome, Setup, Stage
from bench.results import Row, at_least
from bench.sections import Part
from bench.worlds import UNSEEN_SHARE
from quizglass.values import AbstainReason, Done
from quizglass_bundle.tuning import Tuning
from quizglass_lab.pocketworld.questions import make_questions
from quizglass_server.policies import POLICIES
from quizglass_server.steps.abstaining import abstains

SHARES = (0.25, 0.5, 1.0, 2.0)
"""Of a policy's median time."""
LATE = 1.1
"""A turn may end so many times its budget after it began."""
_WARM_UP = 4


async def run(setup: Setup, stage: Stage) -> Part:
    """`answer_by` at shares of each policy's median, over questions of every group."""
    ended: dict[str, dict[float, list[bool]]] = {policy: {} for policy in POLICIES}
    data: dict[str, dict[str, float]] = {}
    count, trial = setup.count(48, 4), stage.trial
    total = len(POLICIES) * (_WARM_UP + (1 + len(SHARES)) * count)
    questions = iter(make_questions(trial.world, total, trial.seed + 1, unseen_share=UNSEEN_SHARE))

    async def asked(policy: str, number: int, budget_s: float) -> list[Outcome]:
        return [await stage.ask(question, policy, budget_s) for question in islice(questions, number)]

    for policy in POLICIES:
        setup.say(f"{policy}: with plenty of time")
        await asked(policy, _WARM_UP, PLENTY_S)
        usual = median([one.seconds for one in await asked(policy, count, PLENTY_S)])
        data[policy] = {"p50 ms": usual * 1e3}
        for share in SHARES:
            setup.say(f"{policy}: with {share:.0%} of {usual * 1e3:.0f} ms")
            turns = await asked(policy, count, share * usual)
            ended[policy][share] = [ended_well(one, share * usual) for one in turns]
            data[policy] |= summary(share, turns, ended[policy][share])
    return Part(rows(ended), {"policies": data})


def ended_well(turn: Outcome, budget_s: float) -> bool:
    """Whether there is an answer, or an abstention with its reason, at most a tenth of the budget late."""
    told = answered(turn.done) or turn.done.abstain_reason is not AbstainReason.NONE
    return told and turn.seconds <= LATE * budget_s


def answered(done: Done) -> bool:
    """Whether a turn gives an answer: neither refused, nor empty, nor by its words an "I don't know"."""
    return done.abstain_reason is AbstainReason.NONE and not abstains(done.answer, Tuning().abstain)


def summary(share: float, turns: Sequence[Outcome], in_time: Sequence[bool]) -> dict[str, float]:
    """Of a policy's turns at one share of its median, in percent."""
    return {
        f"{share:.0%}: ended in time %": 100 * sum(in_time) / len(turns),
        f"{share:.0%}: answered %": 100 * sum(answered(one.done) for one in turns) / len(turns),
        f"{share:.0%}: right %": 100 * sum(one.right for one in turns) / len(turns),
    }


def rows(ended: Mapping[str, Mapping[float, Sequence[bool]]]) -> list[Row]:
    """All policies together at each share, then each policy at all shares.

    Args:
        ended: by policy and share, of each turn whether it ended well.
    """
    table = []
    for share in SHARES:
        turns = [turn for of in ended.values() for turn in of[share]]
        name = f"answer_by at {share:.0%} of a policy's median: answered or refused with a reason, at most 10 % late"
        table.append(at_least(name, 100 * sum(turns) / len(turns), "%", 99))
    for policy, of in ended.items():
        turns = [turn for each in of.values() for turn in each]
        table.append(Row(f"answer_by at all shares, {policy}: ended well", sum(turns), f"of {len(turns)} turns"))
    return table
