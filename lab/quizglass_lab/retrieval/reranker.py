"""Trains the reranker: does a passage answer a query, as the probability of " yes" against " no".

Three stages, each resumable: copying random tokens (which builds the circuits that compare names), judging with dense
labels, and, into a LoRA, judging the candidates that the trained text encoder finds.
"""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn
from torch.nn import functional
from transformers import Qwen3ForCausalLM

from quizglass_lab.retrieval.linked import Links
from quizglass_lab.retrieval.pairs import PassageLibrary, training_libraries
from quizglass_lab.retrieval.rerank_data import (
    IGNORED,
    Candidate,
    PromptReader,
    RerankBatch,
    candidate,
    collate,
    draw_candidate,
    renamed,
)
from quizglass_lab.retrieval.shapes import LORA_RANK, LORA_TARGETS, build_reranker
from quizglass_lab.retrieval.text_encoder import embed_texts, load_text_encoder
from quizglass_lab.retrieval.training import TimedRun, finish, finished, logger, prepare
from quizglass_lab.starter.model.precision import autocast
from quizglass_lab.starter.model.tokenizer import build_tokenizer

_BATCH = 64
_COPY_LENGTH = 48
_COPY_BATCH = 32
_FIRST_TOKEN = 300  # random tokens are drawn above the special ones and the single bytes
_WORLDS = 40
_WORLD_THINGS = 250
_MINED_WORLDS = 4
_MINED_PAIRS = 1000
_CANDIDATES = 8
_LINKED_WORLDS = 12
_LINKED = 0.4
"""Share of the candidates of the last stage that were found by the names in other passages."""
_SHARES = {"copy": 0.125, "judge": 0.875, "lora": 0.2}
"""Of the time: the adapter's, and of the rest what the base copies and judges."""


class Judge(nn.Module):
    """The reranker with the heads that read its layers on the way."""

    def __init__(self, model: Qwen3ForCausalLM, yes: int, no: int) -> None:
        super().__init__()
        self.model = model
        self.verdicts = (no, yes)
        width = model.config.hidden_size
        self.heads = nn.ModuleDict({name: nn.Linear(width, 2) for name in ("seen", "named", "told")})

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, last: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Logits of (no, yes) [B,2] at the last token, and the hidden states [B,S,D] after every layer."""
        with autocast():
            states = self.model(
                input_ids=ids, attention_mask=mask, output_hidden_states=True, logits_to_keep=1, use_cache=False
            ).hidden_states
        final = states[-1][torch.arange(len(last)), last].float()
        logits = final @ self.model.get_output_embeddings().weight[list(self.verdicts)].float().T
        return logits, *states[1:]

    def losses(self, batch: RerankBatch, dense: float) -> tuple[torch.Tensor, dict[str, float]]:
        """Loss of the verdict plus `dense` times those of the heads, and accuracies."""
        logits, *states = self(batch.ids, batch.mask, batch.last)
        loss = functional.cross_entropy(logits, batch.right)
        measures = {"right": (logits.argmax(1) == batch.right).float().mean().item()}
        for name, layer in (("seen", 1), ("named", 2), ("told", 2)) if dense > 0 else ():
            target = batch.labels[name].flatten()
            value = self.heads[name](states[layer].float()).flatten(0, 1)
            loss = loss + dense * functional.cross_entropy(value, target, ignore_index=IGNORED)
            kept = target != IGNORED
            measures[name] = (value.argmax(1) == target)[kept].float().mean().item()
        return loss, measures


def copy_batch(vocabulary: int, generator: torch.Generator) -> torch.Tensor:
    """[B, 2 x 48] distinct random tokens, then the same again."""
    picks = torch.rand(_COPY_BATCH, vocabulary - _FIRST_TOKEN, generator=generator).argsort(1)
    half = picks[:, :_COPY_LENGTH] + _FIRST_TOKEN
    return torch.cat((half, half), dim=1)


def _learn_to_copy(run: TimedRun, judge: Judge, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed + run.step)
    for _ in run.steps():
        ids = copy_batch(judge.model.config.vocab_size, generator)
        with autocast():
            logits = judge.model(input_ids=ids[:, :-1], use_cache=False).logits
        logits, target = logits[:, _COPY_LENGTH:].flatten(0, 1).float(), ids[:, _COPY_LENGTH + 1 :].flatten()
        hit = (logits.argmax(1) == target).float().mean().item()
        run.update(functional.cross_entropy(logits, target), hit=hit)


def _learn_to_judge(
    run: TimedRun, judge: Judge, reader: PromptReader, draw: Callable[[], Candidate], *, dense: bool = True
) -> None:
    for _ in run.steps():
        examples = [reader.example(draw()) for _ in range(_BATCH)]
        loss, measures = judge.losses(collate(examples, 0), max(1 - run.passed, 0.2) if dense else 0.0)
        run.update(loss, **measures)


def mine(workdir: Path, libraries: Sequence[PassageLibrary], rng: random.Random) -> list[tuple[Candidate, ...]]:
    """For many queries the passages that the trained text encoder puts first, and a right one if none is there."""
    encoder, tokenizer = load_text_encoder(workdir / "text_encoder")
    mined = []
    for library in libraries:
        pairs = [library.draw(rng) for _ in range(_MINED_PAIRS)]
        passages = embed_texts(encoder, tokenizer, [passage.text for passage in library.passages])
        queries = embed_texts(encoder, tokenizer, [pair.query for pair in pairs])
        nearest = (queries @ passages.T).topk(_CANDIDATES, dim=1).indices.tolist()
        for pair, numbers in zip(pairs, nearest, strict=True):
            group = dict.fromkeys((*pair.gold, *numbers))
            mined.append(tuple(candidate(library, pair, number) for number in group))
    return mined


def _mined_drawer(
    mined: Sequence[tuple[Candidate, ...]], links: Sequence[Links], rng: random.Random
) -> Callable[[], Candidate]:
    """Right ones two times in five; a tenth are right passages told of a similar name, and some were found by links."""

    def draw() -> Candidate:
        if rng.random() < _LINKED:
            return rng.choice(links).draw(rng)
        group, share = rng.choice(mined), rng.random()
        right = [item for item in group if item.right]
        wrong = [item for item in group if not item.right]
        if share < 0.5 or not wrong:
            item = rng.choice(right)
            return renamed(item, rng) if share > 0.4 and " " not in item.passage.title else item
        return rng.choice(wrong)

    return draw


def lora_config() -> LoraConfig:
    """Rank and places of the adapter."""
    return LoraConfig(
        r=LORA_RANK,
        lora_alpha=2 * LORA_RANK,
        target_modules=list(LORA_TARGETS),
        task_type="CAUSAL_LM",
    )


def load_reranker(workdir: Path) -> Qwen3ForCausalLM:
    """The base with its adapter merged, in evaluation mode."""
    base = Qwen3ForCausalLM.from_pretrained(workdir / "reranker_base", attn_implementation="eager")
    return PeftModel.from_pretrained(base, str(workdir / "reranker")).merge_and_unload().eval()


def train_reranker_base(workdir: Path, minutes: float, reader: PromptReader, seed: int) -> tuple[TimedRun, ...]:
    """The first two stages; saves `workdir`/reranker_base. Returns their runs."""
    out = workdir / "reranker_base"
    judge = Judge(build_reranker(pad_token_id=0), reader.yes, reader.no)
    copying = TimedRun("reranker_copy", out / "training", judge, _SHARES["copy"] * minutes, 2e-3)
    _learn_to_copy(copying, judge, seed)
    judging = TimedRun("reranker_judge", out / "training", judge, _SHARES["judge"] * minutes, 1.5e-3)
    libraries = training_libraries(_WORLDS, _WORLD_THINGS, seed)
    rng = random.Random(f"reranker/{seed}/{judging.step}")
    _learn_to_judge(judging, judge, reader, lambda: draw_candidate(rng.choice(libraries), rng))
    judge.model.save_pretrained(out)
    return copying, judging


def train_reranker_lora(workdir: Path, minutes: float, reader: PromptReader, seed: int) -> TimedRun:
    """The last stage, on candidates of the trained text encoder; saves the adapter to `workdir`/reranker.

    It begins with the adapter that is there already, or a fresh one. Returns its run.
    """
    out = workdir / "reranker"
    base = Qwen3ForCausalLM.from_pretrained(workdir / "reranker_base", attn_implementation="eager")
    further = (out / "adapter_config.json").is_file()
    adapted = (
        PeftModel.from_pretrained(base, str(out), is_trainable=True) if further else get_peft_model(base, lora_config())
    )
    judge = Judge(adapted, reader.yes, reader.no)
    judge.heads.requires_grad_(False)
    run = TimedRun("reranker_lora", out / "training", judge, minutes, 1e-3)
    rng = random.Random(f"reranker lora/{seed}/{run.step}")
    libraries = training_libraries(_MINED_WORLDS, 2 * _WORLD_THINGS, seed + 500)
    mined = mine(workdir, libraries, rng)
    linking = training_libraries(_LINKED_WORLDS, 2 * _WORLD_THINGS, seed + 700)
    links = [Links(library, seed) for library in linking if library.world.towns]
    logger.info("mined candidates for %d queries", len(mined))
    _learn_to_judge(run, judge, reader, _mined_drawer(mined, links, rng), dense=False)
    judge.model.save_pretrained(str(out))
    return run


def train_reranker(workdir: Path, minutes: float, threads: int = 1, seed: int = 0) -> Path:
    """Train base and adapter (or go on training), unless that is done; returns the adapter's directory.

    Needs `workdir`/text_encoder, and builds `workdir`/tokenizer where it is missing. A base that was trained elsewhere
    stays as it is, and the adapter gets all of the time. The record is of base and adapter together.
    """
    prepare(workdir, threads, seed)
    out = workdir / "reranker"
    if finished(out):
        return out
    reader = PromptReader(ensure_tokenizer(workdir))
    base = workdir / "reranker_base"
    runs: tuple[TimedRun, ...] = ()
    if (base / "training").is_dir() or not (base / "model.safetensors").is_file():
        runs = train_reranker_base(workdir, (1 - _SHARES["lora"]) * minutes, reader, seed)
        minutes = _SHARES["lora"] * minutes
    runs = (*runs, train_reranker_lora(workdir, minutes, reader, seed))
    finish(out, {run.name: run.measured for run in runs}, *runs)
    return out


def ensure_tokenizer(workdir: Path) -> Path:
    """The byte-level tokenizer shared with the base model."""
    file = workdir / "tokenizer" / "tokenizer.json"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        build_tokenizer(file.parent)
    return file
