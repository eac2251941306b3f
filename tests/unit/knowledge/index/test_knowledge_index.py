"""The derived index: exact where it scans, near exact where it uses a graph, never anything that was deleted."""

import numpy as np
import pytest

from quizglass_server.knowledge.content.records import Additions
from quizglass_server.knowledge.index.graph import Graph
from quizglass_server.knowledge.index.index import IndexOptions, IndexState, VectorIndex

DIMENSION, COUNT = 24, 1500


def unit(count: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def additions(start: int, vectors: np.ndarray, *, per_entry: int = 1) -> Additions:
    labels = list(range(start, start + len(vectors)))
    return Additions(labels, [label // per_entry for label in labels], list(vectors))


def exact(vectors: np.ndarray, query: np.ndarray, limit: int) -> list[int]:
    return [int(label) for label in np.argsort(-(vectors @ query), kind="stable")[:limit]]


@pytest.fixture
def vectors() -> np.ndarray:
    return unit(COUNT, 1)


def with_graph(vectors: np.ndarray, outside: int, *, per_entry: int = 1) -> VectorIndex:
    """An index whose last vectors are not in its graph."""
    index = VectorIndex(DIMENSION, IndexOptions(graph_from=100, tail=100))
    index.apply(additions(0, vectors, per_entry=per_entry), [])
    inside = len(vectors) - outside
    labels = np.arange(inside, dtype=np.int64)
    index.publish(Graph.build(DIMENSION, inside, [(labels, vectors[:inside])], lambda _: None))
    assert len(index.state.labels) == outside
    return index


def test_a_graph_and_a_scan_together_find_what_a_scan_of_all_finds(vectors: np.ndarray) -> None:
    index = with_graph(vectors, 200)
    right = 0
    for query in unit(50, 2):
        hits = index.search(query, 10, per_entry=False)
        right += len({label for label, _ in hits} & set(exact(vectors, query, 10)))
        np.testing.assert_allclose(
            [score for _, score in hits], [vectors[label] @ query for label, _ in hits], atol=1e-5
        )
    assert right >= 0.99 * 500


def test_the_length_of_a_query_does_not_change_its_scores(vectors: np.ndarray) -> None:
    index = with_graph(vectors, 200)
    query = unit(1, 3)[0]
    short, long = index.search(query * 0.01, 5, per_entry=False), index.search(query * 100, 5, per_entry=False)
    assert [label for label, _ in short] == [label for label, _ in long]
    np.testing.assert_allclose([score for _, score in short], [score for _, score in long], atol=1e-5)


@pytest.mark.parametrize("deleted", [0.1, 0.9, 0.999, 1.0])
def test_deleted_vectors_are_passed_over_however_many(vectors: np.ndarray, deleted: float) -> None:
    index = with_graph(vectors, 200)
    gone = np.random.default_rng(4).permutation(COUNT)[: int(deleted * COUNT)].tolist()
    index.apply(Additions(), gone)
    living = np.setdiff1d(np.arange(COUNT), gone)
    query = unit(1, 5)[0]
    hits = index.search(query, 10, per_entry=False)
    assert len(hits) == min(10, len(living)) == len({label for label, _ in hits})
    assert {label for label, _ in hits} <= set(living.tolist())
    if deleted > 0.5:
        assert [label for label, _ in hits] == [int(living[at]) for at in exact(vectors[living], query, 10)]


def test_vectors_of_another_encoder_do_not_make_up_for_deleted_ones(vectors: np.ndarray) -> None:
    index = VectorIndex(DIMENSION, IndexOptions())
    labels = np.arange(10, dtype=np.int64)
    index.fill(None, labels, labels, (labels[:7], vectors[:7]))  # the last three wait to be embedded anew
    index.apply(Additions(), [0, 1, 2])
    assert {label for label, _ in index.search(vectors[0], 7, per_entry=False)} == {3, 4, 5, 6}
    index.apply(additions(10, vectors[7:10]), [7, 8, 9])  # now they are
    assert {label for label, _ in index.search(vectors[0], 7, per_entry=False)} == {3, 4, 5, 6, 10, 11, 12}


def test_entries_with_many_pictures_take_one_place_each(vectors: np.ndarray) -> None:
    index = with_graph(vectors, 200, per_entry=16)
    hits = index.search(vectors[3], 90, per_entry=True)
    assert len(hits) == 90
    assert len({label // 16 for label, _ in hits}) == 90
    assert hits[0][0] == 3


def test_more_than_there_are_gives_all_there_are(vectors: np.ndarray) -> None:
    assert len(with_graph(vectors, 200).search(vectors[0], 10 * COUNT, per_entry=False)) == COUNT
    assert VectorIndex(DIMENSION, IndexOptions()).search(vectors[0], 10, per_entry=False) == []


def test_a_graph_that_reaches_too_few_is_scanned(vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreachable:
        def __init__(self, index) -> None:
            self._index = index

        def knn_query(self, *_, **__):
            raise RuntimeError("Cannot return the results in a contiguous 2D array")

        def get_items(self, labels):
            return self._index.get_items(labels)

    index = with_graph(vectors, 200)
    graph = index.state.graph
    assert graph is not None
    monkeypatch.setattr(graph, "_index", Unreachable(graph._index))
    assert [label for label, _ in index.search(vectors[7], 10, per_entry=False)] == exact(vectors, vectors[7], 10)


def test_growing_leaves_the_graph_that_others_search_as_it_is(vectors: np.ndarray) -> None:
    small = Graph.build(DIMENSION, 500, [(np.arange(500, dtype=np.int64), vectors[:500])], lambda _: None)
    large = small.grown(np.arange(500, COUNT, dtype=np.int64), vectors[500:], lambda _: None)
    assert (len(small.labels), len(large.labels)) == (500, COUNT)
    assert small.nearest(vectors[1000], 3)[0].max() < 500
    assert large.nearest(vectors[1000], 3)[0][0] == 1000


def test_what_is_due(vectors: np.ndarray) -> None:
    index = VectorIndex(DIMENSION, IndexOptions(graph_from=100, tail=50, dead_share=0.25))
    index.apply(additions(0, vectors[:99]), [])
    assert index.due() == ""
    index.apply(additions(99, vectors[99:100]), [])
    assert index.due() == "build"
    index.publish(Graph.build(DIMENSION, 100, [(np.arange(100, dtype=np.int64), vectors[:100])], lambda _: None))
    assert index.due() == ""
    index.apply(additions(100, vectors[100:150]), [])
    assert index.due() == "grow"
    index.apply(Additions(), list(range(60)))
    assert index.due() == "build"


def test_what_was_deleted_outside_the_graph_is_forgotten_at_the_next_one(vectors: np.ndarray) -> None:
    index = with_graph(vectors, 200)
    index.apply(Additions(), [COUNT - 1])
    index.publish(index.state.graph)
    assert len(index.state.labels) == 199
    assert index.search(vectors[COUNT - 2], 1, per_entry=False)[0][0] == COUNT - 2


@pytest.mark.parametrize("rebuilt", [False, True])
def test_a_search_among_a_few_entries_finds_all_that_lives_of_theirs(vectors: np.ndarray, rebuilt: bool) -> None:
    index = with_graph(vectors, 200, per_entry=3)
    gone = list(range(0, COUNT, 2))
    index.apply(Additions(), gone)
    if rebuilt:
        living = np.setdiff1d(np.arange(COUNT), gone)
        index.publish(Graph.build(DIMENSION, len(living), [(living, vectors[living])], lambda _: None))
    later = unit(4, 6)
    index.apply(Additions(list(range(COUNT, COUNT + 4)), [2, 2, 9_000, 9_001], list(later)), [])
    index.apply(Additions(), [COUNT + 1])
    hits = index.search(later[2], 50, per_entry=False, allowed={0, 2, COUNT // 3 - 1, 9_000, 12_345})
    assert hits[0][0] == COUNT + 2
    assert {label for label, _ in hits} == {1, 7, COUNT - 3, COUNT - 1, COUNT, COUNT + 2}


def test_few_entries_of_many_vectors_are_not_scanned_vector_by_vector(vectors: np.ndarray) -> None:
    index = with_graph(vectors, 200, per_entry=20)
    scanned: list[int] = []

    class Watched(IndexState):
        def among(self, query: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            scanned.append(len(labels))
            return super().among(query, labels)

    index.state = Watched(index.state.graph, index.state.labels, index.state.vectors)
    query = unit(1, 6)[0]
    few, many = set(range(50)), set(range(55))  # of 20 vectors each
    for allowed in (few, many):
        hits = index.search(query, 10, per_entry=False, allowed=allowed)
        fitting = [label for label in exact(vectors, query, COUNT) if label // 20 in allowed]
        assert [label for label, _ in hits] == fitting[:10]
    assert scanned == [1_000]
