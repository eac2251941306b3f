"""Measures the retrieval models on a world they have never seen.

Usage: python -m quizglass_export.retrieval.evaluate image|text|rerank --workdir DIR [--seed N --things M --queries Q]
"""

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import CLIPVisionModelWithProjection, Qwen3ForCausalLM

from quizglass_export.pocketworld.questions import make_unknowable
from quizglass_export.pocketworld.scenes import make_scene
from quizglass_export.pocketworld.world import Thing, make_world
from quizglass_export.retrieval.image_encoder import embed_images
from quizglass_export.retrieval.image_pool import make_groups, reference_view, scene_views
from quizglass_export.retrieval.pairs import Library, Pair
from quizglass_export.retrieval.rerank_data import PromptReader
from quizglass_export.retrieval.reranker import ensure_tokenizer, load_reranker
from quizglass_export.retrieval.text_encoder import embed_texts, load_text_encoder
from quizglass_export.retrieval.training import prepare

Report = dict[str, Any]
SceneBatch = tuple[NDArray[np.uint8], list[str], list[tuple[str, ...]]]
_CANDIDATES = 8
_KEEP_IMAGES = 0.98  # of right hits: a rejected one always costs the answer, an accepted stranger only sometimes


def recalls(ranks: Sequence[int]) -> Report:
    """Recall at 1 and 5 of the ranks (from 0) of the right answers."""
    values = np.asarray(ranks)
    at = {f"recall@{k}": round(float((values < k).mean()), 4) for k in (1, 5)}
    return {"count": len(values), **at}


def keeping_threshold(known: Sequence[float], unknown: Sequence[float], share: float) -> Report:
    """The score that `share` of the known reach, and how many of the unknown stay below it."""
    threshold = float(np.quantile(np.asarray(known), 1 - share))
    rejected = float((np.asarray(unknown) < threshold).mean())
    return {"threshold": round(threshold, 5), "kept": share, "rejected": round(rejected, 4)}


def best_threshold(known: Sequence[float], unknown: Sequence[float]) -> Report:
    """The score that splits the two best, each counted equally, and what it keeps and rejects."""
    wanted, unwanted = np.asarray(known), np.asarray(unknown)
    options = np.unique(np.concatenate((wanted, unwanted)))
    shares = [((wanted >= t).mean() + (unwanted < t).mean()) / 2 for t in options]
    best = float(options[int(np.argmax(shares))])
    return {
        "threshold": round(best, 5),
        "kept": round(float((wanted >= best).mean()), 4),
        "rejected": round(float((unwanted < best).mean()), 4),
        "known_5%": round(float(np.quantile(wanted, 0.05)), 5),
        "unknown_95%": round(float(np.quantile(unwanted, 0.95)), 5),
    }


def evaluate_images(workdir: Path, seed: int, things: int, queries: int) -> Report:
    """Scenes of things, searched among the reference pictures of a world; and scenes of things outside it."""
    encoder = CLIPVisionModelWithProjection.from_pretrained(workdir / "image_encoder")
    world = make_world(seed, things)
    gallery = embed_images(encoder, np.stack([np.asarray(reference_view(thing)) for thing in world.things]))
    index = {thing.id: i for i, thing in enumerate(world.things)}
    ranks: dict[str, list[int]] = defaultdict(list)
    best_known: list[float] = []
    for views, ids, tags in _scene_batches(world.things, queries, seed):
        scores = embed_images(encoder, views) @ gallery.T
        right = scores[torch.arange(len(ids)), [index[i] for i in ids]]
        found = (scores > right.unsqueeze(1)).sum(1)
        best_known += right[found == 0].tolist()
        for rank, names in zip(found.tolist(), tags, strict=True):
            for name in ("all", *names):
                ranks[name].append(rank)
    strangers = make_world(seed + 1, max(queries // 2, 1))
    best_unknown: list[float] = []
    for views, _, _ in _scene_batches(strangers.things, queries // 2, seed + 1):
        best_unknown += (embed_images(encoder, views) @ gallery.T).max(1).values.tolist()
    report = {name: recalls(values) for name, values in sorted(ranks.items())}
    report["accept"] = keeping_threshold(best_known, best_unknown, _KEEP_IMAGES)
    return report | {"accept balanced": best_threshold(best_known, best_unknown)}


def _scene_batches(things: Sequence[Thing], queries: int, seed: int) -> Iterator[SceneBatch]:
    """Batches of views [N,H,W,3], thing ids, and tags (how many things, which fault)."""
    rng = random.Random(f"evaluate/{seed}")
    views: list[NDArray[np.uint8]] = []
    ids: list[str] = []
    tags: list[tuple[str, ...]] = []
    for made, group in enumerate(make_groups(things, rng), start=1):
        scene = make_scene(group, rng)
        placed, view = rng.choice(list(scene_views(scene)))
        views.append(np.asarray(view))
        ids.append(placed.thing.id)
        tags.append((f"things {len(group)}", f"fault {scene.fault.name if scene.fault else 'none'}"))
        if len(views) == 200 or made == queries:
            yield np.stack(views), ids, tags
            views, ids, tags = [], [], []
        if made == queries:
            return


class TextSearch:
    """All passages of a world, embedded."""

    def __init__(self, workdir: Path, seed: int, things: int) -> None:
        self.library = Library(make_world(seed, things))
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
    report["accept"] = best_threshold(found.tolist(), best.tolist())
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
        report = evaluate_images(*place)
    elif given.what == "text":
        report = evaluate_text(*place)
    else:
        report = evaluate_reranking(*place, base_only=given.base_only)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
