"""Long texts beside references, by libraries that everybody uses: BLEU of sacrebleu, ROUGE of rouge-score."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

_ROUGE = "rougeL"


def sentence_bleu(text: str, references: Sequence[str]) -> float:
    """BLEU of one sentence, 0 to 100, counting only the lengths of n-grams that it has (effective order).

    Raises:
        ValueError: no references.
    """
    import sacrebleu

    _check(references)
    return float(sacrebleu.sentence_bleu(text, list(references), use_effective_order=True).score)


def rouge_l(text: str, references: Sequence[str]) -> float:
    """Best F-measure of the longest common subsequence over the references, 0 to 1, with stemmed words.

    Raises:
        ValueError: no references.
    """
    _check(references)
    return max(float(_scorer().score(reference, text)[_ROUGE].fmeasure) for reference in references)


@cache
def _scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer([_ROUGE], use_stemmer=True)


def _check(references: Sequence[str]) -> None:
    if not references:
        raise ValueError("references: none; expected at least one")
