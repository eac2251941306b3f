"""The rows of the benchmark, with the bars that the project has set itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.results import Row, at_least, at_most, ratio

Figures = Mapping[str, Any]
_EQUAL = 0.99  # recall at which latencies are compared


def table(measured: Figures) -> list[Row]:
    """Every figure that was measured."""
    rows: list[Row] = []
    for size in measured["sizes"]:
        if f"ours {size}" in measured:
            rows += _speed(f"{size:,}", size, measured[f"ours {size}"], measured[f"peers {size}"])
    if "rare" in measured:
        rows += _rare(measured["rare"])
    if "damage" in measured:
        rows += _damage(measured["damage"])
    if "kill" in measured:
        kill = measured["kill"]
        rows.append(at_most(f"acknowledged rows lost over {kill['kills']} kill -9", kill["lost"], "", 0))
        rows.append(Row("calls acknowledged before they were killed", kill["acknowledged"], ""))
    return rows


def at_equal_recall(curve: Sequence[Mapping[str, float]]) -> Mapping[str, float] | None:
    """The quickest point of a curve with enough recall."""
    enough = [point for point in curve if point["recall"] >= _EQUAL]
    return min(enough, key=lambda point: point["p50_us"], default=None)


def _speed(words: str, size: int, ours: Figures, peers: Figures) -> Iterator[Row]:
    search, fill = ours["search"], ours["fill"]
    yield at_least(f"recall@10 at the default setting, {words}", search["index"]["recall"], "", _EQUAL)
    mine, raw = at_equal_recall(search.get("curve", ())), at_equal_recall(peers["hnswlib"]["curve"])
    if mine is not None and raw is not None:
        yield _within(f"index search p50 at recall {_EQUAL:g}, {words}", mine, "hnswlib alone", raw, 1.2)
    for name in ("faiss", "usearch"):
        point = at_equal_recall(peers[name]["curve"])
        if mine is not None and point is not None:
            yield _within(f"index search p50 at recall {_EQUAL:g}, {words}", mine, name, point, None)
    yield _within(f"store search p50 with texts, {words}", search["store"], "Chroma", peers["chroma"], 0.3)
    yield _within(f"store search p50 with texts, {words}", search["store"], "LanceDB", peers["lancedb"], None)
    yield Row(f"Chroma's recall@10, {words}", peers["chroma"]["recall"], "")
    yield Row(f"LanceDB's recall@10, {words}", peers["lancedb"]["recall"], "")
    yield _more(f"durable rows a second, {words}", fill["rows_s"], "Chroma", peers["chroma"]["rows_s"], 2)
    yield _more(f"durable rows a second, {words}", fill["rows_s"], "LanceDB", peers["lancedb"]["rows_s"], None)
    yield Row(f"durable rows a second, one a stream and 1,000 streams, {words}", fill["rows_s_one_a_stream"], "rows/s")
    idle, busy = ours["importing"]["alone"]["p99_us"], ours["importing"]["importing"]["p99_us"]
    name = f"search p99 while importing, {words}"
    yield Row(name, busy / 1e3, "ms", "idle", idle / 1e3, ratio(busy, idle), "<= 2 x peer", busy <= 2 * idle)
    start = ours["start"]
    first = f"start to the first search, {words}"
    yield at_most(first, start["start_s"], "s", 2) if size <= 100_000 else Row(first, start["start_s"], "s")
    yield Row(f"memory, {words}", start["memory_mib"], "MiB", "hnswlib alone", peers["hnswlib"]["memory_mib"])


def _within(name: str, ours: Figures, peer: str, theirs: Figures, most: float | None) -> Row:
    mine, other = ours["p50_us"], theirs["p50_us"]
    bar = "" if most is None else f"<= {most:g} x peer"
    return Row(name, mine, "us", peer, other, ratio(mine, other), bar, None if most is None else mine <= most * other)


def _more(name: str, mine: float, peer: str, other: float, least: float | None) -> Row:
    bar = "" if least is None else f">= {least:g} x peer"
    ok = None if least is None else mine >= least * other
    return Row(name, mine, "rows/s", peer, other, ratio(mine, other), bar, ok)


def _rare(rare: Figures) -> Iterator[Row]:
    mine, other = rare["hybrid"], rare["vectors"]
    five, alone = mine["recall_5"], other["recall_5"]
    about = f"{rare['questions']} questions with rare names"
    yield Row(f"hybrid recall@5, {about}", five, "", "vectors", alone, ratio(five, alone), "> peer", five > alone)
    yield _within(f"hybrid search p50 with embedding, {about}", mine, "vectors", other, 2.0)
    yield Row(f"keywords alone, recall@5, {about}", rare["keywords"]["recall_5"], "")


def _damage(damage: Figures) -> Iterator[Row]:
    outcomes = damage["outcomes"]
    about = f"{damage['mutations']} damaged files"
    yield at_most(f"crashes over {about}", outcomes.get("crashed", 0) + outcomes.get("repair-crashed", 0), "", 0)
    yield at_most(f"silently wrong over {about}", outcomes.get("wrong", 0) + outcomes.get("repaired-wrong", 0), "", 0)
    yield Row(f"answered right, over {about}", outcomes.get("right", 0), "")
    yield Row(f"refused, over {about}", outcomes.get("refused", 0), "")
    yield Row(
        "refused and repaired, wholly or in part", sum(outcomes.get(k, 0) for k in ("repaired", "repaired-in-part")), ""
    )
