"""What a bundle says about evidence, as the steps need it. Knows no bundle format: `app` fills it in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Views:
    """Which parts of a picture are searched for: widths as shares of the picture's, 0 to 1."""

    placed: tuple[float, ...] = (0.5,)
    """Of a question that names a place: each is cut there."""
    unplaced: tuple[float, ...] = (1.0,)
    """Of any other question: 1 is the whole picture, less is cut left, in the middle and right."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """How much is looked up, how much of it the generator is shown, and when it counts."""

    abstain: str = "I don't know"
    """The words by which the generator says that it does not know."""
    image_accept: float = 0.0
    """Image search hits of a smaller cosine are dropped."""
    rerank_accept: float = 0.0
    """Passages of a smaller reranker probability are not shown to the generator."""
    coarse_accept: float = -1.0
    """With a coarse reranker, passages are shown whose relevance x cosine is at least `rerank_accept` x this. At 0 or
    less it sets no line, and relevance alone decides."""
    coarse_candidates: int | None = None
    """Of the chunks, how many the coarse reranker leaves to the fine one; None: all."""
    p_min: float | None = None
    """A draft whose least probable token is less probable is not certain; None: any is."""
    p_mean: float | None = None
    """A draft whose tokens' mean probability is smaller is not certain; None: any is."""
    line: tuple[float, float, float] | None = None
    """Weights of the least and the mean probability, and the least sum of a draft that is certain; None: any is."""
    support_accept: float | None = None
    """An answer of a smaller probability of being supported is doubted; None: the likeliest label decides."""
    detect_accept: float = 0.3
    """Boxes of a smaller probability are not looked up."""
    boxes: int = 2
    """Most boxes that are looked up instead of the views."""
    image_candidates: int = 5
    """Entries an image search brings back."""
    views: Views = Views()
    """Parts of the picture that are searched for."""
    box_step: float = 0.0
    """By how much cosine what a box finds goes behind what the likelier one before it does."""
    kind_bonus: float = 0.0
    """By how much cosine an entry goes before others when the question names its kind."""
    judged: bool = True
    """Whether the verifier judges every answer, and not those alone whose policy asks it."""
    rounds: int = 3
    """Most rounds of lookups that are planned one after the other."""
    own_passages: int = 0
    """Of each entry seen, how many passages of its own the generator is shown behind its caption."""
    seen: int = 1
    """Of those, how many the generator is shown."""
    text_candidates: int = 8
    """Chunks a text search brings back."""
    found: int = 2
    """Of those, how many the generator is shown after reranking."""
    links: int = 0
    """Where none of them answers, how many passages what they name brings; 0: names are not followed."""
