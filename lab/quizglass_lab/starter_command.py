"""The subcommand `starter` of quizglass-lab: trains every model of the starter bundle, then sets its thresholds.

The recipes are in `starter` (base model and planner), `retrieval` (encoders and reranker) and `seeing` (detector,
coarse reranker, domain router); this module divides the time among them and knows nothing about training.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quizglass_export.long_work import STOPPED, stopping
from quizglass_export.terminal import tell
from quizglass_lab.starter import STAGES as BASE_STAGES
from quizglass_lab.starter.loop.allocator import keep_freed_memory

HELP = "train the starter models stage by stage; goes on where it stopped"
RETRIEVAL_STAGES = ("text_encoder", "reranker", "image_encoder")
SEEING_STAGES = ("detector", "coarse_reranker", "domain_router")
STAGES = (*BASE_STAGES, *RETRIEVAL_STAGES, *SEEING_STAGES, "thresholds")
OPTIONAL = ("coarse_reranker", "domain_router")
"""Trained where `--stages` names them: the starter's answers gained nothing by them (docs/training.md)."""
ON_GPU = ("image_encoder", "detector")
"""Stages of these two that learn on a GPU where there is one, as the base's do."""
WHOLE_STAGES = tuple(stage for stage in STAGES if stage not in OPTIONAL)
"""From nothing to a bundle."""
FURTHER_STAGES = ("pictures", "vision", "grounding", "joint", "annotate", "decider", "search_router")
"""With `--from`: what is trained on shipped checkpoints."""
SHARES = {
    "vision": 17.0,
    "language": 14.0,
    "grounding": 8.0,
    "joint": 128.0,
    "decider": 28.0,
    "text_encoder": 8.0,
    "reranker": 16.0,
    "image_encoder": 30.0,
    "detector": 20.0,
    "coarse_reranker": 10.0,
    "domain_router": 3.0,
}
"""How the time for training is divided; a stage without a share takes what it needs."""
FURTHER_SHARES = {**SHARES, "joint": 50.0}
"""The same with `--from`: a base that goes on knows most of it."""
UNTIMED = {"tokenizer": 0.5, "pictures": 8.0, "annotate": 12.0, "search_router": 2.0, "thresholds": 4.0}
"""About what the other stages take on two CPU cores, in minutes."""
MINUTES, FURTHER_MINUTES = 295.0, 115.0
"""Defaults for everything on two CPU cores, from nothing and from checkpoints."""
_FITTED_BY = {
    "detect_accept": "detector",
    "coarse_accept": "coarse_reranker",
    "support_accept": "decider",
    "support_certainty": "decider",
    "support_colour": "decider",
    "memory_accept": "decider",
    "direct_accept": "search_router",
}
"""Thresholds that a stage finds out itself, as its `done.json` has them."""
PLANNED = {"found": 3, "rerank_first": 3, "judged": False, "rounds": 5, "links": 2}
"""Of `evidence`: three passages are shown, as many as the world's articles have; where one of the first three answers,
no others are reranked; the verifier judges for those policies alone that ask it; the world's questions take four
lookups, and a round that sees that they are enough; what a passage names is in another."""
CALIBRATION = (7001, 1000, 400)
"""Seed and size of the world that thresholds are set on, and how many queries."""
PICTURES = 1200
"""Questions that the picture is searched for, on the same world: one in two hundred of them sets the line."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of the subcommand."""
    parser.add_argument("--workdir", type=Path, default=Path("work/starter"), help="default: %(default)s")
    parser.add_argument(
        "--minutes",
        type=float,
        default=None,
        help="for all stages together, on two CPU cores (default: 295, with --from 115)",
    )
    parser.add_argument(
        "--from",
        dest="checkpoints",
        type=Path,
        metavar="CHECKPOINTS",
        help="begin with the models of a checkpoint directory: base and deciders are trained further, the rest is kept",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=2,
        help="CPU threads; beside a GPU the processes that draw and make its batches (default: %(default)s)",
    )
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="where base, deciders, image encoder and detector learn; auto is a GPU where torch sees one (default:"
        " %(default)s)",
    )
    parser.add_argument(
        "--interpolate",
        type=float,
        metavar="SHARE",
        default=1.0,
        help="with --from: how much of the way from the base's earlier weights to the trained ones is kept, above 0 and"
        " at most 1; 0.5 is the average of both, which forgets less and learns less (default: %(default)s)",
    )
    parser.add_argument(
        "--stages", nargs="+", choices=STAGES, default=None, help=f"default: all but {' and '.join(OPTIONAL)}"
    )


def budgets(
    minutes: float, stages: Sequence[str] = WHOLE_STAGES, divided: Mapping[str, float] = SHARES
) -> dict[str, float]:
    """Minutes of each timed stage of `stages`, so that they all together take about `minutes`.

    Raises:
        ValueError: nothing would be left for training.
    """
    untimed = sum(UNTIMED.get(stage, 0.0) for stage in stages)
    shares = {stage: divided[stage] for stage in stages if stage in divided}
    if minutes <= untimed:
        raise ValueError(f"--minutes must be above {untimed:g}, which drawing, annotating and measuring take")
    return {stage: share * (minutes - untimed) / sum(shares.values()) for stage, share in shares.items()}


def run(args: argparse.Namespace) -> int:
    """Train. Returns 0, 2 when an argument or an earlier stage's output is wrong, or 130 when stopped."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    further = args.checkpoints is not None
    stages = args.stages or list(FURTHER_STAGES if further else WHOLE_STAGES)
    minutes = args.minutes or (FURTHER_MINUTES if further else MINUTES)
    try:
        with stopping():  # so that a sitting that is ended is noted
            _train(
                args.workdir,
                args.checkpoints,
                stages,
                budgets(minutes, FURTHER_STAGES, FURTHER_SHARES) if further else budgets(minutes),
                args.threads,
                args.device,
                args.interpolate,
            )
    except (ValueError, OSError) as error:
        tell(f"quizglass-lab starter: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        tell("quizglass-lab starter: stopped; the same command goes on from here", file=sys.stderr)
        return STOPPED
    tell(f"next: quizglass-lab pack-checkpoints --from {args.workdir} --out CHECKPOINTS")
    return 0


def _train(
    workdir: Path,
    checkpoints: Path | None,
    stages: Sequence[str],
    minutes: Mapping[str, float],
    threads: int,
    device: str,
    kept: float,
) -> None:
    from quizglass_lab.starter.train import train
    from quizglass_lab.starter.workplace import Workplace

    keep_freed_memory()
    seed = 0
    if checkpoints is not None:
        Workplace(workdir).begin_from(checkpoints)
        seed = 1  # other worlds than those of the first training
    if base := [stage for stage in stages if stage in BASE_STAGES]:
        given = {stage: minutes[stage] for stage in base if stage in minutes}
        train(base, given, threads, workdir, device=device, kept=kept)
    for stage in (*RETRIEVAL_STAGES, *SEEING_STAGES):
        if stage in stages:
            where = {"device": device} if stage in ON_GPU else {}
            _trainer(stage)(workdir, minutes.get(stage, SHARES[stage]), threads, seed, **where)
    if "thresholds" in stages:
        work = Workplace(workdir)
        with work.sitting("thresholds"):
            measured = write_thresholds(workdir)
        work.finish("thresholds", measured)
    elif stage_thresholds(workdir):
        keep_thresholds(workdir, {})


def _trainer(stage: str) -> Callable[..., object]:
    from quizglass_lab.retrieval.image_encoder import train_image_encoder
    from quizglass_lab.retrieval.reranker import train_reranker
    from quizglass_lab.retrieval.text_encoder import train_text_encoder
    from quizglass_lab.seeing.coarse_reranker import train_coarse_reranker
    from quizglass_lab.seeing.detector import train_detector
    from quizglass_lab.seeing.domain_router import train_domain_router

    return {
        "text_encoder": train_text_encoder,
        "reranker": train_reranker,
        "image_encoder": train_image_encoder,
        "detector": train_detector,
        "coarse_reranker": train_coarse_reranker,
        "domain_router": train_domain_router,
    }[stage]


def write_thresholds(workdir: Path) -> dict[str, object]:
    """Set how much is looked up and how pictures are searched for, and the scores that evidence must reach then.

    All go to `settings.json`, whose other keys stay, and so does a way to search that it already gives. Returns the
    measurements.
    """
    from quizglass_lab.retrieval.evaluate import evaluate_reranking
    from quizglass_lab.retrieval.picture_search import EVIDENCE, evaluate_images
    from quizglass_lab.seeing.looking import finder

    path = workdir / "settings.json"
    settings = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    settings["evidence"] = EVIDENCE | PLANNED | settings.get("evidence", {})
    path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    images = evaluate_images(workdir, *CALIBRATION[:2], PICTURES, regions=finder(workdir))
    passages = evaluate_reranking(workdir, *CALIBRATION)
    reports: dict[str, Any] = {
        "image_accept": images["accept"] | {name: images[name] for name in ("all", "accepted", "format 1", "format 2")},
        "rerank_accept": passages["accept"],
    }
    match = {"support_match": images["match"]}
    keep_thresholds(workdir, {name: report["threshold"] for name, report in reports.items()} | match)
    return reports | match


def keep_thresholds(workdir: Path, measured: Mapping[str, object]) -> None:
    """Write `measured`, and the thresholds that stages found out themselves, to `settings.json`; others stay."""
    path = workdir / "settings.json"
    settings = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    settings["thresholds"] = settings.get("thresholds", {}) | dict(measured) | stage_thresholds(workdir)
    path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def stage_thresholds(workdir: Path) -> dict[str, float]:
    """The thresholds that stages found out themselves; of those that are not done, none."""
    lines = {}
    for key, stage in _FITTED_BY.items():
        path = workdir / stage / "done.json"
        if path.is_file() and (line := json.loads(path.read_text(encoding="utf-8")).get(key)) is not None:
            lines[key] = line
    return lines
