"""`precision = "quickest"`: each precision of a role made, compared and timed on this machine, and the quickest kept.

Every candidate is exported and compared with PyTorch as if a recipe named it. Those that pass run on further samples,
side by side with float32, sample by sample and in changing order, so that what else a machine does slows all of them.
What is found is a step of the work directory like any other; on another CPU it is measured again.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from quizglass_export.assembly.plan import Plan
from quizglass_export.assembly.role_steps import RoleSteps, checks_of, part_of, shown
from quizglass_export.assembly.work import Step
from quizglass_export.checks import Check, Precision
from quizglass_export.errors import ExportError
from quizglass_export.onnx.sample_runs import Distance, Run, SampleRuns
from quizglass_export.roles.shared.samples import SEED
from quizglass_server.engines.generator.checks.machine import cpu_name

Advance = Callable[[str], None]
Group = Mapping[str, Step]
"""The steps of a graph made in one precision: its owner's, and those of the deciders that share it."""
_YARDSTICK: Precision = "fp32"
_CHUNK = 50
"""Samples that are drawn together, and runs after which progress is shown."""
_ROUNDS = 7


def quickest_steps(plan: Plan) -> tuple[str, ...]:
    """What `advance` will be called with by `choose`, in order; more is said in between."""
    names: list[str] = []
    for role in plan.undecided:
        names += [f"{shown(role)}: {precision}" for precision in plan.spec(role).candidates]
        names.append(_comparing(role))
    return tuple(names)


def choose(steps: RoleSteps, advance: Advance) -> tuple[RoleSteps, dict[str, dict[str, Any]]]:
    """Decide every precision that the recipe leaves to measurement.

    Returns:
        The steps of the plan that names them, and for each of these roles the measurement as JSON values: `cpu`, `runs`
        (how often each candidate was run), `roles` (those of the graph), `candidates` (as `MeasuredPrecision`),
        `chosen` and `why`.

    Raises:
        ExportError: float32, which the others are held against, is not accepted itself.
    """
    found: dict[str, dict[str, Any]] = {}
    for role in steps.plan.undecided:
        made, refused = _candidates(steps, role, advance)
        advance(_comparing(role))
        key = {
            "cpu": cpu_name(),
            "how": steps.plan.file.recipe.quickest.model_dump(),
            "roles": {name: steps.key(name) for name in made[_YARDSTICK]},
            "refused": refused,
            "made": {precision: dict(group[role].digests) for precision, group in made.items()},
        }
        measured = partial(_measured, steps, role, made, refused, advance)
        found[role] = steps.work.step(f"{role}.quickest", key, measured).result
        steps = steps.by(steps.plan.decided(role, found[role]["chosen"]))
    return steps, found


def _comparing(role: str) -> str:
    return f"{shown(role)}: which is quickest"


def _candidates(steps: RoleSteps, role: str, advance: Advance) -> tuple[dict[str, Group], dict[str, str]]:
    """The candidates that are accepted beside PyTorch, and why the others are not."""
    made: dict[str, Group] = {}
    refused: dict[str, str] = {}
    for precision in steps.plan.spec(role).candidates:
        advance(f"{shown(role)}: {precision}")
        try:
            group = _group(steps.by(steps.plan.decided(role, precision)), role)
        except ExportError as error:
            if precision == _YARDSTICK or isinstance(error.__cause__, OSError):
                raise  # of no candidate, but of the checkpoint or the disk
            refused[precision] = str(error)
            continue
        checks = [check for step in group.values() for check in checks_of(step)]
        if group[role].result["notes"].get("products") == 0:
            refused[precision] = "no product is large enough"
        elif wrong := _wrong(checks):
            refused[precision] = wrong
        else:
            made[precision] = group
    if _YARDSTICK not in made:
        told = "\n".join(f"  {precision}: {reason}" for precision, reason in refused.items())
        raise ExportError(
            f'roles.{role}.precision: "quickest" accepts no candidate, since {_YARDSTICK}, which the others are held '
            f"against, differs from PyTorch; correct that, or name a precision:\n{told}"
        )
    return made, refused


def _group(steps: RoleSteps, role: str) -> Group:
    group: dict[str, Step] = {}
    for each in steps.plan.served(role):
        group[each] = steps.run(each, group)
    return group


def _wrong(checks: Sequence[Check]) -> str:
    """The comparisons that failed, in one line."""
    return "; ".join(
        f"{check.role}: {check.measure} is {check.value:.4g}, demanded {check.demand}"
        for check in checks
        if not check.passed
    )


@dataclass(slots=True)
class _Measurement:
    """What came of one candidate so far."""

    times: list[float] = field(default_factory=list)
    """Seconds of each sample."""
    distances: dict[str, list[Distance]] = field(default_factory=dict)
    """From float32, of each role's samples."""


@dataclass(frozen=True, slots=True)
class MeasuredPrecision:
    """One candidate, as reports have it.

    Attributes:
        precision: its name in recipes.
        bytes: size of its files.
        milliseconds: median of the rounds; None: it was not timed.
        quartiles: of the rounds' medians.
        checks: how far it is from float32 on the samples, each with its bound.
        refused: why it cannot be taken; empty if it can.
    """

    precision: str
    bytes: int | None = None
    milliseconds: float | None = None
    quartiles: tuple[float, float] | None = None
    checks: tuple[Check, ...] = ()
    refused: str = ""


def _measured(
    steps: RoleSteps, role: str, made: Mapping[str, Group], refused: Mapping[str, str], advance: Advance, _: Path
) -> dict[str, Any]:
    """Run the candidates side by side, and choose. Where float32 is alone there is nothing to measure."""
    results: dict[str, _Measurement] = {precision: _Measurement() for precision in made}
    judges = _run(steps, role, made, results, advance) if len(made) > 1 else {}
    rounds = _rounds(results)
    candidates = [MeasuredPrecision(precision, refused=reason) for precision, reason in refused.items()]
    for precision, result in results.items():
        checks = [check for name, found in result.distances.items() for check in judges[name].judged(found)]
        low, middle, high = np.quantile(rounds[precision], (0.25, 0.5, 0.75)) if rounds else (None, None, None)
        candidates.append(
            MeasuredPrecision(
                precision,
                sum(path.stat().st_size for path in made[precision][role].files()),
                None if middle is None else round(float(middle), 4),
                None if low is None or high is None else (round(float(low), 4), round(float(high), 4)),
                tuple(checks),
                _wrong(checks),
            )
        )
    chosen, why = quickest_of([each for each in candidates if not each.refused], rounds)
    order = steps.plan.spec(role).candidates
    candidates.sort(key=lambda each: order.index(each.precision))
    return {
        "cpu": cpu_name(),
        "runs": len(results[_YARDSTICK].times),
        "roles": list(judges) or [role],
        "candidates": [asdict(each) for each in candidates],
        "chosen": chosen,
        "why": why,
    }


def _run(
    steps: RoleSteps,
    role: str,
    made: Mapping[str, Group],
    results: Mapping[str, _Measurement],
    advance: Advance,
) -> dict[str, SampleRuns]:
    """Run every sample with each candidate, until the time is over; returns what judges the distances of each role."""
    how = steps.plan.file.recipe.quickest
    least = _ROUNDS * len(made[_YARDSTICK])  # a sample of each role in every round
    began = time.monotonic()
    models: dict[str, Run] = {}
    judges: dict[str, SampleRuns] = {}
    for number, (name, runs, index) in enumerate(_samples(steps, role, made[_YARDSTICK], how.samples)):
        given = runs.inputs(index)
        if not models:
            models = {precision: runs.opened(group[role].folder) for precision, group in made.items()}
            for model in models.values():
                model(given)  # allocates
        elif number >= least and time.monotonic() - began > how.seconds:
            break
        judges[name] = runs
        outputs = _outputs(models, given, number, results)
        for precision, result in results.items():
            if precision != _YARDSTICK:
                apart = runs.apart(outputs[precision], outputs[_YARDSTICK])
                result.distances.setdefault(name, []).append(apart)
        if number % _CHUNK == 0:
            so_far = f"{time.monotonic() - began:.0f} of at most {how.seconds:g} s"
            advance(f"{_comparing(role)}: {number + 1:,} of {how.samples * len(made[_YARDSTICK]):,} samples, {so_far}")
    return judges


def _outputs(models: Mapping[str, Run], given: Any, number: int, results: Mapping[str, _Measurement]) -> dict[str, Any]:
    """Each model's outputs for one sample, timed; they take turns in being first."""
    order = list(models)
    outputs = {}
    for place in range(len(order)):
        precision = order[(place + number) % len(order)]
        began = time.perf_counter()
        outputs[precision] = models[precision](given)
        results[precision].times.append(time.perf_counter() - began)
    return outputs


def _samples(steps: RoleSteps, role: str, made: Group, most: int) -> Iterator[tuple[str, SampleRuns, int]]:
    """Samples as each role of a graph reads them: others than those that were compared with PyTorch."""
    runs_of = steps.plan.exporter(role).runs
    if runs_of is None:
        raise ExportError(f"roles.{role}.precision: {role} has no precisions to choose from; name one")
    for begin in range(0, most, _CHUNK):
        samples = tuple(steps.plan.draw(min(_CHUNK, most - begin), SEED + 1 + begin // _CHUNK))
        runs = {
            name: runs_of(steps.job(name, step.folder, samples), steps.plan.spec(name), part_of(name, step))
            for name, step in made.items()
        }
        for index in range(len(samples)):
            yield from ((name, each, index) for name, each in runs.items() if index < each.count)


def _rounds(results: Mapping[str, _Measurement]) -> dict[str, list[float]]:
    """Median milliseconds of each round of samples, the same samples of every candidate."""
    count = len(results[_YARDSTICK].times)
    if not count:
        return {}
    return {
        precision: [float(np.median(part)) * 1e3 for part in np.array_split(result.times, min(_ROUNDS, count))]
        for precision, result in results.items()
    }


def quickest_of(accepted: Sequence[MeasuredPrecision], rounds: Mapping[str, Sequence[float]]) -> tuple[str, str]:
    """The quickest, and why; of those as quick in a quarter of the rounds, the smallest.

    Args:
        accepted: candidates, float32 among them.
        rounds: milliseconds of each candidate in each round.
    """
    if len(accepted) == 1:
        return accepted[0].precision, "no other is accepted"
    first = min(accepted, key=lambda each: statistics.median(rounds[each.precision]))

    def beside(each: MeasuredPrecision, other: str) -> Any:
        return np.divide(rounds[each.precision], rounds[other])

    level = [each for each in accepted if np.quantile(beside(each, first.precision), 0.25) <= 1]
    chosen = min(level, key=lambda each: each.bytes or 0)
    told = f"{np.median(beside(chosen, _YARDSTICK)):.2f} of {_YARDSTICK}'s time"
    if chosen.precision == _YARDSTICK:
        told = "no other is quicker"
    if chosen is not first:
        told += f", as quick as {first.precision} within what the rounds differ, and smaller"
    return chosen.precision, told
