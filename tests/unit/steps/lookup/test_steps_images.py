"""What several views of a picture find together."""

from hypothesis import given
from hypothesis import strategies as st

from quizglass.values import Entry
from quizglass_bundle.tuning import Tuning
from quizglass_server.domain.entries import EntryHit
from quizglass_server.steps.lookup.image_search import fused

CAR, BOAT = Entry("velmora", "Velmora", kind="car"), Entry("tagrin", "Tagrin", kind="boat")
BOX = Entry("orvel", "Orvel", kind="lunch box")


def found(*hits: EntryHit, question: str = "What is this?", **tuning: float) -> list[tuple[str, float]]:
    halves = [hits[::2], hits[1::2]]
    return [(hit.entry.id, hit.score) for hit in fused(halves, question, Tuning(**tuning))]  # type: ignore[arg-type]


def test_an_entry_counts_once_by_its_best_view() -> None:
    hits = (EntryHit(CAR, 0.5), EntryHit(CAR, 0.9), EntryHit(BOAT, 0.7), EntryHit(BOAT, 0.6))
    assert found(*hits) == [("velmora", 0.9), ("tagrin", 0.7)]


def test_entries_under_the_threshold_are_dropped() -> None:
    assert found(EntryHit(CAR, 0.9), EntryHit(BOAT, 0.59), image_accept=0.6) == [("velmora", 0.9)]


def test_no_more_entries_than_asked_for() -> None:
    assert found(EntryHit(CAR, 0.9), EntryHit(BOAT, 0.8), image_candidates=1) == [("velmora", 0.9)]


def test_entries_of_the_kind_that_the_question_names_go_first_and_keep_their_score() -> None:
    hits = (EntryHit(CAR, 0.9), EntryHit(BOAT, 0.8))
    assert found(*hits, question="What is the BOAT called?", kind_bonus=0.2) == [("tagrin", 0.8), ("velmora", 0.9)]
    assert found(*hits, question="What is the boat called?", kind_bonus=0.05)[0][0] == "velmora"
    assert found(*hits, question="What is the boathouse called?", kind_bonus=0.2)[0][0] == "velmora"


def test_a_kind_of_several_words_is_named_as_a_whole() -> None:
    hits = (EntryHit(CAR, 0.9), EntryHit(BOX, 0.8))
    assert found(*hits, question="Who made this lunch box?", kind_bonus=0.2)[0][0] == "orvel"
    assert found(*hits, question="Who made this box?", kind_bonus=0.2)[0][0] == "velmora"


def test_what_a_likelier_box_found_goes_first_and_scores_stay() -> None:
    first, second = [EntryHit(CAR, 0.7), EntryHit(BOX, 0.2)], [EntryHit(BOAT, 0.8), EntryHit(BOX, 0.45)]
    by_cosine = fused([first, second], "What is this?", Tuning())
    assert [hit.entry.id for hit in by_cosine] == ["tagrin", "velmora", "orvel"]
    by_box = fused([first, second], "What is this?", Tuning(), step=0.2)
    assert [(hit.entry.id, hit.score) for hit in by_box] == [("velmora", 0.7), ("tagrin", 0.8), ("orvel", 0.45)]


def test_a_bonus_does_not_lift_an_entry_over_the_threshold() -> None:
    assert found(EntryHit(BOAT, 0.5), question="the boat", kind_bonus=0.2, image_accept=0.6) == []


@given(st.lists(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.floats(-1, 1)), max_size=6), max_size=4))
def test_fusing_keeps_the_best_of_each_and_their_order(views: list[list[tuple[str, float]]]) -> None:
    hits = [[EntryHit(Entry(name, name), score) for name, score in view] for view in views]
    out = fused(hits, "What is this?", Tuning(image_accept=-1.0, image_candidates=4))
    best = {name: max(s for view in views for n, s in view if n == name) for view in views for name, _ in view}
    assert [hit.score for hit in out] == sorted(best.values(), reverse=True)[:4]
    assert all(best[hit.entry.id] == hit.score for hit in out)
    assert len({hit.entry.id for hit in out}) == len(out)


def test_what_the_question_is_not_about_is_left_out_where_there_is_something_else() -> None:
    hits = [[EntryHit(CAR, 0.9), EntryHit(BOAT, 0.7)]]

    def names(*other_than: str) -> list[str]:
        return [hit.entry.title for hit in fused(hits, "And the other one?", Tuning(), other_than)]

    assert names("Velmora") == ["Tagrin"]
    assert names("It is the VELMORA.", "45 crowns") == ["Tagrin"]
    assert names("Velmora", "Tagrin") == ["Velmora", "Tagrin"]
    assert names("Orvel", "") == ["Velmora", "Tagrin"]
