"""What a text names that nothing else told: a model that writes such a name has it from memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from quizglass_server.steps.language.wording import words

_ENDING = "'s"


def has_ungrounded_names(text: str, told: object) -> bool:
    """Whether a text names something, behind its first word, that stands nowhere in the evidence.

    Languages that write all nouns with capitals name more than others.

    Args:
        text: a question or a sentence.
        told: texts, in lists and mappings of any depth.
    """
    known = {word.key.removesuffix(_ENDING) for each in _texts(told) for word in words(each)}
    named = (word.key.removesuffix(_ENDING) for word in words(text)[1:] if word.named and word.key[0].isalpha())
    return any(name not in known for name in named)


def _texts(told: object) -> Iterator[str]:
    if isinstance(told, str):
        yield told
    elif isinstance(told, Mapping):
        yield from _texts(list(told.values()))
    elif isinstance(told, Sequence):
        for each in told:
            yield from _texts(each)
