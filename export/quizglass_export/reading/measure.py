"""Asks a bundle about the notes: in quotes, in its generator's words, and in the shorter of both.

By the server's own steps, without a server: each question has its note as the one passage that was found. What the
generator writes is completed by llama.cpp in a process of its own (`gguf.jobs`).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from quizglass.values import Origin, VerdictOutcome
from quizglass_bundle.files import Bundle
from quizglass_bundle.inputs.prompts import filled, load_template
from quizglass_bundle.parts import ANSWER, GeneratorPart
from quizglass_bundle.tuning import Answers
from quizglass_export.gguf.jobs import GenerationJob, generate, tokenise
from quizglass_export.reading.notes import Judged, ReadingNote, reading_notes
from quizglass_server.domain.state import State
from quizglass_server.domain.turns import Evidence, Turn
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.roles.load import load_role
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.shared.loading import Loading
from quizglass_server.steps.abstaining import abstains
from quizglass_server.steps.prompt_values import prompt_values
from quizglass_server.steps.qualifiers import whole_sentence
from quizglass_server.steps.quoting import chosen, compare, joined, raised, rested_on, sentences_of, weigh
from quizglass_server.steps.verify import verify

_PREFERENCE = (Answers.QUOTE, Answers.SHORTER, Answers.WRITE)
"""Which is proposed of those that are equally good: word for word first."""
_MOST_TOKENS = 48
"""Of an answer: one sentence."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of the questions in one way of answering."""

    right: int
    refused: int
    wrong: int
    words: float
    """Of an answer that is no refusal, the median; 0 where there is none."""

    @property
    def worth(self) -> int:
        """A wrong answer costs as much as a right one brings."""
        return self.right - self.wrong


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of the questions, by the way of answering."""

    asked: int
    figures: Mapping[Answers, Figures]

    @property
    def best(self) -> Answers:
        """The way that is worth most."""
        ways = [way for way in _PREFERENCE if way in self.figures]
        return max(ways, key=lambda way: self.figures[way].worth)  # of equal ones the first

    def told(self) -> dict[str, Any]:
        """As JSON values."""
        ways = {
            str(way): {"right": each.right, "refused": each.refused, "wrong": each.wrong, "words": each.words}
            for way, each in self.figures.items()
        }
        return {"asked": self.asked, "best": str(self.best), "answers": ways}

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Reading:
        """From what `told` gave."""
        return cls(told["asked"], {Answers(way): Figures(**each) for way, each in told["answers"].items()})


def can_be_asked(bundle: Bundle) -> bool:
    """Whether there is a choice: a generator that writes, and a model that says which sentence answers."""
    return bundle.has("generator") and (bundle.has("reranker") or bundle.has("text_encoder"))


def measure(bundle: Bundle, notes: Sequence[ReadingNote] = ()) -> Reading:
    """Ask a bundle for which `can_be_asked` holds.

    Args:
        bundle: what is asked.
        notes: what it is asked about; none: those of `notes.toml`.

    Raises:
        ExportError: llama.cpp fails, or a prompt does not fit the context.
        BundleError, PromptError: a model or prompt cannot be loaded.
    """
    notes = notes or reading_notes()
    written = _written(bundle, notes)
    quoted = asyncio.run(_quoted(bundle, notes))
    ways = _answers(bundle, notes, written, quoted)
    return Reading(len(notes), {way: _figures(bundle, notes, answers) for way, answers in ways.items()})


def _answers(
    bundle: Bundle, notes: Sequence[ReadingNote], written: Sequence[str], quoted: Sequence[str]
) -> dict[Answers, list[str]]:
    """The answers of each way, in the order of the notes."""
    each = list(zip(notes, written, quoted, strict=True))
    if bundle.manifest.thresholds.quote_accept is None:  # quotes stand under nothing that is written
        return {Answers.QUOTE: [*quoted], Answers.WRITE: [*written]}
    abstain = bundle.manifest.abstain
    return {
        Answers.QUOTE: [*quoted],
        Answers.WRITE: [quote if quote and abstains(text, abstain) else text for _, text, quote in each],
        Answers.SHORTER: [_shorter(note, text, quote, abstain) for note, text, quote in each],
    }


def _shorter(note: ReadingNote, text: str, quote: str, abstain: str) -> str:
    """As the server has it: the quote, or a supported answer, whole, where that is shorter or there is no quote."""
    evidence = _evidence(note)
    support = verify(text, [evidence], question=note.question)
    if abstains(text, abstain) or support.outcome is not VerdictOutcome.SUPPORTED:
        return quote or text
    sentence = whole_sentence(text, note.question, rested_on(text, support.citations, [evidence]))
    whole = text if sentence is None else sentence.text
    return quote if quote and len(quote.split()) <= len(whole.split()) else whole


def _figures(bundle: Bundle, notes: Sequence[ReadingNote], answers: Sequence[str]) -> Figures:
    refusals = [not answer or abstains(answer, bundle.manifest.abstain) for answer in answers]
    judged = Counter(
        note.judge(answer, refuses=refuses) for note, answer, refuses in zip(notes, answers, refusals, strict=True)
    )
    words = [len(answer.split()) for answer, refuses in zip(answers, refusals, strict=True) if not refuses]
    return Figures(judged[Judged.RIGHT], judged[Judged.REFUSED], judged[Judged.WRONG], float(median(words or [0])))


def _written(bundle: Bundle, notes: Sequence[ReadingNote]) -> list[str]:
    """What the generator answers from each note, greedily."""
    part = bundle.roles.generator
    assert isinstance(part, GeneratorPart)
    model = bundle.path(part.model)
    template = load_template(bundle.path(part.prompts[ANSWER]), sees=part.sees_pictures)
    stop = [ids[0] for ids in tokenise(model, part.stop, special=True)]
    done = generate(
        GenerationJob(
            model=model,
            projector=None,
            prompts=[(template.render(pictures=0, **filled(_values(note))), None) for note in notes],
            stop=stop,
            image_token=None,
            context=part.context,
            max_new_tokens=min(part.max_new_tokens, _MOST_TOKENS),
            first_of=(),
        )
    )
    return [text.strip() for text in done.texts]


def _values(note: ReadingNote) -> dict[str, Any]:
    state = State(note.question, found=(_evidence(note),))
    return prompt_values(Turn("", note.question), "", "", state, {})


def _evidence(note: ReadingNote) -> Evidence:
    return Evidence(id="1", origin=Origin.TEXT_SEARCH, entry_id=note.title, title=note.title, text=note.text, used=True)


async def _quoted(bundle: Bundle, notes: Sequence[ReadingNote]) -> list[str]:
    """The sentences of each note that answer; an empty text where none reaches the bundle's line."""
    role = "reranker" if bundle.has("reranker") else "text_encoder"
    pool = EnginePool(1)
    try:
        part = dict(bundle.roles.filled())[role]
        loading = Loading(bundle, pool, PictureFitter(), OnnxOptions(provider="cpu"))
        model = await pool.run(lambda: load_role(role, part, loading))
        return [await _quote(model, role, note, bundle.manifest.thresholds.quote_accept or 0.0) for note in notes]
    finally:
        pool.close()


async def _quote(model: Any, role: str, note: ReadingNote, accept: float) -> str:
    found = sentences_of([_evidence(note)])
    scores = await (weigh if role == "reranker" else compare)(model, note.question, found)
    return joined(chosen(found, raised(note.question, found, scores), accept))
