"""A cross-encoder on a text encoder's weights: the base, and a trained adapter as a checkpoint that roles take."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from transformers import BertForSequenceClassification
from transformers.utils import logging

from quizglass_export.checkpoints.files import CONFIG, TOKENIZER, how_to_download
from quizglass_export.checkpoints.merge import merge_adapter
from quizglass_export.directory import fresh_directory
from quizglass_export.errors import ExportError


def load_base(folder: Path) -> Any:
    """A text encoder with a classifier of one logit, whose weights are drawn at random.

    Raises:
        ExportError: the folder has no BERT with a tokenizer.
    """
    for name in (CONFIG, TOKENIZER):
        if not (folder / name).is_file():
            raise ExportError(f"{folder / name}: missing; --checkpoint must name a BERT{how_to_download(folder)}")
    told = logging.get_verbosity()
    logging.set_verbosity_error()  # that the classifier is new is what is wanted
    try:
        return BertForSequenceClassification.from_pretrained(folder, num_labels=1, local_files_only=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise ExportError(f"{folder}: transformers cannot load it as a BERT: {error}") from error
    finally:
        logging.set_verbosity(told)


def write_checkpoint(base: Path, adapter: Path, target: Path) -> Path:
    """The base with a trained adapter merged into it, as a checkpoint for the role `reranker`; whole or not at all.

    Raises:
        ExportError: the adapter is for another base.
    """
    merged = merge_adapter(load_base(base), adapter)
    with fresh_directory(target) as folder:
        merged.save_pretrained(folder)
        shutil.copyfile(base / TOKENIZER, folder / TOKENIZER)
        for name in ("tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
            if (base / name).is_file():
                shutil.copyfile(base / name, folder / name)
    return target
