"""Small files in exactly the formats in which benchmarks publish theirs, written by hand."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.benchmarks.writing import PIXEL, put_picture, write_json, write_lines

_WIKI = "https://en.wikipedia.org/wiki/"
INFOSEEK = [
    {
        "data_id": "infoseek_train_00000000",
        "image_id": "oven_01963180",
        "question": "Which place is this animal endemic to?",
        "answer": ["People's Republic of China"],
        "answer_eval": ["cn", "People's Republic of China", "China", "\ud83c\udde8\ud83c\uddf3"],
        "data_split": "train",
    },
    {
        "data_id": "infoseek_val_00000001",
        "image_id": "oven_05000001",
        "question": "How tall is this in metre?",
        "answer": ["324"],
        "answer_eval": [{"wikidata": 324.0, "range": [291.6, 356.4]}],
        "data_split": "val_unseen_question",
    },
    {
        "data_id": "infoseek_val_00000002",
        "image_id": "oven_05000002",
        "question": "When was this built?",
        "answer": ["1889"],
        "answer_eval": ["1889", "1888", "1890"],
        "data_split": "val_unseen_entity",
    },
]
ENTITIES = [
    {"data_id": "infoseek_val_00000002", "entity_id": "Q243", "entity_text": "Eiffel Tower"},
    {"data_id": "infoseek_train_00000000", "entity_id": "Q33602", "entity_text": "Giant panda"},
    {"data_id": "infoseek_val_00000001", "entity_id": "Q243", "entity_text": "Eiffel Tower"},
]
KINDS = [
    {"data_id": "infoseek_val_00000001", "question_type": "Numerical"},
    {"data_id": "infoseek_val_00000002", "question_type": "Time"},
]


def infoseek(folder: Path) -> list[Path]:
    put_picture(folder, "01/oven_01963180.jpg")
    put_picture(folder, "shard05/oven_05000002.JPEG")
    return [
        write_lines(folder / "infoseek_val.jsonl", INFOSEEK),
        write_lines(folder / "infoseek_val_withkb.jsonl", ENTITIES),
        write_lines(folder / "infoseek_val_qtype.jsonl", KINDS),
    ]


def echosight(folder: Path) -> Path:
    """EchoSight's table of two of InfoSeek's questions, the last first."""
    path = folder / "infoseek_test_filtered.csv"
    columns = ("question", "answer", "dataset_image_ids", "dataset_name", "question_type", "wikipedia_url")
    tower = f"{_WIKI}Eiffel_Tower"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow([*columns, "wikipedia_title", "evidence_section_id", "data_id"])
        for record in INFOSEEK[:0:-1]:
            said = [record["question"], "|".join(record["answer"]), record["image_id"], "infoseek", "String", tower]
            table.writerow([*said, "Eiffel Tower", "1", record["data_id"]])
    return path


EVQA_COLUMNS = (
    *("question", "answer", "dataset_image_ids", "dataset_name", "dataset_category_id", "question_type"),
    *("wikipedia_url", "wikipedia_title", "evidence", "evidence_section_id", "evidence_section_title"),
    *("encyclopedic_vqa_split", "question_original", "wikipedia_url_used_in_train"),
)
EVQA = [
    {
        "question": "How big can this plant become?",
        "answer": "20 feet|6 m",
        "dataset_image_ids": "1187|2686843",
        "dataset_name": "inaturalist",
        "dataset_category_id": "7071",
        "question_type": "templated",
        "wikipedia_url": f"{_WIKI}Acacia_paradoxa",
        "wikipedia_title": "Acacia paradoxa",
        "evidence": 'It grows to 20 feet, they say, "and more".\nRarely less.',
        "evidence_section_id": "1",
        "evidence_section_title": "Description",
        "encyclopedic_vqa_split": "val",
        "question_original": "How big can this plant become?",
        "wikipedia_url_used_in_train": "False",
    },
    {
        "question": "Who designed this tower?",
        "answer": "Ana&&Ben",
        "dataset_image_ids": "0123456789abcdef",
        "dataset_name": "landmarks",
        "dataset_category_id": "12",
        "question_type": "multi_answer",
        "wikipedia_url": f"{_WIKI}Tower",
        "wikipedia_title": "Tower",
        "evidence": "",
        "evidence_section_id": "0",
        "evidence_section_title": "Tower",
        "encyclopedic_vqa_split": "val",
        "question_original": "Who designed the Tower?",
        "wikipedia_url_used_in_train": "True",
    },
    {
        "question": "Who founded the family of this bird?",
        "answer": "Vigors",
        "dataset_image_ids": "5",
        "dataset_name": "inaturalist",
        "dataset_category_id": "3",
        "question_type": "2_hop",
        "wikipedia_url": f"{_WIKI}Parrot|{_WIKI}Psittacidae",
        "wikipedia_title": "Parrot|Psittacidae",
        "evidence": "",
        "evidence_section_id": "0|1",
        "evidence_section_title": "Parrot|Taxonomy",
        "encyclopedic_vqa_split": "val",
        "question_original": "",
        "wikipedia_url_used_in_train": "True",
    },
]


def encyclopedic_vqa(folder: Path, rows: list[dict[str, str]] | None = None) -> list[Path]:
    path = folder / "val.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, EVQA_COLUMNS)
        writer.writeheader()
        writer.writerows(EVQA if rows is None else rows)
    put_picture(folder, "inaturalist/val/00001_Plantae/a.jpg")
    put_picture(folder, "train/0/1/2/0123456789abcdef.jpg")
    write_json(folder / "images" / "val.json", {"images": [{"id": 2686843, "file_name": "val/00001_Plantae/a.jpg"}]})
    return [path]


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


VQA_QUESTIONS = {
    "info": {"year": 2017, "version": "2.0"},
    "task_type": "Open-Ended",
    "data_type": "mscoco",
    "license": {"url": "http://creativecommons.org/licenses/by/4.0/"},
    "data_subtype": "val2014",
    "questions": [
        {"image_id": 262148, "question": "Where is he looking?", "question_id": 262148000},
        {"image_id": 262148, "question": "How many people are there?", "question_id": 262148001},
    ],
}
VQA_ANNOTATIONS = {
    "info": {"year": 2017},
    "license": {},
    "data_subtype": "val2014",
    "annotations": [
        {
            "question_type": "how many",
            "multiple_choice_answer": "2",
            "answers": [
                {"answer": "2" if i else "two men", "answer_confidence": "yes", "answer_id": i + 1} for i in range(10)
            ],
            "image_id": 262148,
            "answer_type": "number",
            "question_id": 262148001,
        },
        {
            "question_type": "none of the above",
            "multiple_choice_answer": "down",
            "answers": [{"answer": "down", "answer_confidence": "yes", "answer_id": i + 1} for i in range(10)],
            "image_id": 262148,
            "answer_type": "other",
            "question_id": 262148000,
        },
    ],
    "data_type": "mscoco",
}


def vqav2(folder: Path) -> list[Path]:
    put_picture(folder, "val2014/COCO_val2014_000000262148.jpg")
    return [
        write_json(folder / "v2_mscoco_val2014_annotations.json", VQA_ANNOTATIONS),
        write_json(folder / "v2_OpenEnded_mscoco_val2014_questions.json", VQA_QUESTIONS),
    ]


OK_VQA_ANNOTATIONS = {
    "info": {"description": "OK-VQA", "version": "1.0"},
    "license": {},
    "data_subtype": "val2014",
    "annotations": [
        {
            "image_id": 262148,
            "answer_type": "other",
            "question_type": "four",
            "question_id": 2621481,
            "answers": [
                {
                    "answer_id": i + 1,
                    "raw_answer": "skateboarding" if i else "skating",
                    "answer_confidence": "yes",
                    "answer": "skateboard" if i else "skate",
                }
                for i in range(10)
            ],
            "confidence": 3,
        }
    ],
    "question_types": {"four": "Sports and Recreation"},
    "data_type": "mscoco",
}


def ok_vqa(folder: Path) -> list[Path]:
    put_picture(folder, "val2014/COCO_val2014_000000262148.jpg")
    asked = {"image_id": 262148, "question": "What sport is this?", "question_id": 2621481}
    return [
        write_json(folder / "OpenEnded_mscoco_val2014_questions.json", VQA_QUESTIONS | {"questions": [asked]}),
        write_json(folder / "mscoco_val2014_annotations.json", OK_VQA_ANNOTATIONS),
    ]


VIQUAE = [
    {
        "image": "512px-Jackie_Brint.png",
        "input": "this singer's song helped to advertise what brand?",
        "kilt_id": "qw_1",
        "id": "a1b2",
        "meta": {"mention_type": "pronouns"},
        "original_question": "Jackie Brint's song helped to advertise what brand?",
        "output": {
            "answer": ["Velmora", "Velmora's"],
            "original_answer": "Velmora's",
            "provenance": [{"title": ["Jackie Brint"], "wikipedia_id": ["16021"]}],
        },
        "url": "http://host.example/512px-Jackie_Brint.png",
        "wikidata_id": "Q919117",
    }
]


def viquae(folder: Path) -> list[Path]:
    put_picture(folder, "512px-Jackie_Brint.png")
    return [write_lines(folder / "test.jsonl", VIQUAE)]


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


TELLING = {
    "dataset": "visual7w-telling",
    "images": [
        {
            "image_id": 2,
            "filename": "v7w_2.jpg",
            "split": "train",
            "qa_pairs": [
                {
                    "qa_id": 991154,
                    "image_id": 2,
                    "question": "What color is the car?",
                    "answer": "Red.",
                    "type": "what",
                    "multiple_choices": ["Blue.", "Green.", "Silver."],
                }
            ],
        }
    ],
}
POINTING = {
    "dataset": "visual7w-pointing",
    "images": [
        {
            "image_id": 3,
            "filename": "v7w_3.jpg",
            "split": "test",
            "qa_pairs": [
                {
                    "qa_id": 7,
                    "question": "Which cup is empty?",
                    "answer": 11,
                    "type": "which",
                    "multiple_choices": [12, 12, 12],
                }
            ],
        }
    ],
    "boxes": [
        {"box_id": 11, "name": "cup", "x": 1, "y": 2, "width": 30, "height": 40},
        {"box_id": 12, "name": "bowl", "x": 5, "y": 6, "width": 7, "height": 8},
    ],
}


def visual7w(folder: Path) -> list[Path]:
    put_picture(folder, "images/v7w_2.jpg")
    return [
        write_json(folder / "dataset_v7w_telling.json", TELLING),
        write_json(folder / "dataset_v7w_pointing.json", POINTING),
    ]


NOCAPS = {
    "licenses": [],
    "info": {"description": "nocaps validation dataset", "year": 2018},
    "images": [
        {
            "id": 0,
            "open_images_id": "0013ea2087020901",
            "height": 1024,
            "width": 732,
            "coco_url": "https://host.example/val/0013ea2087020901.jpg",
            "file_name": "0013ea2087020901.jpg",
            "license": 0,
            "date_captured": "2018-11-06 11:04:33",
            "domain": "near-domain",
        }
    ],
    "annotations": [
        {"image_id": 0, "id": 0, "caption": "A baby is standing in front of a house."},
        {"image_id": 0, "id": 1, "caption": "A little girl in a white jacket."},
    ],
}


def nocaps(folder: Path) -> list[Path]:
    put_picture(folder, "val/0013ea2087020901.jpg")
    return [write_json(folder / "nocaps_val_4500_captions.json", NOCAPS)]


PLAIN = [
    {
        "id": "p-1",
        "question": "When was it built?",
        "answers": ["1889"],
        "pictures": ["tower.jpg", {"name": "far", "url": "https://host.example/far.jpg"}],
        "history": [{"question": "What is it?", "answer": "A tower."}],
        "hops": [{"action": "text", "query": "When was the tower built?"}],
        "answer_range": [1888.0, 1890.0],
        "answerable": False,
    },
    {"id": "p-2", "question": "Why?"},
]


def plain(folder: Path) -> list[Path]:
    put_picture(folder, "tower.jpg")
    return [write_lines(folder / "questions.jsonl", PLAIN)]


WRITERS: dict[str, Callable[[Path], list[Path]]] = {
    "infoseek": infoseek,
    "encyclopedic-vqa": encyclopedic_vqa,
    "dyn-vqa": dyn_vqa,
    "crag-mm": crag_mm,
    "cogbench": cogbench,
    "livevqa": livevqa,
    "mmsearch": mmsearch,
    "mrag-bench": mrag_bench,
    "ok-vqa": ok_vqa,
    "viquae": viquae,
    "vqav2": vqav2,
    "visual7w": visual7w,
    "nocaps": nocaps,
    "plain": plain,
}
"""By benchmark: writes its files into a folder, pictures below `images/`, and says which files."""
TABLES = ("crag-mm", "mmsearch", "mrag-bench")
"""Those whose files are no text."""
