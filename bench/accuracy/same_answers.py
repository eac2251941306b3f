"""`python -m bench.accuracy.same_answers BEFORE [AFTER]`: whether two checkouts answer alike, byte for byte.

Serves one bundle from each checkout, over stores of their own with the same drawn world, and asks the same questions
under every policy that both serve, one turn at a time. `git worktree add FOLDER COMMIT` makes a checkout. On a busy
machine two tokens that are nearly as likely may be chosen otherwise: `--twice` asks BEFORE again, and so says how much
it differs from itself. Answers are kept as they come, and a run that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.progress import Progress

from bench.accuracy.ground import BUDGET_S, lacking
from bench.accuracy.log import Record, asked_all
from bench.accuracy.turns import ask_turn
from bench.fingerprints import weights
from bench.worlds import Trial, load, picture, prepare
from quizglass_client import AsyncClient
from quizglass_client.local import LocalServer
from quizglass_lab.pocketworld.dataset import FORMAT
from quizglass_server.policies import POLICIES

_PACKAGES = ("server", "bundle", "protos", "clients/python", "export", "lab")
_SEED, _THINGS = 2_200_000_001, 600


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, compare, and print what differs. Returns 0, or 1 where anything does."""
    parser = argparse.ArgumentParser(prog="bench.accuracy.same_answers", description=__doc__)
    parser.add_argument("before", type=Path, help="a checkout")
    parser.add_argument("after", type=Path, nargs="?", default=Path(), help="another (default: the working directory)")
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--policies", nargs="*", default=list(POLICIES), help="(default: all)")
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    parser.add_argument("--workdir", type=Path, default=Path("work/bench"))
    parser.add_argument("--twice", action="store_true", help="ask BEFORE again as well")
    args = parser.parse_args(arguments)
    trial = prepare(_SEED, _THINGS, args.questions, args.workdir.resolve() / "same-answers", format=FORMAT)
    sides = [("before", args.before), *([("again", args.before)] if args.twice else []), ("after", args.after)]
    told = [_asked(name, checkout.resolve(), trial, args.policies, args.bundle.resolve()) for name, checkout in sides]
    differ = [compared(name, told[0], other) for (name, _), other in zip(sides[1:], told[1:], strict=True)]
    return int(differ[-1] > 0)


def _asked(name: str, checkout: Path, trial: Trial, policies: Sequence[str], bundle: Path) -> list[Record]:
    """What a checkout's server answers to every question, by policy."""
    command = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    mark = f"{name}-{commit}-{weights(bundle)}-{len(trial.questions)}"
    # Of the server, which is started below; it goes before what is installed.
    os.environ["PYTHONPATH"] = os.pathsep.join(str(checkout / package) for package in _PACKAGES)
    knowledge, log = trial.folder / f"knowledge-{mark}", trial.folder / f"server-{mark}.log"
    with LocalServer(bundle, knowledge, log=log) as server, Progress() as bars:
        load(server.target, trial.folder, bars)
        missing = lacking(server.target, policies)
        for policy, why in missing.items():
            bars.print(f"{name}: {policy} is not served: {why}")
        task = bars.add_task(f"{name} ({commit})", total=len(trial.questions))
        served = [policy for policy in policies if policy not in missing]
        answers = trial.folder / f"answers-{mark}.jsonl"
        return asyncio.run(_ask_all(server.target, trial, served, answers, lambda: bars.advance(task)))


async def _ask_all(
    target: str, trial: Trial, policies: Sequence[str], log: Path, tick: Callable[[], None]
) -> list[Record]:
    questions = {question.id: question for question in trial.questions}
    async with AsyncClient(target, timeout=BUDGET_S) as client:

        async def ask(id_: str) -> Record:
            question, shown = questions[id_], picture(questions[id_])
            turns = {p: await ask_turn(client, question.text, shown, p, history=question.history) for p in policies}
            return {"id": id_, "answers": {policy: turn["answer"] for policy, turn in turns.items()}}

        return await asked_all(log, list(questions), ask, 1, tick)


def compared(name: str, before: Sequence[Record], after: Sequence[Record]) -> int:
    """How many answers differ, each of which is printed; policies that only one of the two serves do not count."""
    total = differ = 0
    for one, other in zip(before, after, strict=True):
        for policy in sorted(one["answers"].keys() & other["answers"].keys()):
            old, new = one["answers"][policy], other["answers"][policy]
            total, differ = total + 1, differ + (old != new)
            if old != new:
                print(f"{one['id']}, {policy}: {old!r}; {name}: {new!r}")
    print(f"before and {name}: {differ} of {total} answers differ")
    return differ


if __name__ == "__main__":
    sys.exit(main())
