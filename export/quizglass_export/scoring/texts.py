"""Long texts beside references, by libraries that everybody uses: BLEU of sacrebleu, ROUGE of rouge-score."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

ROUGE = ("rouge1", "rouge2", "rougeL")


def bleu(texts: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Corpus BLEU, 0 to 100, with sacrebleu's tokens ("13a") and its smoothing.

    Args:
        texts: one for each question.
        references: of each text at least one.

    Raises:
        ValueError: a text without references, or none at all.
    """
    import sacrebleu

    _check(texts, references)
    most = max(len(each) for each in references)
    streams = [[each[place] if place < len(each) else None for each in references] for place in range(most)]
    return float(sacrebleu.corpus_bleu(list(texts), streams).score)


def sentence_bleu(text: str, references: Sequence[str]) -> float:
    """BLEU of one sentence, 0 to 100, counting only the lengths of n-grams that it has (effective order)."""
    import sacrebleu

    _check([text], [references])
    return float(sacrebleu.sentence_bleu(text, list(references), use_effective_order=True).score)


def rouge(text: str, references: Sequence[str], kind: str = "rougeL") -> float:
    """Best F-measure over the references, 0 to 1, with stemmed words; `kind` one of ROUGE."""
    if kind not in ROUGE:
        raise ValueError(f"kind: {kind}; choose from {', '.join(ROUGE)}")
    _check([text], [references])
    return max(float(_scorer(kind).score(reference, text)[kind].fmeasure) for reference in references)


@cache
def _scorer(kind: str) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer([kind], use_stemmer=True)


def _check(texts: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    if len(texts) != len(references) or not texts or not all(references):
        counts = f"{len(texts)} texts, references for {sum(map(bool, references))}"
        raise ValueError(f"references: {counts}; expected at least one for every text")
