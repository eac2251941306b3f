"""CIDEr-D on values worked out by hand: of two pictures, where an n-gram weighs the logarithm of 2, or nothing."""

import math

import pytest

from quizglass_lab.scoring.benchmarks.cider import caption_words, cider_d

REFERENCES = [["A red car."], ["A blue boat."]]


@pytest.mark.parametrize(
    ("caption", "score"),
    [
        ("A red car.", 10 * 3 / 4),  # alike by one, two and three words; neither has four
        ("A RED car", 10 * 3 / 4),
        ("A red boat.", 10 * (1 / 2 + 1 / 2) / 4),  # "red" of "red boat"; "a red" of "a red, red boat"
        ("Red red car.", 10 * (2 / math.sqrt(5 * 2) + 1 / 2) / 4),  # the second "red" adds to its length alone
        (
            "A red car now here.",  # two words longer
            10 * (2 / math.sqrt(4 * 2) + 2 / math.sqrt(4 * 2) + 1 / math.sqrt(3)) / 4 * math.exp(-4 / 72),
        ),
        ("A.", 0),  # all pictures have it
        ("", 0),
        ("Yesterday", 0),
    ],
)
def test_captions_are_scored_as_by_hand(caption: str, score: float) -> None:
    assert cider_d([caption, "A blue boat."], REFERENCES) == pytest.approx([score, 7.5])


def test_references_count_by_their_mean_and_weigh_by_pictures() -> None:
    references = [["A red car.", "A red car.", "A fast boat."], ["A blue boat."]]
    # "boat" is in both pictures now and weighs nothing; "red" and "car" are in one, however often it says them.
    assert cider_d(["A red car.", "A blue boat."], references)[0] == pytest.approx(7.5 * 2 / 3)


def test_of_one_picture_alone_nothing_is_rare() -> None:
    assert cider_d(["A red car."], [["A red car."]]) == [0]
    assert cider_d([], []) == []
    for wrong in ([], [[]]):
        with pytest.raises(ValueError, match="references: expected those of each caption"):
            cider_d(["A red car."], wrong)


def test_words_are_cut_as_the_published_tokenizer_does() -> None:
    said = "A man's T-shirt isn\u2019t \u201cred\u201d, they're 2.5 m away... (we can't see)!"
    words = "a man 's t-shirt is n't red they 're 2.5 m away we ca n't see"
    assert caption_words(said) == words.split()
