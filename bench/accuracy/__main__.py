"""`python -m bench.accuracy [--only SECTION ...] [--resume] [--quick]`: what every policy answers, measured over gRPC.

For each seed a world of THINGS things (the 400 trained ones among them), a real server with that world imported
through the real client, and QUESTIONS questions, half of them about things no model was trained on; sections beside the
first take a part of them. A section says so where the bundle lacks what it needs. Answers are kept as they come, one
file a section, world and bundle: with --resume a run goes on where it stopped. --quick runs everything with small
counts and publishes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import sections
from bench.accuracy import pictured
from bench.accuracy.ground import Ground
from bench.accuracy.planner import planning
from bench.accuracy.sections import (
    comparisons,
    conflicts,
    costs,
    dialogues,
    dragon,
    objects,
    own_passages,
    pace,
    published,
    rewriting,
    rounds,
    verifier,
)
from bench.fingerprints import weights
from bench.sections import Part
from bench.worlds import fresh_seeds
from quizglass_lab.pocketworld.dataset import FORMAT

SECTIONS: dict[str, Callable[[Ground], Part]] = {
    "planning": planning.run,
    "pace": pace.run,
    "costs": costs.run,
    "published": published.run,
    "rewriting": rewriting.run,
    "rounds": rounds.run,
    "comparisons": comparisons.run,
    "dragon": dragon.run,
    "verifier": verifier.run,
    "conflicts": conflicts.run,
    "pictured": pictured.run,
    "objects": objects.run,
    "own": own_passages.run,
    "dialogues": dialogues.run,
}
"""In the order of the table."""
_QUICK_THINGS, _QUICK_QUESTIONS = 600, 16


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sections. Returns 0, or 1 when one failed or a bar was missed."""
    parser = sections.arguments("accuracy", __doc__, SECTIONS)
    parser.add_argument("--seeds", type=int, nargs="*", help="of the worlds (default: three from this commit's hash)")
    parser.add_argument("--things", type=int, default=2000)
    parser.add_argument("--questions", type=int, default=800)
    parser.add_argument(
        "--format", type=int, default=FORMAT, choices=(1, 2), help="of the worlds (default: %(default)s)"
    )
    parser.add_argument("--clients", type=int, default=2, help="questions under way at once")
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    args = parser.parse_args(arguments)
    seeds = args.seeds or fresh_seeds(1 if args.quick else 3)
    folder: Path = args.workdir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    runner = sections.Runner("accuracy", SECTIONS, args)
    with runner.status() as say:
        ground = Ground(
            seeds,
            min(args.things, _QUICK_THINGS) if args.quick else args.things,
            min(args.questions, _QUICK_QUESTIONS) if args.quick else args.questions,
            args.format,
            args.clients,
            args.bundle.resolve(),
            folder,
            args.resume,
            not args.quick,
            say,
        )
        settings = {
            "things": ground.things,
            "questions": ground.questions,
            "format": ground.format,
            "seeds": list(seeds),
            "bundle": weights(ground.bundle),
        }
        runner.measure(lambda name: SECTIONS[name](ground), **settings)
    return runner.finish(name_missing=True)


if __name__ == "__main__":
    sys.exit(main())
