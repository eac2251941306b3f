"""How evidence is looked for and when it counts: what steps go by, and what a bundle's manifest may say of it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, model_validator

from quizglass_bundle.fields import Count, ManifestPart
from quizglass_bundle.languages import DEFAULT_LANGUAGES, Languages

Probability = Annotated[float, Field(ge=0, le=1)]
Step = Annotated[float, Field(ge=0, le=2)]
"""A difference of cosines."""
Share = Annotated[float, Field(gt=0, le=1)]
_GONE: Mapping[str, float] = {"quote_likeness": 0.0}
"""Thresholds of earlier versions, each with the value at which it changed nothing. Manifests have every value written
out, so bundles that were built before name them."""
Shares = Annotated[tuple[Share, ...], Field(min_length=1, max_length=3)]


class CertaintyLine(ManifestPart):
    """A draft is certain where `p_min` x its least and `p_mean` x its mean token probability are at least `least`."""

    p_min: Annotated[float, Field(ge=0)]
    p_mean: Annotated[float, Field(ge=0)]
    least: float

    def reached(self, p_min: float, p_mean: float) -> bool:
        """Whether a draft of these probabilities is certain."""
        return self.p_min * p_min + self.p_mean * p_mean >= self.least


class Match(ManifestPart):
    """How much surer than usual it is that a picture shows the entry that it was found by.

    In log odds: `similarity` x cosine, of which at most `most` counts, + `margin` x the cosine by which it goes before
    the best other entry + `offset`.
    """

    similarity: Annotated[float, Field(ge=0)]
    margin: Annotated[float, Field(ge=0)]
    offset: float
    most: Annotated[float, Field(ge=-1, le=1)] = 1.0

    def odds(self, cosine: float, ahead: float) -> float:
        """Odds of an entry of this cosine, so far before the best other one."""
        return self.similarity * min(cosine, self.most) + self.margin * ahead + self.offset


class Thresholds(ManifestPart):
    """Scores below which evidence is dropped, and probabilities below which a draft or an answer is doubted."""

    image_accept: float = 0.0
    """Image search hits of a smaller cosine are dropped."""
    view_accept: float | None = None
    """What the picture or a view of it is most like counts where its cosine and its lead before the next entry are
    together at least this; one that is a little like several things shows none of them. None: `image_accept` alone."""
    rerank_accept: float = 0.0
    """Passages of a smaller reranker probability are not shown to the generator."""
    square_accept: float | None = None
    """What a smaller square is most like counts where its cosine and its lead before the next entry are together at
    least this: among many squares, some part of anything looks a little like something. Its cosine may then be a little
    less than `image_accept`. None: `image_accept` alone."""
    spatial_accept: Annotated[int, Field(ge=4, le=1000)] | None = None
    """Where nothing counts by its cosine, an entry does of whose picture the wearer's has at least so many keypoints in
    the same arrangement: it shows that very thing. None: keypoints are not compared."""
    text_accept: float = 0.1
    """Passages of a smaller cosine are not shown where no reranker has judged them."""
    coarse_accept: float = -1.0
    """With a coarse reranker, passages are shown whose relevance x cosine is at least `rerank_accept` x this. At 0 or
    less it sets no line, and relevance alone decides."""
    detect_accept: Probability = 0.3
    """Boxes of a smaller probability are not looked up."""
    p_min: Probability | None = None
    """A draft whose least probable token is less probable is not certain; None: any is."""
    p_mean: Probability | None = None
    """A draft whose tokens' mean probability is smaller is not certain; None: any is."""
    line: CertaintyLine | None = None
    """Over both, as QA-Dragon's verifier has it, besides the two bounds: weights `p_min` and `p_mean`, and the `least`
    sum of a certain draft. None: any draft is certain."""
    support_accept: Probability | None = None
    """An answer of a smaller probability of "supported" is doubted; None: the likeliest label decides."""
    support_certainty: Probability = 0.0
    """The weight of the answer's least token probability in what `support_accept` is held against; the rest is the
    verifier's. QA-Dragon draws its line over token probabilities, and asks its verifier beyond it; a small verifier and
    the tokens are each wrong about other answers."""
    support_match: Match | None = None
    """How much the match of the entries that are shown moves what `support_accept` is held against, in log odds:
    `similarity` x cosine, at most `most`, + `margin` x the cosine before the best other entry + `offset`. It is 0 for a
    usual right hit. None: not at all."""
    support_colour: Annotated[float, Field(ge=0, le=20)] = 0.0
    """By how many log odds less an answer is trusted whose evidence names colours, and not the one by which the
    question says what it means."""
    memory_accept: Probability | None = None
    """Least probability of the least probable token of an answer without passages. Below it, policies that choose their
    lookups make the remaining ones before they answer; None: such answers are streamed. A name that only a rewriter
    says is a guess below it."""
    none_accept: Probability | None = None
    """A plan to look nothing up of a smaller probability gives way to the next likeliest; None: the likeliest plan is
    followed."""
    quote_accept: Probability | None = None
    """A sentence of a smaller score is not quoted, by the reranker's probability or without one by cosine. None: the
    policy `quote` quotes the best sentence, and quotes stand under no other policy."""
    direct_accept: Probability | None = None
    """A draft that a search router would tell directly with a smaller probability goes the next likeliest way; None: it
    is given where nothing is likelier."""

    @model_validator(mode="before")
    @classmethod
    def _without_gone(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        return {key: value for key, value in given.items() if key not in _GONE or value != _GONE[key]}

    def remembers(self, p_min: float) -> bool:
        """Whether memory is sure of an answer with this least token probability."""
        return p_min >= (self.memory_accept or 0.0)


class Views(ManifestPart):
    """Which parts of a picture are searched for: widths as shares of the picture's, 0 to 1."""

    placed: Shares = (0.5,)
    """Of a question that names a place: each is cut there."""
    unplaced: Shares = (1.0,)
    """Of any other question: 1 is the whole picture, less is cut left, in the middle and right."""
    squares: Annotated[tuple[Share, ...], Field(max_length=3)] = ()
    """Sides of squares that are looked up where the views find nothing, as shares of the picture's shorter side."""


class Answers(StrEnum):
    """How a bundle's answers come about."""

    WRITE = "write"
    """The generator reads well: it writes them, and its words are streamed."""
    QUOTE = "quote"
    """Sentences of the evidence; what a generator writes under another policy is checked before it is sent."""
    SHORTER = "shorter"
    """The generator writes, and what it writes is checked before it is sent: of a supported answer, whole, and of the
    quote the shorter one is the answer."""


class EvidenceLimits(ManifestPart):
    """How evidence is looked for, how many pieces are fetched and shown to the generator, and what answers come of."""

    answers: Answers = Answers.WRITE
    """`write`: the generator writes answers. `quote`: answers are quotes, `quote` is the default policy, and a
    generator's words under another policy are checked before they are sent. `shorter`: the generator writes, its words
    are checked before they are sent, and of a supported answer, whole, and the quote the shorter one is the answer;
    this needs `quote_accept`."""

    seen: Count = 1
    """Of the entries that an image search brings back, how many the generator is shown."""
    found: Count = 2
    """Of the chunks that a text search brings back, how many the generator is shown after reranking."""
    text_candidates: Count = 8
    """Chunks a text search brings back."""
    coarse_candidates: Count | None = None
    """Of the chunks, how many the coarse reranker leaves to the fine one; None: all."""
    rerank_first: Count | None = None
    """Of the chunks, how many are reranked at first, and alone where one of them answers with a probability of 0.95 and
    the query names nothing else; None: all."""
    links: Annotated[int, Field(ge=0, le=20)] = 0
    """How many passages join the chunks where none of these answers, because the best name their entries; 0: names are
    not followed."""
    image_candidates: Count = 5
    """Entries an image search brings back."""
    views: Views = Views()
    """Parts of the picture that are looked up: widths where a question names a place, widths where it names none, as
    shares of the picture's, and sides of squares where these find nothing, as shares of its shorter side."""
    boxes: Count = 2
    """Most of a detector's boxes that are looked up, instead of the views."""
    box_step: Step = 0.0
    """Cosine penalty per lower-ranked box."""
    kind_bonus: Step = 0.0
    """Cosine bonus of entries whose kind the question names."""
    judged: bool = True
    """Whether the verifier judges every answer, and not those alone whose policy asks it."""
    rounds: Annotated[int, Field(ge=1, le=10)] | None = None
    """Most rounds of `cogplanner-…+` and `self-reflective+`; None: three, as the published forms take."""
    own_passages: Annotated[int, Field(ge=0, le=20)] = 0
    """Of each entry seen, how many passages of its own the generator is shown behind its caption. 2 suits folders of
    photographs and texts, whose captions say little."""


def check_answers(evidence: EvidenceLimits, thresholds: Thresholds) -> None:
    """Raise ValueError where quotes are to stand beside written answers, and none is good enough for that."""
    if evidence.answers is Answers.SHORTER and thresholds.quote_accept is None:
        raise ValueError('evidence.answers: "shorter" needs thresholds.quote_accept, the least score of a quote')


class Tuning(Thresholds, EvidenceLimits):
    """All of it, as a turn's steps are given it."""

    abstain: str = "I don't know"
    """The words by which the generator says that it does not know."""
    languages: Languages = DEFAULT_LANGUAGES
    """Those that questions are answered in."""

    @property
    def checks_first(self) -> bool:
        """Whether a generator's words are held back until they are checked: a quote may replace them."""
        return self.answers is not Answers.WRITE and self.quote_accept is not None

    @classmethod
    def of(
        cls, evidence: EvidenceLimits, thresholds: Thresholds, abstain: str, languages: Languages = DEFAULT_LANGUAGES
    ) -> Tuning:
        """The tuning of a bundle, from parts of its manifest."""
        return cls(**dict(evidence), **dict(thresholds), abstain=abstain, languages=languages)
