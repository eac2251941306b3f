"""The plainest rule that answers from notes: quote the nearest sentence or two. What the server has to beat.

Nearest by the bundle's own text encoder, in the note of the recognised thing, with its title in front. Where nothing is
recognised all notes are looked through; a strict rule says then that it does not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.own.dataset import OwnThing
from quizglass_lab.scoring.claims import sentences
from quizglass_server.roles.text_encoder import OnnxTextEncoder

UNKNOWN = "I don't know"
RULES = {
    "quote of one sentence": (1, False),
    "quote of two sentences": (2, False),
    "quote of one sentence, strict": (1, True),
    "quote of two sentences, strict": (2, True),
}
"""How many sentences, and whether a picture of nothing that is recognised is refused."""


@dataclass(frozen=True)
class NearestSentences:
    """Sentences of all notes with their vectors, one a row."""

    encoder: OnnxTextEncoder
    of: Sequence[OwnThing]
    texts: Sequence[str]
    vectors: np.ndarray
    """Float32 [sentences, dimension], of length 1."""

    @classmethod
    async def read(cls, things: Sequence[OwnThing], encoder: OnnxTextEncoder) -> NearestSentences:
        """Cut the notes and embed them."""
        cut = [(thing, text) for thing in things for text in sentences(thing.note)]
        vectors = await encoder.embed_passages([f"{thing.title}: {text}" for thing, text in cut])
        return cls(encoder, [thing for thing, _ in cut], [text for _, text in cut], np.stack(vectors))

    async def quote(self, question: str, recognised: str, pictured: bool, rule: str) -> str:
        """What a rule says about a recognised thing, by id; empty: none is."""
        count, strict = RULES[rule]
        if strict and pictured and not recognised:
            return UNKNOWN
        (asked,) = await self.encoder.embed_queries([question])
        near = [int(at) for at in np.argsort(-(self.vectors @ asked))]
        near = [at for at in near if not recognised or self.of[at].id == recognised] or near
        thing = self.of[near[0]]
        best = [at for at in near if self.of[at] is thing][:count]
        return f"{thing.title}: {' '.join(self.texts[at] for at in sorted(best))}"
