"""Whole turns that the store answers by itself, and those whose answer has to follow a grammar."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from quizglass.values import (
    AbstainReason,
    AnswerDelta,
    AnswerKind,
    Entry,
    Exchange,
    TurnEvent,
    Verdict,
    VerdictOutcome,
)
from quizglass_bundle.tuning import Answers
from quizglass_server.domain.entries import ChunkHit
from quizglass_server.errors import InvalidInput
from quizglass_server.roles.reranker import RERANKER
from tests.support.scripted_policy import of
from tests.support.turn_fakes import VELMORA, World, done, turn

JSON = 'root ::= "{}"'


def verdict(events: Sequence[TurnEvent]) -> Verdict:
    (only,) = of(Verdict, events)
    return only


async def test_a_name_is_the_title_of_what_is_recognised_and_no_model_writes() -> None:
    world = World()
    events = await world.ask(turn("What is this?"), "both")
    assert done(events).answer == VELMORA.title
    assert (verdict(events).outcome, verdict(events).kind) == (VerdictOutcome.SUPPORTED, AnswerKind.NAMED)
    assert "generate" not in [stage.stage for stage in done(events).timings]


async def test_small_talk_has_its_reply_and_nothing_is_looked_up() -> None:
    world = World()
    events = await world.ask(turn("Thanks!"))
    assert [event.text for event in of(AnswerDelta, events)] == ["You're welcome."]
    assert (verdict(events).outcome, verdict(events).kind) == (VerdictOutcome.UNCHECKED, AnswerKind.FIXED)
    assert world.models.calls.made == []


@pytest.mark.parametrize("question", ["What is this?", "Thanks!", "Tell me about it."])
async def test_an_answer_that_has_to_follow_a_grammar_is_written(question: str) -> None:
    events = await World().ask(replace(turn(question), answer_grammar=JSON), "both")
    assert (done(events).answer, verdict(events).kind) == ("45 crowns", AnswerKind.WRITTEN)


async def test_a_policy_of_quotes_follows_no_grammar() -> None:
    with pytest.raises(InvalidInput, match="quotes sentences and writes no JSON") as caught:
        await World().ask(replace(turn(), answer_grammar=JSON), "quote")
    assert caught.value.field == "answer_grammar"


@pytest.mark.parametrize("answers", Answers)
async def test_a_quote_stands_in_for_not_knowing(answers: Answers) -> None:
    world = World(quote_accept=0.0, answers=answers)
    world.models.answer = ["I don't know"]
    events = await world.ask(policy="planning-agent+")
    assert verdict(events).kind is AnswerKind.QUOTED
    assert verdict(events).outcome is VerdictOutcome.SUPPORTED
    assert "".join(event.text for event in of(AnswerDelta, events)) == done(events).answer


async def test_a_quoted_row_of_a_table_is_supported() -> None:
    world = World(quote_accept=0.7, answers=Answers.QUOTE)
    board = Entry("pc", "Board of the old PC", source="notes")
    world.knowledge.chunks = [ChunkHit(board, "Board of the old PC: part: socket; value: AM2", 0.9)]
    world.models.scores = {"part: socket": 0.9}
    events = await world.ask(turn("Which socket does the board of the old PC have?", shown=False), "quote")
    assert done(events).answer == "part: socket; value: AM2"
    assert (verdict(events).outcome, verdict(events).kind) == (VerdictOutcome.SUPPORTED, AnswerKind.QUOTED)


async def test_a_question_without_a_subject_is_weighed_behind_the_one_before_it() -> None:
    world = World(quote_accept=0.5)
    history = [Exchange("How much does the Velmora cost?", "45 crowns")]
    events = await world.ask(turn("And when?", shown=False, history=history), "quote")
    assert ["How much does the Velmora cost? And when?"] in world.models.calls.of("text_encoder")
    assert verdict(events).kind is AnswerKind.QUOTED


async def test_a_question_without_a_subject_is_answered_from_no_other_entry() -> None:
    world = World(quote_accept=0.5)
    world.knowledge.entries = []  # the picture shows nothing that is known
    world.knowledge.chunks = [ChunkHit(Entry("harbour", "Harbour", source="notes"), "Built in 1974.", 0.9)]
    assert verdict(await world.ask(turn("And when?"), "quote")).outcome is VerdictOutcome.ABSTAINED


@pytest.mark.parametrize("question", ["?", "!!!", "2+2", "42"])
async def test_what_has_no_word_is_answered_by_no_quote(question: str) -> None:
    world = World(quote_accept=0.0)
    events = await world.ask(turn(question), "quote")
    assert verdict(events).outcome is VerdictOutcome.ABSTAINED
    assert done(events).abstain_reason is AbstainReason.NO_EVIDENCE
    assert verdict(await world.ask(turn("Really?"), "quote")).kind is AnswerKind.QUOTED


@pytest.mark.parametrize("answers", Answers)
@pytest.mark.parametrize("written", ["I cannot tell from the notes.", "I don't know"])
async def test_what_is_told_of_not_knowing_is_the_answer(answers: Answers, written: str) -> None:
    world = World(quote_accept=1.0, answers=answers)
    world.models.answer = [written]
    events = await world.ask(policy="both")
    assert verdict(events).outcome is VerdictOutcome.ABSTAINED
    assert "".join(event.text for event in of(AnswerDelta, events)) == done(events).answer


@pytest.mark.parametrize("answers", Answers)
@pytest.mark.parametrize("policy", ["both", "planning-agent+"])
async def test_the_beginning_of_not_knowing_is_no_answer(answers: Answers, policy: str) -> None:
    world = World(quote_accept=1.0, answers=answers)
    world.models.answer, world.models.end = ["I", " don"], "deadline"
    events = await world.ask(policy=policy)
    assert (done(events).answer, done(events).abstain_reason) == ("I don't know", AbstainReason.BUDGET)
    assert [event.text for event in of(AnswerDelta, events)] == ["I don't know"]


async def test_a_whole_answer_that_begins_like_not_knowing_is_one() -> None:
    world = World(quote_accept=1.0)
    world.models.answer = ["I"]
    assert done(await world.ask(policy="both")).answer == "I"


WATERED = "Water the Velmora every three weeks, less in winter."


@pytest.mark.parametrize(
    ("written", "answer", "kind"),
    [
        ("three weeks", WATERED, AnswerKind.QUOTED),
        (WATERED, WATERED, AnswerKind.WRITTEN),
    ],
)
async def test_a_sentence_wins_over_an_answer_that_drops_its_qualifier(
    written: str, answer: str, kind: AnswerKind
) -> None:
    world = World(quote_accept=0.0, answers=Answers.QUOTE)
    world.knowledge.chunks = [ChunkHit(VELMORA, WATERED, 0.9)]
    world.models.answer = [written]
    events = await world.ask(turn("When do I have to water this?"), "both")
    assert (done(events).answer, verdict(events).kind) == (answer, kind)
    assert verdict(events).outcome is VerdictOutcome.SUPPORTED
    assert [event.text for event in of(AnswerDelta, events)] == [answer]
    (citation,) = done(events).citations
    assert (citation.entry_id, citation.start, citation.end) == (VELMORA.id, 0, len(WATERED) - 1)


@pytest.mark.parametrize(
    ("written", "answer", "kind"),
    [
        ("three weeks", WATERED, AnswerKind.QUOTED),
        ("every three weeks, less in winter", "every three weeks, less in winter", AnswerKind.WRITTEN),
        (f"{WATERED} {WATERED}", WATERED, AnswerKind.QUOTED),
        ("every two months", WATERED, AnswerKind.QUOTED),
        ("I don't know", WATERED, AnswerKind.QUOTED),
    ],
)
async def test_of_a_supported_answer_and_the_quote_the_shorter_whole_one_is_told(
    written: str, answer: str, kind: AnswerKind
) -> None:
    world = World(quote_accept=0.0, answers=Answers.SHORTER)
    world.knowledge.chunks = [ChunkHit(VELMORA, WATERED, 0.9)]
    world.models.answer = [written]
    events = await world.ask(turn("When do I have to water this?"), "both")
    assert (done(events).answer, verdict(events).kind) == (answer, kind)
    assert verdict(events).outcome is VerdictOutcome.SUPPORTED
    assert [event.text for event in of(AnswerDelta, events)] == [answer]


@pytest.mark.parametrize("answers", [Answers.QUOTE, Answers.SHORTER])
async def test_a_longer_supported_answer_gives_way_to_the_quote_only_where_the_shorter_is_wanted(
    answers: Answers,
) -> None:
    world = World(quote_accept=0.0, answers=answers)
    world.knowledge.chunks = [ChunkHit(VELMORA, WATERED, 0.9)]
    world.models.answer = [f"{WATERED} {WATERED}"]
    told = verdict(await world.ask(turn("When do I have to water this?"), "both"))
    assert told.kind is (AnswerKind.QUOTED if answers is Answers.SHORTER else AnswerKind.WRITTEN)


async def test_words_that_were_streamed_stay() -> None:
    world = World(quote_accept=0.0, answers=Answers.WRITE)
    world.knowledge.chunks = [ChunkHit(VELMORA, WATERED, 0.9)]
    world.models.answer = ["three weeks"]
    events = await world.ask(turn("When do I have to water this?"), "both")
    assert (done(events).answer, verdict(events).kind) == ("three weeks", AnswerKind.WRITTEN)


@pytest.mark.parametrize("policy", ["quote", "both"])
@pytest.mark.parametrize(
    ("question", "shown", "kind"),
    [
        ("How much does it cost?", True, AnswerKind.UNKNOWN),
        (f"How much does the {VELMORA.title} cost?", True, AnswerKind.QUOTED),
        ("How much does a red car cost?", False, AnswerKind.QUOTED),
    ],
)
async def test_another_entry_is_quoted_of_a_picture_only_where_it_is_meant(
    policy: str, question: str, shown: bool, kind: AnswerKind
) -> None:
    world = World(quote_accept=0.0, image_accept=0.99, answers=Answers.QUOTE)
    world.models.answer, world.models.sees = ["I don't know"], False
    events = await world.ask(turn(question, shown=shown), policy)
    assert verdict(events).kind is kind


@pytest.mark.parametrize("policy", ["quote", "both"])
@pytest.mark.parametrize(
    ("question", "pictures", "kind"),
    [
        ("What is the network called?", (), AnswerKind.QUOTED),  # not recognisable, and it has the question's words
        ("What is the network called?", (b"p" * 32,), AnswerKind.UNKNOWN),  # it is not what is seen
        ("What is its network called?", (), AnswerKind.UNKNOWN),
        ("When was the mug bought?", (), AnswerKind.UNKNOWN),
    ],
)
async def test_beside_a_picture_of_nothing_known_a_note_without_a_picture_may_be_meant(
    policy: str, question: str, pictures: tuple[bytes, ...], kind: AnswerKind
) -> None:
    world = World(quote_accept=0.0, image_accept=0.99, answers=Answers.QUOTE)
    world.models.answer, world.models.sees = ["I don't know"], False
    home = Entry("home", "Home", source="notes", picture_sha256=pictures)
    world.knowledge.chunks = [ChunkHit(home, "The network is Fjord-5G, bought in May.", 0.9)]
    assert verdict(await world.ask(turn(question), policy)).kind is kind


@pytest.mark.parametrize(("relevance", "outcome"), [(0.9, VerdictOutcome.SUPPORTED), (0.3, VerdictOutcome.UNSUPPORTED)])
async def test_what_the_evidence_says_of_something_else_does_not_support(
    relevance: float, outcome: VerdictOutcome
) -> None:
    world = World(quote_accept=0.5)
    world.models.scores = {"45 crowns": relevance}
    told = verdict(await world.ask(policy="both"))
    assert (told.outcome, told.kind) == (outcome, AnswerKind.WRITTEN)
    said = told.notes.get("off_question", "")
    assert ("45 crowns" in said) is (outcome is VerdictOutcome.UNSUPPORTED)


async def test_a_sentence_that_answers_takes_the_place_of_one_that_is_of_something_else() -> None:
    world = World(quote_accept=0.5, answers=Answers.QUOTE)
    world.models.scores = {"45 crowns": 0.3, "1974": 0.9}
    events = await world.ask(policy="both")
    assert (verdict(events).kind, verdict(events).outcome) == (AnswerKind.QUOTED, VerdictOutcome.SUPPORTED)
    assert "1974" in done(events).answer
    assert "off_question" not in verdict(events).notes


async def test_without_a_line_for_sentences_their_words_alone_decide() -> None:
    world = World()
    world.models.scores = {"45 crowns": 0.3}
    assert verdict(await world.ask(policy="both")).outcome is VerdictOutcome.SUPPORTED
    assert len(world.models.calls.of("reranker")) == 1, "the passages alone"


@pytest.mark.parametrize(
    ("text", "accept", "told"),
    [
        ("A roadster of 1968.", 0.0, "Velmora: A roadster of 1968."),
        ("The Velmora is a roadster.", 0.0, "The Velmora is a roadster."),
        ("Data:\nA roadster of 1968.", 0.0, "Velmora: A roadster of 1968."),
    ],
)
async def test_which_of_a_kind_it_is_is_its_name_and_what_its_text_says(text: str, accept: float, told: str) -> None:
    world = World(quote_accept=accept, answers=Answers.QUOTE)
    world.knowledge.chunks = [ChunkHit(VELMORA, text, 0.9)]
    events = await world.ask(turn("Which car is this?"))
    assert done(events).answer == told
    assert verdict(events).outcome is VerdictOutcome.SUPPORTED


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Which car is this?", f"{VELMORA.title}: A roadster of 1968."),
        ("What kind of car is this?", f"{VELMORA.title}: A roadster of 1968."),
        (f"Which {VELMORA.title} is this?", VELMORA.title),
    ],
)
async def test_a_kind_that_no_sentence_clearly_says_is_the_name_and_how_the_text_begins(
    question: str, told: str
) -> None:
    world = World(quote_accept=1.0, answers=Answers.QUOTE)
    world.models.sees = False
    world.knowledge.chunks = [ChunkHit(VELMORA, "A roadster of 1968. It won twice.", 0.9)]
    assert done(await world.ask(turn(question))).answer == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{VELMORA.title}\n=======\nIt won twice.", VELMORA.title),
        (f"The {VELMORA.title} won twice. It is red.", f"The {VELMORA.title} won twice."),
    ],
)
async def test_a_title_is_not_told_twice(text: str, told: str) -> None:
    world = World(quote_accept=1.0, answers=Answers.QUOTE)
    world.models.sees = False
    world.knowledge.chunks = [ChunkHit(VELMORA, text, 0.9)]
    events = await world.ask(turn("What kind of car is this?"))
    assert done(events).answer == told
    assert len(done(events).citations) == 1


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("In which constellation is this?", AnswerKind.QUOTED),
        ("Is this far away?", AnswerKind.QUOTED),
        ("How far away is this?", AnswerKind.UNKNOWN),
    ],
)
async def test_a_sentence_that_likely_answers_is_quoted_though_the_reranker_doubts(
    question: str, kind: AnswerKind
) -> None:
    world = World(quote_accept=0.7, answers=Answers.QUOTE)
    world.knowledge.chunks = [ChunkHit(VELMORA, "It shows the constellation Fornax.", 0.9)]
    world.models.answer, world.models.scores = ["I don't know"], {"Fornax": 0.5}
    assert verdict(await world.ask(turn(question), "both")).kind is kind


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("How much does the Tagrin cost?", "I don't know"),
        ("How much does the Tagrin's sail cost?", "I don't know"),
        ("How much does the boat cost?", "I don't know"),
        ("How much does Jolawex ask?", "I don't know"),
        ("How much does one cost?", "The Velmora costs 45 crowns."),
    ],
)
async def test_another_entry_does_not_answer_of_one_that_is_named(question: str, told: str) -> None:
    world = World(quote_accept=0.7, rerank_accept=0.5, answers=Answers.QUOTE)
    world.models.scores = {"45 crowns": 0.9}
    events = await world.ask(turn(question, shown=False), "quote")
    assert (done(events).answer or "I don't know") == told


async def test_a_proper_name_of_a_title_leaves_other_entries_out() -> None:
    world = World(quote_accept=0.7, rerank_accept=0.5, answers=Answers.QUOTE)
    school = Entry("school", "Amira's school", "Her teacher is Miss Fontaine.", source="notes")
    world.knowledge.chunks = [ChunkHit(school, school.caption, 0.9), ChunkHit(VELMORA, "Teacher: Jovana.", 0.8)]
    world.models.scores = {"Jovana": 0.9, "Amira's school: Her teacher": 0.3}
    asked = {who: await world.ask(turn(f"Who is {who} teacher?", shown=False), "quote") for who in ("Amira's", "the")}
    assert {who: "Jovana" in done(events).answer for who, events in asked.items()} == {"Amira's": False, "the": True}


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("When was Amira born?", "Born on 9 March."),
        ("When was Henrik born?", "Born on 2 May."),
        ("When was Noor born?", "I don't know"),
        ("Who keeps bees?", "Henrik: Keeps bees."),
        ("When does Emil see Henrik?", "Henrik sees Emil on Friday."),
    ],
)
async def test_the_section_that_a_question_names_answers_and_no_other_of_its_note(question: str, told: str) -> None:
    world = World(quote_accept=0.7, rerank_accept=0.5, answers=Answers.QUOTE)
    contacts = Entry("contacts", "Contacts", source="notes")
    sections = ("Amira:\nA friend. Born on 9 March.", "Henrik:\nNeighbour. Born on 2 May. Keeps bees.", "Noor:\nSings.")
    world.knowledge.chunks = [ChunkHit(contacts, f"Contacts: {section}", 0.9) for section in sections]
    daily = Entry("daily", "Monday", source="notes")
    world.knowledge.chunks.append(ChunkHit(daily, "Henrik sees Emil on Friday.", 0.9))
    kept = {"Contacts: Contacts: Henrik:": 0.6, "Contacts: Keeps bees.": 0.9} if "bees" in question else {}
    kept |= {"Emil on Friday": 0.95} if "Emil" in question else {}
    world.models.scores = {"Contacts: Amira: Born": 0.9, "Contacts: Henrik: Born": 0.9, **kept}
    events = await world.ask(turn(question, shown=False), "quote")
    assert (done(events).answer or "I don't know") == told


CAR = Entry("car", "Car", source="notes")
"""A thing with a general name, whose own note is silent on most."""
PASSED = "Took the car to Mill Road. It passed its inspection on 12 March."


@pytest.mark.parametrize(
    ("question", "title", "text", "pictured", "answered"),
    [
        ("When did the car pass its inspection?", "2025-03-12", PASSED, False, True),
        ("When did my car pass its inspection?", "2025-03-12", "Car: passed its inspection.", False, True),
        ("When did the car pass its inspection?", "Week 11", "The car passed its inspection.", False, True),
        ("When did the car pass its inspection?", "Took the car to Mill Road", PASSED, False, True),
        ("When did the car pass its inspection?", "Journal", "Car:\nPassed its inspection at noon.", False, True),
        # Those that mean another thing, or do not say which:
        ("When did Anna's car pass its inspection?", "2025-03-12", PASSED, False, False),
        ("When did the company car pass its inspection?", "2025-03-12", PASSED, False, False),
        ("When did the car pass its inspection?", "2025-03-12", "Anna's car passed its inspection.", False, False),
        ("When did the car pass its inspection?", "2025-03-12", "The company car passed its inspection.", False, False),
        ("When did the car pass its inspection?", "2025-03-12", "The car park passed its inspection.", False, False),
        ("When did the car pass its inspection?", "2025-03-12", "The lift passed its inspection.", False, False),
        ("When did the car pass its inspection?", "Company car", "The car passed its inspection.", False, False),
        ("When did the car pass its inspection?", "Skoda", "The car passed its inspection.", True, False),
        (
            "When did the car pass its inspection?",
            "2025-03-12",
            "Sold the car. The lift passed inspection.",
            False,
            False,
        ),
    ],
)
async def test_other_notes_answer_of_a_named_thing_whose_own_note_is_silent(
    question: str, title: str, text: str, pictured: bool, answered: bool
) -> None:
    world = World(quote_accept=0.7, rerank_accept=0.5, answers=Answers.QUOTE)
    pictures = (b"\1" * 32,) if pictured else ()
    other = Entry("other", title, source="notes", picture_sha256=pictures)
    world.knowledge.chunks = [ChunkHit(CAR, "A silver Skoda.", 0.9), ChunkHit(other, text, 0.8)]
    world.models.scores = {"passed": 0.9, "Passed": 0.9}
    events = await world.ask(turn(question, shown=False), "quote")
    assert (verdict(events).kind is AnswerKind.QUOTED) is answered
    assert ("assed its inspection" in done(events).answer) is answered


async def test_the_note_of_a_named_thing_goes_before_what_others_say_of_it() -> None:
    world = World(quote_accept=0.7, rerank_accept=0.5, answers=Answers.QUOTE)
    diary = Entry("diary", "2025-03-12", source="notes")
    world.knowledge.chunks = [ChunkHit(diary, "Sold the car for 900.", 0.9), ChunkHit(CAR, "It cost 4,000.", 0.8)]
    world.models.scores = {"900": 0.99, "4,000": 0.8}
    assert done(await world.ask(turn("How much was the car?", shown=False), "quote")).answer == "It cost 4,000."


class _Reading:
    """A reranker that knows which words of a sentence answer which words of a question."""

    def __init__(self, **answers: str) -> None:
        self._answers = answers
        self.asked: list[str] = []

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        self.asked.append(query)
        wanted = [text for word, text in self._answers.items() if word in query]
        return [0.9 if any(text in passage for text in wanted) else 0.1 for passage in passages]


HUSKY = "Balu is our husky. He was born in Oulu in 2018. He weighs 27 kg."
BALU = ChunkHit(Entry("balu", "Balu", source="notes"), HUSKY, 0.8)


@pytest.mark.parametrize(
    ("answers", "answer", "outcome", "unanswered"),
    [
        ({"weigh": "27 kg", "born": "Oulu"}, "He was born in Oulu in 2018. He weighs 27 kg.", "supported", None),
        ({"weigh": "27 kg"}, "He weighs 27 kg.", "unsupported", "When was Balu born?"),
        ({"born": "Oulu"}, "He was born in Oulu in 2018.", "unsupported", "What does Balu weigh?"),
        ({"weigh": "27 kg", "born": "27 kg"}, "He weighs 27 kg.", "supported", None),
    ],
)
async def test_each_half_of_a_question_has_its_sentence_and_a_missing_one_is_named(
    answers: dict[str, str], answer: str, outcome: str, unanswered: str | None
) -> None:
    world = World(quote_accept=0.5, answers=Answers.QUOTE)
    world.models[RERANKER] = reading = _Reading(**answers)
    world.knowledge.chunks = [BALU]
    events = await world.ask(turn("What does Balu weigh and when was Balu born?", shown=False), "quote")
    assert done(events).answer == answer
    assert (verdict(events).outcome.value, verdict(events).kind) == (outcome, AnswerKind.QUOTED)
    assert verdict(events).notes.get("unanswered") == unanswered
    assert {"What does Balu weigh?", "When was Balu born?"} <= set(reading.asked)


async def test_neither_half_answered_is_no_answer() -> None:
    world = World(quote_accept=0.5, answers=Answers.QUOTE)
    world.models[RERANKER] = _Reading()
    world.knowledge.chunks = [BALU]
    events = await world.ask(turn("What does Balu weigh and when was Balu born?", shown=False), "quote")
    assert verdict(events).outcome is VerdictOutcome.ABSTAINED


async def test_a_pronoun_of_the_second_half_means_the_entry_of_the_first() -> None:
    world = World(quote_accept=0.5, answers=Answers.QUOTE)
    world.models[RERANKER] = _Reading(weigh="27 kg", old="nine")
    cat = Entry("cat", "Cat of Balu", source="notes")
    world.knowledge.chunks = [ChunkHit(cat, "The cat is nine.", 0.9), BALU]
    events = await world.ask(turn("What does Balu weigh and how old is he?", shown=False), "quote")
    assert done(events).answer == "He weighs 27 kg."
    assert verdict(events).notes["unanswered"] == "How old is he?"


async def test_a_question_that_goes_on_from_an_earlier_one_has_no_halves() -> None:
    world = World(quote_accept=0.5, answers=Answers.QUOTE)
    world.models[RERANKER] = _Reading(weigh="27 kg", born="Oulu")
    world.knowledge.chunks = [BALU]
    earlier = Exchange("What does Balu weigh?", "He weighs 27 kg.")
    asked = replace(turn("What does Balu weigh? When was Balu born?", shown=False), asked_last="When was Balu born?")
    events = await world.ask(replace(asked, history=(earlier,)), "quote")
    assert done(events).answer == "He was born in Oulu in 2018."
