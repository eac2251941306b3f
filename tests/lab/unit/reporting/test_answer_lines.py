"""Answers as lines of a file: short ones by hand, whole ones as they are kept."""

from quizglass_lab.reporting.answers.answered import AnswerLine, FoundEntry, each_once


def test_entries_may_be_ids_or_more() -> None:
    line = AnswerLine.model_validate({"id": "1", "answer": "Ana", "found": ["Q1", {"id": "b", "source": "Q2"}]})
    assert line.answered().found == (FoundEntry(id="Q1"), FoundEntry(id="b", source="Q2"))
    assert AnswerLine(id="1", answer="Ana").answered().found is None


def test_an_entry_counts_where_it_first_stands_and_is_used_where_it_ever_was() -> None:
    entries = [FoundEntry(id="a", search="image"), FoundEntry(id="b"), FoundEntry(id="a", search="image", used=True)]
    assert each_once(entries) == (FoundEntry(id="a", search="image", used=True), FoundEntry(id="b"))


def test_a_kept_line_is_read_as_it_was_written() -> None:
    line = AnswerLine.model_validate(
        {
            **{"id": "1", "answer": "Ana", "refused": False, "image_searches": 1, "plan": "both", "seconds": 0.5},
            **{"found": [{"id": "a", "search": "image"}], "queries": [["Who?", "When?"]], "notes": {"memory": "Ben"}},
            "decisions": [{"by": "act", "label": "text"}],
            "stages": [{"name": "act", "started": 0.25, "seconds": 0.5, "round": 1}],
        }
    )
    assert AnswerLine.model_validate_json(line.model_dump_json()) == line
    trace = line.answered().trace
    assert (trace.decided("act"), trace.queries, trace.notes) == (("text",), (("Who?", "When?"),), {"memory": "Ben"})
