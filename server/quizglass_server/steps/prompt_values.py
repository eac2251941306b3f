"""Fills prompts: every prompt of a policy, decider or verifier is given the same values, made here.

| value | |
|---|---|
| `question` | as it was asked |
| `history` | earlier exchanges, oldest first, each with `question` and `answer` |
| `words` | read in the picture; may be empty |
| `tags` | what a tagger says that the picture shows, likeliest first; may be empty |
| `domain` | of the question, as a domain router says; empty without one |
| `seen`, `found` | evidence lines of picture and text searches |
| `pictured` | entries whose pictures a text found, after those of `seen` among the pictures |
| `names` | titles of the recognised things, without their texts |
| `query` | the question as it was reformulated last, several parted by semicolons; None: it was not |
| `queries` | the same as a list |
| `standing` | of an `answer`, beside its `evidence`: where its words stand, see `standing` |
| `unmatched` | beside `evidence`: which words of the question stand nowhere in it, see `unmatched` |
| `stands_alone` | "yes" where the question says itself, by name or by sight, what it is about; else empty |

Besides these the state's notes, and what a policy gives with one call, each under its own name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quizglass_bundle.inputs.prompts import Value
from quizglass_server.domain.state import Note, State
from quizglass_server.domain.turns import Evidence, Turn
from quizglass_server.steps.language import english
from quizglass_server.steps.language.lexemes import meaning
from quizglass_server.steps.language.phrases import says_what
from quizglass_server.steps.language.wording import stands_in
from quizglass_server.steps.language.wording import words as words_of

_STATES_NOTHING = frozenset((*english.FUNCTION.split(), *english.FRAMING.split()))


def prompt_values(
    turn: Turn, words: str, domain: str, state: State, also: Mapping[str, Note], tags: Sequence[str] = ()
) -> dict[str, Value]:
    """What prompts may name besides `image`."""
    noted: dict[str, Value] = {**state.notes, **also}
    return {
        "question": state.question,
        "history": [{"question": each.question, "answer": each.answer} for each in turn.history],
        "words": words,
        "tags": list(tags),
        "domain": domain,
        "seen": [line(item) for item in state.seen],
        "found": [line(item) for item in state.found],
        "pictured": [line(item) for item in state.pictured],
        "names": [item.title for item in state.seen if item.title],
        "query": "; ".join(state.queries) or None,
        "queries": list(state.queries),
        "standing": standing(noted.get("answer"), noted.get("evidence"), words),
        "unmatched": unmatched(state.question, noted.get("evidence")),
        "stands_alone": stands_alone(state.question),
        **noted,
    }


def standing(answer: Value, evidence: Value, words: str | None) -> str:
    """Where the words of an answer stand, in their order: "evidence", "picture" for what is read there, or "nowhere".

    Empty without an answer. A model can answer from what it learned; one that judges it sees from this that it did.
    """
    if not isinstance(answer, str) or not (said := words_of(answer)):
        return ""
    if any(stands_in(said, words_of(each)) for each in _lines(evidence)):
        return "evidence"
    return "picture" if stands_in(said, words_of(words or "")) else "nowhere"


def unmatched(question: str, evidence: Value) -> list[str]:
    """The words of a question that stand in none of the evidence, nor a synonym or another form of them.

    Words that state nothing by themselves ("what", "does") are left out, and without evidence all are. What is known of
    a grey building does not answer what a red one weighs: a small model that judges overlooks that, so the prompt says
    it.
    """
    lines = _lines(evidence)
    told = {meaning(word.key) for each in lines for word in words_of(each)}
    asked = [word for word in words_of(question) if lines and word.key not in _STATES_NOTHING]
    return [question[word.start : word.end] for word in asked if meaning(word.key) not in told]


def stands_alone(question: str) -> str:
    """Says "yes" where a question tells itself what it is about: passages suffice, and the dialogue may mislead."""
    return "yes" if says_what(question) else ""


def _lines(evidence: Value) -> list[str]:
    return [] if evidence is None or isinstance(evidence, str | float) else [str(each) for each in evidence]


def line(evidence: Evidence) -> str:
    """Evidence as models read it: "<title>: <text>", or whichever of the two there is."""
    return f"{evidence.title}: {evidence.text}" if evidence.title and evidence.text else evidence.title or evidence.text
