"""VQAv2, OK-VQA, Visual7W and nocaps: questions about a scene, and captions of one."""

from pathlib import Path

from tests.support.benchmarks.writing import put_picture, write_json

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
