"""Makes requests from prompts: tokenises, checks limits, compiles constraints. Safe in any thread."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from quizglass_server.engines.llama.engine.constraint import follower, label_tokens
from quizglass_server.engines.llama.engine.request_kinds import Choice, Generation, Prefill
from quizglass_server.engines.llama.engine.requests import Request, Sink
from quizglass_server.engines.llama.link.prompt import (
    TURN,
    Constraint,
    Part,
    PicturePart,
    RequestRefused,
    TextPart,
    Urgency,
)
from quizglass_server.engines.llama.native.errors import LoadFailed
from quizglass_server.engines.llama.native.model import N_BATCH, NativeModel
from quizglass_server.engines.llama.prefixes.prompt_units import PromptUnits, to_units, with_room


class RequestBuilder:
    """Knows the model's limits and stop tokens."""

    def __init__(self, model: NativeModel, stop: Sequence[str]) -> None:
        """For a model and its stop texts.

        Raises:
            LoadFailed: a stop text is not one token.
        """
        self._model = model
        self._stop = frozenset(self._stop_token(text) for text in stop)

    def generation(
        self,
        prompt: Sequence[Part],
        max_tokens: int,
        urgency: Urgency = TURN,
        constraint: Constraint | None = None,
        *,
        sink: Sink,
    ) -> Request:
        """An answer of at most `max_tokens`, as `Piece`s, then `Finished`.

        Raises:
            RequestRefused: the prompt does not fit or is not well formed, or the constraint cannot be understood.
        """
        units, pictures = to_units(self._model, prompt)
        room = min(max_tokens, self._room(units))
        if room < 1:
            raise RequestRefused(f"max_tokens is {max_tokens}; at least 1 token must be asked for")
        following = None if constraint is None else follower(self._model, constraint)
        kind = Generation(room, self._ends, self._model.piece, following)
        # The last token of an answer is not read again.
        return Request(with_room(units, room - 1), len(units.ids), kind, urgency, sink, pictures)

    def choice(self, prompt: Sequence[Part], labels: Sequence[str], urgency: Urgency = TURN, *, sink: Sink) -> Request:
        """Probabilities of labels, each by all its tokens, normalised over the labels.

        Raises:
            RequestRefused: as `generation`, or the labels are none, too many, empty, doubled or too long.
        """
        units, pictures = to_units(self._model, prompt)
        kind = Choice(label_tokens(self._model, labels))
        room = self._room(units)
        for index, tokens in enumerate(kind.labels):
            if len(tokens) > min(room, self._model.rows, N_BATCH):
                raise RequestRefused(f"labels[{index}] is {len(tokens)} tokens, too long for a label")
        if units.cells(len(units.ids)) + kind.spare > self._model.options.cache_cells:
            raise RequestRefused(f"prompt and labels take more than {self._model.options.cache_cells} tokens")
        return Request(units, len(units.ids), kind, urgency, sink, pictures)

    def prefill(self, prompt: Sequence[Part], urgency: Urgency = TURN, *, sink: Sink) -> Request:
        """A prompt, or the beginning of one, to be kept in memory: gives `Usage`.

        Raises:
            RequestRefused: as `generation`; it may end with a picture.
        """
        units, pictures = to_units(self._model, prompt, open_end=True)
        self._room(units)
        return Request(units, len(units.ids), Prefill(), urgency, sink, pictures)

    def example(self) -> list[Part]:
        """A prompt with a few words, and a blank picture where the model reads pictures."""
        text = TextPart("a b c", trusted=False)
        if (size := self._model.picture_size) is None:
            return [text]
        blank = bytes(size[0] * size[1] * 3)
        return [PicturePart(sha256(blank).digest(), *size, blank), text]

    def _room(self, units: PromptUnits) -> int:
        """Tokens left for the answer."""
        cells, context = units.cells(len(units.ids)), self._model.options.context
        if cells >= context:
            raise RequestRefused(f"the prompt is {cells} tokens and the context {context}, answer included; shorten it")
        return context - cells

    def _ends(self, token: int) -> bool:
        return token in self._stop or self._model.ends(token)

    def _stop_token(self, text: str) -> int:
        ids = self._model.tokenise(text, special=True)
        if len(ids) != 1:
            raise LoadFailed(f"{self._model.options.model.name}: stop text {text!r} is {len(ids)} tokens, not one")
        return ids[0]
