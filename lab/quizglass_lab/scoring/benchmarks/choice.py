"""Multiple choice: which of several options an answer takes."""

from __future__ import annotations

from collections.abc import Sequence

from quizglass_lab.scoring.answers import normalise


def taken_option(answer: str, options: Sequence[str]) -> str | None:
    """The option that an answer equals, else the only one whose words stand in it in a row; None where that is unclear.

    Case, punctuation and articles do not count. An option within a longer one that stands there too, as "red" within
    "dark red", is not meant.
    """
    for same in (str.casefold, normalise):  # "10%" and "10" are two options, which differ in their marks alone
        equal = [option for option in options if same(option.strip()) == same(answer.strip())]
        if equal and same(answer.strip()):
            return equal[0]
    words = {option: f" {normalise(option)} " for option in options if normalise(option)}
    there = [option for option, text in words.items() if text in f" {normalise(answer)} "]
    meant = [one for one in there if not any(words[one] in words[two] != words[one] for two in there)]
    return meant[0] if len({words[option] for option in meant}) == 1 else None
