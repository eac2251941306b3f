"""The starter's Q-Former: BLIP-2's (Li et al. 2023) in small, which begins with the image and the text encoder.

As BLIP-2 begins with a frozen vision tower and with BERT: here both are the starter's own, and all of it is trained.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from torch import nn
from transformers import (
    BertModel,
    BertTokenizerFast,
    Blip2Config,
    Blip2ForImageTextRetrieval,
    CLIPImageProcessor,
    CLIPVisionModelWithProjection,
)

from quizglass_lab.retrieval.shapes import IMAGE_MEAN, IMAGE_SIZE, IMAGE_STD, TEXT_MAX_TOKENS

QUERIES, DIMENSION = 8, 128
VISION_LAYERS = 2
_WIDTH, _INNER, _LAYERS, _HEADS = 192, 576, 3, 6
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


def build_q_former(
    vocabulary: int, images: CLIPVisionModelWithProjection | None = None, texts: BertModel | None = None
) -> Blip2ForImageTextRetrieval:
    """Eight queries over 49 patches of a picture of 112 x 112 pixels, in three layers of 192, the first of which looks.

    Args:
        vocabulary: number of tokens.
        images: its first two layers become the vision tower.
        texts: becomes the Q-Former's text half, and the beginning of its query half.
    """
    shape = {"hidden_size": _WIDTH, "intermediate_size": _INNER, "num_attention_heads": _HEADS, "hidden_act": "relu"}
    config = Blip2Config(
        vision_config={**shape, "num_hidden_layers": VISION_LAYERS, "image_size": IMAGE_SIZE, "patch_size": 16},
        qformer_config={
            **shape,
            "num_hidden_layers": _LAYERS,
            "vocab_size": vocabulary,
            "max_position_embeddings": TEXT_MAX_TOKENS,
            "cross_attention_frequency": _LAYERS,
            "use_qformer_text_input": True,
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
        },
        text_config={"model_type": "opt", "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 1},
        num_query_tokens=QUERIES,
        image_text_hidden_size=DIMENSION,
    )
    config._attn_implementation = "eager"
    model = Blip2ForImageTextRetrieval(config)
    _initialise(model)
    if images is not None:
        _take_images(model, images)
    if texts is not None:
        _take_texts(model, texts)
    return model


@torch.no_grad()
def _initialise(model: Blip2ForImageTextRetrieval) -> None:
    """Weights for narrow layers; queries that differ from the beginning."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.05)
    nn.init.normal_(model.vision_model.embeddings.patch_embedding.weight, std=0.02)
    nn.init.normal_(model.vision_model.embeddings.position_embedding, std=0.1)
    nn.init.normal_(model.query_tokens, std=0.5)


@torch.no_grad()
def _take_images(model: Blip2ForImageTextRetrieval, encoder: CLIPVisionModelWithProjection) -> None:
    """CLIP's tower without its first layer norm, whose effect on a usual patch goes into patches and positions."""
    target, source = model.vision_model, encoder.vision_model
    norm, patches = source.pre_layrnorm, source.embeddings.patch_embedding.weight
    positions = source.embeddings.position_embedding.weight.clone()
    positions[0] += source.embeddings.class_embedding
    noise = torch.randn(64, *patches.shape[1:]).cumsum(-1)  # neighbouring pixels of pictures are alike
    spread = (torch.einsum("ncxy,dcxy->nd", noise / noise.std(), patches) + positions[1:].mean(0)).std(1).mean()
    gain = norm.weight / spread
    target.embeddings.patch_embedding.weight.copy_((patches - patches.mean(0)) * gain[:, None, None, None])
    nn.init.zeros_(target.embeddings.patch_embedding.bias)
    nn.init.zeros_(target.embeddings.class_embedding)
    centred = positions - positions.mean(1, keepdim=True)
    target.embeddings.position_embedding[0] = centred * gain + norm.bias
    for own, theirs in zip(target.encoder.layers, source.encoder.layers, strict=False):
        heads = theirs.self_attn
        parts = (heads.q_proj, heads.k_proj, heads.v_proj)
        own.self_attn.qkv.weight.copy_(torch.cat([part.weight for part in parts]))
        own.self_attn.qkv.bias.copy_(torch.cat([part.bias for part in parts]))
        own.self_attn.projection.load_state_dict(heads.out_proj.state_dict())
        for name in ("layer_norm1", "layer_norm2", "mlp"):
            getattr(own, name).load_state_dict(getattr(theirs, name).state_dict())


@torch.no_grad()
def _take_texts(model: Blip2ForImageTextRetrieval, encoder: BertModel) -> None:
    """BERT's layers and embeddings; the queries' feed-forward layers begin as those of the text."""
    words = encoder.embeddings
    model.embeddings.word_embeddings.weight.copy_(words.word_embeddings.weight)
    types = words.token_type_embeddings.weight[0]
    model.embeddings.position_embeddings.weight.copy_(words.position_embeddings.weight + types)
    model.qformer.layernorm.load_state_dict(words.LayerNorm.state_dict())
    for own, theirs in zip(model.qformer.encoder.layer, encoder.encoder.layer, strict=True):
        attention = {
            name.replace("self.", "attention."): value for name, value in theirs.attention.state_dict().items()
        }
        own.attention.load_state_dict(attention)
        for half in ("", "_query"):
            getattr(own, f"intermediate{half}").load_state_dict(theirs.intermediate.state_dict())
            getattr(own, f"output{half}").load_state_dict(theirs.output.state_dict())


def save_q_former(model: Blip2ForImageTextRetrieval, texts: Path, out: Path) -> None:
    """Write weights, config, `preprocessor_config.json`, and the tokenizer of the text encoder in `texts`."""
    model.save_pretrained(out)
    side = {"height": IMAGE_SIZE, "width": IMAGE_SIZE}
    CLIPImageProcessor(size=side, do_center_crop=False, image_mean=IMAGE_MEAN, image_std=IMAGE_STD).save_pretrained(out)
    for name in _TOKENIZER:
        if (texts / name).is_file():
            shutil.copyfile(texts / name, out / name)


def load_q_former(folder: Path) -> tuple[Blip2ForImageTextRetrieval, BertTokenizerFast]:
    """The trained Q-Former, for evaluation, and its tokenizer."""
    model = Blip2ForImageTextRetrieval.from_pretrained(folder, attn_implementation="eager")
    return model.eval(), BertTokenizerFast.from_pretrained(folder)
