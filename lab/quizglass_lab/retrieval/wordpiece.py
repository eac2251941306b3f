"""The text encoder's own WordPiece vocabulary: common words whole, invented names by their syllables.

The vocabulary is put together rather than trained: frequent words of the articles and queries, the syllables that
names are made of, and single characters for everything else.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BertTokenizerFast

from quizglass_lab.pocketworld.names import FIRST_NAMES, MAKER_ENDINGS, PERSON_ENDINGS, SYLLABLES, TOWNS
from quizglass_lab.retrieval.shapes import TEXT_MAX_TOKENS

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_WORD = re.compile("[A-Za-z]+")
_SEEN_AT_LEAST = 5


def build_wordpiece(texts: Iterable[str], names: Iterable[str], out: Path) -> BertTokenizerFast:
    """Build from `texts`, of which `names` (whole words) are never kept whole; save the tokenizer into `out`.

    Digits are split one by one: years and prices then share pieces with all other numbers.
    """
    vocabulary = _pieces(texts, {word.lower() for name in names for word in name.split()})
    ids = {piece: i for i, piece in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token=_SPECIAL[1]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Digits(individual_digits=True)]
    )
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    tokenizer.decoder = decoders.WordPiece()
    fast = BertTokenizerFast(tokenizer_object=tokenizer, do_lower_case=True, model_max_length=TEXT_MAX_TOKENS)
    out.mkdir(parents=True, exist_ok=True)
    fast.save_pretrained(out)
    return fast


def _pieces(texts: Iterable[str], names: set[str]) -> Sequence[str]:
    counts = Counter(word for text in texts for word in _WORD.findall(text.lower()))
    frequent = sorted(word for word, seen in counts.items() if seen >= _SEEN_AT_LEAST and word not in names)
    characters = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    fixed = (word.lower() for word in (*FIRST_NAMES, *TOWNS))
    inside = (*characters, *SYLLABLES, *MAKER_ENDINGS, *PERSON_ENDINGS)
    pieces = (*_SPECIAL, *characters, *SYLLABLES, *frequent, *fixed, *(f"##{piece}" for piece in inside))
    return list(dict.fromkeys(pieces))
