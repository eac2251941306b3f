"""Renders a bundle's prompt templates to segments that keep data apart from instructions.

A model's instructions are part of its training, so templates come from the bundle. Questions, words read in pictures
and retrieved text are data: they end up in segments of their own, which no tokenizer may parse for special tokens.
Training and serving share this module, so both see the same tokens. What prompts may name is one list, whichever model
reads them.

Templates may be written in ChatML: `<|im_start|>system`, `<|im_start|>user`, and `<|im_start|>assistant` where the
answer begins. For a model that was tuned with other markers these are put in their place; all else stays.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from pathlib import Path

from tokenizers import Tokenizer

from quizglass_bundle.inputs.template_sandbox import MOST_SOURCE, BoundedTemplate

PromptValue = str | Sequence[str] | Sequence[Mapping[str, str]] | None

# Private-use characters stand in for values while a template is rendered; data never contains them (see `clean`).
_OPEN, _CLOSE = "\ue000", "\ue001"
_SLOT = re.compile(f"( ?){_OPEN}(\\d+){_CLOSE}")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ue000-\uf8ff]")
GENERAL_PROMPTS = Path(__file__).with_name("templates")
"""Folder of templates for general models, in ChatML: one for every task of every policy, named as the task."""
_SHORT = 400
"""Characters of data that is encoded sooner than Python's lock could be handed over and got back."""
MOST_ENTRIES = 6
"""Most entries whose pictures one prompt shows beside the wearer's (CogPlanner shows three to six)."""
_PICTURES = frozenset({"image", "images"})
_LABELS = {"domain_label": "domain"}
"""Values that a template may compare, and of which: all others it can show, but not look into."""
CHATML = "<|im_start|>"
SYSTEM, USER = "\ue000system\ue001", "\ue000user\ue001"
"""What stands for the texts of a conversation while its form is found out."""
_TURN = re.compile(r"<\|im_start\|>(system|user|assistant)\n(.*?)(?:<\|im_end\|>\n?|\Z)", re.DOTALL)
_JINJA = re.compile(r"\{[{%#]")
_ONE_QUESTION = 3
"""Turns: the system's, the user's, and the assistant's that is to be written."""
CONVERSATION = ({"role": "system", "content": SYSTEM}, {"role": "user", "content": USER})
"""What a chat template is filled with, with and without its first message, so that `read_format` can read it."""


class PromptError(ValueError):
    """A template cannot be rendered, or its text not tokenised; the message names the file."""


class SegmentKind(Enum):
    """Who wrote a segment, which decides how it may be tokenised."""

    TEXT = "text"
    """Template text: special tokens are parsed."""
    DATA = "data"
    """User or retrieved text: special tokens are never parsed."""
    IMAGE = "image"
    """The slot of a picture."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of prompt from one origin."""

    kind: SegmentKind
    text: str = ""
    picture: int = 0
    """Of a picture's slot: which of the prompt's pictures takes it."""


Prompt = tuple[Segment, ...]


def clean(text: str) -> str:
    """Drop control, direction-override and private-use characters; fold white space to single spaces.

    Accents are composed (NFC), because tokenizers differ in whether they do it themselves.
    """
    return " ".join(_CONTROL.sub(" ", unicodedata.normalize("NFC", text)).split())


class PromptTemplate:
    """One Jinja template of a bundle, sandboxed: it can format values and do nothing else (`template_sandbox`).

    Raises:
        PromptError: it is no template, or has what none may have.
    """

    def __init__(self, source: str, name: str) -> None:
        self.name = name
        self.source = source
        try:
            self._template = BoundedTemplate(source)
        except RecursionError:
            raise PromptError(f"prompt template {name}: it is nested too deeply") from None
        except Exception as error:  # Python compiles what Jinja makes of it, and has limits of its own
            raise PromptError(f"prompt template {name}: {error}") from error
        self.names = frozenset(_LABELS.get(name, name) for name in self._template.names - _PICTURES)
        """Names of the values that it shows."""
        self.shows_several = "images" in self._template.names
        """Whether it shows pictures besides the first."""

    @classmethod
    def load(cls, path: Path) -> PromptTemplate:
        """Read a template file (UTF-8).

        Raises:
            PromptError: it cannot be read, or is no template.
        """
        try:
            with path.open(encoding="utf-8") as file:
                source = file.read(MOST_SOURCE + 1)
        except (OSError, UnicodeDecodeError) as error:
            raise PromptError(f"prompt template {path.name}: cannot be read: {error}") from error
        return cls(source, path.name)

    def render(self, *, pictures: int = 0, **values: PromptValue) -> Prompt:
        """Fill the template.

        Args:
            pictures: how many there are to show. The template places the first as `image`, and each as one of the
                list `images`; without pictures `image` is the empty string and the list is empty.
            values: strings, lists of strings, or lists of mappings of strings; None reads as false in a template.

        Returns:
            Segments in order; a single space before a value belongs to the value's segment, so that a word is
            tokenised alike at the start of a value and in the middle of one.

        Raises:
            PromptError: the template names a value that was not given, or does with one what cannot be done.
        """
        slots = [""] * pictures
        named = {name: value for name, value in values.items() if name in self.names}
        context: dict[str, object] = {name: _hide(value, slots) for name, value in named.items()}
        images = [f"{_OPEN}{index}{_CLOSE}" for index in range(pictures)]
        context |= {"images": images, "image": images[0] if images else ""}
        context |= {label: _letters(values.get(name)) for label, name in _LABELS.items()}
        try:
            return tuple(_segments(self._template.render(context), slots, pictures))
        except Exception as error:  # an expression can raise anything: TypeError, ZeroDivisionError, ...
            raise PromptError(f"prompt template {self.name}: {error}") from error


def _letters(value: PromptValue) -> str:
    """The letters and spaces of a text, in lower case: no token of a model can be spelt in them."""
    return "".join(each for each in value.lower() if each.isalpha() or each == " ") if isinstance(value, str) else ""


def _hold(value: str, slots: list[str]) -> int:
    slots.append(value)
    return len(slots) - 1


def _hide(value: PromptValue, slots: list[str]) -> object:
    if value is None:
        return None
    if isinstance(value, str):
        text = clean(value)
        return f"{_OPEN}{_hold(text, slots)}{_CLOSE}" if text else ""
    return [
        {key: _hide(part, slots) for key, part in item.items()} if isinstance(item, Mapping) else _hide(item, slots)
        for item in value
    ]


def _segments(rendered: str, slots: Sequence[str], pictures: int) -> list[Segment]:
    """Segments of a rendered template; the first `pictures` slots are those of the pictures."""
    segments: list[Segment] = []
    end = 0
    for match in _SLOT.finditer(rendered):
        index, space = int(match[2]), match[1]
        is_image = index < pictures
        before = rendered[end : match.start()] + (space if is_image else "")
        if before:
            segments.append(Segment(SegmentKind.TEXT, before))
        data = Segment(SegmentKind.DATA, space + slots[index])
        segments.append(Segment(SegmentKind.IMAGE, picture=index) if is_image else data)
        end = match.end()
    if end < len(rendered):
        segments.append(Segment(SegmentKind.TEXT, rendered[end:]))
    return segments


Value = PromptValue | float
Values = Mapping[str, Value]
"""What a prompt or a decision is filled from. Numbers are shown as text."""

NOTES: Mapping[str, PromptValue] = {
    "draft": "a",
    "memory": "a",
    "answer": "a",
    "reason": "a",
    "certainty": "a",
    "objects": ["a"],
    "object": "a",
    "entity": "a",
    "passage": "a",
    "external": "a",
    "tool": "a",
    "steps": ["a"],
    "signs": ["a"],
    "evidence": ["a"],
}
"""What policies note on the way, with an example of each: a policy that notes something new adds it here."""

EXAMPLE: Mapping[str, PromptValue] = {
    "question": "a",
    "history": [{"question": "a", "answer": "a"}],
    "words": "a",
    "tags": ["a"],
    "domain": "a",
    "seen": ["a"],
    "found": ["a"],
    "pictured": ["a"],
    "names": ["a"],
    "query": "a",
    "queries": ["a"],
    "labels": ["a"],
    "standing": "a",
    "unmatched": ["a"],
    "stands_alone": "a",
    **NOTES,
}
"""Something of everything that a prompt may name besides its pictures."""
EMPTY: Mapping[str, PromptValue] = {name: "" if isinstance(value, str) else [] for name, value in EXAMPLE.items()}


def filled(values: Values) -> dict[str, PromptValue]:
    """What a template is rendered with: what there is of everything, empty where there is nothing."""
    there = {name: f"{value:g}" if isinstance(value, int | float) else value for name, value in values.items()}
    return {**EMPTY, **{name: value for name, value in there.items() if name in EMPTY}}


def load_template(path: Path, *, sees: bool) -> PromptTemplate:
    """Read a template, and try it with something of everything and with nothing.

    Args:
        path: the file.
        sees: whether the model that reads it is given pictures.

    Raises:
        PromptError: it is no template, names a value that there is none of, or cannot be filled; names it.
    """
    template = PromptTemplate.load(path)
    if unknown := sorted(template.names - EXAMPLE.keys()):
        every = ", ".join(EXAMPLE)
        raise PromptError(f"prompt template {template.name}: {unknown[0]!r} is undefined; a prompt may name {every}")
    template.render(pictures=2 if sees else 0, **EXAMPLE)
    template.render(pictures=1 if sees else 0, **EMPTY)
    return template


class PromptTokenizer:
    """Tokenises segments each on its own with a `tokenizer.json`.

    The file is read when it is first needed; one that is no tokenizer raises PromptError then.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # Templates repeat their few texts in every prompt; data is never kept.
        self._text_ids = lru_cache(maxsize=256)(self._encode_text)

    @cached_property
    def _trusted(self) -> Tokenizer:
        return self._load()

    @cached_property
    def _quoted(self) -> Tokenizer:
        tokenizer = self._load()
        tokenizer.encode_special_tokens = True
        return tokenizer

    def _load(self) -> Tokenizer:
        try:
            return Tokenizer.from_file(str(self.path))
        except Exception as error:
            raise PromptError(f"{self.path.name}: not a tokenizer: {error}") from error

    def label(self, text: str, what: str = "label") -> int:
        """Id of a label, or another text (`what`, for errors), which must be one token.

        Raises:
            PromptError: the text is not exactly one token.
        """
        ids = self._trusted.encode(text, add_special_tokens=False).ids
        if len(ids) != 1:
            raise PromptError(f"{what} {text!r} is {len(ids)} tokens in {self.path.name}; choose a text of one token")
        return int(ids[0])

    def encode(self, prompt: Prompt, image: Sequence[int] = ()) -> list[int]:
        """Token ids of a prompt, with `image` (start, pads, end) in the picture's slot."""
        ids: list[int] = []
        for segment in prompt:
            if segment.kind is SegmentKind.IMAGE:
                ids.extend(image)
            elif segment.kind is SegmentKind.TEXT:
                ids.extend(self._text_ids(segment.text))
            else:
                ids.extend(self._data_ids(segment.text))
        return ids

    def _data_ids(self, text: str) -> Sequence[int]:
        if len(text) <= _SHORT:
            return list(self._quoted.encode(text, add_special_tokens=False).ids)
        # The way for batches lets other threads have Python's lock meanwhile.
        return list(self._quoted.encode_batch_fast([text], add_special_tokens=False)[0].ids)

    def _encode_text(self, text: str) -> tuple[int, ...]:
        return tuple(self._trusted.encode(text, add_special_tokens=False).ids)

    def token_id(self, token: str) -> int:
        """Id of a special token.

        Raises:
            PromptError: the vocabulary has no such token.
        """
        token_id = self._trusted.token_to_id(token)
        if token_id is None:
            raise PromptError(f"token {token!r} is not in {self.path.name}")
        return int(token_id)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of token ids, without special tokens."""
        return str(self._trusted.decode(list(ids), skip_special_tokens=True))


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """What stands before, between and after the parts of a conversation of one question.

    Attributes:
        head: before the system's text.
        middle: between it and the user's.
        tail: after the user's; the answer follows.
        alone: before the user's text where there is no system's.
    """

    head: str
    middle: str
    tail: str
    alone: str

    def rewrite(self, prompt: str) -> str:
        """A ChatML prompt with this format's markers; one with examples in it stays as it is for a model of ChatML.

        Raises:
            PromptError: it is not one system and one user turn, and the format is another one.
        """
        turns = [(match[1], match[2]) for match in _TURN.finditer(prompt)]
        if len(turns) > _ONE_QUESTION and CHATML in self.tail:
            return prompt
        if [role for role, _ in turns] not in (["system", "user", "assistant"], ["user", "assistant"]):
            raise PromptError("its ChatML is not a system's turn (or none), one of the user and the assistant's")
        if prompt[: prompt.index(CHATML)].strip():
            raise PromptError("something stands before its first turn")
        texts, begun = dict(turns), turns[-1][1].removesuffix("\n")
        opening = _joined(self.head, texts["system"], self.middle) if "system" in texts else self.alone
        return _joined(opening, texts["user"], self.tail) + begun + "\n"  # one newline at the end is dropped


def _joined(before: str, text: str, after: str) -> str:
    """In a row; a newline after a block of a template is dropped, so there stand two."""
    return before + text + ("\n" if text.endswith("%}") and after.startswith("\n") else "") + after


def read_format(alone: str, both: str | None, begin: str = "") -> ChatFormat:
    """The format of a chat template, by what it makes of a conversation.

    Args:
        alone: what it makes of a question, with the beginning of the answer.
        both: the same of `CONVERSATION`; None: it takes no system's turn, which is then said before the question.
        begin: the token that every text begins with, if it is to be there.

    Raises:
        PromptError: what is said is lost, said twice, or stands among what a prompt cannot hold.
    """
    single, tail = _parts(alone, USER)
    head, middle = single, "\n\n"
    if both is not None and both.count(SYSTEM) == both.count(USER) == 1:
        head, rest = _parts(both, SYSTEM)
        middle, tail = _parts(rest, USER)
    head, single = (text if text.startswith(begin) else begin + text for text in (head, single))
    for text in (head, middle, tail, single):
        if _JINJA.search(text):
            raise PromptError(f"it writes {text!r}, which a prompt cannot hold")
    return ChatFormat(head, middle, tail, single)


def _parts(text: str, value: str) -> tuple[str, str]:
    if text.count(value) != 1:
        raise PromptError(f"it says a message {text.count(value)} times")
    before, _, after = text.partition(value)
    return before, after


def encode_within(tokenizer: PromptTokenizer, prompt: Prompt, image: list[int], limit: int) -> list[int]:
    """Token ids of a prompt, at most `limit`.

    What is too long is cut at the end of the longest data, again and again; instructions and the picture are never
    cut. Without data to cut the prompt may stay longer than `limit`.
    """
    pieces = [tokenizer.encode((segment,), image) for segment in prompt]
    data = [piece for piece, segment in zip(pieces, prompt, strict=True) if segment.kind is SegmentKind.DATA]
    excess = sum(map(len, pieces)) - limit
    while excess > 0 and data:
        by_length = sorted(data, key=len)
        longest = by_length[-1]
        second = len(by_length[-2]) if len(by_length) > 1 else 0
        cut = min(excess, max(len(longest) - second, 1), len(longest))
        if cut == 0:
            break
        del longest[-cut:]
        excess -= cut
    return [token for piece in pieces for token in piece]
