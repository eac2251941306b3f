"""One question of a benchmark with everything that the benchmark tells of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.pocketworld.question import Hop


@dataclass(frozen=True, slots=True)
class SamplePicture:
    """A picture that a question is about: a file, encoded bytes, or no more than its name and address."""

    name: str
    """The picture's name in the benchmark: an id or a file name."""
    path: Path | None = None
    """Where it lies; None when it was not found, or no folder of pictures was given."""
    data: bytes | None = field(default=None, repr=False)
    """Encoded, where the benchmark's file holds the picture itself."""
    url: str = ""
    """The picture's address, empty if there is none; it is recorded and never fetched."""

    @property
    def at_hand(self) -> bool:
        """Whether it can be read here."""
        return self.data is not None or self.path is not None

    def read(self) -> bytes:
        """The encoded picture.

        Raises:
            DatasetError: it is not at hand, or its file cannot be read.
        """
        if self.data is not None:
            return self.data
        if self.path is None:
            raise DatasetError(f"picture {self.name}: not found; pass the folder that holds it")
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise DatasetError(f"{self.path}: cannot be read: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class Sample:
    """One question. What a benchmark does not tell is empty; `source` keeps its record as published."""

    id: str
    question: str
    answers: tuple[str, ...] = ()
    """Every accepted wording, the standard one first; none where a split keeps them private."""
    pictures: tuple[SamplePicture, ...] = ()
    dataset: str = ""
    split: str = ""
    session: str = ""
    """Turns of one dialogue share it and follow each other in order."""
    history: tuple[tuple[str, str], ...] = ()
    """(question, gold answer) of the turns before."""
    entries: tuple[str, ...] = ()
    """Ids or addresses of the entries that hold the answer, in the order in which they are needed; where a benchmark
    names one entry in two ways, both."""
    evidence: tuple[str, ...] = ()
    """Texts that support the answer."""
    gold_query: str = ""
    """The question, reworded so that it can be answered without the picture."""
    image_query: str = ""
    image_answer: str = ""
    """What is asked about the picture alone, and the name of the thing that it shows."""
    pictured: bool | None = None
    """Whether something in the picture has to be recognised; False: the question names its subject; None: unknown."""
    hops: tuple[Hop, ...] = ()
    """The lookups that lead to the answer."""
    hop_count: int | None = None
    """How many lookups it takes, as the benchmark says it; None: it is the number of `hops`, if there are any."""
    answer_type: str = ""
    """Decides how an answer is judged; the benchmark's own word, e.g. "numerical", "multi_answer"."""
    answer_range: tuple[float, float] | None = None
    """Smallest and largest number that is accepted as the answer, both included; None for answers in words."""
    votes: tuple[str, ...] = ()
    """What each annotator answered, with repetitions."""
    choices: tuple[str, ...] = ()
    """The wrong options of a multiple-choice question."""
    claims: tuple[str, ...] = ()
    """Where the right answer says several things, each of them as a statement; else empty."""
    category: str = ""
    domain: str = ""
    """What the question is about, as the benchmark calls it ("plants"): prompts say it, a domain router learns it."""
    answerable: bool = True
    """False where nothing answers the question, so that "I don't know" is right."""
    place: str = ""
    """The file and line or row that it was read from."""
    source: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The record as published, without the bytes of pictures."""

    @property
    def answer(self) -> str:
        """The standard answer; empty where none is published."""
        return self.answers[0] if self.answers else ""

    @property
    def asked(self) -> str:
        """The question as it is put: of a multiple choice with its options, in an order that tells nothing."""
        if not self.choices or not self.answers:
            return self.question
        return f"{self.question} Choose one of these: {' | '.join(sorted({self.answer, *self.choices}))}"

    @property
    def hops_needed(self) -> int | None:
        """How many lookups it takes; None: unknown."""
        return (len(self.hops) or None) if self.hop_count is None else self.hop_count
