"""The image encoder: exported, described for the manifest, and compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
import transformers
from pydantic import Discriminator, Field, Tag

from quizglass_bundle.fields import Count, Normalised
from quizglass_bundle.inputs import vision_inputs
from quizglass_bundle.parts import ImageEncoderPart
from quizglass_export.checkpoints.files import read_json
from quizglass_export.checks import Check
from quizglass_export.errors import ExportError
from quizglass_export.graphs.card_operators import picture_attention
from quizglass_export.onnx.accept import Feed, apply_precision
from quizglass_export.onnx.optimum_encoders import embedded, write_image_encoder
from quizglass_export.onnx.sample_runs import SampleRuns, encoder_runs
from quizglass_export.parity import Floats, Inputs, as_array, batches, check_vectors, session
from quizglass_export.roles.shared.entry import FromCheckpoint, OnnxEntry, ReadyOnnx, is_ready
from quizglass_export.roles.shared.job import PREPROCESSOR, Exported, Exporter, RoleJob, by_type, normalisation

_CLIP_REST = r"^(text_model\.|text_projection|logit_scale|logit_bias|vision_model\.embeddings\.position_ids$)"
CLASSES = {
    "clip": ("CLIPVisionModelWithProjection", _CLIP_REST),
    "clip_vision_model": ("CLIPVisionModelWithProjection", r"\.position_ids$"),
    "siglip": ("SiglipVisionModel", _CLIP_REST),
    "siglip_vision_model": ("SiglipVisionModel", r"\.position_ids$"),
    **{
        kind: (name, r"^classifier\.")
        for kind, name in {
            "efficientnet": "EfficientNetModel",
            "resnet": "ResNetModel",
            "convnext": "ConvNextModel",
            "convnextv2": "ConvNextV2Model",
            "mobilenet_v1": "MobileNetV1Model",
            "mobilenet_v2": "MobileNetV2Model",
            "regnet": "RegNetModel",
        }.items()
    },
}
"""Model type to class, and the keys of its checkpoints that the image encoder does not have."""
CONVOLUTIONAL = ("efficientnet", "resnet", "convnext", "convnextv2", "mobilenet_v1", "mobilenet_v2", "regnet")
"""Networks whose vectors are features pooled over the picture."""
_CARD = "quizglass_card"
"""transformers' name of attention as one of a card's operators."""


class ImageEncoder(FromCheckpoint):
    """A picture to a vector."""

    reads_text: ClassVar[bool] = False


class ReadyImageEncoder(ReadyOnnx):
    """A picture to a vector: `pixel_values` [B, 3, H, W] to `image_embeds` [B, dimension]."""

    reads_text: ClassVar[bool] = False

    picture: Normalised
    dimension: Count
    output: str = "image_embeds"
    """Name of the output that is taken, where the file has another; it is renamed in the bundle."""


class LibraryImageEncoder(OnnxEntry):
    """A picture to a vector, by weights of a library that is installed beside the exporter."""

    reads_text: ClassVar[bool] = False

    library: Literal["timm", "torchvision"]
    architecture: Annotated[str, Field(min_length=1)]
    """The library's name of the model."""
    weights: Path
    """Its state dict: safetensors, or what `torch.save` wrote, which is read as tensors alone."""
    picture: Normalised
    """What the weights were trained on: timm's `pretrained_cfg`, torchvision's `weights.transforms()`."""


def _kind(value: Any) -> str:
    keys = value if isinstance(value, Mapping) else getattr(value, "model_fields_set", ())
    return "<library>" if "library" in keys or "architecture" in keys else is_ready(value)


ENTRY = Annotated[
    Annotated[ImageEncoder, Tag("<checkpoint>")]
    | Annotated[ReadyImageEncoder, Tag("<ready>")]
    | Annotated[LibraryImageEncoder, Tag("<library>")],
    Discriminator(_kind),
]
"""What a recipe says of the role."""


def prepare(job: RoleJob, spec: ImageEncoder) -> None:
    """Check what is known without weights: how its pictures are normalised."""
    normalisation(job.source.folder / PREPROCESSOR)


def export(job: RoleJob, spec: ImageEncoder) -> Exported:
    """Export the image encoder."""
    model = _image_model(job, job.source.load)
    mean, std = normalisation(job.source.folder / PREPROCESSOR)
    side = picture_side(job.source.folder, model.config)
    part = ImageEncoderPart(
        engine="onnx",
        kind="image-encoder",
        model=f"{job.role}/model.onnx",
        picture=Normalised(width=side, height=side, mean=mean, std=std),
        dimension=vector_size(model, side),
        pad_to=job.pad_to(spec),
    )
    if spec.precision == "cuda-fp16" and job.source.model_type not in CONVOLUTIONAL:
        transformers.AttentionInterface.register(_CARD, picture_attention)
        model.set_attn_implementation(_CARD)
    write_image_encoder(model, side, job.path(part.model))
    notes = apply_precision(job.path(part.model), spec.precision, pixels(job, part), len(job.samples), "vit")
    return Exported(part, notes)


def check(job: RoleJob, spec: ImageEncoder, part: ImageEncoderPart) -> list[Check]:
    """Compare the image encoder with transformers."""
    model = _image_model(job, job.source.reference)
    clip = model.config.model_type == "clip_vision_model"
    return compare_vectors(job, spec, part, lambda values: embedded(model, values), clip=clip)


def compare_vectors(
    job: RoleJob,
    spec: OnnxEntry,
    part: ImageEncoderPart,
    reference: Callable[[torch.Tensor], torch.Tensor],
    *,
    clip: bool = False,
) -> list[Check]:
    """Vectors of the samples, alone and in batches, beside a reference's on transformers' own normalisation.

    Args:
        job: the role.
        spec: the recipe's entry.
        part: the manifest's entry.
        reference: pictures [B, 3, H, W] to vectors [B, D].
        clip: whether pictures are put in by CLIP's processor.
    """
    kind = transformers.CLIPImageProcessor if clip else transformers.SiglipImageProcessor
    fixed = {"do_resize": False} | ({"do_center_crop": False} if clip else {})
    processor = kind(**fixed, image_mean=list(part.picture.mean), image_std=list(part.picture.std))
    run, feed, exported, references = session(job.path(part.model)), pixels(job, part), list[Floats](), list[Floats]()
    for size in job.sizes:
        for indices in batches(len(job.samples), size):
            exported += list(run.run(["image_embeds"], feed(indices))[0])
    for sample in job.samples:
        with torch.no_grad():
            picture = vision_inputs.fit(sample.picture, part.picture)
            references += list(as_array(reference(processor([picture], return_tensors="pt")["pixel_values"])))
    return [check_vectors(job.role, exported, references * len(job.sizes), job.cosine(spec))]


def picture_side(folder: Path, config: Any) -> int:
    """Width and height, pixels, of the pictures that a model was trained on.

    Of convolutional networks that take any size it is what their preprocessing crops to, or else resizes to.
    """
    if not getattr(config, "image_size", None) or config.model_type in CONVOLUTIONAL:
        content = read_json(folder / PREPROCESSOR)
        for key in ("crop_size", "size") if content.get("do_center_crop") else ("size",):
            size = content.get(key)
            sides = [size.get(name) for name in ("height", "shortest_edge")] if isinstance(size, dict) else [size]
            if side := next((each for each in sides if isinstance(each, int) and each > 0), None):
                return side
        if not getattr(config, "image_size", None):
            raise ExportError(f"{folder / PREPROCESSOR}: size must say how large pictures are")
    return int(config.image_size)


def vector_size(model: Any, side: int) -> int:
    """Length of the vectors."""
    with torch.no_grad():
        return int(embedded(model, torch.zeros(1, 3, side, side)).shape[1])


def pixels(job: RoleJob, part: ImageEncoderPart) -> Feed:
    """What the exported model is given of samples."""

    def inputs(indices: Sequence[int]) -> Inputs:
        pictures = [vision_inputs.channels(job.samples[i].picture, part.picture) for i in indices]
        return {"pixel_values": np.stack(pictures)}

    return inputs


def image_encoder_runs(job: RoleJob, spec: OnnxEntry, part: ImageEncoderPart) -> SampleRuns:
    """Runs of an image encoder's models."""
    return encoder_runs(job.role, part.model, "image_embeds", pixels(job, part), len(job.samples), spec.accept)


def _image_model(job: RoleJob, load: Callable[..., Any]) -> Any:
    kind, rest = CLASSES[job.source.model_type]
    return load(kind, ignore=rest)


_NAMES = {kind: name for kind, (name, _) in CLASSES.items()}
EXPORTERS = by_type(Exporter(prepare, export, check, _NAMES, image_encoder_runs))
"""transformers' model type to what exports the role from it."""
