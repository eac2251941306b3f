"""The everyday bundle, built from its packages, asked about photographs. Run by `make everyday-test` alone.

Downloads about 230 MB the first time; `work/everyday` keeps what was made, as `make everyday` does.
"""

from pathlib import Path

import pytest

from clients.demo import everyday
from quizglass_export.everyday.base import gguf_file
from quizglass_export.everyday.facts import all_facts
from quizglass_export.everyday.weights import fetch_everything
from quizglass_export.gguf.header import read_gguf

WORKDIR = Path("work/everyday")
pytestmark = pytest.mark.everyday


def test_packages_bring_weights_and_facts() -> None:
    fetch_everything(WORKDIR)
    assert read_gguf(gguf_file(WORKDIR)).metadata["general.architecture"] == "llama"
    known = {(fact.thing, fact.name): fact.value for fact in all_facts(WORKDIR)}
    assert known["France", "capital"] == "Paris"
    assert known["Iron", "symbol"] == "Fe"


def test_the_demo_answers_half_of_its_questions_at_least() -> None:
    assert everyday.main(["--workdir", str(WORKDIR), "--least", "4"]) == 0
