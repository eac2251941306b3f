"""Rerankers to measure with, as bundles that the server's own scorer loads, and the same weights for the peers.

The starter's, and a random one of a larger shape (12 layers of 512 with Qwen3's vocabulary), exported as the project
exports any reranker, in float32 and with the precision `int8-rows`. Beside each stands an ONNX whose head goes over
the whole vocabulary at every position.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from bench.engine.contenders.shapes import SEED, VOCABULARY

MODEL, FULL = "reranker/model.onnx", "full.onnx"


@dataclass(frozen=True, slots=True)
class Reranker:
    """One reranker on disk."""

    name: str
    bundle: Path
    """With the role reranker and nothing else; `full.onnx` beside it has all logits."""
    checkpoint: Path
    """transformers' form, merged."""

    @property
    def full(self) -> Path:
        """The ONNX file with logits of all positions over the whole vocabulary: float32 [B, S, V]."""
        return self.bundle.parent / FULL


def starter(source: Path, checkpoints: Path, folder: Path, say: Callable[[str], None]) -> Reranker:
    """The starter's reranker, made anew when the bundle's file is another one."""
    from quizglass_export.checkpoints.source import Source

    digest = sha256((source / MODEL).read_bytes()).hexdigest()
    made = Reranker("starter", folder / digest[:12] / "bundle", folder / digest[:12] / "checkpoint")
    if not (made.bundle / "manifest.json").is_file():
        say("reranker, starter: preparing (once)")
        merged = Source(checkpoints / "reranker_base", adapters=((checkpoints / "reranker", 1.0),))
        model = merged.load("Qwen3ForCausalLM")
        _save(made, model, source)
        _bundle(made, source, lambda path: shutil.copyfile(source / MODEL, path))
    return made


def larger(source: Path, folder: Path, say: Callable[[str], None]) -> Reranker:
    """A random one of a larger shape, made on first use."""
    import torch
    import transformers

    place = folder / f"larger-{_exporter()}"
    made = Reranker("larger", place / "bundle", place / "checkpoint")
    if (made.bundle / "manifest.json").is_file():
        return made
    say("reranker, larger: making (once)")
    config = transformers.Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=512,
        intermediate_size=1536,
        num_hidden_layers=12,
        num_attention_heads=8,
        num_key_value_heads=4,
        head_dim=64,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        attn_implementation="eager",
    )
    torch.manual_seed(SEED)
    model = transformers.Qwen3ForCausalLM(config).eval()
    _save(made, model, source)
    _bundle(made, source, lambda path: _export(model, label_ids(source), path))
    return made


def in_int8(reranker: Reranker) -> Reranker:
    """The same with INT8 products, a scale for each row: `precision = "int8-rows"` of a recipe."""
    from quizglass_export.onnx.quantise import quantise_products

    bundle = reranker.bundle.with_name("bundle-int8-rows")
    made = Reranker(f"{reranker.name}, int8-rows", bundle, reranker.checkpoint)
    shutil.rmtree(bundle, ignore_errors=True)
    shutil.copytree(reranker.bundle, bundle)
    for old in bundle.glob(f"{MODEL}*"):
        old.unlink()  # weights beside the graph, too, which the new one may not have
    quantise_products(reranker.bundle / MODEL, bundle / MODEL)
    _write_manifest(bundle, json.loads((bundle / "manifest.json").read_text()))
    return made


def _exporter() -> str:
    """Names the version of the code that exports scorers: another one makes other graphs."""
    from quizglass_export.graphs import decoder, scorer_text
    from quizglass_export.onnx import file, scorer_file

    sources = (Path(str(module.__file__)) for module in (decoder, file, scorer_file, scorer_text))
    return sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]


def label_ids(source: Path) -> list[int]:
    """Token ids of yes and no."""
    from quizglass_bundle.inputs.prompts import PromptTokenizer

    spec = json.loads((source / "manifest.json").read_text())["roles"]["reranker"]
    tokenizer = PromptTokenizer(source / spec["tokenizer"])
    return [tokenizer.label(text) for _, text in spec["labels"]]


def _save(made: Reranker, model: Any, source: Path) -> None:
    shutil.rmtree(made.bundle.parent, ignore_errors=True)
    made.checkpoint.mkdir(parents=True)
    model.save_pretrained(made.checkpoint)
    _export(model, None, made.full)


def _export(model: Any, labels: list[int] | None, path: Path) -> None:
    """The scorer as the project exports it, or with labels None the model with all its logits."""
    import torch

    from quizglass_export.onnx.scorer_file import write_text_scorer
    from quizglass_export.onnx.tracing import write_onnx

    if labels is not None:
        write_text_scorer(model, labels, path)
        return
    ids = torch.randint(0, 1000, (2, 16))
    axes = {name: {0: "batch", 1: "sequence"} for name in ("input_ids", "attention_mask", "logits")}
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    write_onnx(_every_logit(model).eval(), inputs, axes, "logits", path)


def _every_logit(model: Any) -> Any:
    """The whole head at every position, as an ordinary export has it."""
    import torch

    class Full(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            places = torch.arange(input_ids.shape[1])
            allowed = (places[:, None] >= places[None, :]) & attention_mask[:, None, None, :].bool()
            # transformers' own mask cannot be traced; a ready one it takes as it is.
            mask = {"full_attention": torch.where(allowed, 0.0, torch.finfo(torch.float32).min)}
            positions = (attention_mask.cumsum(1) - 1).clamp(min=0)
            return self.model(input_ids=input_ids, attention_mask=mask, position_ids=positions, use_cache=False).logits

    return Full()


def _bundle(made: Reranker, source: Path, write: Callable[[Path], object]) -> None:
    """A bundle with one role: the source's tokenizer and prompt, and a model of its own."""
    manifest = json.loads((source / "manifest.json").read_text())
    role = manifest["roles"]["reranker"]
    (made.bundle / MODEL).parent.mkdir(parents=True)
    write(made.bundle / MODEL)
    for name in (role["tokenizer"], role["prompt"], manifest["parity"]):
        (made.bundle / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, made.bundle / name)
    manifest["roles"] = {"reranker": role | {"model": MODEL}}
    _write_manifest(made.bundle, manifest)


def _write_manifest(bundle: Path, manifest: dict[str, Any]) -> None:
    """The manifest, with the files that lie in the folder."""
    files = sorted(path for path in bundle.rglob("*") if path.is_file() and path.name != "manifest.json")
    manifest["files"] = {path.relative_to(bundle).as_posix(): _described(path) for path in files}
    (bundle / "manifest.json").write_text(json.dumps(manifest))


def _described(path: Path) -> dict[str, object]:
    return {"sha256": sha256(path.read_bytes()).hexdigest(), "bytes": path.stat().st_size}
