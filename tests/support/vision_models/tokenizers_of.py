"""Small tokenizers with a family's special tokens, and its chat template, as a checkpoint has them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import transformers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from tests.support.bundles.tiny_qwen import MERGES, SPLIT


def write_byte_level(folder: Path, specials: Sequence[str], template: str) -> int:
    """A byte-level BPE as Qwen's, of which the first three specials begin, end and pad texts; how many tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [*MERGES, ("Ċ", "Ċ")]
    vocabulary = {token: index for index, token in enumerate([*alphabet, *("".join(pair) for pair in merges)])}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(SPLIT), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    made.decoder = decoders.ByteLevel()
    return _save(made, folder, specials, template)


def write_byte_fallback(folder: Path, specials: Sequence[str], template: str) -> int:
    """A BPE with a token for each byte, as Gemma 4 has it; otherwise as `write_byte_level`."""
    letters = [chr(code) for code in range(33, 127)]
    tokens = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "\n", *letters, "▁t", "he", "▁the"]
    merges = [("▁", "t"), ("h", "e"), ("▁t", "he")]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, byte_fallback=True, unk_token="<unk>"))
    made.normalizer = normalizers.Replace(" ", "▁")
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return _save(made, folder, specials, template)


def _save(made: Tokenizer, folder: Path, specials: Sequence[str], template: str) -> int:
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in specials])
    begin, end, pad = specials[:3]
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        bos_token=begin,
        eos_token=end,
        pad_token=pad,
        additional_special_tokens=list(specials[3:]),
        chat_template=template,
    )
    fast.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "chat_template": template}), encoding="utf-8")
    return int(made.get_vocab_size())
