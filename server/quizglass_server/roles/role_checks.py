"""What can be known of a role before its engine runs: its labels, its prompts, its tokenizer.

The server checks it as it loads a role. An exporter checks the same before it begins, and in finished bundles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quizglass_server.domain.turns import Plan
from quizglass_server.errors import BundleError
from quizglass_server.models.prompts import PromptError, PromptTemplate, PromptTokenizer, PromptValue
from quizglass_server.models.vision_inputs import VISION_END, VISION_START
from quizglass_server.roles.interfaces import SUPPORTED

Values = Mapping[str, PromptValue]
RELEVANT = "yes"
"""The reranker's label for a passage that answers the query."""

_ASKED: Values = {"question": "a", "history": [{"question": "a", "answer": "a"}], "words": "a"}
EXAMPLES: Mapping[str, Values] = {
    "planner": _ASKED,
    "tool_router": {**_ASKED, "draft": "a"},
    "verifier": {**_ASKED, "evidence": ["a"], "answer": "a"},
    "reranker": {"query": "a", "passage": "a"},
}
"""What the prompt of each scorer may name besides `image`: something of everything, so that no part is left out."""

GENERATOR_VALUES: Mapping[str, tuple[str, ...]] = {
    "plan": ("question", "history", "words"),
    "rewrite": ("question", "history", "words", "seen", "domain"),
    "answer": ("question", "history", "words", "seen", "found", "query", "domain"),
}
"""What the prompt of each of the generator's tasks may name besides `image`."""
_LISTS: Values = {"history": _ASKED["history"], "seen": ["a"], "found": ["a"]}
"""Examples of the values that are not plain strings."""


@dataclass(frozen=True, slots=True)
class ScorerPrompt:
    """What turns a question into a scorer's tokens."""

    tokenizer: PromptTokenizer
    template: PromptTemplate


def scorer_prompt(
    role: str, labels: Sequence[tuple[str, str]], tokenizer: Path, prompt: Path, image_token: str | None
) -> ScorerPrompt:
    """Load and check the prompt of a scorer.

    Args:
        role: its name.
        labels: (name, text) in the order of the model's logits.
        tokenizer: its `tokenizer.json`.
        prompt: its template.
        image_token: the token that stands for a piece of the picture; None for a model of text alone.

    Raises:
        BundleError: a file cannot be read, a label is none that the role can have or not one token of its own, or the
            prompt names a value that the role does not have.
    """
    check_labels(role, [name for name, _ in labels])
    try:
        made = ScorerPrompt(PromptTokenizer(tokenizer), PromptTemplate.load(prompt))
        _check_label_tokens(made.tokenizer, [text for _, text in labels])
        for token in () if image_token is None else (image_token, VISION_START, VISION_END):
            made.tokenizer.token_id(token)
        _try(made.template, EXAMPLES[role], picture=image_token is not None)
    except PromptError as error:
        raise BundleError(f"roles.{role}: {error}") from error
    return made


def generator_prompts(prompts: Mapping[str, Path], *, sees: bool) -> dict[str, PromptTemplate]:
    """Load the generator's prompts by task, each tried without anything to tell and with some of everything.

    Raises:
        BundleError: a prompt cannot be read, or names a value that its task does not have.
    """
    try:
        templates = {task: PromptTemplate.load(path) for task, path in prompts.items()}
        for task, template in templates.items():
            _try(template, {name: _LISTS.get(name, "a") for name in GENERATOR_VALUES[task]}, picture=sees)
    except PromptError as error:
        raise BundleError(f"roles.generator.prompts: {error}") from error
    return templates


def plans(role: str, names: Sequence[str]) -> list[Plan]:
    """The plans that labels name; BundleError if one is none."""
    try:
        return [Plan(name) for name in names]
    except ValueError:
        known = ", ".join(plan.value for plan in Plan)
        raise BundleError(f"roles.{role}.labels: {', '.join(names)}: not all are plans; use {known}") from None


def check_labels(role: str, names: Sequence[str]) -> None:
    """Raise BundleError where labels are not what a role can have, or one is there twice."""
    if role in ("planner", "tool_router"):
        plans(role, names)
    needed = {"reranker": RELEVANT, "verifier": SUPPORTED}.get(role)
    if needed is not None and needed not in names:
        raise BundleError(f"roles.{role}.labels: {', '.join(names)}: none is {needed!r}")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BundleError(f"roles.{role}.labels: {twice[0]!r} is there twice")


def _check_label_tokens(tokenizer: PromptTokenizer, texts: Sequence[str]) -> None:
    ids = [tokenizer.label(text) for text in texts]
    for place, token in enumerate(ids):
        if (first := ids.index(token)) < place:
            both = f"{texts[first]!r} and {texts[place]!r}"
            raise PromptError(f"labels {both} are one token in {tokenizer.path.name}; choose another text")


def _try(template: PromptTemplate, example: Values, *, picture: bool) -> None:
    """Fill a template with something of everything, and without anything to tell."""
    template.render(picture=picture, **example)
    template.render(picture=picture, **dict.fromkeys(example, ""))
