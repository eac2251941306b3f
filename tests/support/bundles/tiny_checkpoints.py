"""Tiny random checkpoints, each with its architecture's own configuration, tokenizer and processor classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

WORDS = [
    "red",
    "car",
    "blue",
    "boat",
    "what",
    "is",
    "this",
    "the",
    "a",
    "tower",
    "costs",
    "45",
    "built",
    "##s",
    "##ing",
]
BERT_SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def scatter(model: Any, seed: int = 7) -> Any:
    """Random values everywhere, also where an architecture begins with zeros or ones; in half precision's grid."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
            parameter.copy_(parameter.half().float())
    return model.eval()


def bert_tokenizer(folder: Path) -> int:
    """BertTokenizerFast; returns the size of its vocabulary."""
    folder.mkdir(parents=True, exist_ok=True)
    words = [*BERT_SPECIALS, *WORDS, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    words = list(dict.fromkeys(words))
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return len(words)


def roberta_tokenizer(folder: Path) -> int:
    """XLMRobertaTokenizerFast over a unigram vocabulary."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = ["▁" + word for word in WORDS if not word.startswith("##")] + ["▁", *LETTERS, *"0123456789.?"]
    vocabulary = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    vocabulary += [(piece, -2.0 - index / 10) for index, piece in enumerate(dict.fromkeys(pieces))]
    vocabulary.append(("<mask>", 0.0))
    made = Tokenizer(models.Unigram(vocabulary, unk_id=3))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    made.save(str(folder / "raw.json"))
    transformers.XLMRobertaTokenizerFast(tokenizer_file=str(folder / "raw.json")).save_pretrained(folder)
    (folder / "raw.json").unlink()
    return len(vocabulary)


def qwen_tokenizer(folder: Path) -> int:
    """Qwen2TokenizerFast that ends every text with the end token, as Qwen3-Embedding's does."""
    folder.mkdir(parents=True, exist_ok=True)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={token: index for index, token in enumerate(alphabet)}, merges=[]))
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<|endoftext|>"])
    made.post_processor = processors.TemplateProcessing(
        single="$A <|endoftext|>", special_tokens=[("<|endoftext|>", len(alphabet))]
    )
    made.save(str(folder / "tokenizer.json"))
    # The fast class adds the ending from tokenizer.json alone; the slow files are for its constructor.
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), pad_token="<|endoftext|>", eos_token="<|endoftext|>"
    )
    fast.save_pretrained(folder)
    return len(alphabet) + 1


_SMALL = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
}


def text_model(folder: Path, kind: str, labels: int = 0, **sizes: int) -> Path:
    """A text model of type bert, xlm-roberta, modernbert or qwen3; with `labels`, one with a classification head.

    `sizes` are keys of its configuration.
    """
    small = {**_SMALL, **sizes}
    if kind == "qwen3":
        size = qwen_tokenizer(folder)
        config: Any = transformers.Qwen3Config(**small, vocab_size=size, num_key_value_heads=1, head_dim=16)
        scatter(transformers.Qwen3Model(config)).save_pretrained(folder)
        return folder
    size = roberta_tokenizer(folder) if kind == "xlm-roberta" else bert_tokenizer(folder)
    if kind == "modernbert":  # its own class is the generic one, which knows of no token types
        transformers.PreTrainedTokenizerFast(
            tokenizer_file=str(folder / "tokenizer.json"), model_input_names=["input_ids", "attention_mask"]
        ).save_pretrained(folder)
    head = {"num_labels": labels} if labels else {}
    pad = 1 if kind == "xlm-roberta" else 0
    kinds = {
        "bert": (transformers.BertConfig, "Bert"),
        "xlm-roberta": (transformers.XLMRobertaConfig, "XLMRoberta"),
        "modernbert": (transformers.ModernBertConfig, "ModernBert"),
    }
    make, prefix = kinds[kind]
    special = {"pad_token_id": pad, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
    more: dict[str, Any] = special if kind == "modernbert" else {"pad_token_id": pad}
    if kind == "modernbert":
        more |= {"local_attention": 8, "reference_compile": False}
    config = make(**small, vocab_size=size, **more, **head)
    ending = "ForSequenceClassification" if labels else "Model"
    scatter(getattr(transformers, prefix + ending)(config)).save_pretrained(folder)
    return folder


def image_model(folder: Path, kind: str, **sizes: int) -> Path:
    """A vision model of type clip, clip_vision_model, siglip or siglip_vision_model, with its processor.

    `sizes` are keys of its configuration.
    """
    folder.mkdir(parents=True, exist_ok=True)
    vision = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 56,
        "patch_size": 14,
        **sizes,
    }
    text = {**_SMALL, "vocab_size": 40}
    if kind == "clip":
        model = transformers.CLIPModel(
            transformers.CLIPConfig(vision_config={**vision, "projection_dim": 24}, text_config=text, projection_dim=24)
        )
    elif kind == "clip_vision_model":
        model = transformers.CLIPVisionModelWithProjection(transformers.CLIPVisionConfig(**vision, projection_dim=24))
    elif kind == "siglip":
        model = transformers.SiglipModel(transformers.SiglipConfig(vision_config=vision, text_config=text))
    else:
        model = transformers.SiglipVisionModel(transformers.SiglipVisionConfig(**vision))
    scatter(model).save_pretrained(folder)
    processor = transformers.CLIPImageProcessor if kind.startswith("clip") else transformers.SiglipImageProcessor
    processor().save_pretrained(folder)
    return folder


LABELS = ("tench, Tinca tinca", "koala", "tower")


def convolutional(folder: Path, kind: str) -> Path:
    """A classifier of `LABELS` with its processor; `kind` is its model type."""
    stages: dict[str, Any] = {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2}
    config, name = {
        "efficientnet": (
            transformers.EfficientNetConfig(
                image_size=64,
                width_coefficient=0.25,
                depth_coefficient=0.2,
                hidden_dim=320,
                num_labels=3,
            ),
            "EfficientNet",
        ),
        "resnet": (
            transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=3),
            "ResNet",
        ),
        "convnext": (transformers.ConvNextConfig(**stages, num_labels=3), "ConvNext"),
        "convnextv2": (transformers.ConvNextV2Config(**stages, num_labels=3), "ConvNextV2"),
        "regnet": (
            transformers.RegNetConfig(
                embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], groups_width=8, num_labels=3
            ),
            "RegNet",
        ),
        "mobilenet_v1": (transformers.MobileNetV1Config(depth_multiplier=0.25, num_labels=3), "MobileNetV1"),
        "mobilenet_v2": (transformers.MobileNetV2Config(depth_multiplier=0.25, num_labels=3), "MobileNetV2"),
    }[kind]
    config.id2label = dict(enumerate(LABELS))
    model = getattr(transformers, f"{name}ForImageClassification")(config)
    for layer in model.modules() if kind.startswith("mobilenet") else ():  # its own small ones leave nothing to compare
        if isinstance(layer, torch.nn.Conv2d):
            torch.nn.init.kaiming_normal_(layer.weight)
    with torch.no_grad():  # pictures have to come out as different vectors, so nothing is normed to nothing
        model(torch.randn(4, 3, 64, 64))
    scatter(model).save_pretrained(folder)
    size = {"height": 64, "width": 64}
    processor = transformers.ViTImageProcessor(size=size, image_mean=[0.5, 0.4, 0.3], image_std=[0.2, 0.3, 0.4])
    processor.save_pretrained(folder)
    return folder


def blip2(vocabulary: int = 60) -> Any:
    """Blip2ForImageTextRetrieval with four query tokens."""
    small = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.Blip2Config(
        vision_config={**small, "image_size": 28, "patch_size": 14},
        qformer_config={
            **small,
            "vocab_size": vocabulary,
            "encoder_hidden_size": 32,
            "cross_attention_frequency": 1,
            "use_qformer_text_input": True,
            "max_position_embeddings": 40,
        },
        text_config={"model_type": "opt", "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 1},
        num_query_tokens=4,
        image_text_hidden_size=24,
    )
    config._attn_implementation = "eager"
    return scatter(transformers.Blip2ForImageTextRetrieval(config))


def grounding_dino() -> Any:
    """GroundingDinoForObjectDetection for 128 x 128 pixels."""
    config = transformers.GroundingDinoConfig(
        backbone_config=transformers.SwinConfig(
            image_size=128,
            patch_size=4,
            embed_dim=16,
            depths=[1, 1, 1, 1],
            num_heads=[1, 2, 2, 2],
            window_size=2,
            out_indices=[2, 3, 4],
        ),
        text_config={
            "model_type": "bert",
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "vocab_size": 1100,
        },
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        num_queries=8,
        max_text_len=32,
        disable_custom_kernels=True,
    )
    return scatter(transformers.GroundingDinoForObjectDetection(config))


def owlv2(vocabulary: int = 60, width: int = 32) -> Any:
    """Owlv2ForObjectDetection for 56 x 56 pixels, with layers of this width."""
    small = {"hidden_size": width, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.Owlv2Config(
        vision_config={**small, "image_size": 56, "patch_size": 14},
        text_config={**small, "vocab_size": vocabulary, "max_position_embeddings": 16},
        projection_dim=width,
    )
    torch.manual_seed(11)  # some that are drawn have two boxes that are equally likely
    model = transformers.Owlv2ForObjectDetection(config)
    with torch.no_grad():  # as it begins, its boxes have mostly no width or no height
        model.box_head.dense2.weight.mul_(0.02)
    return scatter(model)
