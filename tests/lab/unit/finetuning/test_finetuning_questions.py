"""The questions that recipes annotate, parted for measuring: what is measured on was not trained on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_export.errors import ExportError
from quizglass_lab.datasets.reading.sample import Sample, SamplePicture
from quizglass_lab.finetuning.evaluation.evaluate import Evaluation
from quizglass_lab.finetuning.recipes.planner import PlannerAnnotation
from quizglass_lab.finetuning.recipes.questions import go_on, held_out_ids, write_examples
from quizglass_lab.finetuning.training.examples import TrainingExample, read_examples

ENTRIES, SESSIONS = st.lists(st.sampled_from("abcdefghijkl"), max_size=3), st.sampled_from(["", "", "s", "t", "u"])
ABOUT = st.lists(st.tuples(ENTRIES, SESSIONS), max_size=40)


@given(about=ABOUT, share=st.sampled_from([0.0, 0.1, 0.3, 0.9]), seed=st.integers(0, 3))
def test_no_entry_and_no_session_is_in_both_parts(about: list[tuple[list[str], str]], share: float, seed: int) -> None:
    samples = [
        Sample(str(number), "Who?", entries=tuple(entries), session=session)
        for number, (entries, session) in enumerate(about)
    ]
    held_out = held_out_ids(samples, share, seed)
    parts = [[each for each in samples if (each.id in held_out) is inside] for inside in (True, False)]
    told, trained = ({*each.entries, each.session} for each in parts[0]), [{*e.entries, e.session} for e in parts[1]]
    assert not (set().union(*told) & set().union(*trained)) - {""}
    assert len(held_out) <= round(share * len(samples))
    assert held_out == held_out_ids(samples, share, seed)


def test_the_share_is_reached_where_questions_stand_alone() -> None:
    samples = [Sample(str(number), "Who?", entries=(str(number),)) for number in range(40)]
    assert len(held_out_ids(samples, 0.25, 0)) == 10
    assert held_out_ids(samples, 0.25, 0) != held_out_ids(samples, 0.25, 1)


def test_questions_about_one_picture_stay_together_where_nothing_else_is_known() -> None:
    samples = [Sample(str(n), "Who?", pictures=(SamplePicture(f"{n // 2}.jpg"),)) for n in range(8)]
    held_out = {int(name) for name in held_out_ids(samples, 0.5, 0)}
    assert len(held_out) == 4
    assert {number // 2 for number in held_out} == {number // 2 for number in held_out if number % 2}


def test_an_example_belongs_to_its_question_whatever_its_id_is(tmp_path: Path) -> None:
    ids = ["https://host.example/1", "https://host.example/2"]
    examples = [TrainingExample(id=f"{name}//plan", objective="plan", task="plan", target="x") for name in ids]
    write_examples(examples, {ids[0]}, tmp_path)
    assert [each.id for each in read_examples(tmp_path / "train.jsonl")] == [f"{ids[1]}//plan"]
    assert [each.id for each in read_examples(tmp_path / "held-out.jsonl")] == [f"{ids[0]}//plan"]


def test_files_of_every_model_that_is_asked_are_noted(tmp_path: Path) -> None:
    files = {name: tmp_path / f"{name}.gguf" for name in ("answerer", "writer", "planner", "entity")}
    for path in files.values():
        path.write_bytes(path.name.encode())
    shared = {"data": (tmp_path / "q.jsonl",), "out": tmp_path / "out", "answerer": str(files["answerer"])}
    deciders = (f"planner={files['planner']}", f"entity={files['entity']}", "subject=http://127.0.0.1:1/v1#m")
    measured = Evaluation(**shared, deciders=deciders)
    for name in ("planner", "entity"):
        refused_once_changed(measured, files[name], "--deciders")
    refused_once_changed(measured, files["answerer"], "--answerer")
    refused_once_changed(PlannerAnnotation(**shared, writer=str(files["writer"])), files["writer"], "--writer")
    judged = PlannerAnnotation(**shared, judge=str(files["writer"]))
    refused_once_changed(judged, files["writer"], "--judge")
    (tmp_path / "mmproj.gguf").write_bytes(b"sees")
    refused_once_changed(judged, tmp_path / "mmproj.gguf", "--answerer, --judge")
    files["answerer"].unlink()
    go_on(judged)  # that it is missing is said where it is asked


def refused_once_changed(options: Evaluation | PlannerAnnotation, file: Path, flags: str) -> None:
    shutil.rmtree(options.out, ignore_errors=True)
    go_on(options)
    (options.out / "kept.jsonl").write_text("{}\n")
    go_on(options)
    before = file.read_bytes()
    file.write_bytes(b"trained again")
    with pytest.raises(ExportError, match=f"begun with another {flags}; choose"):
        go_on(options)
    file.write_bytes(before)
    go_on(options)
