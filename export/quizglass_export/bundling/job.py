"""What every step of a build shares."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from quizglass_export.bundling.checkpoints import Checkpoints, read_json
from quizglass_export.bundling.errors import ExportError
from quizglass_export.bundling.parity import Demands
from quizglass_export.bundling.samples import Sample
from quizglass_export.bundling.settings import Settings
from quizglass_server.manifest import Channels, Patched
from quizglass_server.models.prompts import PromptError, PromptTemplate, PromptTokenizer

CLIP_MEAN: Channels = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD: Channels = (0.26862954, 0.26130258, 0.27577711)
PREPROCESSOR = "preprocessor_config.json"
PROMPTS = ("plan", "rewrite", "answer", "rerank")
TOKENIZER_FILE = "tokenizer/tokenizer.json"
_DEFAULT_PROMPTS = Path(__file__).parent.parent / "starter" / "prompts"


@dataclass(frozen=True, slots=True)
class BuildJob:
    """One build: where it reads, where it writes, and what its models are compared on."""

    checkpoints: Checkpoints
    settings: Settings
    folder: Path
    samples: Sequence[Sample]
    generated: int
    """How many samples the generator answers."""
    demands: Demands
    file_type: str
    """Quantisation of the generator's text model: q8_0 or f16."""
    advance: Callable[[str], None]
    """Told what starts next."""

    def path(self, name: str) -> Path:
        """A file of the bundle under construction; its directory is made."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def picture(self) -> Patched:
        """Size, normalisation and patches of the vision-language model's pictures."""
        folder = self.checkpoints.part("base")
        vision = read_json(folder / "config.json")["vision_config"]
        mean, std = CLIP_MEAN, CLIP_STD
        if (folder / PREPROCESSOR).is_file():
            mean, std = normalisation(folder / PREPROCESSOR)
        return Patched(
            width=self.settings.picture.width,
            height=self.settings.picture.height,
            mean=mean,
            std=std,
            patch=vision["patch_size"],
            merge=vision["spatial_merge_size"],
            temporal=vision["temporal_patch_size"],
        )

    def copy_texts(self) -> None:
        """Copy prompts and the tokenizer into the bundle; prompts beside the checkpoints come first."""
        own = self.checkpoints.root / "prompts"
        for name in PROMPTS:
            source = (own if own.is_dir() else _DEFAULT_PROMPTS) / f"{name}.jinja"
            if not source.is_file():
                raise ExportError(f"{source}: missing; a bundle needs the prompts {', '.join(PROMPTS)}")
            shutil.copyfile(source, self.path(f"prompts/{name}.jinja"))
        tokenizer = self.checkpoints.part("base") / "tokenizer.json"
        self.checkpoints.check_vocabulary("base", tokenizer)
        shutil.copyfile(tokenizer, self.path(TOKENIZER_FILE))

    def reranker_tokenizer(self) -> str:
        """The bundle's file name of the reranker's tokenizer: its own one where it differs from the base's."""
        own = self.checkpoints.part("reranker_base") / "tokenizer.json"
        shared = self.path(TOKENIZER_FILE)
        if not own.is_file() or _digest(own) == _digest(shared):
            self.checkpoints.check_vocabulary("reranker_base", shared)
            return TOKENIZER_FILE
        self.checkpoints.check_vocabulary("reranker_base", own)
        shutil.copyfile(own, self.path("reranker/tokenizer.json"))
        return "reranker/tokenizer.json"

    def prompt(self, name: str) -> PromptTemplate:
        """A prompt of the bundle."""
        return PromptTemplate.load(self.path(f"prompts/{name}.jinja"))

    def labels(self, tokenizer: str, labels: Sequence[tuple[str, str]]) -> list[int]:
        """Token ids of labels; ExportError where a label is not one token."""
        parsed = PromptTokenizer(self.path(tokenizer))
        try:
            return [parsed.label(text) for _, text in labels]
        except PromptError as error:
            raise ExportError(f"{error}; add the label to the tokenizer's vocabulary") from error


def normalisation(path: Path) -> tuple[Channels, Channels]:
    """Mean and standard deviation of a `preprocessor_config.json`."""
    content = read_json(path)
    try:
        mean, std = (tuple(float(x) for x in content[key]) for key in ("image_mean", "image_std"))
    except (KeyError, TypeError, ValueError) as error:
        raise ExportError(f"{path}: image_mean and image_std must be three numbers each") from error
    if len(mean) != 3 or len(std) != 3:
        raise ExportError(f"{path}: image_mean and image_std must be three numbers each")
    return mean, std


def _digest(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()
