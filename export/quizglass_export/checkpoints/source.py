"""Where a role comes from: a checkpoint with its adapters, or GGUF or ONNX files that are taken as they are."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from quizglass_export.checkpoints.files import (
    ADAPTER_CONFIG,
    ADAPTER_WEIGHTS,
    CONFIG,
    TOKENIZER,
    how_to_download,
    read_json,
    weight_files,
)
from quizglass_export.checkpoints.libraries import features_model
from quizglass_export.checkpoints.loading import (
    check_finite,
    check_vocabulary,
    config_errors,
    load_float32,
    read_config,
)
from quizglass_export.checkpoints.merge import merge_adapters
from quizglass_export.checkpoints.peft_models import adapted_model
from quizglass_export.checkpoints.sentence_files import module_files
from quizglass_export.errors import ExportError

_KEPT = (".json", ".safetensors", ".txt", ".model", ".jinja")


@dataclass(frozen=True, slots=True)
class Source:
    """Directories in the form that transformers and PEFT write.

    Attributes:
        folder: the checkpoint.
        adapters: (directory, weight) of each adapter.
        tokenizer: its `tokenizer.json`.
    """

    folder: Path
    adapters: tuple[tuple[Path, float], ...] = ()
    tokenizer: Path | None = None

    @property
    def model_type(self) -> str:
        """transformers' name of the architecture."""
        return str(self.config().get("model_type"))

    def config(self) -> dict[str, Any]:
        """The checkpoint's `config.json`."""
        return read_json(self.folder / CONFIG)

    def tokenizer_file(self) -> Path:
        """The tokenizer, by default the checkpoint's own.

        Raises:
            ExportError: it is missing, or has ids beyond the model's vocabulary.
        """
        path = self.tokenizer or self.folder / TOKENIZER
        if not path.is_file():
            raise ExportError(f"{path}: missing; copy the tokenizer there, or name it in the recipe (tokenizer)")
        check_vocabulary(self.folder / CONFIG, path)
        return path

    def check(self, role: str, model_types: tuple[str, ...]) -> None:
        """Raise ExportError where files are missing or of an architecture that the role cannot have."""
        if not (self.folder / CONFIG).is_file():
            raise ExportError(
                f"{self.folder / CONFIG}: missing; roles.{role}.checkpoint must name a checkpoint's folder"
                f"{how_to_download(self.folder)}"
            )
        if self.model_type not in model_types:
            known = ", ".join(model_types)
            raise ExportError(f"{self.folder / CONFIG}: model_type is {self.model_type!r}; {role} can be {known}")
        weight_files(self.folder)
        read_config(self.folder)
        _check_adapters(role, self.adapters)

    def files(self) -> Iterator[Path]:
        """Files that the model depends on, in order; those beside them, such as training state, are not read."""
        for folder in (self.folder, *(folder for folder, _ in self.adapters)):
            yield from _folder_files(folder)
        if self.tokenizer is not None:
            yield self.tokenizer

    def weights(self) -> list[Path]:
        """Weight files of the checkpoint and its adapters."""
        return [*weight_files(self.folder), *(folder / ADAPTER_WEIGHTS for folder, _ in self.adapters)]

    def load(self, kind: str, *, ignore: str = "", **options: Any) -> Any:
        """The merged model in float32 with eager attention, in evaluation mode.

        Args:
            kind: transformers' name of the model class.
            ignore: regular expression of keys that the checkpoint may have beyond the class.
            options: for `from_pretrained`.

        Raises:
            ExportError: unreadable or non-finite weights, or keys that do not fit the architecture.
        """
        return merge_adapters(self._base(kind, ignore, options), self.adapters)

    def reference(self, kind: str, *, ignore: str = "", **options: Any) -> Any:
        """What an export is compared with: the same model with its adapters in PEFT's own layers, not merged.

        A merge that goes wrong would otherwise be compared with itself. Arguments and errors as of `load`.
        """
        return adapted_model(self._base(kind, ignore, options), self.adapters)

    def bare(self, kind: str) -> Any:
        """A model of the checkpoint's shape that has no weights, for looking at its modules."""
        make = getattr(transformers, kind)
        with config_errors(self.folder / CONFIG), torch.device("meta"), warnings.catch_warnings():
            config = make.config_class.from_pretrained(self.folder, local_files_only=True)
            warnings.simplefilter("ignore")
            return make(config)

    def _base(self, kind: str, ignore: str, options: dict[str, Any]) -> Any:
        for path in weight_files(self.folder):
            check_finite(path)
        return load_float32(self.folder, getattr(transformers, kind), ignore=ignore, **options)


@dataclass(frozen=True, slots=True)
class GgufSource:
    """Ready-made GGUF files and the tokenizer that they are compared with.

    Attributes:
        model: the language model.
        projector: its vision part; None for a model of text alone.
        tokenizer: the model's `tokenizer.json`; None where there is none.
        adapters: (directory, weight) of each adapter that is merged into the model.
    """

    model: Path
    projector: Path | None
    tokenizer: Path | None
    adapters: tuple[tuple[Path, float], ...] = ()

    @property
    def folder(self) -> Path:
        """Where the language model lies."""
        return self.model.parent

    @property
    def model_type(self) -> str:
        """Always `gguf`."""
        return "gguf"

    def config(self) -> dict[str, Any]:
        """GGUF files have no `config.json`."""
        raise ExportError(f"{self.model}: has no config.json")

    def tokenizer_file(self) -> Path:
        """The tokenizer; ExportError if it is missing."""
        if self.tokenizer is None or not self.tokenizer.is_file():
            raise ExportError(f"{self.tokenizer}: missing; roles.generator.tokenizer must name a tokenizer.json")
        return self.tokenizer

    def check(self, role: str, model_types: tuple[str, ...]) -> None:
        """Raise ExportError where a file is missing or a link."""
        for key, path in zip(("model", "projector"), self.gguf_files(), strict=False):
            if path.is_symlink() or not path.is_file():
                raise ExportError(f"{path}: missing or a link; roles.{role}.{key} must name a GGUF file")
        _check_adapters(role, self.adapters)

    def files(self) -> Iterator[Path]:
        """Every file that the model is made of: GGUF files, adapters, tokenizer."""
        yield from self.gguf_files()
        for folder, _ in self.adapters:
            yield from _folder_files(folder)
        if self.tokenizer is not None:
            yield self.tokenizer

    def gguf_files(self) -> list[Path]:
        """The model and, if there is one, its projector."""
        return [self.model] if self.projector is None else [self.model, self.projector]

    def weights(self) -> list[Path]:
        """No weight files in safetensors' form."""
        return []

    def load(self, kind: str, *, ignore: str = "", **options: Any) -> Any:
        """GGUF files are dequantised where they are merged, see `gguf.merged`."""
        raise ExportError(f"{self.model}: PyTorch cannot load it")

    def reference(self, kind: str = "", *, ignore: str = "", **options: Any) -> Any:
        """The dequantised model with its adapters in PEFT's own layers, not merged; no argument counts."""
        return adapted_model(dequantised(self.model), self.adapters)

    def bare(self, kind: str) -> Any:
        """A model of the file's shape that has no weights; its class follows from the file."""
        with _dequantising(self.model), torch.device("meta"):
            config = transformers.AutoConfig.from_pretrained(
                self.folder, gguf_file=self.model.name, local_files_only=True
            )
            return transformers.AutoModelForCausalLM.from_config(config)


@dataclass(frozen=True, slots=True)
class OnnxSource:
    """A ready-made ONNX file.

    Attributes:
        model: the file.
        checkpoint: what it was made of, where there is one to compare it with.
        tokenizer: the `tokenizer.json` of a model of texts.
        labels: of a classifier, one a line.
    """

    model: Path
    checkpoint: Source | None = None
    adapters: tuple[tuple[Path, float], ...] = ()
    tokenizer: Path | None = None
    labels: Path | None = None

    @property
    def folder(self) -> Path:
        """Where the model lies."""
        return self.model.parent

    @property
    def model_type(self) -> str:
        """Always `onnx`."""
        return "onnx"

    def config(self) -> dict[str, Any]:
        """ONNX files have no `config.json`."""
        raise ExportError(f"{self.model}: has no config.json")

    def tokenizer_file(self) -> Path:
        """The tokenizer; ExportError where it is missing, or the model is one of pictures."""
        if self.tokenizer is None or not self.tokenizer.is_file():
            raise ExportError(f"{self.tokenizer or self.model}: no tokenizer; name a tokenizer.json in the recipe")
        return self.tokenizer

    def check(self, role: str, model_types: tuple[str, ...]) -> None:
        """Raise ExportError where the file is missing or a link, or the checkpoint cannot fill the role."""
        if self.model.is_symlink() or not self.model.is_file():
            raise ExportError(f"{self.model}: missing or a link; roles.{role}.model must name an ONNX file")
        if self.labels is not None and not self.labels.is_file():
            raise ExportError(f"{self.labels}: missing; roles.{role}.labels must name a file with a label a line")
        if self.checkpoint is not None:
            self.checkpoint.check(role, model_types)

    def files(self) -> Iterator[Path]:
        """The model, and what it is compared with."""
        yield self.model
        yield from (path for path in (self.tokenizer, self.labels) if path is not None)
        if self.checkpoint is not None:
            yield from self.checkpoint.files()

    def weights(self) -> list[Path]:
        """No weight files in safetensors' form."""
        return []

    def load(self, kind: str, *, ignore: str = "", **options: Any) -> Any:
        """ONNX files are not loaded by PyTorch."""
        raise ExportError(f"{self.model}: PyTorch cannot load it")

    reference = load


@dataclass(frozen=True, slots=True)
class LibrarySource:
    """Weights of a picture model of timm or torchvision.

    Attributes:
        library: which of them.
        architecture: its name of the model.
        file: the state dict.
    """

    library: str
    architecture: str
    file: Path
    adapters: tuple[tuple[Path, float], ...] = ()

    @property
    def folder(self) -> Path:
        """Where the weights lie."""
        return self.file.parent

    @property
    def model_type(self) -> str:
        """Always `library`."""
        return "library"

    def config(self) -> dict[str, Any]:
        """The architecture's name is all that there is."""
        raise ExportError(f"{self.file}: has no config.json")

    def tokenizer_file(self) -> Path:
        """Models of pictures have none."""
        raise ExportError(f"{self.file}: no tokenizer")

    def check(self, role: str, model_types: tuple[str, ...]) -> None:
        """Raise ExportError where the file is missing."""
        if not self.file.is_file():
            raise ExportError(f"{self.file}: missing; roles.{role}.weights must name a state dict")

    def files(self) -> Iterator[Path]:
        """The weights."""
        yield self.file

    def weights(self) -> list[Path]:
        """No checkpoint in transformers' form."""
        return []

    def load(self, kind: str, *, ignore: str = "", **options: Any) -> Any:
        """The model without its classifier; no argument counts. Errors as of `features_model`."""
        return features_model(self.library, self.architecture, self.file)

    reference = load


AnySource = Source | GgufSource | OnnxSource | LibrarySource


def dequantised(path: Path) -> Any:
    """A GGUF file's language model in float32, as transformers reads it.

    Raises:
        ExportError: transformers does not read that architecture's files.
    """
    with _dequantising(path):
        model = transformers.AutoModelForCausalLM.from_pretrained(
            path.parent, gguf_file=path.name, dtype=torch.float32, attn_implementation="eager", local_files_only=True
        )
    return model.eval()


@contextmanager
def _dequantising(path: Path) -> Iterator[None]:
    try:
        with redirect_stderr(io.StringIO()):  # a bar of transformers' own, between our lines
            yield
    except Exception as error:  # transformers' own fail in many ways
        raise ExportError(
            f"{path}: transformers cannot read it as a model, which merging needs: {error}; merge the adapter into "
            "the checkpoint that the file was made of"
        ) from error


def _check_adapters(role: str, adapters: Sequence[tuple[Path, float]]) -> None:
    for folder, _ in adapters:
        for name in (ADAPTER_CONFIG, ADAPTER_WEIGHTS):
            if not (folder / name).is_file():
                raise ExportError(f"{folder / name}: missing; roles.{role}.adapters must name PEFT adapters")


def _folder_files(folder: Path) -> Iterator[Path]:
    yield from (path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix in _KEPT)
    yield from module_files(folder)
