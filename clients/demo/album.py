"""What the demo is about: a folder of photographs with a note beside each, and photographs to ask about.

The notes are ours and stand beside this file; the photographs come out of packages. What is asked about is each
photograph taken anew: cut, turned and made smaller, so that no picture is looked up by the very file that is stored.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from quizglass_export.everyday.weights import PHOTOGRAPHS

NOTES = Path(__file__).with_name("notes")
_SIDE = 640
_TURNS = (5, -8, 11, -4)
"""Degrees by which one photograph after the other is turned."""
_CUT, _SCALE = 0.06, 0.75


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of the demo, and how its answer is judged.

    Attributes:
        about: what it tries, in words.
        question: as a person asks it.
        right: words that a right answer has; none: only "I don't know" is right.
        photograph: name of the file that is asked about; empty: a question without a picture.
    """

    about: str
    question: str
    right: tuple[str, ...] = ()
    photograph: str = ""

    @property
    def picture(self) -> str:
        """Name of the file that is shown; empty for a question without a picture."""
        return f"{Path(self.photograph).stem}.jpg" if self.photograph else ""


NAMES, NOTED, LOOSE, UNKNOWN = "what it is", "what a note says", "without a picture", "not in the notes"
QUESTIONS = (
    Asked(NAMES, "What is this?", ("Miso",), "chelsea.png"),
    Asked(NOTED, "How often does she get wet food?", ("one pouch", "seven in the morning"), "chelsea.png"),
    Asked(NOTED, "Who do I call if she isn't back tonight?", ("555 0134",), "chelsea.png"),
    Asked(UNKNOWN, "How old is she?", (), "chelsea.png"),
    Asked(NAMES, "Tell me about this.", ("cutting", "Ghent"), "flower.jpg"),
    Asked(NOTED, "When do I have to water it?", ("twice a week", "in the morning"), "flower.jpg"),
    Asked(NOTED, "May I use cement to repair this?", ("never with cement",), "brick.png"),
    Asked(NOTED, "How tall is it?", ("70 metres",), "rocket.jpg"),
    Asked(NOTED, "What are these made of?", ("silver",), "coins.png"),
    Asked(UNKNOWN, "What is this?", ("may be", "espresso"), "coffee.png"),
    Asked(LOOSE, "When does the paper bin go out?", ("every second Tuesday",)),
    Asked(LOOSE, "What is the capital of Peru?"),
)
"""What a visitor would ask first. No photograph of coffee is stored: only the tagger can say what it may be."""
UNSTORED = frozenset({"coffee.png"})


def write_album(workdir: Path) -> tuple[Path, Path]:
    """Write the folder to import, and the photographs to ask about. Returns both.

    Args:
        workdir: where the photographs' packages have been fetched to.

    Raises:
        OSError: a photograph cannot be read, or nothing can be written.
    """
    notes, asked = workdir / "notes", workdir / "asked"
    for folder in (notes, asked):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for note in sorted(NOTES.glob("*.md")):
        shutil.copyfile(note, notes / note.name)
    for turn, name in enumerate(name for package in PHOTOGRAPHS for name in package.files):
        with Image.open(workdir / PHOTOGRAPHS[0].folder / name) as image:
            picture = image.convert("RGB")
        picture.thumbnail((_SIDE, _SIDE), Image.Resampling.LANCZOS)
        if name not in UNSTORED:
            picture.save(notes / f"{Path(name).stem}.jpg", quality=92)
        taken_anew(picture, _TURNS[turn % len(_TURNS)]).save(asked / f"{Path(name).stem}.jpg", quality=90)
    return notes, asked


def taken_anew(picture: Image.Image, degrees: float) -> Image.Image:
    """The middle of a photograph, smaller and turned."""
    width, height = picture.size
    inner = picture.crop((round(_CUT * width), round(_CUT * height), round((1 - _CUT) * width), height))
    inner.thumbnail((round(_SCALE * _SIDE),) * 2, Image.Resampling.LANCZOS)
    return inner.rotate(degrees, resample=Image.Resampling.BICUBIC, fillcolor="white")
