"""Conversations asked turn by turn, so that a model answers with its own answers before it as history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.reporting.answers.answered import AnswerLine

_SILENT = "I don't know."
"""An earlier answer that has no words."""


class OwnHistory:
    """The earlier turns of every conversation, with the answers that were given to them.

    Args:
        samples: all questions; those of one conversation in their order.
        answers: those that are kept of an earlier sitting, by id.
    """

    def __init__(self, samples: Iterable[Sample], answers: Mapping[str, AnswerLine]) -> None:
        self._earlier: dict[str, tuple[Sample, ...]] = {}
        self._given = {name: line.answer for name, line in answers.items()}
        so_far: dict[str, list[Sample]] = {}
        for sample in samples:
            turns = so_far.setdefault(sample.session, []) if sample.session else []
            self._earlier[sample.id] = tuple(turns)
            turns.append(sample)

    def note(self, line: AnswerLine) -> None:
        """Note an answer for the turns behind it."""
        self._given[line.id] = line.answer

    def before(self, sample: Sample) -> Sample:
        """The question with the answers given before it; with its own history where earlier turns were left out."""
        earlier = self._earlier[sample.id]
        if len(earlier) != len(sample.history) or any(turn.id not in self._given for turn in earlier):
            return sample
        return replace(sample, history=tuple((turn.question, self._given[turn.id] or _SILENT) for turn in earlier))


def ask_in_turn(
    samples: Sequence[Sample], one: Callable[[Sample], AnswerLine], history: OwnHistory | None, workers: int
) -> list[AnswerLine]:
    """The answer to each question, in order: conversations side by side, the turns of each one after the other.

    Args:
        samples: questions; a later turn of a conversation stands behind the earlier ones.
        one: answers a question.
        history: of own answers; None: each question has the gold answers before it.
        workers: how many conversations at once.
    """
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        apart = history is None or not sample.session
        groups.setdefault(f"question {sample.id}" if apart else f"session {sample.session}", []).append(sample)

    def of_one(turns: Sequence[Sample]) -> list[AnswerLine]:
        lines = []
        for turn in turns:
            lines.append(one(turn if history is None else history.before(turn)))
            if history is not None:
                history.note(lines[-1])
        return lines

    with ThreadPoolExecutor(workers) as pool:
        lines = {line.id: line for of_group in pool.map(of_one, groups.values()) for line in of_group}
    return [lines[sample.id] for sample in samples]
