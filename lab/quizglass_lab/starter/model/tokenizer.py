"""The byte-level BPE tokenizer shared by the starter's base model, planner and reranker.

Names in pocketworld are endless, so the vocabulary is taught the syllables they are built of and never whole
names: the trainer sees a name cut at its syllables, while ordinary words stay whole. A digit is a token of its own
(Qwen2's pre-tokeniser), so that any number can be copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from quizglass_lab.pocketworld import articles, names, world
from quizglass_lab.pocketworld.words import WORDS as KIND_WORDS

VOCABULARY = 2048
SPECIAL_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
# Qwen2's pre-tokenisation rule (its tokenizer_config): llama.cpp applies the same under `tokenizer.ggml.pre=qwen2`.
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LABELS = (" A", " B", " C", " D", " yes", " no")
_TEMPLATE_WORDS = (
    "user assistant Before: Read: Seen: Found: Question: Means: Answer: Rewrite: Plan: Look up: nothing the picture "
    "text both Query: Passage: Relevant: I don't know"
)
_QUESTION_WORDS = (
    "What Who Where When Which How Why Is Does Did Was Do Can what who where when which how many much is are was were "
    "does did do has have had the a an of this that these those it its in on at to from by with for and or not than "
    "left right middle centre side front behind next between here there see shown picture image photo colour color "
    "kind sort type shape pattern number count name named called known cost costs price paid pay expensive cheaper "
    "dearer more most less weigh weighs weight heavy heavier light long length tall height high wide width large big "
    "made make makes maker built build grew grown bred printed wrote written write read reads say says sign cover "
    "word words label text designed designer design described describe cooked cook founder founded found company "
    "person people come comes home town city country place born birthplace year old older oldest newer newest young "
    "first start started thing things one two three four five same other both many plain stripes dots checks band "
    "halves half main body accent striped dotted parts small I don't know tell me about main standing lying"
)
_WORD = re.compile(r" ?[A-Z][a-z]+")
_CORPUS_SEED = 900_001
_WEIGHT = 300


def build_tokenizer(out_dir: Path) -> PreTrainedTokenizerFast:
    """Train the tokenizer and save it (tokenizer.json, tokenizer_config.json, special_tokens_map.json).

    Deterministic for one version of pocketworld's wording.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_corpus(), trainer=trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",  # noqa: S106 - a special token, not a secret
        pad_token="<|endoftext|>",  # noqa: S106
        additional_special_tokens=list(SPECIAL_TOKENS[1:]),
        model_max_length=2048,
    )
    fast.save_pretrained(out_dir)
    return fast


def _corpus() -> Iterator[str]:
    """Syllables and fixed words, weighted so that each becomes one token, then texts with their names cut up."""
    pieces = [*names.SYLLABLES, *names.MAKER_ENDINGS, *names.PERSON_ENDINGS]
    starts = [f" {syllable.capitalize()}" for syllable in names.SYLLABLES]
    words = [f" {word}" for word in (*names.FIRST_NAMES, *names.TOWNS, *world.COLOURS, *world.KINDS)]
    plain = [*_TEMPLATE_WORDS.split(), *_QUESTION_WORDS.split(), *_phrase_words()]
    fixed = [*pieces, *starts, *words, *_LABELS, *plain, *(f" {word}" for word in plain)]
    for word in fixed:
        for _ in range(_WEIGHT):
            yield word
    yield from _texts()


def _phrase_words() -> Iterator[str]:
    """What is said of each kind of thing, and the parts looks are described by."""
    for kind in KIND_WORDS.values():
        for phrase in vars(kind).values():
            yield from phrase.replace("{thing}", "").split()
    for shapes in world.SHAPES.values():
        yield from shapes
    yield from world.PATTERNS


def _texts() -> Iterator[str]:
    """Wording of articles around the names of one world (its syllables are taught above)."""
    sample = world.make_world(_CORPUS_SEED, 150)
    invented = name_words(sample)
    for article in articles.world_articles(sample):
        for text in (article.caption, *article.paragraphs):
            yield from _around(text, invented)


def name_words(sample: world.World) -> frozenset[str]:
    """Every word of the names of things, makers and people of a world."""
    full = [*(thing.name for thing in sample.things), *sample.makers, *sample.people]
    return frozenset(word for name in full for word in name.split())


def _around(text: str, invented: frozenset[str]) -> Iterator[str]:
    """The pieces of a text between invented names."""
    end = 0
    for match in _WORD.finditer(text):
        if match[0].strip() in invented:
            yield text[end : match.start()]
            end = match.end()
    yield text[end:]
