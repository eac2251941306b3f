"""NoCaps (Agrawal et al., ICCV 2019): captions in COCO's format, `nocaps_val_4500_captions.json`.

    {"images": [{"id", "file_name": "0013ea2087020901.jpg", "open_images_id", "domain": "near-domain", "coco_url"}],
     "annotations": [{"image_id", "id", "caption"}]}

The `image_info` files of nocaps.org have the same without `annotations` and `domain`; their captions are private.
A sample asks for a description, in words of our own, and its answers are the captions (ten). Pictures: by
`file_name`, in the folder or in `images/`, `val/` or `test/`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from quizglass_lab.datasets.reading.files import json_items
from quizglass_lab.datasets.reading.pictures import PictureFolder
from quizglass_lab.datasets.reading.record import Published, checked
from quizglass_lab.datasets.reading.sample import Sample

QUESTION = "Describe the picture in one sentence."
_FOLDERS = ("", "images/", "val/", "test/")


class _CaptionedImage(Published):
    id: int
    file_name: str
    coco_url: str = ""


class _Caption(Published):
    image_id: int
    caption: str


def read(paths: Sequence[Path], pictures: PictureFolder) -> Iterator[Sample]:
    """A sample a picture. Captions stand behind the pictures in the file and are held in memory (45,000)."""
    for path in paths:
        captions: dict[int, list[str]] = {}
        for place, record in json_items(path, "annotations", required=False):
            caption = checked(_Caption, record, place)
            captions.setdefault(caption.image_id, []).append(caption.caption)
        split = "test" if "test" in path.name else "val"
        for place, record in json_items(path, "images"):
            image = checked(_CaptionedImage, record, place)
            names = (f"{folder}{image.file_name}" for folder in _FOLDERS)
            yield Sample(
                str(image.id),
                QUESTION,
                tuple(captions.get(image.id, ())),
                (pictures.picture(image.file_name, names, url=image.coco_url),),
                dataset="nocaps",
                split=split,
                answer_type="caption",
                place=place,
                source=record,
            )
