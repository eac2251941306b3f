"""The benchmarks' own scores, on cases worked out by hand from their published rules."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from quizglass_lab.scoring.benchmarks.bem import Bem
from quizglass_lab.scoring.benchmarks.choice import taken_option
from quizglass_lab.scoring.benchmarks.encyclopedic import encyclopedic_match, encyclopedic_score
from quizglass_lab.scoring.benchmarks.relaxed import numbers_in, relaxed_match
from quizglass_lab.scoring.benchmarks.vqa import vqa_accuracy, vqa_normalised

TEN = ["red"] * 3 + ["dark red"] * 2 + ["maroon"] * 5


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("maroon", 1.0),
        ("red", (3 * 2 / 3 + 7 * 1) / 10),  # one who said it is left out: two others; else three
        ("dark red", (2 * 1 / 3 + 8 * 2 / 3) / 10),
        ("The Red!", (3 * 2 / 3 + 7 * 1) / 10),
        ("blue", 0.0),
    ],
)
def test_vqa_accuracy_counts_the_other_nine(answer: str, score: float) -> None:
    assert vqa_accuracy(answer, TEN) == pytest.approx(score)


def test_vqa_accuracy_normalises_only_where_people_differ() -> None:
    assert vqa_accuracy("2", ["two"] * 10) == 0.0
    assert vqa_accuracy("two", ["2"] * 9 + ["3"]) == 1.0
    assert vqa_accuracy("a dog", ["a dog"] * 2 + ["dog"] * 2 + ["The Dog"] * 2 + ["cat"] * 4) == 1.0
    assert vqa_accuracy("yes", ["yes\n"] * 10) == 1.0
    with pytest.raises(ValueError, match="votes"):
        vqa_accuracy("2", [])


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The cat, and a dog.", "cat and dog"),
        ("dont", "don't"),
        ("couldnt've", "couldn't've"),
        ("yall'd've, y'alld've", "y'all'd've y'all'd've"),
        ("couldntve", "couldntve"),
        ("somebody'd", "somebodyd"),
        ("1,000 people", "1000 people"),
        ("at 2.5 m.", "at 2.5 m"),
        ("black/white", "black white"),
        ("Ten", "10"),
        ("none", "0"),
    ],
)
def test_vqa_normalisation(text: str, plain: str) -> None:
    assert vqa_normalised(text) == plain


@pytest.mark.parametrize(
    ("answer", "taken"),
    [
        ("Red.", "Red."),
        ("red", "Red."),
        ("It is the red one.", "Red."),
        ("It is dark red.", "Dark red."),
        ("Dark red or red.", "Dark red."),
        ("Red or blue.", None),
        ("Reddish.", None),
        ("Green.", None),
        ("", None),
        ("...", None),
    ],
)
def test_an_answer_takes_the_option_whose_words_it_says(answer: str, taken: str | None) -> None:
    assert taken_option(answer, ("Red.", "Dark red.", "Blue.", "...?")) == taken


def test_options_that_differ_in_marks_alone_are_distinguished() -> None:
    assert taken_option("10%", ("10", "10%")) == "10%"
    assert taken_option("10", ("10%", "10")) == "10"
    assert taken_option("?", ("!", "?")) == "?"
    assert taken_option("about 10", ("10", "10.")) == "10"


@given(st.text(max_size=20), st.lists(st.text(max_size=20), min_size=1, max_size=10))
def test_vqa_accuracy_is_a_share_for_any_text(answer: str, votes: list[str]) -> None:
    assert 0 <= vqa_accuracy(answer, votes) <= 1


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("about 300 m", True),
        ("400", False),
        ("291.6", True),
        ("300-350 metres", True),
        ("280 to 360", True),
        ("100 to 500", False),
        ("between 1,000 and 2,000", False),
        ("nobody knows", False),
    ],
)
def test_relaxed_accuracy_of_numbers(answer: str, right: bool) -> None:
    assert relaxed_match(answer, ("324",), (291.6, 356.4)) is right


def test_relaxed_accuracy_of_texts_and_times() -> None:
    assert relaxed_match("in 1888", ("1889", "1888", "1890")) is False, "all of the answer counts"
    assert relaxed_match("1888", ("1889", "1888", "1890"))
    assert relaxed_match("the Republic of France!", ("France", "Republic of France"))
    assert not relaxed_match("France", ())


def test_relaxed_accuracy_takes_marks_out_as_the_published_script_does() -> None:
    assert relaxed_match("the U.S.", ("US",))
    assert relaxed_match("Rock'n'roll", ("rocknroll",))
    assert not relaxed_match("Saint-Denis", ("Saint Denis",)), "a hyphen leaves no space"


def test_numbers_of_a_text() -> None:
    assert numbers_in("1,234.5 and -3e2, 5-7, v1.2.3, .5") == [1234.5, -300.0, 5.0, 7.0, 1.2, 0.3, 0.5]


@given(st.text(max_size=40), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_any_text_is_right_or_wrong(answer: str, low: float, high: float) -> None:
    assert relaxed_match(answer, (), (low, high)) in (True, False)


def test_encyclopedic_vqa_by_words() -> None:
    assert encyclopedic_match("The answer is: two Metres", ["2 metres"])
    assert not encyclopedic_match("3 metres", ["2 metres", "5 metres"])
    assert encyclopedic_match("True.", ["yes"])
    assert encyclopedic_match("no", ["It is so", "false"])
    assert not encyclopedic_match("", ["The"]), "nothing is left of the reference"
    assert encyclopedic_match("Ana, Ben and Cy", ["Ana&&Ben"], "multi_answer")
    assert not encyclopedic_match("Ana", ["Ana&&Ben&&Cy"], "multi_answer")
    assert not encyclopedic_match("Ana", ["&&"], "multi_answer")


def test_encyclopedic_vqa_asks_bem_only_where_words_differ() -> None:
    asked: list[tuple[str, str, str]] = []

    def equivalent(question: str, reference: str, candidate: str) -> float:
        asked.append((question, reference, candidate))
        return 0.5 if reference == "Ana,Ben" else 0.49

    assert encyclopedic_score("Who?", "Ana", ["ana"], "automatic", equivalent) == 1.0
    assert asked == []
    assert encyclopedic_score("Who?", "both", ["Ana&&Ben"], "multi_answer", equivalent) == 1.0
    assert encyclopedic_score("Who?", "Ana", ["Ben", "Cy"], "automatic", equivalent) == 0.0
    assert asked[1:] == [("Who?", "Ben", "Ana"), ("Who?", "Cy", "Ana")]


def _equivalence_model(path: Path, inputs: tuple[str, str] = ("input_ids", "segment_ids")) -> None:
    """Logits [sum of segments, sum of ids] of the first row, as far as they differ: enough to see what goes in."""
    values = [helper.make_tensor_value_info(name, TensorProto.INT64, [1, 512]) for name in inputs]
    axes = numpy_helper.from_array(np.array([1]), "axes")
    nodes = [
        helper.make_node("ReduceSum", [inputs[1], "axes"], ["segments"], keepdims=1),
        helper.make_node("ReduceSum", [inputs[0], "axes"], ["ids"], keepdims=1),
        helper.make_node("Concat", ["segments", "ids"], ["joined"], axis=1),
        helper.make_node("Cast", ["joined"], ["logits"], to=TensorProto.FLOAT),
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 2])
    graph = helper.make_graph(nodes, "bem", values, [output], [axes])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def test_bem_reads_candidate_reference_and_question(tmp_path: Path) -> None:
    _equivalence_model(tmp_path / "bem.onnx")
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "ana", "ben"]))
    bem = Bem(tmp_path / "bem.onnx", tmp_path / "vocab.txt")
    # ids: CLS 2, ana 5, SEP 3, ben 6, SEP 3, who 4, SEP 3 = 26; segments: 0 0 0 1 1 2 2 = 6
    assert bem("Who", "Ben", "Ana") == pytest.approx(1 / (1 + np.exp(6 - 26)))
    assert 0 <= bem("Who", "Ben", "Ana " * 600) <= 1


def test_bem_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"bem\.onnx: missing; BEM needs"):
        Bem(tmp_path / "bem.onnx", tmp_path / "vocab.txt")
    _equivalence_model(tmp_path / "bem.onnx", ("input_ids", "token_type_ids"))
    (tmp_path / "vocab.txt").write_text("[CLS]\n[SEP]\n[UNK]")
    with pytest.raises(ValueError, match="expected input_ids and segment_ids"):
        Bem(tmp_path / "bem.onnx", tmp_path / "vocab.txt")
    _equivalence_model(tmp_path / "bem.onnx")
    (tmp_path / "vocab.txt").write_text("who\n[SEP]\n[UNK]")
    with pytest.raises(ValueError, match=r"vocab\.txt: not BERT's vocab\.txt: cls_token"):
        Bem(tmp_path / "bem.onnx", tmp_path / "vocab.txt")
    (tmp_path / "bem.onnx").write_bytes(b"no model")
    with pytest.raises(ValueError, match=r"bem\.onnx: not a model that onnxruntime reads"):
        Bem(tmp_path / "bem.onnx", tmp_path / "vocab.txt")
