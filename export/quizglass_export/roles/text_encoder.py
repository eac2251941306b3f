"""The text encoder: exported, described for the manifest, and compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
import transformers
from pydantic import Discriminator, Tag

from quizglass_bundle.fields import Count
from quizglass_bundle.inputs.text_rows import TextTokenizer, padded
from quizglass_bundle.parts import TextEncoderPart
from quizglass_export.checkpoints.loading import read_config
from quizglass_export.checkpoints.sentence_files import Embedding, read_embedding
from quizglass_export.checkpoints.source import AnySource
from quizglass_export.checks import Check
from quizglass_export.errors import ExportError
from quizglass_export.onnx.accept import Feed, apply_precision
from quizglass_export.onnx.optimum_encoders import write_text_encoder
from quizglass_export.onnx.sample_runs import SampleRuns, encoder_runs
from quizglass_export.parity import Floats, Inputs, as_array, batches, check_vectors, pool, session
from quizglass_export.roles.shared.entry import FromCheckpoint, ReadyOnnx, is_ready
from quizglass_export.roles.shared.job import Exported, Exporter, RoleJob, by_type
from quizglass_export.roles.shared.samples import long_passage
from quizglass_server.roles.text_encoder import pooled

CLASSES = {
    "bert": ("BertModel", r"^(pooler\.|cls\.|.*\.position_ids$)"),
    "xlm-roberta": ("XLMRobertaModel", r"^(pooler\.|lm_head\.|.*\.position_ids$)"),
    "modernbert": ("ModernBertModel", r"^(head\.|decoder\.)"),
    "qwen3": ("Qwen3Model", r"^lm_head\."),
}


class TextEncoder(FromCheckpoint):
    """A text to a vector; what is left out is read from the checkpoint."""

    tokenizer: Path | None = None
    pooling: Literal["mean", "cls", "last"] | None = None
    query_prefix: str | None = None
    passage_prefix: str | None = None
    max_tokens: Count | None = None


class ReadyTextEncoder(ReadyOnnx):
    """A text to a vector: `input_ids` and `attention_mask` [B, S] to `last_hidden_state` [B, S, dimension]."""

    tokenizer: Path
    dimension: Count
    pooling: Literal["mean", "cls", "last"] = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: Count
    output: str = "last_hidden_state"
    """Name of the output that is taken, where the file has another; it is renamed in the bundle."""


ENTRY = Annotated[
    Annotated[TextEncoder, Tag("<checkpoint>")] | Annotated[ReadyTextEncoder, Tag("<ready>")],
    Discriminator(is_ready),
]
"""What a recipe says of the role."""


def embedding_of(job: RoleJob, spec: TextEncoder) -> Embedding:
    """How a text encoder's texts become vectors: as its checkpoint says, but for what the recipe says."""
    given = spec.model_dump(include={"pooling", "query_prefix", "passage_prefix", "max_tokens"}, exclude_none=True)
    return read_embedding(job.source.folder, job.source.model_type, job.source.tokenizer_file(), given)


def prepare(job: RoleJob, spec: TextEncoder) -> None:
    """Check what is known without weights: what sentence-transformers' files ask for, and the tokenizer."""
    job.check_texts(min(embedding_of(job, spec).max_tokens, longest(read_config(job.source.folder))))


def export(job: RoleJob, spec: TextEncoder) -> Exported:
    """Export the text encoder."""
    model = _text_model(job, job.source.load)
    how = embedding_of(job, spec)
    part = TextEncoderPart(
        engine="onnx",
        kind="text-encoder",
        model=f"{job.role}/model.onnx",
        tokenizer=job.tokenizer,
        dimension=int(model.config.hidden_size),
        pooling=how.pooling,
        query_prefix=how.query_prefix,
        passage_prefix=how.passage_prefix,
        max_tokens=min(how.max_tokens, longest(model.config)),
        pad_to=job.pad_to(spec),
    )
    write_text_encoder(model, job.path(part.model))
    texts = [part.passage_prefix + sample.passages[0] for sample in job.samples]
    feed = tokenised(job, job.path(part.model), part.max_tokens, texts)
    return Exported(part, apply_precision(job.path(part.model), spec.precision, feed, len(texts), "bert"))


def check(job: RoleJob, spec: TextEncoder, part: TextEncoderPart) -> list[Check]:
    """Compare the text encoder with transformers."""
    texts = [part.query_prefix + sample.query for sample in job.samples]
    passages = [*(passage for sample in job.samples for passage in sample.passages), long_passage(job.samples)]
    texts += [part.passage_prefix + passage for passage in passages]
    exported = _exported_texts(job, part, texts)
    references = _reference_texts(_text_model(job, job.source.reference), reference_tokenizer(job.source), part, texts)
    return [check_vectors(job.role, exported, references * len(job.sizes), job.cosine(spec))]


def text_encoder_runs(job: RoleJob, spec: TextEncoder, part: TextEncoderPart) -> SampleRuns:
    """Runs of a text encoder's models: every other text is a query."""
    texts = [
        part.passage_prefix + sample.passages[0] if index % 2 else part.query_prefix + sample.query
        for index, sample in enumerate(job.samples)
    ]
    feed = tokenised(job, job.path(part.model), part.max_tokens, texts)

    def pool(states: Floats, inputs: Inputs) -> Floats:
        return pooled(states, inputs["attention_mask"].astype(np.int64), part.pooling)

    return encoder_runs(job.role, part.model, "last_hidden_state", feed, len(texts), spec.accept, pool)


def tokenised(job: RoleJob, model: Path, limit: int, texts: Sequence[str | tuple[str, str]]) -> Feed:
    """The inputs that a model has, for some of the texts or pairs, as the server makes them."""
    rows = TextTokenizer(job.source.tokenizer_file(), limit).rows(texts)
    names = {tensor.name for tensor in session(model).get_inputs()}

    def inputs(indices: Sequence[int]) -> Inputs:
        made = padded([rows[i] for i in indices])
        return {name: value for name, value in made.items() if name in names}

    return inputs


def _text_model(job: RoleJob, load: Callable[..., Any]) -> Any:
    kind, rest = CLASSES[job.source.model_type]
    options = {"add_pooling_layer": False} if job.source.model_type in ("bert", "xlm-roberta") else {}
    return load(kind, ignore=rest, **options)


def longest(config: Any) -> int:
    """Most tokens of a text; RoBERTa's positions begin after the padding token's.

    Raises:
        ExportError: the config does not say it.
    """
    limit, padding = config.max_position_embeddings, config.pad_token_id
    taken = (padding if isinstance(padding, int) else 0) + 1 if config.model_type == "xlm-roberta" else 0
    if not isinstance(limit, int) or limit <= taken:
        raise ExportError(f"config.json: max_position_embeddings is {limit!r}; it must be a number above {taken}")
    return limit - taken


def _exported_texts(job: RoleJob, part: TextEncoderPart, texts: list[str]) -> list[Floats]:
    run, feed = session(job.path(part.model)), tokenised(job, job.path(part.model), part.max_tokens, texts)
    vectors: list[Floats] = []
    for size in job.sizes:
        for indices in batches(len(texts), size):
            inputs = feed(indices)
            states = run.run(["last_hidden_state"], inputs)[0]
            vectors += list(pooled(states, inputs["attention_mask"].astype(np.int64), part.pooling))
    return vectors


def reference_tokenizer(source: AnySource) -> Any:
    """transformers' own tokenizer of a checkpoint; where it has none, of the file that the recipe names."""
    folder = source.folder
    if any((*folder.glob("tokenizer*"), *folder.glob("vocab*"))):
        return transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if source.model_type == "bert" else [])]
    return transformers.PreTrainedTokenizerFast(tokenizer_file=str(source.tokenizer_file()), model_input_names=names)


def _reference_texts(model: Any, tokenizer: Any, part: TextEncoderPart, texts: list[str]) -> list[Floats]:
    """One text at a time through transformers' tokenizer, so that padding cannot hide a difference."""
    vectors: list[Floats] = []
    with torch.no_grad():
        for text in texts:
            inputs = tokenizer(text, truncation=True, max_length=part.max_tokens, return_tensors="pt")
            states = as_array(model(**inputs).last_hidden_state)
            vectors += list(pool(states, inputs["attention_mask"].numpy(), part.pooling))
    return vectors


_NAMES = {kind: name for kind, (name, _) in CLASSES.items()}
EXPORTERS = by_type(Exporter(prepare, export, check, _NAMES, text_encoder_runs))
"""transformers' model type to what exports the role from it."""
