"""Dyn-VQA, CRAG-MM, CogBench, LiveVQA, MMSearch and MRAG-Bench: questions that take a search."""

import json
from pathlib import Path
from typing import Any

from tests.support.benchmarks.writing import PIXEL, put_picture, write_json, write_lines

DYN_VQA = [
    {
        "image_url": "https://host.example/bucket/image%201.jpeg?size=2",
        "question": "What is the name of his third child?",
        "question_id": "en1",
        "answer": ["nobody", "He does not have any children"],
        "gloden_query": "What is the name of the actor's third child?",
    },
    {
        "image_url": "https://host.example/image_2.jpeg",
        "question": "In what year did humans first land on this planet?",
        "question_id": "en2",
        "answer": None,
        "gloden_query": float("nan"),
    },
    {
        "image_url": "https://host.example/image_3.jpeg",
        "question": "Who made it?",
        "question_id": "en3",
        "answer": ["Ana", 44694, ["Ana Brint", "A. Brint"]],
        "golden_query": "Who made the Velmora?",
    },
]


def dyn_vqa(folder: Path) -> list[Path]:
    put_picture(folder, "image 1.jpeg")
    put_picture(folder, "en3.png")
    return [write_lines(folder / "DynVQA_en.202408.jsonl", DYN_VQA)]


DOMAINS = ["animal", "other", "shopping"]
CRAG_FEATURES = {
    "session_id": {"dtype": "string", "_type": "Value"},
    "image": {"_type": "Image"},
    "turns": {
        "feature": {
            "interaction_id": {"dtype": "string", "_type": "Value"},
            "domain": {"names": DOMAINS, "_type": "ClassLabel"},
            "query_category": {"names": ["reasoning", "multi-hop"], "_type": "ClassLabel"},
        },
        "_type": "Sequence",
    },
}
CRAG_COLUMNS = [
    {
        "session_id": "s-1",
        "image": {"bytes": PIXEL, "path": "s-1.jpg"},
        "image_url": "",
        "turns": {
            "interaction_id": ["t-1", "t-2"],
            "domain": [2, 2],
            "query_category": [0, 1],
            "dynamism": [1, 1],
            "query": ["What does this cost?", "And who makes it?"],
            "image_quality": [5, 5],
        },
        "answers": {"interaction_id": ["t-2", "t-1"], "ans_full": ["Tandric makes it.", "It costs 5 crowns."]},
    },
    {
        "session_id": "s-2",
        "image": None,
        "image_url": "https://host.example/pictures/dog.jpg",
        "turns": {
            "interaction_id": ["t-3"],
            "domain": [0],
            "query_category": [0],
            "dynamism": [0],
            "query": ["How old is it?"],
            "image_quality": [0],
        },
        "answers": {"interaction_id": ["t-3"], "ans_full": ["I don't know."]},
    },
]


def crag_rows(columns: bool) -> list[dict[str, Any]]:
    """Two conversations: as objects of lists (v0.1.2), or as lists of objects (v0.1.1)."""
    if columns:
        return CRAG_COLUMNS

    def listed(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
        return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]

    return [row | {"turns": listed(row["turns"]), "answers": listed(row["answers"])} for row in CRAG_COLUMNS]


def crag_mm(folder: Path, *, columns: bool = True, kind: str = "parquet", rows: list[Any] | None = None) -> list[Path]:
    import pyarrow
    from pyarrow import ipc, parquet

    metadata = {"huggingface": json.dumps({"info": {"features": CRAG_FEATURES}})}
    table = pyarrow.Table.from_pylist(crag_rows(columns) if rows is None else rows).replace_schema_metadata(metadata)
    path = folder / f"validation-00000-of-00001.{'parquet' if kind == 'parquet' else 'arrow'}"
    if kind == "parquet":
        parquet.write_table(table, path)
    else:
        opened = ipc.new_stream if kind == "stream" else ipc.new_file
        with opened(path, table.schema) as writer:
            writer.write_table(table)
    put_picture(folder, "dog.jpg")
    return [path]


def crag_mm_in(folder: Path) -> list[Path]:
    folder.mkdir(parents=True)
    return crag_mm(folder)


COGBENCH = [
    {
        "id": "c-1",
        "query": "Is the founder of its maker older than the designer?",
        "image": "a.jpg",
        "answer": "Yes",
        "domain": "culture",
        "hops": 3,
        "open_ended": False,
        "split": "test",
        "rounds": [
            {"queries": ["What is it?"], "action": "image", "documents": ["The Velmora is a car."]},
            {"queries": ["Who founded Tandric?", "When was Ana born?"], "action": "text", "documents": ["d1", "d2"]},
            {"queries": [], "action": "none", "documents": []},
        ],
    },
    {"id": "c-2", "query": "What is it?", "answer": "A car"},
]


def cogbench(folder: Path) -> list[Path]:
    put_picture(folder, "a.jpg")
    return [write_lines(folder / "cogbench.jsonl", COGBENCH)]


LIVEVQA = [
    {
        "id": "0_2025",
        "img_path": "cnn_ba72.jpg",
        "level1_qa": {
            "question": "What event is taking place?",
            "question_type": "event",
            "options": ["A. National Convention", "B. A debate"],
            "Ground_Truth": "B",
            "Ground_Truth_List": ["A debate", "debate"],
            "img_path": "cnn_ba72.jpg",
            "img_url": "https://host.example/x.jpg?c=16x9",
        },
        "level2_qa": {
            "question": "How many jobs were announced?",
            "options": ["A. 312,900", "B. 109,000"],
            "Ground_Truth": "B",
            "Ground_Truth_List": ["109,000"],
            "img_path": "cnn_ba72.jpg",
        },
        "source": "CNN World",
        "time": "2024-10-02T01:38:01.679Z",
    }
]


def livevqa(folder: Path) -> list[Path]:
    put_picture(folder, "News/News_imgs/cnn_ba72.jpg")
    (folder / "News").mkdir(exist_ok=True)
    return [write_json(folder / "News" / "benchmark.json", LIVEVQA)]


MMSEARCH = [
    {
        "sample_id": "0",
        "query": "When is the conference of this logo?",
        "query_image": {"bytes": PIXEL, "path": None},
        "image_search_result": {"bytes": PIXEL, "path": "0.jpg"},
        "area": "news",
        "subfield": "technology",
        "timestamp": "2024-09-29",
        "gt_requery": "ECCV 2024 date",
        "gt_answer": "29 September 2024",
        "alternative_gt_answers": ["September 29, 2024"],
    },
    {
        "sample_id": "1",
        "query": "Who won?",
        "query_image": None,
        "image_search_result": None,
        "area": "knowledge",
        "subfield": "sports",
        "timestamp": "",
        "gt_requery": "Who won the cup",
        "gt_answer": "Ana Brint",
        "alternative_gt_answers": [],
    },
]


def table(path: Path, rows: list[Any]) -> list[Path]:
    """A Parquet file."""
    import pyarrow
    from pyarrow import parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return [path]


def mmsearch(folder: Path) -> list[Path]:
    put_picture(folder, "none of theirs.jpg")
    return mmsearch_of(folder, MMSEARCH)


def mmsearch_of(folder: Path, rows: list[Any]) -> list[Path]:
    return table(folder / "end2end.parquet", rows)


MRAG_BENCH = [
    {
        "id": "7",
        "aspect": "Perspective",
        "scenario": "Angle",
        "image": {"bytes": PIXEL, "path": "7.jpg"},
        "gt_images": [{"bytes": PIXEL, "path": "gt.jpg"}],
        "question": "Which model is this car?",
        "A": "Velmora",
        "B": "Tandric",
        "C": "Oskel",
        "D": "Brint",
        "answer_choice": "B",
        "answer": "Tandric",
        "image_type": "automobile",
        "source": "StanfordCars",
        "retrieved_images": [{"bytes": PIXEL, "path": "r.jpg"}],
    }
]


def mrag_bench(folder: Path) -> list[Path]:
    put_picture(folder, "none of theirs.jpg")
    return table(folder / "data" / "test-00000-of-00001.parquet", MRAG_BENCH)
