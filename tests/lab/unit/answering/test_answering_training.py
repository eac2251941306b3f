"""A reranker that learns which sentences answer: what it is shown, what it is taught, and what it leaves."""

import json
import random
import re
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from quizglass_export.checkpoints.cross_encoder import load_base, write_checkpoint
from quizglass_export.checkpoints.merge import merge_adapter
from quizglass_export.checkpoints.source import Source
from quizglass_export.errors import ExportError
from quizglass_lab import cli
from quizglass_lab.answering.calibrating import calibrated
from quizglass_lab.answering.cross_encoder import PairScorer
from quizglass_lab.answering.learning import loss_of
from quizglass_lab.answering.measuring import WeighedQuestion, measured
from quizglass_lab.answering.notes import notes_by_file
from quizglass_lab.answering.pairs import QuestionCandidates, candidates_of, some_open, with_more
from quizglass_lab.finetuning.recipes.everyday_reranker import AnsweringTraining, train
from quizglass_lab.finetuning.shared.progress import Progress
from tests.support.bundles.tiny_checkpoints import text_model

NOTES = """# the car
- red is this
- blue is this
? what red => 1
? what blue => 2
? what tower => -
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return text_model(tmp_path_factory.mktemp("base"), "bert")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "one.notes").write_text(NOTES)
    (folder / "two.notes").write_text(NOTES.replace("car", "boat"))
    return folder


def options(base: Path, notes: Path, out: Path, **more: object) -> AnsweringTraining:
    small = {
        "held_out": ("two",),
        "epochs": 120,
        "learning_rate": 1e-2,
        "batch": 3,
        "others": 0,
        "composed": 0,
        "rank": 8,
        "threads": 1,
        "dropout": 0.0,
    }
    return AnsweringTraining.model_validate({"checkpoint": base, "notes": notes, "out": out, **small, **more})


def priced_notes(folder: Path) -> None:
    """Two files whose questions a sentence answers by its words alone."""
    priced = "# the car\n- red is this\n- this costs 45\n? what costs this => 2\n"
    silent = "\n# a tower\n- red is this\n- blue boats\n? what costs this => -\n"
    for name, title in {"one": "the car", "two": "the boat"}.items():
        (folder / f"{name}.notes").write_text((priced + silent).replace("the car", title))


def test_every_sentence_of_a_note_is_weighed_under_its_title(notes: Path) -> None:
    red, _, tower = candidates_of(notes_by_file(notes)["one"])
    sentences = ("the car: red is this", "the car: blue is this")
    assert red == QuestionCandidates("what red", sentences, frozenset({0}), "the car: red is this blue is this")
    assert tower.answers == frozenset()


def test_passages_of_other_notes_answer_nothing_and_none_is_a_question_s_own() -> None:
    some = [
        QuestionCandidates(f"q{at}", (f"note {at}: a", f"note {at}: b"), frozenset({1}), named=at < 4)
        for at in range(5)
    ]
    for before, after in zip(some, with_more(some, 3, random.Random(1)), strict=True):
        assert after.passages[:2] == before.passages
        assert len(set(after.passages)) == (5 if before.named else 2), "what does not name its note may mean another"
        assert after.answers == before.answers


def test_a_note_of_the_same_title_is_no_other_note() -> None:
    mine = QuestionCandidates("what bike", ("bike: red", "bike: old"), frozenset({0}), named=True)
    yours = QuestionCandidates("what", ("bike: blue", "boat: blue"), frozenset())
    shown = {passage for seed in range(20) for passage in with_more([mine, yours], 1, random.Random(seed))[0].passages}
    assert shown == {"bike: red", "bike: old", "boat: blue"}


def test_a_question_without_the_sentences_that_answer_it_is_left_open() -> None:
    told = QuestionCandidates("q", ("a", "b", "c"), frozenset({1}), "a b c")
    seen = {(each.passages, each.answers) for each in some_open([told] * 100, random.Random(1))}
    assert seen == {(told.passages, told.answers), (("a", "c"), frozenset())}
    alone = QuestionCandidates("q", ("a",), frozenset({0}))
    assert set(some_open([alone] * 100, random.Random(1))) == {alone}


def test_a_whole_note_answers_what_one_of_its_sentences_answers(notes: Path) -> None:
    rng, whole = random.Random(1), set()
    for _ in range(200):
        for after in with_more(candidates_of(notes_by_file(notes)["one"]), 0, rng):
            if len(after.passages) == 3:
                whole.add((after.question, after.passages[2], 2 in after.answers))
    note = "the car: red is this blue is this"
    assert whole == {("what red", note, True), ("what blue", note, True), ("what tower", note, False)}


def test_what_is_learned_is_kept_measured_and_merges_into_a_checkpoint(base: Path, tmp_path: Path) -> None:
    priced_notes(tmp_path)
    facts = train(options(base, tmp_path, tmp_path / "out"), Progress(quiet=True))
    assert facts["losses"][-1] < 0.2 < facts["losses"][0]
    assert facts["held_out"]["best_right"] == 1
    half = next(line for line in facts["held_out"]["lines"] if line[0] == 0.5)
    assert half == [0.5, 1, 1], "the answer over the line, and what the note does not say below it"
    assert json.loads((tmp_path / "out" / "training.json").read_text())["held_out"] == facts["held_out"]
    with safe_open(tmp_path / "out" / "adapter" / "adapter_model.safetensors", "pt") as file:
        assert {file.get_tensor(key).dtype for key in file.keys()} == {torch.float16}  # noqa: SIM118
    checkpoint = write_checkpoint(base, tmp_path / "out" / "adapter", tmp_path / "checkpoint")
    model = Source(checkpoint).load("BertForSequenceClassification")
    scores = PairScorer(model, checkpoint / "tokenizer.json", 64).probabilities(
        [("what costs this", "the boat: this costs 45"), ("what costs this", "the boat: red is this")]
    )
    assert scores[0] > 0.5 > scores[1]


def test_a_trained_adapter_learns_on_from_what_it_knows(base: Path, tmp_path: Path) -> None:
    priced_notes(tmp_path)
    train(options(base, tmp_path, tmp_path / "first"), Progress(quiet=True))
    known = {"adapter": tmp_path / "first" / "adapter", "epochs": 1, "learning_rate": 1e-6}
    further = train(options(base, tmp_path, tmp_path / "second", **known), Progress(quiet=True))
    assert further["losses"][0] < 0.4
    assert len(further["adapter"]) == 64


def test_an_adapter_that_is_widened_begins_with_what_it_knows(base: Path, tmp_path: Path) -> None:
    priced_notes(tmp_path)
    train(options(base, tmp_path, tmp_path / "first"), Progress(quiet=True))
    known = {"adapter": tmp_path / "first" / "adapter", "epochs": 1, "learning_rate": 1e-9, "rank": 32}
    train(options(base, tmp_path, tmp_path / "wide", **known), Progress(quiet=True))
    pairs = [("what costs this", "the boat: this costs 45"), ("what costs this", "the boat: red is this")]
    before, after = (
        PairScorer(merge_adapter(load_base(base), tmp_path / name / "adapter"), base / "tokenizer.json", 64)
        for name in ("first", "wide")
    )
    assert after.probabilities(pairs) == pytest.approx(before.probabilities(pairs), abs=2e-3)
    config = json.loads((tmp_path / "wide" / "adapter" / "adapter_config.json").read_text())
    assert (config["r"], config["lora_alpha"]) == (32, 32)
    with safe_open(tmp_path / "wide" / "adapter" / "adapter_model.safetensors", "pt") as file:
        assert {file.get_slice(key).get_shape()[0] for key in file.keys() if "lora_A" in key} == {32}  # noqa: SIM118


def test_a_mixed_adapter_lies_between_what_was_known_and_what_was_learned(base: Path, tmp_path: Path) -> None:
    priced_notes(tmp_path)
    train(options(base, tmp_path, tmp_path / "first"), Progress(quiet=True))
    known = {"adapter": tmp_path / "first" / "adapter", "epochs": 4}
    for name, share in (("second", 0.0), ("mixed", 0.25)):
        train(options(base, tmp_path, tmp_path / name, **known, mix=share), Progress(quiet=True))
    first, second, mixed = (
        load_file(tmp_path / name / "adapter" / "adapter_model.safetensors") for name in ("first", "second", "mixed")
    )
    for key, value in mixed.items():
        wanted = 0.25 * first[key].float() + 0.75 * second[key].float()
        torch.testing.assert_close(value.float(), wanted, atol=1e-3, rtol=1e-2)
    assert any(not torch.equal(first[key], second[key]) for key in first)


def test_an_adapter_of_other_layers_is_refused_by_a_key(base: Path, tmp_path: Path) -> None:
    priced_notes(tmp_path)
    train(options(base, tmp_path, tmp_path / "first"), Progress(quiet=True))
    path = tmp_path / "first" / "adapter" / "adapter_model.safetensors"
    kept = load_file(path)
    gone = sorted(key for key in kept if "query" in key)[0]
    save_file({key: value for key, value in kept.items() if key != gone}, path)
    with pytest.raises(ExportError, match=re.escape(gone)):
        train(options(base, tmp_path, tmp_path / "second", adapter=path.parent), Progress(quiet=True))


def test_the_loss_is_of_each_pair_and_of_the_choice_among_them_or_none(base: Path) -> None:
    scorer = PairScorer(load_base(base).eval(), base / "tokenizer.json", 64)
    told = QuestionCandidates("what red", ("the car: red", "the car: blue"), frozenset({0}))
    left_open = QuestionCandidates("what tower", ("the boat: red",), frozenset())
    first, second, third = scorer.logits([("what red", "the car: red"), ("what red", "the car: blue")]).tolist() + (
        scorer.logits([("what tower", "the boat: red")]).tolist()
    )
    log_sigmoid = torch.nn.functional.logsigmoid
    alone = -(log_sigmoid(torch.tensor(first)) + log_sigmoid(torch.tensor([-second, -third])).sum()) / 3
    chosen = torch.logsumexp(torch.tensor([first, second, 0.0]), 0) - first
    none = torch.logsumexp(torch.tensor([third, 0.0]), 0)
    loss = loss_of(scorer, [told, left_open])
    assert loss.item() == pytest.approx((alone + (chosen + none) / 2).item(), abs=1e-4)


def test_questions_are_counted_by_whether_the_note_answers() -> None:
    told = QuestionCandidates("q", ("a", "b"), frozenset({1}))
    left_open = QuestionCandidates("q", ("a", "b"), frozenset())
    counted = measured(
        [
            WeighedQuestion(told, (0.2, 0.85)),
            WeighedQuestion(told, (0.8, 0.1)),
            WeighedQuestion(left_open, (0.1, 0.3)),
            WeighedQuestion(left_open, (0.65, 0)),
        ]
    )
    assert (counted["answerable"], counted["unanswerable"], counted["best_right"]) == (2, 2, 0.5)
    lines = {line: shares for line, *shares in counted["lines"]}
    assert (lines[0.3], lines[0.4], lines[0.9]) == ([0.5, 0.0], [0.5, 0.5], [0.0, 1.0])


def test_a_file_that_is_not_there_cannot_be_held_out(base: Path, notes: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"--held-out: 'three' is no file of .*; there are one, two"):
        train(options(base, notes, tmp_path / "out", held_out=("three",)), Progress(quiet=True))


def test_a_base_that_is_none_is_named(notes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", "everyday-reranker", "--checkpoint", str(tmp_path / "none"), "--notes", str(notes)]
    assert cli.main([*command, "--held-out", "two", "--out", str(tmp_path / "out")]) == 2
    assert f"{tmp_path / 'none' / 'config.json'}: missing; --checkpoint must name a BERT" in capsys.readouterr().err


def test_a_line_is_chosen_above_what_is_wrong_and_below_what_is_right() -> None:
    told = QuestionCandidates("q", ("a", "b"), frozenset({1}))
    left_open = QuestionCandidates("q", ("a", "b"), frozenset())
    weighed = [WeighedQuestion(told, (0.2, 0.85)), WeighedQuestion(left_open, (0.1, 0.6))]
    found = calibrated(weighed)
    assert (found.right, found.wrong) == (1, 0)
    assert 0.6 < found.accept <= 0.85
