"""Which model is asked: from what a user writes on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from quizglass_export.checkpoints.files import ADAPTER_CONFIG, ADAPTER_WEIGHTS, how_to_download
from quizglass_export.errors import ExportError
from quizglass_lab.finetuning.shared.options import DEVICE, Options, PictureSize

if TYPE_CHECKING:
    from quizglass_lab.finetuning.asking.interface import AskedModel

_URLS = ("http://", "https://")
MODEL_HELP = "a checkpoint (DIR or DIR+ADAPTER), a .gguf file, or URL#MODEL of an OpenAI-compatible endpoint"


class ModelOptions(Options):
    """How models are asked."""

    prompts: Path | None = Field(None, description="directory of prompt templates; default: those for general models")
    picture: PictureSize = Field("448x448", description="size that pictures are stretched to")
    max_tokens: int = Field(1024, ge=16, description="longest prompt of a checkpoint, without further pictures")
    device: str = Field("auto", pattern=DEVICE, description="where checkpoints run: auto, cpu or cuda")
    ask_batch: int = Field(8, ge=1, description="prompts that a checkpoint is asked at once")
    parallel: int = Field(8, ge=1, description="requests to an endpoint under way at once")
    key_variable: str = Field("OPENAI_API_KEY", description="environment variable that has the endpoint's key")
    logprobs: bool = Field(True, description="ask endpoints for token probabilities, which some refuse")
    timeout: float = Field(120.0, gt=0, description="seconds for one answer of an endpoint")


def model_files(spec: str) -> list[Path]:
    """The files that a model's answers hang on: weights, and an adapter's; none of an endpoint or of no model."""
    if spec.startswith(_URLS) or not spec:
        return []
    if spec.endswith(".gguf"):
        weights, beside = [Path(spec)], [Path(spec).with_name("mmproj.gguf")]
    else:
        folder, _, adapter = spec.partition("+")
        weights = sorted(Path(folder).glob("*.safetensors"))
        beside = [Path(adapter, name) for name in (ADAPTER_WEIGHTS, ADAPTER_CONFIG)] if adapter else []
    there = [path for path in weights if path.is_file()]
    return [*there, *(path for path in beside if path.is_file())] if there else []


def asked_model(spec: str, options: ModelOptions, loaded: dict[str, AskedModel]) -> AskedModel:
    """The model that a text stands for; each is loaded once.

    Raises:
        ExportError: nothing of the kind is there.
    """
    if spec not in loaded:
        loaded[spec] = _opened(spec, options)
    return loaded[spec]


def _opened(spec: str, options: ModelOptions) -> AskedModel:
    from quizglass_lab.finetuning.asking.checkpoint import CheckpointModel
    from quizglass_lab.finetuning.asking.endpoint import EndpointModel
    from quizglass_lab.finetuning.asking.gguf import GgufModel
    from quizglass_lab.finetuning.models.chat import Prompts
    from quizglass_lab.finetuning.models.checkpoint import load, picture_size
    from quizglass_lab.scoring.endpoint import ChatEndpoint

    picture = picture_size(options.picture)
    if spec.startswith(_URLS):
        url, _, model = spec.partition("#")
        if not model:
            raise ExportError(f"{url}: name the model after a #, as in {url}#MODEL")
        endpoint = ChatEndpoint(url, model, options.key_variable, timeout=options.timeout)
        return EndpointModel(endpoint, Prompts(options.prompts), options.parallel, options.logprobs)
    if spec.endswith(".gguf"):
        return GgufModel(Path(spec), options.prompts, picture)
    folder, _, adapter = spec.partition("+")
    if not Path(folder).is_dir():
        raise ExportError(f"{spec}: no such model; give {MODEL_HELP}{how_to_download(Path(folder))}")
    loaded = load(
        Path(folder),
        prompts=options.prompts,
        picture=picture,
        max_tokens=options.max_tokens,
        device=options.device,
        adapter=Path(adapter) if adapter else None,
    )
    return CheckpointModel(loaded, options.ask_batch)
