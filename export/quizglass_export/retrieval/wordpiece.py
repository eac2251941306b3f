"""The text encoder's own WordPiece vocabulary, trained so that unseen names fall into their syllables."""

from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertTokenizerFast

from quizglass_export.retrieval.shapes import TEXT_MAX_TOKENS, WORDPIECE_VOCABULARY

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def train_wordpiece(texts: Iterable[str], out: Path, vocabulary: int = WORDPIECE_VOCABULARY) -> BertTokenizerFast:
    """Train on `texts` and save `tokenizer.json` with its configuration into `out`.

    Digits are split one by one: years and prices then share pieces with all other numbers.
    """
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Digits(individual_digits=True)]
    )
    letters = [chr(code) for code in range(33, 127)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary, special_tokens=list(_SPECIAL), initial_alphabet=letters, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", tokenizer.token_to_id("[SEP]")), ("[CLS]", tokenizer.token_to_id("[CLS]"))
    )
    tokenizer.decoder = decoders.WordPiece()
    fast = BertTokenizerFast(tokenizer_object=tokenizer, do_lower_case=True, model_max_length=TEXT_MAX_TOKENS)
    out.mkdir(parents=True, exist_ok=True)
    fast.save_pretrained(out)
    return fast
