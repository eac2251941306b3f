"""Runs a planned step on the model, and leaves its memory as it was when the step fails."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

from quizglass_server.engines.llama.engine.request_kinds import Choice
from quizglass_server.engines.llama.engine.requests import Request
from quizglass_server.engines.llama.engine.sampling import Row, Sampler
from quizglass_server.engines.llama.engine.scheduler import Plan
from quizglass_server.engines.llama.native.batch import EmbeddingBatch, TokenBatch
from quizglass_server.engines.llama.native.errors import DecodeFailed
from quizglass_server.engines.llama.native.model import ABORTED, DECODED, FORKS, N_BATCH, NativeModel
from quizglass_server.engines.llama.prefixes.cache import Lease, Prefixes

Decode = Callable[[TokenBatch | EmbeddingBatch], int]


class Runner:
    """Fills batches and reads what comes of them."""

    def __init__(self, model: NativeModel, prefixes: Prefixes, decode: Decode) -> None:
        """Make a runner; `decode` is the model's, watched."""
        self._model = model
        self._prefixes = prefixes
        self._decode = decode
        self._tokens = TokenBatch(N_BATCH)
        self._sampler = Sampler(model.vocabulary)

    def tokens(self, plan: Plan) -> tuple[int, list[tuple[Request, Row | None]]]:
        """One token for each stream and the pieces of prompts: llama.cpp's code, and the logits that requests wanted.

        With another code than `DECODED` nothing has changed.
        """
        tokens = self._tokens
        tokens.clear()
        streams = self._add_streams(plan.streams)
        wanted = [self._add(request, count) for request, count in plan.pieces]
        if plan.padding:
            self._pad(plan.padding)
        code = self._decode(tokens)
        if plan.padding:
            self._model.forget(self._model.sequences)
        if code != DECODED:
            # Also what was computed for the neighbours may be in memory, without logits: it is computed again.
            self._roll_back([*plan.streams, *(request for request, _ in plan.pieces)])
            return code, []
        rows = iter(self._sampler.rows(self._model.logits(tokens.outputs)) if tokens.outputs else [])
        logits: list[tuple[Request, Row | None]] = []
        for lease, request in zip(streams, plan.streams, strict=True):
            lease.length += 1
            logits.append((request, next(rows)))
        for (request, count), wants in zip(plan.pieces, wanted, strict=True):
            if request.lease is not None:
                request.lease.length += count
            logits.append((request, next(rows) if wants else None))
        return code, logits

    def picture(self, request: Request, count: int) -> int:
        """Read the next `count` rows of a picture, as far as it has so many."""
        lease, embedding, projector = request.lease, request.embedding, self._model.projector
        if lease is None or embedding is None or projector is None:
            raise DecodeFailed("a picture was to be read before it was encoded")
        start = request.picture_rows
        end = min(len(embedding), start + count)
        positions = projector.positions(lease.position)[:, start:end]
        code = self._decode(EmbeddingBatch(embedding[start:end], positions, lease.sequence))
        if code != DECODED:
            # A picture is one position in time: cut there, its earlier rows go as well.
            self._roll_back([request])
            return code
        request.picture_rows = end
        if end == len(embedding):
            lease.length += 1
            request.picture_rows = 0
        return code

    def forks(self, request: Request, kind: Choice) -> None:
        """Read the rest of every label that is longer than one token, behind the prompt they share.

        Raises:
            DecodeFailed: llama.cpp failed; nothing has changed.
        """
        waiting = [index for index, label in enumerate(kind.labels) if len(label) > 1]
        while waiting:
            group: list[int] = []
            size = 0
            while waiting and len(group) < FORKS:
                size += len(kind.labels[waiting[0]]) - 1
                if group and size > self._model.rows:
                    break
                group.append(waiting.pop(0))
            self._fork(request, kind, group)

    def _fork(self, request: Request, kind: Choice, group: list[int]) -> None:
        if request.lease is None:
            raise DecodeFailed("labels were to be read before their prompt")
        position = request.lease.position
        self._tokens.clear()
        for fork, index in enumerate(group, self._model.sequences):
            self._model.share(request.lease.sequence, fork, position)
            self._tokens.add(kind.labels[index][:-1], position, fork, 0)
        code = self._decode(self._tokens)
        while code == ABORTED and not request.cancelled:
            # Meant for a step before this one.
            for fork in range(len(group)):
                self._model.forget(self._model.sequences + fork, position)
            code = self._decode(self._tokens)
        rows = iter(self._sampler.rows(self._model.logits(self._tokens.outputs)) if code == DECODED else [])
        for fork in range(len(group)):
            self._model.forget(self._model.sequences + fork)
        if code != DECODED:
            raise DecodeFailed(f"llama_decode returned {code}: {self._model.last_error()}")
        for index in group:
            kind.scores[index] += sum(next(rows).log_probability(token) for token in kind.labels[index][1:])
            if not isfinite(kind.scores[index]):
                raise DecodeFailed(f"logits of labels[{index}] are not numbers; the model's file may be damaged")

    def _add_streams(self, streams: list[Request]) -> list[Lease]:
        """Append the next token of each answer."""
        leases = [request.lease for request in streams if request.lease is not None]
        if len(leases) < len(streams):
            raise DecodeFailed("a request without a sequence was to be run")
        if leases:
            self._tokens.add_each(
                [request.last for request in streams],
                [lease.position for lease in leases],
                [lease.sequence for lease in leases],
            )
        return leases

    def _add(self, request: Request, count: int) -> bool:
        """Append the next tokens of a request; whether logits come of it that it wants."""
        if request.lease is None:
            raise DecodeFailed("a request without a sequence was to be run")
        start, wants = request.done, request.gives_logits(count)
        tokens, lease = request.units.ids[start : start + count], request.lease
        self._tokens.add(tokens, lease.position, lease.sequence, count - 1 if wants else None)
        return wants

    def _pad(self, rows: int) -> None:
        """Fill up with copies of a token that is there anyway: an odd one might not even give numbers."""
        self._tokens.add([self._tokens.first] * rows, 0, self._model.sequences)

    def _roll_back(self, requests: list[Request]) -> None:
        for request in requests:
            if request.lease is not None:
                self._prefixes.roll_back(request.lease)
                request.picture_rows = 0
