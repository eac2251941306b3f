"""Measures the retrieval models on a world they have never seen.

Usage: python -m quizglass_lab.retrieval.evaluate image|text|rerank --workdir DIR [--seed N --things M --queries Q]
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import Qwen3ForCausalLM

from quizglass_lab.pocketworld.questions import make_unknowable
from quizglass_lab.pocketworld.world import FORMATS, make_world
from quizglass_lab.retrieval.pairs import Pair, PassageLibrary
from quizglass_lab.retrieval.picture_search import evaluate_images
from quizglass_lab.retrieval.rerank_data import PromptReader
from quizglass_lab.retrieval.reranker import ensure_tokenizer, load_reranker
from quizglass_lab.retrieval.text_encoder import embed_texts, load_text_encoder
from quizglass_lab.retrieval.thresholds import KEPT_PASSAGES, Report, keeping_threshold, recalls
from quizglass_lab.retrieval.training import prepare

_CANDIDATES = 8


class TextSearch:
    """All passages of a world of the newest format, embedded."""

    def __init__(self, workdir: Path, seed: int, things: int) -> None:
        self.library = PassageLibrary(make_world(seed, things, format=FORMATS[-1]))
        self.model, self.tokenizer = load_text_encoder(workdir / "text_encoder")
        self.passages = embed_texts(self.model, self.tokenizer, [p.text for p in self.library.passages])

    def scores(self, queries: Sequence[str]) -> torch.Tensor:
        """[Q,P] cosines."""
        return embed_texts(self.model, self.tokenizer, queries) @ self.passages.T


def evaluate_text(workdir: Path, seed: int, things: int, queries: int) -> Report:
    """Rank of the first right passage for gold queries, among all passages of a world."""
    search = TextSearch(workdir, seed, things)
    pairs = search.library.pairs(2 * queries, seed)[:queries]
    scores = search.scores([pair.query for pair in pairs])
    ranks: dict[str, list[int]] = defaultdict(list)
    for row, pair in zip(scores, pairs, strict=True):
        rank = int((row > row[list(pair.gold)].max()).sum())
        for name in ("all", pair.family):
            ranks[name].append(rank)
    report: Report = {name: recalls(values) for name, values in sorted(ranks.items())}
    return report | {"passages": len(search.library.passages)}


@torch.inference_mode()
def judge(
    model: Qwen3ForCausalLM, reader: PromptReader, rows: Sequence[tuple[str, str]], batch: int = 64
) -> torch.Tensor:
    """Probability of " yes" against " no" for (query, passage) rows."""
    prompts = [reader.ids(query, passage) for query, passage in rows]
    order = sorted(range(len(rows)), key=lambda i: len(prompts[i]))
    result = torch.empty(len(rows))
    for start in range(0, len(order), batch):
        part = order[start : start + batch]
        width = max(len(prompts[i]) for i in part)
        ids = torch.tensor([[*prompts[i], *[0] * (width - len(prompts[i]))] for i in part])
        lengths = torch.tensor([len(prompts[i]) for i in part])
        mask = (torch.arange(width) < lengths.unsqueeze(1)).long()
        hidden = model.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
        logits = hidden[torch.arange(len(part)), lengths - 1] @ model.lm_head.weight[[reader.no, reader.yes]].T
        result[part] = logits.softmax(1)[:, 1]
    return result


def evaluate_reranking(workdir: Path, seed: int, things: int, queries: int, base_only: bool = False) -> Report:
    """Recall@1 of a right passage with and without reranking; and the best score of queries nothing answers."""
    search = TextSearch(workdir, seed, things)
    reader = PromptReader(ensure_tokenizer(workdir))
    model = Qwen3ForCausalLM.from_pretrained(workdir / "reranker_base") if base_only else load_reranker(workdir)
    pairs = search.library.pairs(2 * queries, seed)[:queries]
    coarse, fine, numbers = _candidates(search, model.eval(), reader, [pair.query for pair in pairs])
    right = torch.tensor([[n in pair.gold for n in row] for row, pair in zip(numbers.tolist(), pairs, strict=True)])
    orders = {"text encoder": coarse, "fine": fine, "fine x coarse": fine * coarse, "fine x coarse^4": fine * coarse**4}
    report: Report = {name: _first_right(scores, right) for name, scores in orders.items()}
    report["right among candidates"] = round(right.any(1).float().mean().item(), 4)
    report["by family"] = _by_family(pairs, coarse, fine, right)
    unknown = [question.gold_query for question in make_unknowable(search.library.world, queries // 2, seed)]
    best = _candidates(search, model, reader, unknown)[1].max(1).values
    found = (right * fine).max(1).values[right.any(1)]
    report["accept"] = keeping_threshold(found.tolist(), best.tolist(), KEPT_PASSAGES)
    report["pair accuracy at 0.5"] = round(((fine > 0.5) == right).float().mean().item(), 4)
    return report


def _candidates(
    search: TextSearch, model: Qwen3ForCausalLM, reader: PromptReader, queries: Sequence[str]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Cosines, reranker scores and passage numbers of the candidates, each [Q,K]."""
    coarse, numbers = search.scores(queries).topk(_CANDIDATES, dim=1)
    rows = [
        (query, search.library.passages[number].text)
        for query, row in zip(queries, numbers.tolist(), strict=True)
        for number in row
    ]
    return coarse, judge(model, reader, rows).view_as(coarse), numbers


def _first_right(scores: torch.Tensor, right: torch.Tensor) -> float:
    """Share of queries whose best candidate is right: recall@1, candidates without a right one included."""
    first = scores.argmax(1, keepdim=True)
    return round(right.gather(1, first).float().mean().item(), 4)


def _by_family(pairs: Sequence[Pair], coarse: torch.Tensor, fine: torch.Tensor, right: torch.Tensor) -> Report:
    rows: dict[str, list[int]] = defaultdict(list)
    for i, pair in enumerate(pairs):
        rows[pair.family].append(i)
    return {
        name: [len(some), _first_right(coarse[some], right[some]), _first_right(fine[some], right[some])]
        for name, some in sorted(rows.items())
    }


def main() -> None:
    """Print one measurement as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("image", "text", "rerank"))
    parser.add_argument("--workdir", type=Path, required=True, help="directory of the trained checkpoints")
    parser.add_argument("--seed", type=int, default=7001)
    parser.add_argument("--things", type=int, default=2000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--base-only", action="store_true", help="leave the reranker's adapter out")
    given = parser.parse_args()
    prepare(given.workdir, given.threads, given.seed)
    place = (given.workdir, given.seed, given.things, given.queries)
    if given.what == "image":
        report = evaluate_images(*place)  # by views: with boxes, `starter --stages thresholds` measures it
    elif given.what == "text":
        report = evaluate_text(*place)
    else:
        report = evaluate_reranking(*place, base_only=given.base_only)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
