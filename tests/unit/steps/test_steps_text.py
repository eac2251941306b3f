"""Reading, rewriting and ranking on dummy models."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest

from quizglass.values import Exchange, Origin
from quizglass_bundle.tuning import Tuning
from quizglass_server.domain.state import State
from quizglass_server.domain.turns import Evidence, GenerationEnd, Token, Turn
from quizglass_server.errors import InvalidInput
from quizglass_server.roles.generator import GenerationRequest
from quizglass_server.steps.abstaining import AbstentionFilter
from quizglass_server.steps.generate import lines_of, write
from quizglass_server.steps.lookup.rerank import choose, rerank
from quizglass_server.steps.prompt_values import line, prompt_values, stands_alone
from quizglass_server.steps.read import MAX_WORDS_CHARS, read_words
from quizglass_server.steps.shortening import shorter
from tests.support.turn_fakes import Models, picture, turn


def passage(text: str, score: float = 0.0, found: float = 1.0) -> Evidence:
    return Evidence("", Origin.TEXT_SEARCH, text, "Title", text, search_score=found, rerank_score=score)


async def test_words_are_clean_lines_that_leave_the_prompt_room() -> None:
    models = Models()
    models.lines = ["  OPEN\x00", "\x00", "9 to\n5 "]
    assert await read_words(models, picture()) == ["OPEN", "9 to 5"]
    models.lines = ["word"] * 1000
    read = await read_words(models, picture())
    assert len(" ".join(read)) <= MAX_WORDS_CHARS
    assert len(read) == MAX_WORDS_CHARS // len("word ")
    models.lines = [f"{'word ' * 70}", f"{'more ' * 70}"]
    assert len(" ".join(read := await read_words(models, picture()))) <= MAX_WORDS_CHARS
    assert read[-1].endswith("more")
    models.lines = ["x" * 1000]
    assert list(map(len, await read_words(models, picture()))) == [MAX_WORDS_CHARS]


def test_lines_come_without_bullets_and_each_once() -> None:
    assert lines_of("1. Who made it?\n\n- Who\x07 made it?\n  2) Where?  \n\u2022 When?") == [
        "Who made it?",
        "Where?",
        "When?",
    ]
    assert lines_of("1974 was when\n3.5 crowns") == ["1974 was when", "3.5 crowns"]
    assert lines_of(" \n") == []


async def test_reranking_orders_by_score_and_keeps_the_search_order_of_equals() -> None:
    models = Models()
    models.scores = {"best": 0.9}
    ranked = await rerank(models, "query", [passage("one"), passage("two"), passage("the best")])
    assert [item.text for item in ranked] == ["the best", "one", "two"]
    assert models.calls.of("reranker") == [["Title: one", "Title: two", "Title: the best"]]


async def test_reranking_weighs_the_reranker_by_the_search() -> None:
    models = Models()
    models.scores = {"same": 0.99, "told": 0.97}
    far, near, against = passage("same", found=0.4), passage("told", found=0.8), passage("same", found=-0.5)
    ranked = await rerank(models, "query", [far, near, against])
    assert [item.search_score for item in ranked] == [0.8, 0.4, -0.5]


async def test_passages_that_the_reranker_rejects_keep_the_search_order() -> None:
    models = Models()
    models.scores = {"one": 0.001, "two": 0.019, "three": 0.004}
    ranked = await rerank(models, "query", [passage("one", found=0.8), passage("two", found=0.9), passage("three")])
    assert [item.text for item in ranked] == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("pieces", "told"),
    [
        (["I", " don't", " know"], []),
        (["I don't know."], []),
        (["I", " don\u2019t", " know."], []),
        (["I don't", " like it"], ["I don't like it"]),
        (["I don't know", " who, but", " Orvex"], ["I don't know who, but", " Orvex"]),
        (["Or", "vex"], ["Or", "vex"]),
        (["I", " do"], ["I do"]),
        ([], []),
    ],
)
def test_the_words_by_which_nothing_is_known_are_withheld(pieces: list[str], told: list[str]) -> None:
    heard: list[str] = []
    withholding = AbstentionFilter("I don't know", heard.append)
    for piece in pieces:
        withholding.add(piece)
    assert withholding.end() == bool(told)
    assert heard == told


@pytest.mark.parametrize(
    ("text", "sure", "told"),
    [("Orvex", True, ["Orvex"]), ("Orvex", False, []), ("I don't know", True, []), ("", True, [])],
)
def test_what_memory_is_not_sure_of_is_withheld_whole(text: str, sure: bool, told: list[str]) -> None:
    heard: list[str] = []
    withholding = AbstentionFilter("I don't know", heard.append, whole=True)
    for letter in text:
        withholding.add(letter)
    assert heard == []
    assert withholding.end(sure=sure) == bool(told)
    assert heard == told


def test_only_accepted_passages_are_shown_and_at_most_so_many() -> None:
    passages = [passage("a", 0.9), passage("b", 0.8), passage("c", 0.7)]
    assert [p.used for p in choose(passages, 2, Tuning(rerank_accept=0.85), reranked=True)] == [
        True,
        False,
        False,
    ]
    assert [p.used for p in choose(passages, 2, Tuning(), reranked=True)] == [True, True, False]
    between = [passage("a", 0.9), passage("b", 0.1), passage("c", 0.88), passage("d", 0.87)]  # of two queries
    accepted = [p.text for p in choose(between, 2, Tuning(rerank_accept=0.85), reranked=True) if p.used]
    assert accepted == ["a", "c"], "one that is not shown takes no place"
    unscored = [passage("a"), passage("b")]
    assert [p.used for p in choose(unscored, 1, Tuning(rerank_accept=0.85), reranked=False)] == [True, False]


def test_passages_that_nothing_but_the_search_has_judged_have_a_least_cosine() -> None:
    passages = [replace(passage(text), search_score=score) for text, score in (("a", 0.4), ("b", 0.05))]
    assert [p.used for p in choose(passages, 2, Tuning(), reranked=False)] == [True, False]
    assert [p.used for p in choose(passages, 2, Tuning(text_accept=0.0), reranked=False)] == [True, True]
    judged = [replace(each, rerank_score=0.9) for each in passages]
    assert [p.used for p in choose(judged, 2, Tuning(), reranked=True)] == [True, True]


def test_fine_times_coarse_is_held_against_the_product_of_their_thresholds() -> None:
    def weighed(fine: float, coarse: float | None) -> Evidence:
        return replace(passage("a", fine), coarse_score=coarse)

    line = Tuning(rerank_accept=0.5, coarse_accept=0.4)  # 0.2
    passages = [weighed(0.9, 0.3), weighed(0.3, 0.9), weighed(0.4, 0.4), weighed(0.5, 0.4)]
    assert [p.used for p in choose(passages, 9, line, reranked=True)] == [True, True, False, True]
    coarse = [weighed(0, each.coarse_score) for each in passages]
    assert [p.used for p in choose(coarse, 9, line, reranked=False)] == [False, True, True, True]
    assert [p.used for p in choose(passages, 9, line, reranked=False)] == [True, True, False, True]
    assert [p.used for p in choose([weighed(0.4, None)], 9, line, reranked=True)] == [False]
    assert [p.used for p in choose([weighed(0.6, -0.3)], 9, Tuning(rerank_accept=0.5), reranked=True)] == [True]


class ShortContext(Models):
    """Refuses dialogues of more than `longest` exchanges, as a generator does whose context is full."""

    longest = 1

    async def generate(self, request: GenerationRequest) -> AsyncIterator[Token | GenerationEnd]:
        if len(request.values["history"] or ()) > self.longest:
            raise InvalidInput("question", "too long")
        async with aclosing(super().generate(request)) as pieces:
            async for piece in pieces:
                yield piece


DIALOGUE = turn(history=[Exchange("What is this?", "Velmora"), Exchange("And who made it?", "Tandric")])


def request(asked: Turn) -> GenerationRequest:
    shown = () if asked.picture is None else (asked.picture,)
    return GenerationRequest("answer", prompt_values(asked, "", "", State(asked.question), {}), shown)


async def test_a_prompt_too_long_loses_its_older_dialogue_first_and_the_draft_tells_how_much() -> None:
    models = ShortContext()
    for models.longest, left_out in ((2, 0), (1, 1), (0, 2)):
        assert (await write(models, request(DIALOGUE))).history_left_out == left_out
    shown = [given.values["history"] for given in models.calls.of("answer")]
    last = {"question": "And who made it?", "answer": "Tandric"}
    assert shown == [[{"question": "What is this?", "answer": "Velmora"}, last], [last], []]


async def test_a_prompt_too_long_without_dialogue_is_refused() -> None:
    models = ShortContext()
    models.longest = -1
    with pytest.raises(InvalidInput, match="too long"):
        await write(models, request(turn()))


def test_a_prompt_that_is_too_long_without_dialogue_loses_the_last_of_its_evidence() -> None:
    values = {
        "question": "Who?",
        "history": [{"question": "q", "answer": "a"}],
        "found": list("abcde"),
        "seen": ["s", "t"],
    }
    tried = [(each.values, left_out) for each, left_out in shorter(GenerationRequest("answer", values))]
    told = [("".join(given["found"] or ()), "".join(given["seen"] or ()), left_out) for given, left_out in tried]
    whole = ("abcde", "st", 0)
    assert told == [whole, *(("abcde"[:kept], "st", 1) for kept in (5, 3, 2, 1)), ("a", "s", 1)]
    assert {given["question"] for given, _ in tried} == {"Who?"}


def test_every_prompt_is_filled_with_the_same_values() -> None:
    state = State("Who made it?").having([passage("text")])
    values = prompt_values(DIALOGUE, "words", "cars", state.noting(draft="d"), {"objects": ["car"]}, ["van"])
    assert values == {
        "question": "Who made it?",
        "history": [{"question": each.question, "answer": each.answer} for each in DIALOGUE.history],
        "words": "words",
        "tags": ["van"],
        "domain": "cars",
        "seen": [],
        "pictured": [],
        "found": ["Title: text"],
        "names": [],
        "query": None,
        "queries": [],
        "standing": "",
        "unmatched": [],
        "stands_alone": "",
        "draft": "d",
        "objects": ["car"],
    }
    asked = state.asking(["Who made the car?", "When?"])
    assert prompt_values(DIALOGUE, "", "", asked, {})["query"] == "Who made the car?; When?"
    recognised = state.having([Evidence("1", Origin.IMAGE_SEARCH, "e", "Velmora", "A car. It costs 45 crowns.")])
    assert prompt_values(DIALOGUE, "", "", recognised, {})["names"] == ["Velmora"]


@pytest.mark.parametrize(
    ("answer", "where"),
    [
        ("ana bex", "evidence"),
        ("45 Crowns", "evidence"),
        ("Bex Ana", "nowhere"),
        ("5 crowns", "nowhere"),
        ("open Today", "picture"),
        ("Velmora", "evidence"),
        ("?", ""),
        ("", ""),
    ],
)
def test_a_prompt_about_an_answer_is_told_where_its_words_stand(answer: str, where: str) -> None:
    evidence = ["Velmora: It costs 45 crowns.", "Orin: Ana Bex founded Orin."]
    state = State("Who founded it?").noting(answer=answer)
    assert prompt_values(DIALOGUE, "open today", "", state, {"evidence": evidence})["standing"] == where


def test_an_answer_without_evidence_stands_nowhere_but_in_the_picture() -> None:
    given = [prompt_values(DIALOGUE, words, "", State("Who?"), {"answer": "Ana"})["standing"] for words in ("", "Ana")]
    assert given == ["nowhere", "picture"]


@pytest.mark.parametrize(
    ("question", "lacking"),
    [
        ("What does the grey building weigh?", ["grey"]),
        ("How much does this red building weigh?", []),
        ("Who designed the Gorron?", ["designed", "Gorron"]),
        ("Which COMPANY built Rihel?", ["COMPANY"]),
        ("What is it called?", []),
        ("", []),
    ],
)
def test_a_prompt_beside_evidence_is_told_which_words_of_the_question_it_lacks(
    question: str, lacking: list[str]
) -> None:
    evidence = ["Rihel: a red building, built in 1947.", "The weight of the Rihel is 589 tons."]
    assert prompt_values(DIALOGUE, "", "", State(question), {"evidence": evidence})["unmatched"] == lacking


def test_without_evidence_no_word_is_said_to_be_lacking() -> None:
    given = [prompt_values(DIALOGUE, "", "", State("Who grew it?"), also) for also in ({}, {"evidence": []})]
    assert [values["unmatched"] for values in given] == [[], []]


def test_a_line_needs_no_colon_when_half_is_missing() -> None:
    assert line(passage("text")) == "Title: text"
    assert line(Evidence("", Origin.IMAGE_SEARCH, "e", "Title", "")) == "Title"
    assert line(Evidence("", Origin.READ_TEXT, "", "", "words")) == "words"


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("How much does the car cost?", "yes"),
        ("How much does this car cost?", "yes"),
        ("How much does the Velmora cost?", "yes"),
        ("How much does it cost?", ""),
        ("Which is older, the car or it?", ""),
        ("How much is that?", ""),
    ],
)
def test_a_question_that_says_what_it_is_about_stands_alone(question: str, says: str) -> None:
    assert stands_alone(question) == says
