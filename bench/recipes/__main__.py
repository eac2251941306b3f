"""`python -m bench.recipes [--only SECTION ...] [--resume] [--quick]`: recipes of fine-tuning, on the starter's base.

Worlds are drawn, the base is asked for labels, planners are trained, and models answer questions about a fresh world,
each step by `quizglass-lab` in a process of its own. Steps keep what they made in the work directory, which is
refused for other seeds, another base, another bundle or other code: delete its `recipes-steps` to train anew. --quick
runs everything with small counts and publishes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import quizglass
import quizglass_bundle
import quizglass_client
import quizglass_export
import quizglass_server
from bench import sections
from bench.fingerprints import code, weights
from bench.recipes import core_mmrag, planner, work
from bench.recipes.work import Setup
from bench.sections import Part

SECTIONS: dict[str, Callable[[Setup], Part]] = {
    "planners": planner.planners,
    "answers": planner.answers,
    "agents": planner.agents,
    "others": planner.others,
    "losses": core_mmrag.losses,
}
"""In the order of the table."""
_QUICK = {"things": 40, "questions": 60, "asked": 12, "more": ("--steps", "3")}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sections. Returns 0, or 1 when one failed or a bar was missed."""
    parser = sections.arguments("recipes", __doc__, SECTIONS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[2175014101, 2175014102], help="worlds to learn from")
    parser.add_argument("--fresh", type=int, default=2175014105, help="the world that is asked about")
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"), help="whose searches are used")
    args = parser.parse_args(arguments)
    folder: Path = args.workdir.resolve() / ("recipes-steps-quick" if args.quick else "recipes-steps")
    base = sha256((work.ROOT / work.BASE / "model.safetensors").read_bytes()).hexdigest()[:12]
    made_of = {"base": base, "bundle": weights(args.bundle)}
    how = code(quizglass, quizglass_client, quizglass_export, quizglass_bundle, quizglass_server)
    work.claim(folder, seeds=args.seeds, fresh=args.fresh, code=how, **made_of)
    runner = sections.Runner("recipes", SECTIONS, args)
    with runner.status() as say:
        sizes = _QUICK if args.quick else {"things": 900, "questions": 2000, "asked": 300}
        worlds = {"seeds": tuple(args.seeds), "fresh": args.fresh}
        setup = Setup(folder=folder, bundle=args.bundle.resolve(), say=say, **worlds, **sizes)
        runner.measure(lambda name: SECTIONS[name](setup), **worlds, **made_of)
    return runner.finish(plot=planner.plot)


if __name__ == "__main__":
    sys.exit(main())
