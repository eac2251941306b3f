"""The starter's detector: OWLv2 (Minderer et al. 2023) in small, which begins with the image encoder's tower."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from torch import nn
from torch.nn import functional
from transformers import CLIPImageProcessor, CLIPVisionModelWithProjection, Owlv2Config, Owlv2ForObjectDetection

from quizglass_lab.retrieval.shapes import IMAGE_MEAN, IMAGE_STD

SIDE, PATCH = 224, 16
"""Pixels of a picture's side and of a patch's: things of a third of its width are as large as the image encoder saw
them in training."""
LAYERS = 4
PHRASE_TOKENS = 16
"""Length that transformers' OWLv2 pads phrases to."""
_PRIOR = 0.01  # of a phrase naming a patch, at the beginning
_SCALE = 10.0
_MERGED = 0.3
"""OWLv2 multiplies patches by the class token. Around one the product begins as a sum, which keeps what they tell."""
_WIDER = 2.0  # than a patch, in logits: boxes begin about as large as things are
_SPECIAL = ("[PAD]", "[BOS]", "[UNK]")
_END = "[EOS]"


def build_detector(vocabulary: int, encoder: CLIPVisionModelWithProjection | None = None) -> Owlv2ForObjectDetection:
    """OWLv2 of 224 x 224 pixels in 196 patches, four layers of 192; phrases are read by two layers of 128.

    Args:
        vocabulary: number of tokens.
        encoder: its patches, positions (interpolated) and layers become the first ones of the tower; layers behind them
            begin with little effect.
    """
    text = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4}
    vision = {"hidden_size": 192, "intermediate_size": 576, "num_hidden_layers": LAYERS, "num_attention_heads": 6}
    config = Owlv2Config(
        text_config={
            **text,
            "vocab_size": vocabulary,
            "max_position_embeddings": PHRASE_TOKENS,
            "hidden_act": "relu",
            "bos_token_id": 1,
            "eos_token_id": vocabulary - 1,
        },
        vision_config={**vision, "image_size": SIDE, "patch_size": PATCH, "hidden_act": "relu"},
        projection_dim=128,
    )
    model = Owlv2ForObjectDetection(config)
    _initialise(model)
    if encoder is not None:
        _take_tower(model, encoder)
    return model


@torch.no_grad()
def _initialise(model: Owlv2ForObjectDetection) -> None:
    """Weights for narrow layers: OWLv2's own are those of CLIP, with heads of deviation 1."""
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            shrink = LAYERS**-0.5 if name.endswith(("out_proj", "fc2")) else 1.0
            nn.init.normal_(module.weight, std=shrink * module.in_features**-0.5)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    for embedding in (module for module in model.owlv2.text_model.modules() if isinstance(module, nn.Embedding)):
        nn.init.normal_(embedding.weight, std=0.3)
    nn.init.zeros_(model.box_head.dense2.weight)
    model.box_head.dense2.bias[2:] = _WIDER
    merged = model.owlv2.vision_model.post_layernorm
    nn.init.constant_(merged.weight, _MERGED)
    nn.init.ones_(merged.bias)
    head = model.class_head
    for gauge in (head.logit_shift, head.logit_scale):
        nn.init.normal_(gauge.weight, std=0.01)
    nn.init.constant_(head.logit_scale.bias, _SCALE - 1)
    nn.init.constant_(head.logit_shift.bias, math.log(_PRIOR) / _SCALE)


@torch.no_grad()
def _take_tower(model: Owlv2ForObjectDetection, encoder: CLIPVisionModelWithProjection) -> None:
    target, source = model.owlv2.vision_model, encoder.vision_model
    target.embeddings.class_embedding.copy_(source.embeddings.class_embedding)
    target.embeddings.patch_embedding.load_state_dict(source.embeddings.patch_embedding.state_dict())
    positions = source.embeddings.position_embedding.weight
    target.embeddings.position_embedding.weight.copy_(_interpolated(positions, SIDE // PATCH))
    target.pre_layernorm.load_state_dict(source.pre_layrnorm.state_dict())
    taken = len(source.encoder.layers)
    for own, theirs in zip(target.encoder.layers, source.encoder.layers, strict=False):
        own.load_state_dict(theirs.state_dict())
    for layer in target.encoder.layers[taken:]:
        for last in (layer.self_attn.out_proj, layer.mlp.fc2):
            last.weight.mul_(0.1)


def _interpolated(positions: torch.Tensor, side: int) -> torch.Tensor:
    """Positions [1 + n x n, D] for a grid of another size: [1 + side x side, D]."""
    count = math.isqrt(len(positions) - 1)
    grid = positions[1:].reshape(1, count, count, -1).permute(0, 3, 1, 2)
    grown = functional.interpolate(grid, size=(side, side), mode="bicubic", align_corners=False)
    return torch.cat((positions[:1], grown[0].flatten(1).T))


def build_tokenizer(words: list[str]) -> Tokenizer:
    """WordPiece over lower-case words, other words by their letters; the end has the highest id, as CLIP's has."""
    letters = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    pieces = list(dict.fromkeys((*_SPECIAL, *letters, *(f"##{letter}" for letter in letters), *words, _END)))
    ids = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token=_SPECIAL[2]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[BOS] $A [EOS]",
        pair="[BOS] $A $B [EOS]",
        special_tokens=[("[BOS]", ids["[BOS]"]), (_END, ids[_END])],
    )
    return tokenizer


class PhraseReader:
    """Phrases as the detector takes them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.enable_truncation(PHRASE_TOKENS)
        self._tokenizer = tokenizer

    def rows(self, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids and mask, int64 [N, 16]."""
        ids = torch.zeros(len(texts), PHRASE_TOKENS, dtype=torch.int64)
        for row, encoding in zip(ids, self._tokenizer.encode_batch(list(texts)), strict=True):
            row[: len(encoding.ids)] = torch.tensor(encoding.ids)
        return ids, (ids > 0).long()


def save_detector(model: Owlv2ForObjectDetection, tokenizer: Tokenizer, out: Path) -> None:
    """Write weights, config, `tokenizer.json` and `preprocessor_config.json`."""
    model.save_pretrained(out)
    tokenizer.save(str(out / "tokenizer.json"))
    CLIPImageProcessor(
        size={"height": SIDE, "width": SIDE}, do_center_crop=False, image_mean=IMAGE_MEAN, image_std=IMAGE_STD
    ).save_pretrained(out)


def load_detector(folder: Path) -> tuple[Owlv2ForObjectDetection, Tokenizer]:
    """The trained detector, for evaluation, and its tokenizer."""
    model = Owlv2ForObjectDetection.from_pretrained(folder)
    return model.eval(), Tokenizer.from_file(str(folder / "tokenizer.json"))
