"""The import of many articles of a benchmark's knowledge, with few of them."""

import pytest

from bench.imports import articles


def test_articles_are_written_imported_and_told_in_eighths() -> None:
    said: list[str] = []
    part = articles.run(said.append, 512, 400)
    (told,) = part.data.values()
    assert [count for count, *_ in told] == [64 * each for each in range(9)]
    time, memory, growth = part.rows
    assert time.name == "articles: 512 of Encyclopedic-VQA's form (0.00 GB), time of the import"
    assert time.value == told[-1][1]
    # Of this process, which has run other tests.
    assert (memory.value, memory.bar, memory.ok) == (told[-1][2], "<= 1024", memory.value <= 1024)
    assert growth.value == pytest.approx((told[-1][2] - told[0][2]) / 0.512)
    assert said[-1] == "articles: 512 imported"


def test_an_import_that_ends_early_has_no_rows() -> None:
    with pytest.raises(ValueError, match="told 2 of 9 states"):
        articles.rows([(0, 0.0, 80.0), (20, 1.0, 81.0)], 0.1)
