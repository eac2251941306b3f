"""InfoSeek, EchoSight's table of it, Encyclopedic VQA and ViQuAE: questions about an entity of Wikipedia."""

import csv
from pathlib import Path

from tests.support.benchmarks.writing import put_picture, write_json, write_lines

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
