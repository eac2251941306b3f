"""What the reranker reads: tokenised prompts of a query and a passage, with dense labels to learn matching from.

Right or wrong is decided at the end of a prompt; the labels along the way say which parts of the decision are
already settled: whether a token stands in the query too, whether the title is the one asked for, whether the asked
fact has been told.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from tokenizers import Tokenizer

from quizglass_bundle.inputs.prompts import PromptTemplate, PromptTokenizer, SegmentKind
from quizglass_export.assembly.plan import DEFAULT_PROMPTS
from quizglass_lab.pocketworld.names import SYLLABLES
from quizglass_lab.retrieval.pairs import ABOUT, Pair, Passage, PassageLibrary
from quizglass_lab.retrieval.shapes import RERANKER_MAX_TOKENS

PROMPT = DEFAULT_PROMPTS / "rerank.jinja"
LABELS = (" yes", " no")
IGNORED = -100


@dataclass(frozen=True)
class Candidate:
    """A query with one passage: does it answer, and if not, which half fails?"""

    query: str
    passage: Passage
    named: bool  # the passage's title is (one of) the entries asked for
    told: str | None  # wording of the asked fact where the passage tells it, of any entry

    @property
    def right(self) -> bool:
        """True when the passage answers the query."""
        return self.named and self.told is not None


def candidate(library: PassageLibrary, pair: Pair, number: int) -> Candidate:
    """The candidate of a pair and any passage of the library."""
    passage = library.passages[number]
    entries = {library.passages[i].entry for i in pair.gold}
    value = passage.title if pair.attribute == ABOUT else library.told_of(passage.entry).get(pair.attribute)
    told = value if value is not None and value in passage.text else None
    return Candidate(pair.query, passage, passage.entry in entries, told)


def syllables(name: str) -> list[str]:
    """A thing's name in lower-case syllables; the whole name where it is not made of them."""
    rest, parts = name.lower(), list[str]()
    while rest:
        part = next((s for s in SYLLABLES if rest.startswith(s)), None)
        if part is None:
            return [name.lower()]
        parts.append(part)
        rest = rest[len(part) :]
    return parts


def similar_name(name: str, rng: random.Random) -> str:
    """Another name one syllable away: one changed, left out, added, or two in the other order."""
    parts = syllables(name)
    other = list(parts)
    while other == parts:
        other = list(parts)
        how = rng.random()
        if how < 0.6 or len(parts) == 1:
            other[rng.randrange(len(parts))] = rng.choice(SYLLABLES)
        elif how < 0.75:
            other.insert(rng.randint(0, len(parts)), rng.choice(SYLLABLES))
        elif how < 0.9 and len(parts) > 2:
            del other[rng.randrange(len(parts))]
        else:
            rng.shuffle(other)
    return "".join(other).capitalize()


def draw_candidate(library: PassageLibrary, rng: random.Random) -> Candidate:
    """Two in five are right; the others fail by the fact, by a similar name, or by another entry."""
    pair = library.draw(rng)
    gold = rng.choice(pair.gold)
    share = rng.random()
    if share < 0.4:
        return candidate(library, pair, gold)
    siblings = [i for i in library.of_entry[library.passages[gold].entry] if i not in pair.gold]
    if share < 0.6 and siblings:
        return candidate(library, pair, rng.choice(siblings))
    passage = library.passages[gold]
    if share < 0.85 and passage.entry in library.thing_index:
        return renamed(candidate(library, pair, rng.choice((gold, gold, *siblings))), rng)
    near = library.neighbours[passage.entry] or list(library.of_entry)
    entry = rng.choice(near) if rng.random() < 0.7 else rng.choice(list(library.of_entry))
    return candidate(library, pair, rng.choice(library.of_entry[entry]))


def renamed(wrong: Candidate, rng: random.Random) -> Candidate:
    """The same passage told of a thing with a similar name."""
    title = wrong.passage.title
    other = similar_name(title, rng)
    passage = replace(wrong.passage, title=other, text=wrong.passage.text.replace(title, other))
    told = None if wrong.told is None else wrong.told.replace(title, other)
    return replace(wrong, passage=passage, named=False, told=told)


@dataclass(frozen=True)
class RerankExample:
    """Token ids of a prompt, and a label per token: 1, 0, or IGNORED where there is nothing to say."""

    ids: list[int]
    seen: list[int]  # stands in the query too
    named: list[int]  # from the end of the title on
    told: list[int]  # from the end of the title on: so far
    right: int


class PromptReader:
    """Renders and tokenises candidates exactly as the server does."""

    def __init__(self, tokenizer: Path) -> None:
        self.template = PromptTemplate.load(PROMPT)
        self.tokenizer = PromptTokenizer(tokenizer)
        self.pieces = Tokenizer.from_file(str(tokenizer))
        self.yes, self.no = (self.tokenizer.label(label) for label in LABELS)

    def ids(self, query: str, passage: str) -> list[int]:
        """Token ids of the prompt, cut from the front of the passage's end to RERANKER_MAX_TOKENS."""
        prompt = self.template.render(query=query, passage=passage)
        return self.tokenizer.encode(prompt)[:RERANKER_MAX_TOKENS]

    def example(self, item: Candidate) -> RerankExample:
        """The prompt with its labels."""
        prompt = self.template.render(query=item.query, passage=item.passage.text)
        parts = [self.tokenizer.encode((segment,)) for segment in prompt]
        data = [i for i, segment in enumerate(prompt) if segment.kind is SegmentKind.DATA]
        query_part, passage_part = parts[data[0]], parts[data[1]]
        ids = [token for part in parts for token in part]
        start = sum(len(part) for part in parts[: data[1]])
        end = start + len(passage_part)
        settled = start + len(self.pieces.encode(f" {item.passage.title}").ids)
        told_from = end + 1 if item.told is None else start + self._end_of(item.told, item.passage.text)
        known = set(query_part)
        seen, named, told = ([IGNORED] * len(ids) for _ in range(3))
        for i in range(start, end):
            seen[i] = int(ids[i] in known)
        for i in range(settled, len(ids)):
            named[i] = int(item.named)
            told[i] = int(i >= told_from) if item.told is not None else 0
        return RerankExample(ids, seen, named, told, int(item.right))

    def _end_of(self, value: str, text: str) -> int:
        """Number of the token that ends `value` in " " + text."""
        return len(self.pieces.encode(" " + text[: text.index(value) + len(value)]).ids) - 1


@dataclass(frozen=True)
class RerankBatch:
    """Padded on the right; `last` is the position of every row's last token."""

    ids: torch.Tensor
    mask: torch.Tensor
    last: torch.Tensor
    labels: dict[str, torch.Tensor]
    right: torch.Tensor


def collate(examples: Sequence[RerankExample], pad: int) -> RerankBatch:
    """Stack examples; padding is masked, and ignored by every loss."""
    width = max(len(example.ids) for example in examples)

    def padded(rows: Sequence[Sequence[int]], filler: int) -> torch.Tensor:
        return torch.tensor([[*row, *[filler] * (width - len(row))] for row in rows])

    lengths = torch.tensor([len(example.ids) for example in examples])
    return RerankBatch(
        ids=padded([e.ids for e in examples], pad),
        mask=(torch.arange(width) < lengths.unsqueeze(1)).long(),
        last=lengths - 1,
        labels={
            "seen": padded([e.seen for e in examples], IGNORED),
            "named": padded([e.named for e in examples], IGNORED),
            "told": padded([e.told for e in examples], IGNORED),
        },
        right=torch.tensor([e.right for e in examples]),
    )
