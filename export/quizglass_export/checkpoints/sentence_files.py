"""What sentence-transformers wrote beside a text encoder: which modules follow it, pooling, prefixes, length."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from tokenizers import Tokenizer

from quizglass_export.checkpoints.files import CONFIG, read_json
from quizglass_export.errors import ExportError

POOLING = "pooling.json"
"""This project's own form: the fields of `Embedding`, and what only training needs."""
_MODULES = "modules.json"
_PROMPTS = "config_sentence_transformers.json"
_LENGTHS = "sentence_*_config.json"
"""`sentence_bert_config.json`, and under other names for other architectures."""
_KNOWN = ("Transformer", "Pooling", "Normalize")
_MODES = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token", "last": "pooling_mode_lasttoken"}
_DEFAULT_TOKENS = 256
_UNBOUNDED = 1 << 20
Pooling = Literal["mean", "cls", "last"]


@dataclass(frozen=True, slots=True)
class Embedding:
    """How texts become vectors."""

    pooling: Pooling = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: int = _DEFAULT_TOKENS
    """The model's own positions may allow fewer."""


def read_embedding(folder: Path, model_type: str, tokenizer: Path, given: Mapping[str, Any]) -> Embedding:
    """How a checkpoint's texts become vectors.

    Args:
        folder: the checkpoint.
        model_type: transformers' name of its architecture; decides the pooling where no file does.
        tokenizer: its `tokenizer.json`.
        given: fields that a recipe sets.

    Raises:
        ExportError: the files ask for what the server does not do; names file and key.
    """
    pooling_file = _check_modules(folder)
    how = Embedding(pooling="last" if model_type == "qwen3" else "mean")
    with_prompt = True
    if pooling_file.is_file():
        pooling, with_prompt = _pooling(pooling_file)
        how = replace(how, pooling=pooling)
    if (folder / _PROMPTS).is_file():
        prompts = read_json(folder / _PROMPTS).get("prompts") or {}
        if not isinstance(prompts, dict):
            raise ExportError(f"{folder / _PROMPTS}: prompts must have a text for each name")
        passage = str(prompts.get("document", prompts.get("passage", "")))
        how = replace(how, query_prefix=str(prompts.get("query", "")), passage_prefix=passage)
    how = replace(how, max_tokens=_length(folder, tokenizer))
    if (folder / POOLING).is_file():
        own = read_json(folder / POOLING)
        how = replace(how, **{field.name: own[field.name] for field in fields(how) if field.name in own})
    how = replace(how, **given)
    if not with_prompt and how.pooling == "mean" and (how.query_prefix or how.passage_prefix):
        raise ExportError(
            f"{pooling_file}: include_prompt is false, and the server's mean takes a prefix in; set the recipe's "
            'query_prefix and passage_prefix to "", or choose another checkpoint'
        )
    return how


def module_files(folder: Path) -> list[Path]:
    """`config.json` of every module in a folder of its own, in order: what `read_embedding` reads besides the
    checkpoint's directory itself.
    """
    places = {path.name for path in folder.glob("[0-9]_*")}
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        places |= {str(each["path"]) for each in json.loads((folder / _MODULES).read_text(encoding="utf-8"))}
    files = (folder / place / CONFIG for place in sorted(places) if place and _is_inside(place))
    return [file for file in files if file.is_file()]


def _is_inside(place: str) -> bool:
    return not Path(place).is_absolute() and ".." not in Path(place).parts


def _check_modules(folder: Path) -> Path:
    """Where the pooling is said; ExportError where a module follows that the server does not have."""
    path = folder / _MODULES
    if not path.is_file():
        for module in sorted(folder.glob("[0-9]_*")):
            if (kind := module.name.partition("_")[2]) not in _KNOWN:
                raise ExportError(
                    f"{module}: the folder of a {kind}, and no {_MODULES} names it; vectors without it would be others"
                )
        return folder / "1_Pooling" / CONFIG
    pooling = folder / "1_Pooling"
    try:
        modules = json.loads(path.read_text(encoding="utf-8"))
        named = [(str(each["type"]).rpartition(".")[2], str(each["path"])) for each in modules]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ExportError(f"{path}: not a list of modules with type and path: {error}") from error
    for kind, place in named:
        if not _is_inside(place):
            raise ExportError(f"{path}: the module {place!r} is not inside {folder}")
        if kind not in _KNOWN:
            raise ExportError(
                f"{path}: the module {place!r} is a {kind}; text encoders here have {', '.join(_KNOWN)} alone, and "
                "vectors without it would be others"
            )
        if kind == "Pooling":
            pooling = folder / place
    return pooling / CONFIG


def _pooling(path: Path) -> tuple[Pooling, bool]:
    """The pooling, and whether it takes a prefix in."""
    content = read_json(path)
    modes = {key for key, on in content.items() if on is True and key.startswith("pooling_mode_")}
    found: list[Any] = [name for name, key in _MODES.items() if {key} == modes]
    if not found:
        raise ExportError(f"{path}: {sorted(modes)}; the server pools by mean, cls or last")
    return found[0], content.get("include_prompt") is not False


def _length(folder: Path, tokenizer: Path) -> int:
    """The longest text in tokens; without a file of sentence-transformers this project's default."""
    path = next(iter(sorted(folder.glob(_LENGTHS))), None)
    if path is None:
        return _DEFAULT_TOKENS
    content = read_json(path)
    if content.get("do_lower_case") is True:
        words = Tokenizer.from_file(str(tokenizer))
        if words.encode("A").ids != words.encode("a").ids:
            raise ExportError(f"{path}: do_lower_case is true, and {tokenizer} tells capitals from small letters")
    length = content.get("max_seq_length")
    if length is None:
        return _UNBOUNDED
    if not isinstance(length, int) or length < 1:
        raise ExportError(f"{path}: max_seq_length is {length!r}; it must be a number above 0")
    return length
