"""What a step tells of itself, and how much it has to do, goes by the arguments that the step has."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

import pytest

from quizglass_server import steps
from quizglass_server.assistant import recollection
from quizglass_server.steps import step
from quizglass_server.steps.step import Step

MODULES = [importlib.import_module(each.name) for each in pkgutil.walk_packages(steps.__path__, f"{steps.__name__}.")]
STEPS = {
    each.name: each for module in (*MODULES, recollection) for each in vars(module).values() if isinstance(each, Step)
}


@pytest.mark.parametrize("named", [False, True], ids=["in order", "by name"])
@pytest.mark.parametrize("name", STEPS)
def test_hooks_take_what_the_step_takes(name: str, named: bool) -> None:
    done: Step[Any, Any] = STEPS[name]
    _, *given = inspect.signature(done.work).parameters.values()
    required = [p.name for p in given if p.default is p.empty and p.kind is not p.KEYWORD_ONLY]
    further = {p.name: p.name for p in given if p.name not in required}
    by_name = {} if not named else further
    in_order = [] if named else [p.name for p in given if p.name in further]
    for hook, result in ((done.size, ()), (done.told, (None,))):
        inspect.signature(hook).bind(*result, *required)
        inspect.signature(hook).bind(*result, *required, *in_order, **by_name)


@pytest.mark.parametrize("name", STEPS)
def test_every_step_tells_something_of_itself(name: str) -> None:
    assert STEPS[name].told is not step._untold, name


def test_steps_are_met() -> None:
    assert set(STEPS) >= {"decide", "generate", "rerank", "recall"}
