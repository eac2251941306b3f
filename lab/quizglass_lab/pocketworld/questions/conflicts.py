"""Questions about the disputes of a world, in equal parts of each kind."""

import random
from collections.abc import Sequence

from quizglass_lab.pocketworld.asker import Asker
from quizglass_lab.pocketworld.disputes import DISPUTE_KINDS
from quizglass_lab.pocketworld.families.disputed import disputed
from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.world import World


def make_conflicts(world: World, count: int, seed: int, *, kinds: Sequence[str] = DISPUTE_KINDS) -> list[Question]:
    """`count` questions of format 2, the kinds in turn; a dispute is asked about in several ways.

    Raises ValueError for a kind that does not exist or that the world has no disputes of.
    """
    cases = {kind: [case for case in world.disputes.cases if case.kind == kind] for kind in kinds}
    missing = [kind for kind in kinds if not cases[kind]]
    if count and (missing or not kinds):
        raise ValueError(
            f"kinds: no disputes of {', '.join(missing) or 'any kind'} in this world; make them with with_disputes, "
            f"of {', '.join(DISPUTE_KINDS)}; a small world has none, and those of memory need the core"
        )
    questions: list[Question] = []
    for i in range(count):
        name = f"x{world.seed}-{seed}-{i:05d}"
        asker = Asker(world, random.Random(f"pocketworld/{name}"), name, None, 2)
        kind = kinds[i % len(kinds)]
        questions.append(disputed(asker, cases[kind][i // len(kinds) % len(cases[kind])]))
    return questions
