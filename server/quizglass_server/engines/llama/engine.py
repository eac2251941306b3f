"""Completes prompts with one `NativeModel`, one request at a time, reusing what earlier prompts share.

Runs in the engine thread of the generator process. Knows nothing of queues, gRPC or processes.

Two caches make a second question about a picture cheap. The vision tower runs once for each content hash. And the
last prompts stay in the model's memory as sequences: a new prompt takes over the longest beginning it shares with one
of them, compared token by token, a picture by its content hash (never by its placeholder tokens).
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from quizglass_server.engines.cache import BoundedCache
from quizglass_server.engines.llama.native import DecodeFailed, LoadFailed, NativeModel
from quizglass_server.engines.llama.prompt import Finished, Part, PicturePart, Piece, RequestRefused, TextPart, Usage
from quizglass_server.engines.llama.sequences import Atom, Sequences, count_pictures

PREFILL_TOKENS = 128
"""Prompt tokens of one decode step: a cancelled prompt stops after at most so many more."""
EMBEDDING_CACHE_BYTES = 64 << 20
MAX_LABELS = 64


class Cancelled(Exception):
    """The caller no longer wants the result."""


@dataclass(frozen=True, slots=True)
class _Prefilled:
    sequence: int
    position: int
    usage: Usage


class Engine:
    """Greedy completion over a model's sequences. Not thread-safe."""

    def __init__(self, model: NativeModel, stop: Sequence[str]) -> None:
        """Make an engine.

        Args:
            model: what to run.
            stop: texts that end an answer, each one token of the model.

        Raises:
            LoadFailed: a stop text is not one token.
        """
        self.decode_steps = 0
        self.encoded_pictures = 0
        self._model = model
        self._stop = frozenset(self._stop_token(text) for text in stop)
        self._sequences = Sequences(model)
        self._embeddings = BoundedCache[bytes, NDArray[np.float32]](EMBEDDING_CACHE_BYTES, lambda value: value.nbytes)

    def warm_up(self) -> None:
        """Run every kind of work once, so that the first request does not pay for paging weights in."""
        options = self._model.options
        blank = bytes(options.width * options.height * 3)
        picture = PicturePart(sha256(blank).digest(), options.width, options.height, blank)
        self.choose([picture, TextPart("a b c", trusted=False)], ["a"], lambda: False)

    def generate(
        self,
        prompt: Sequence[Part],
        max_tokens: int,
        emit: Callable[[Piece], None],
        cancelled: Callable[[], bool],
    ) -> Finished:
        """Complete a prompt greedily, handing over tokens as they come.

        Raises:
            RequestRefused: the prompt does not fit, or is not well formed.
            DecodeFailed: llama.cpp failed; the next request is not affected.
        """
        started = perf_counter_ns()
        atoms = self._atoms(prompt)
        room = min(max_tokens, self._room(atoms))
        try:
            prefilled = self._prefill(atoms, prompt, cancelled)
            reason, generated = self._decode(prefilled, room, emit, cancelled)
        except Cancelled:
            return Finished("cancelled", Usage(prompt_tokens=self._cells(atoms), engine_us=_since(started)))
        finally:
            self._sequences.trim()
        return Finished(reason, self._usage(prefilled, started, generated))

    def choose(
        self, prompt: Sequence[Part], labels: Sequence[str], cancelled: Callable[[], bool]
    ) -> tuple[list[float], Usage]:
        """Probability of each label as the next token, normalised over the labels.

        Raises:
            RequestRefused: the prompt does not fit, or a label is not one token.
            DecodeFailed: llama.cpp failed.
            Cancelled: the caller left.
        """
        started = perf_counter_ns()
        ids = [self._label(label) for label in labels]
        atoms = self._atoms(prompt)
        self._room(atoms)
        try:
            prefilled = self._prefill(atoms, prompt, cancelled)
        finally:
            self._sequences.trim()
        chosen = self._model.logits()[ids].astype(np.float64)
        weights = np.exp(chosen - chosen.max())
        return (weights / weights.sum()).tolist(), self._usage(prefilled, started, 0)

    def _decode(
        self, prefilled: _Prefilled, room: int, emit: Callable[[Piece], None], cancelled: Callable[[], bool]
    ) -> tuple[str, int]:
        """Why the loop ended and how many tokens it gave; no step is spent after the last token."""
        text = getincrementaldecoder("utf-8")("replace")
        position = prefilled.position
        for count in range(1, room + 1):
            token, probability = _greedy(self._model.logits())
            if token in self._stop or self._model.ends(token):
                return "stop", count - 1
            emit(Piece(text.decode(self._model.piece(token)), probability))
            if count == room:
                break
            if cancelled():
                raise Cancelled
            self._step([token], position, prefilled.sequence, logits=True)
            position += 1
        return "length", room

    def _prefill(self, atoms: list[Atom], prompt: Sequence[Part], cancelled: Callable[[], bool]) -> _Prefilled:
        """Bring a sequence to the end of the prompt, with the logits after it."""
        sequence, reused = self._sequences.take(atoms)
        position = self._sequences.positions(atoms[:reused])
        encoded = False
        index = reused
        while index < len(atoms):
            if cancelled():
                raise Cancelled
            atom = atoms[index]
            taken: Sequence[Atom] = [atom]
            if isinstance(atom, bytes):
                embedding, encoded = self._embedding(atom, prompt)
                self._model.decode_picture(embedding, position, sequence)
                self.decode_steps += 1
            else:
                taken = tokens = _run(atoms, index)
                self._step(tokens, position, sequence, logits=index + len(tokens) == len(atoms))
            self._sequences.extend(sequence, taken)
            position += self._sequences.positions(taken)
            index += len(taken)
        usage = Usage(self._cells(atoms), self._cells(atoms[:reused]), encoded_picture=encoded)
        return _Prefilled(sequence, position, usage)

    def _step(self, tokens: list[int], position: int, sequence: int, *, logits: bool) -> None:
        self._model.decode(tokens, position, sequence, logits=logits)
        self.decode_steps += 1

    def _embedding(self, key: bytes, prompt: Sequence[Part]) -> tuple[NDArray[np.float32], bool]:
        """A picture's embedding and whether it had to be computed."""
        if (found := self._embeddings.get(key)) is not None:
            return found, False
        picture = next(part for part in prompt if isinstance(part, PicturePart))
        embedding = self._model.encode_picture(picture.rgb)
        self.encoded_pictures += 1
        self._embeddings.put(key, embedding)
        return embedding, True

    def _atoms(self, prompt: Sequence[Part]) -> list[Atom]:
        """Token ids and content hashes of a prompt."""
        atoms: list[Atom] = []
        slot, options = self._model.slot, self._model.options
        for part in prompt:
            if isinstance(part, TextPart):
                atoms.extend(self._model.tokenise(part.text, special=part.trusted))
                continue
            if (part.width, part.height) != (options.width, options.height):
                raise RequestRefused(
                    f"picture of {part.width} x {part.height}; this model takes {options.width} x {options.height}"
                )
            if len(part.rgb) != options.width * options.height * 3:
                raise RequestRefused(f"picture of {len(part.rgb)} bytes, not width x height x 3")
            atoms.extend((*slot.before, part.sha256, *slot.after))
        if count_pictures(atoms) > 1:
            raise RequestRefused("more than one picture in a prompt; this engine takes one")
        if not atoms or isinstance(atoms[-1], bytes):
            raise RequestRefused("the prompt is empty or ends with a picture; it must end with text")
        return atoms

    def _room(self, atoms: list[Atom]) -> int:
        """Tokens left for the answer."""
        cells, context = self._cells(atoms), self._model.options.context
        if cells >= context:
            raise RequestRefused(f"the prompt is {cells} tokens and the context {context}, answer included; shorten it")
        return context - cells

    def _cells(self, atoms: Sequence[Atom]) -> int:
        return len(atoms) + count_pictures(atoms) * (self._model.slot.tokens - 1)

    def _label(self, text: str) -> int:
        ids = self._model.tokenise(text, special=False)
        if len(ids) != 1:
            raise RequestRefused(f"label {text!r} is {len(ids)} tokens of this model; it must be one")
        return ids[0]

    def _stop_token(self, text: str) -> int:
        ids = self._model.tokenise(text, special=True)
        if len(ids) != 1:
            raise LoadFailed(f"{self._model.options.model.name}: stop text {text!r} is {len(ids)} tokens, not one")
        return ids[0]

    def _usage(self, prefilled: _Prefilled, started: int, generated: int) -> Usage:
        usage = prefilled.usage
        return Usage(usage.prompt_tokens, usage.reused_tokens, generated, _since(started), usage.encoded_picture)


def _since(started: int) -> int:
    return (perf_counter_ns() - started) // 1000


def _run(atoms: list[Atom], start: int) -> list[int]:
    """The token ids from `start` to the next picture, at most a prefill step's worth."""
    tokens: list[int] = []
    for atom in atoms[start : start + PREFILL_TOKENS]:
        if isinstance(atom, bytes):
            break
        tokens.append(atom)
    return tokens


def _greedy(logits: NDArray[np.float32]) -> tuple[int, float]:
    """The likeliest token and its probability."""
    token = int(logits.argmax())
    probability = 1.0 / float(np.exp(logits - logits[token]).sum())
    if not probability > 0.0:
        raise DecodeFailed("the model gave logits that are not numbers; its file may be damaged")
    return token, probability
