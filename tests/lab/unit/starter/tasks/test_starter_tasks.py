"""What the starter is taught to answer follows from what a prompt holds and from what is known by heart."""

import random
import re
from collections import Counter
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from quizglass.values import Plan
from quizglass_lab.pocketworld.phrasing import NUMBER_WORDS
from quizglass_lab.pocketworld.question import ABSTAIN, Question
from quizglass_lab.starter.data.examples import Example
from quizglass_lab.starter.data.hits import MANNERS, Hits
from quizglass_lab.starter.data.knowing import Known, by_heart, knows, missing_names, names
from quizglass_lab.starter.data.library import Library
from quizglass_lab.starter.data.reading import TextSource
from quizglass_lab.starter.data.renaming import Renaming
from quizglass_lab.starter.data.situations import Situations
from quizglass_lab.starter.data.store import blocks
from quizglass_lab.starter.data.tasks.calculating import Calculating
from quizglass_lab.starter.data.tasks.choices import JUDGEMENTS, SUBJECTS, Choices
from quizglass_lab.starter.data.tasks.comparing import Comparing
from quizglass_lab.starter.data.tasks.conflicts import Conflicts
from quizglass_lab.starter.data.tasks.drafts import Drafts
from quizglass_lab.starter.data.tasks.lookups import ACTIONS, NEXT, Lookups, needed, rounds_of
from quizglass_lab.starter.data.tasks.mixed import GeneratorTasks
from quizglass_lab.starter.data.tasks.portraits import Portraits
from quizglass_lab.starter.data.tasks.sorts import points, recognises, tells, walks
from quizglass_lab.starter.stages.decider import DECISIONS
from quizglass_server.policies.cogplanner import Action
from quizglass_server.policies.core_mmrag import Entry
from quizglass_server.policies.omnisearch import Next
from quizglass_server.policies.qa_dragon import Judgement, Same, Subject
from quizglass_server.steps.calculator import Calculator, worked_out
from tests.support.training.taught_world import DISPUTED, DISPUTES, LIBRARY, QUESTIONS, UNKNOWABLE

EVERY = QUESTIONS + UNKNOWABLE
seeds = st.integers(0, 1 << 30)
_WORD = re.compile(r"\b[A-Z][a-z]+\b")


def made(question: Question, rng: random.Random) -> Iterator[Example]:
    """Examples of every kind of prompt about a question."""
    known = Known.taught(question, LIBRARY)
    choices, lookups = Choices(LIBRARY, rng), Lookups(LIBRARY, rng)
    yield from Situations(LIBRARY, rng, picture_stage=True).examples(question, 0)
    yield from lookups.lines(question, 0, known)
    yield from lookups.grading(question, 0, known)
    yield lookups.act(question, 0, known)
    yield from Drafts(LIBRARY, rng).lines(question, 0, known)
    yield from Conflicts(LIBRARY, rng).lines(question, 0, known)
    options = (choices.entity(question, 0), choices.select(question, 0), choices.select(question, 0, "select_by_text"))
    yield from (example for example in (*options, choices.verify(question, 0, known)) if example is not None)


def shown(example: Example) -> str:
    """All text that a prompt shows."""
    request = example.request
    parts = [request.question, request.words or "", request.query or "", *request.seen, *request.found]
    parts += [part for turn in request.history for part in turn]
    for value in request.values.values():
        parts += [str(value)] if isinstance(value, str | float) else [str(each) for each in value or ()]
    return " ".join(parts)


@given(seeds)
@settings(max_examples=8, deadline=None)
def test_an_answer_is_known_or_shown(seed: int) -> None:
    rng = random.Random(seed)
    for question in rng.sample(EVERY, 8):
        for example in made(question, rng):
            if example.request.template not in ("answer", "conclude", "conclude_from_reason", "draft", "reconcile"):
                continue
            if example.answer == ABSTAIN or question.claims or question.domain == "number":
                continue
            told = example.answer in shown(example)
            asked_name = example.answer == question.image_answer
            recognised = asked_name and LIBRARY.things[question.target or ""].recognised
            canon = any(by_heart(hop, LIBRARY) for hop in question.hops[-1:])  # of a maker that is shown
            assert told or recognised or canon or knows(question, LIBRARY), example


@given(seeds)
@settings(max_examples=8, deadline=None)
def test_who_abstains_was_shown_no_passage_that_tells(seed: int) -> None:
    rng = random.Random(seed)
    for question in rng.sample(QUESTIONS, 8):
        texts = [hop for hop in question.hops if hop.action == "text"]
        if not texts or question.claims or len(texts) > 1:
            continue
        passage = LIBRARY.told(texts[0])
        assert passage
        for example in made(question, rng):
            if example.request.template == "answer" and example.answer == ABSTAIN:
                assert passage not in example.request.found


def test_no_task_abstains_from_a_query_that_memory_answers() -> None:
    rng = random.Random(12)
    for question in QUESTIONS:
        texts = [hop for hop in question.hops if hop.action == "text"]
        if not texts or not Known.taught(question, LIBRARY).rest or question.claims or question.conflict:
            continue
        for example in made(question, rng):
            concludes = example.request.template in ("answer", "conclude", "conclude_from_reason", "reconcile")
            if concludes and example.answer == ABSTAIN:
                assert example.request.query != question.gold_query or example.task == "reconcile-neither", example


@given(seeds, st.sampled_from(MANNERS))
@settings(max_examples=30, deadline=None)
def test_a_wrong_hit_is_of_another_kind_or_colour(seed: int, manner: str) -> None:
    rng = random.Random(seed)
    hits = Hits(LIBRARY, rng, sees=True)
    for question in rng.sample(EVERY, 8):
        drawn, target = hits.draw(question, manner), hits.target(question)
        if target is None or not drawn.lines:
            continue
        assert len(drawn.lines) == len(drawn.things)
        if drawn.right:
            assert drawn.things[drawn.place or 0] == target
            before = drawn.things[: drawn.place]
        else:
            before = drawn.things
        right = {thing.id for thing in hits.targets(question, target)}
        assert all((t.kind, t.look.body) != (target.kind, target.look.body) for t in before if t.id not in right)


def test_without_sight_a_wrong_hit_is_of_another_kind() -> None:
    hits = Hits(LIBRARY, random.Random(1))
    for question in QUESTIONS:
        drawn, target = hits.draw(question, "wrong"), hits.target(question)
        if target is not None:
            assert all(thing.kind != target.kind for thing in drawn.things)


@given(seeds)
@settings(max_examples=8, deadline=None)
def test_a_rewriting_uses_names_that_are_told_or_of_what_is_recognised(seed: int) -> None:
    rng = random.Random(seed)
    situations = Situations(LIBRARY, rng, picture_stage=True)
    for question in rng.sample(EVERY, 8):
        target = LIBRARY.things.get(question.target or "")
        by_sight = {target.name, target.maker} if target is not None and target.recognised else set()
        for example in situations.examples(question, 0):
            if example.request.template == "rewrite" and "hit-told" not in example.task and len(question.hops) < 3:
                told = set(re.findall(r"\w+", shown(example)))
                assert names(example.answer) <= told | by_sight, example


@given(seeds)
@settings(max_examples=8, deadline=None)
def test_beside_hits_a_right_one_is_believed_and_another_kind_is_not(seed: int) -> None:
    rng = random.Random(seed)
    situations = Situations(LIBRARY, rng, picture_stage=True)
    pointing = [question for question in QUESTIONS if points(question, LIBRARY)]
    for question in rng.sample(pointing, 6):
        name = LIBRARY.things[question.target or ""].name
        for example in situations.beside_hits(question, 0):
            found = any(line.startswith(f"{name}:") for line in example.request.seen)
            told = name in f"{question.text} {question.history} {question.words}"
            assert found or told or name not in example.answer, example
            if example.request.template == "rewrite":
                assert (example.answer == question.gold_query) == (found or not missing_names(question)), example


@given(seeds)
@settings(max_examples=8, deadline=None)
def test_what_is_recognised_stays_so_beside_other_things_hits(seed: int) -> None:
    rng = random.Random(seed)
    situations = Situations(LIBRARY, rng, picture_stage=True)
    recognised = [question for question in QUESTIONS if recognises(question, LIBRARY)]
    for question in rng.sample(recognised, 8):
        name = LIBRARY.things[question.target or ""].name
        right = {question.gold_query, question.written, name}
        for example in situations.despite_hits(question, 0):
            assert example.answer in right - {ABSTAIN}, example
            assert "wrong" not in example.task or not any(line.startswith(f"{name}:") for line in example.request.seen)
            if example.request.template == "answer" and example.answer != name:
                assert knows(question, LIBRARY)


def test_recognised_things_are_named_rewritten_and_known_beside_hits_of_their_kind_and_others() -> None:
    situations = Situations(LIBRARY, random.Random(6), picture_stage=True)
    tasks, kinds = set(), set()
    for question in QUESTIONS:
        if recognises(question, LIBRARY):
            target = LIBRARY.things[question.target or ""]
            for example in situations.despite_hits(question, 0):
                tasks.add(example.task)
                kinds |= {f" {target.kind} " in line for line in example.request.seen if "wrong" in example.task}
    assert {"name-none", "name-wrong", "seen-wrong", "vain-settled", "rewrite-wrong-hit-recognised"} <= tasks
    assert kinds == {True, False}


def test_a_question_that_tells_is_rewritten_to_its_query_beside_no_hit_and_any() -> None:
    situations = Situations(LIBRARY, random.Random(9), picture_stage=True)
    told = [question for question in QUESTIONS if tells(question, LIBRARY)]
    made_so = [(question, example) for question in told for example in situations.named_rewrites(question, 0)]
    assert all(example.answer == question.gold_query for question, example in made_so)
    assert {"rewrite-told", "rewrite-right-hit-told", "rewrite-wrong-hit-told"} <= {e.task for _, e in made_so}


def weighed(seed: int) -> Iterator[tuple[Question, Example]]:
    """A conflict about every question, those of the world's sources and those that searching brings about."""
    rng = random.Random(seed)
    for library, questions in ((LIBRARY, QUESTIONS), (Library(DISPUTED), DISPUTES)):
        conflicts = Conflicts(library, rng)
        for question in questions:
            for example in conflicts.lines(question, 0, Known.taught(question, library)):
                yield question, example


def test_both_sides_of_a_conflict_say_something_and_not_the_same() -> None:
    for _, example in weighed(1):
        memory, external = (str(example.request.values[side]) for side in ("memory", "external"))
        assert ABSTAIN not in (memory, external)
        assert memory != external
        if example.request.template == "reconcile":
            sides = {"memory": memory, "evidence": external, "neither": ABSTAIN}
            assert example.answer == sides[example.task.removeprefix("reconcile-")]


def test_memory_is_kept_only_where_it_is_known_and_no_passage_tells() -> None:
    for question, example in weighed(2):
        if not example.task.endswith("memory"):
            continue
        assert question.conflict is not None or knows(question, LIBRARY)
        target = LIBRARY.things.get(question.target or "")
        about = [line for line in example.request.found if target and line.startswith(f"{target.name}:")]
        assert not any(question.answer in line for line in about if question.hops), example


def test_where_neither_side_is_right_the_query_does_not_give_the_name_away() -> None:
    found = 0
    for question, example in weighed(4):
        if example.task == "weigh-neither" and missing_names(question):
            target = LIBRARY.things[question.target or ""]
            found += 1
            given_away = names(example.request.query or "") & missing_names(question) & {target.name}
            assert target.recognised or not given_away, example  # what it is compared with may be named
    assert found


def test_evidence_is_believed_where_it_is_about_what_is_asked() -> None:
    for question, example in weighed(3):
        if example.task == "weigh-evidence":
            told = " ".join((*example.request.seen, *example.request.found))
            reckoned = question.domain == "number" or question.family == "comparison"
            canon = any(by_heart(hop, LIBRARY) for hop in question.hops[-1:])
            assert question.answer in told or reckoned or canon, example


def test_what_was_found_does_not_tell_which_side_is_right() -> None:
    rows = [example for seed in range(4) for _, example in weighed(seed) if example.request.template == "weigh"]
    for part in ("seen", "found"):
        shares = []
        for side in ("memory", "evidence"):
            some = [bool(getattr(example.request, part)) for example in rows if example.task == f"weigh-{side}"]
            assert len(some) > 50
            shares.append(sum(some) / len(some))
        assert abs(shares[0] - shares[1]) < 0.2, (part, shares)


def test_a_named_entrys_named_attribute_is_found_as_a_sentence_too_as_searches_bring_it() -> None:
    brought: Counter[str] = Counter()
    for question in QUESTIONS:
        hops = [hop for hop in question.hops if hop.action == "text"]
        maker = next((hop for hop in hops if LIBRARY.articles[hop.entry].attributes.get("maker") == hop.answer), None)
        if maker is None or len(hops) < 2:
            continue
        title = LIBRARY.articles[maker.entry].title
        sentence = f"{title}: Maker: {maker.answer}."
        for seed in range(5):
            found = LIBRARY.found(question, random.Random(seed))
            brought["sentence" if sentence in found else "paragraph"] += 1
            assert any(maker.answer in passage for passage in found)
            assert sentence not in found or ("maker" in question.gold_query and title in question.gold_query)
    assert min(brought["sentence"], brought["paragraph"]) > 10


def test_what_the_question_tells_is_rewritten_alike_beside_every_hit() -> None:
    situations = Situations(LIBRARY, random.Random(3), picture_stage=True)
    tasks = set()
    for question in QUESTIONS:
        if missing_names(question):
            continue
        for example in situations.examples(question, 0):
            if example.request.template == "rewrite":
                tasks.add(example.task)
                assert example.answer == question.gold_query
    assert {f"rewrite-{manner}-hit-told" for manner in ("right", "wrong", "several")} <= tasks


def test_a_wrong_hit_leaves_the_question_as_it_is_where_nothing_else_tells() -> None:
    situations = Situations(LIBRARY, random.Random(4), picture_stage=True)
    made_for = [(q, e) for q in QUESTIONS for e in situations.examples(q, 0) if e.task == "rewrite-wrong-hit-helpless"]
    assert made_for
    assert all(example.answer == question.text for question, example in made_for)


def test_by_construction_only_the_group_none_is_known() -> None:
    for question in EVERY:
        assert knows(question, LIBRARY) == (question.group == "none"), question


def test_passages_brought_for_an_answerable_question_hold_its_answer() -> None:
    rng = random.Random(1)
    for question in QUESTIONS:
        texts = [hop for hop in question.hops if hop.action == "text"]
        if not texts or question.claims:
            continue
        found = LIBRARY.found(question, rng)
        assert all(any(hop.answer in passage for passage in found) for hop in texts), question


def test_passages_brought_for_an_unknowable_question_never_tell_its_attribute_of_its_target() -> None:
    rng = random.Random(2)
    for question in UNKNOWABLE:
        thing = LIBRARY.things.get(question.target or "")
        for passage in LIBRARY.found(question, rng):
            about_target = thing is not None and passage.startswith(f"{thing.name}:")
            assert not about_target or question.gold_attribute not in (thing.facts if thing else {})


def test_rounds_follow_answers_that_queries_need() -> None:
    for question in QUESTIONS:
        rounds = rounds_of(question.hops)
        assert Counter(hop for hops in rounds for hop in hops) == Counter(question.hops)
        assert all(hop.action != "image" for hops in rounds[1:] for hop in hops)
        for hops in rounds:
            assert len({hop.action for hop in hops}) == 1
            if hops[0].action == "text":
                assert not any(one.answer in other.query for one in hops for other in hops if one is not other)


def test_two_things_of_a_picture_are_compared_in_two_rounds() -> None:
    compared = [question for question in QUESTIONS if question.family == "comparison"]
    assert compared
    assert all(len(rounds_of(question.hops)) <= 2 for question in compared)


def test_what_is_calculated_comes_out_as_its_answer() -> None:
    calculated = [question for question in QUESTIONS if question.working]
    assert {question.family for question in calculated} == {"comparison", "calculation"}
    for question in calculated:
        assert worked_out(question.working) == question.answer
    for question in QUESTIONS:
        assert question.written == (question.working or question.answer)
        assert question.working or question.family not in ("comparison", "calculation")


@given(seeds)
@settings(max_examples=8, deadline=None)
def test_a_turn_goes_from_the_question_to_the_answer(seed: int) -> None:
    rng = random.Random(seed)
    lookups = Lookups(LIBRARY, rng)
    walking = [question for question in QUESTIONS if walks(question, LIBRARY)]
    for question in rng.sample(walking, 8):
        known = Known.taught(question, LIBRARY)
        rounds, examples = needed(question, known), lookups.turn(question, 0, known)
        asked = [example.answer for example in examples if example.request.template == "reformulate"]
        gold = ["\n".join(hop.query for hop in hops) for hops in rounds]
        assert len(asked) == len(rounds) + 1
        assert asked[0] == gold[0]
        assert set(asked) <= set(gold)
        for example in examples:
            if example.task == "answer-query" and example.answer != ABSTAIN:
                assert example.answer in "".join(example.request.found)
            if example.task == "answer-rounds":
                assert example.answer == question.written


@given(seeds)
@settings(max_examples=10, deadline=None)
def test_passages_on_makers_people_and_towns_tell_what_is_answered(seed: int) -> None:
    source = TextSource(seed)
    for _ in range(12):
        for example in source.abroad():
            told = " ".join(example.request.found)
            assert example.answer == ABSTAIN or example.answer in told


def test_what_is_known_needs_no_round() -> None:
    for question in QUESTIONS:
        known = Known.taught(question, LIBRARY)
        rounds = needed(question, known)
        assert not (known.answer and rounds)
        assert known.answer or rounds, question
        lookups = [hop for hops in rounds for hop in hops]
        assert not (known.name and any(hop.action == "image" for hop in lookups))


@given(seeds)
@settings(max_examples=8, deadline=None)
def test_an_action_goes_with_its_reformulation(seed: int) -> None:
    rng = random.Random(seed)
    lookups = Lookups(LIBRARY, rng)
    for question in rng.sample(QUESTIONS, 8):
        moment = lookups.moment(question, 0, Known.taught(question, LIBRARY))
        assert moment.asked
        if moment.action == "text":
            queries = {hop.query for hop in question.hops}
            assert set(moment.asked) <= queries
            assert not set(moment.asked) <= set((moment.request.query or "").split("; "))


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_of_two_things_the_right_one_comes_out(seed: int) -> None:
    comparing = Comparing(random.Random(seed))
    for example in (*comparing.told(), *comparing.read(LIBRARY)):
        if example.task == "compare-one":
            (passage,) = (line for line in example.request.found if line.split(":")[0] in example.request.question)
            assert example.answer in passage
            continue
        calculator = Calculator()
        winner, (calculation,) = calculator.feed(example.answer), calculator.calculations
        passages = {line.split(":")[0]: line for line in example.request.found}
        for side in calculation.operands:
            assert re.search(rf"\b{side.number}\b", passages[side.name]), example
            assert side.name in example.request.question
        highest = max(calculation.operands, key=lambda side: int(side.number)).name
        more = re.search(r"newe|more|higher|heavie|longe|taller|wider|dearest", example.request.question) is not None
        assert (winner == highest) == more, example


class _Text:
    """In an encoder's place: characters for tokens."""

    end = 0

    def answer(self, text: str) -> tuple[int, ...]:
        return (*map(ord, text), self.end)


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_a_list_says_of_every_passage_whose_number_it_tells(seed: int) -> None:
    (row,) = Comparing(random.Random(seed)).listed(_Text())  # type: ignore[arg-type]
    told, listed = ("".join(map(chr, part)).strip("\0") for part in (row.prompt, row.answer))
    sides = [side.rsplit(" ", 1) for side in listed.split(", ")]
    assert 3 <= len({name for name, _ in sides}) == len(sides) == told.count(":")
    for name, number in sides:
        assert re.search(rf"\b{name}: [^:]*\b{number}\b", told), (name, number)


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_a_portrait_has_each_claim_that_is_told_once(seed: int) -> None:
    for example in Portraits(random.Random(seed)).read(LIBRARY):
        claims = re.findall(r"[^.]+\.", example.answer)
        name = example.request.found[0].split(":")[0]
        own = " ".join(text for text in (*example.request.seen, *example.request.found) if text.startswith(f"{name}:"))
        assert len(claims) == len(set(claims)) > 0 or example.answer == ABSTAIN
        for claim in claims:
            value = re.split(r" (?:in|by|costs|is) ", claim.rstrip("."))[-1]
            assert value.split()[0] in own, claim


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_sums_come_out(seed: int) -> None:
    calculating = Calculating(random.Random(seed))
    for example in calculating.plain():
        numbers = [int(number) for number in re.findall(r"\d+", example.request.question)]
        count = next((NUMBER_WORDS.index(w) for w in example.request.question.split() if w in NUMBER_WORDS), None)
        assert int(worked_out(example.answer)) == (numbers[0] - numbers[1] if count is None else count * numbers[0])
    for example in calculating.signs():
        (price,) = (int(number) for number in re.findall(r"\d+", example.request.words or ""))
        notes = [int(number) for number in re.findall(r"\d+", example.request.question)]
        count = next((NUMBER_WORDS.index(w) for w in example.request.question.split() if w in NUMBER_WORDS), 0)
        assert worked_out(example.answer) == f"{notes[0] - price if notes else count * price} crowns"


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_sums_of_what_passages_tell_come_out(seed: int) -> None:
    calculating = Calculating(random.Random(seed))
    for example in (*calculating.told(), *calculating.read(LIBRARY)):
        if example.task not in ("calculate-told", "calculate-read"):
            continue
        number, unit = worked_out(example.answer).split()
        facts = {line.split(":")[0]: line for line in example.request.found}
        named = [name for name in facts if re.search(rf"\b{name}\b", example.request.question)]
        pattern = r"\b(19\d\d)\b" if unit == "years" else r"(\d+) crowns"
        values = [int(re.findall(pattern, facts[name])[0]) for name in named]
        count = next((NUMBER_WORDS.index(w) for w in example.request.question.split() if w in NUMBER_WORDS), 0)
        assert int(number) == (abs(values[0] - values[1]) if len(values) == 2 else count * values[0]), example


def test_letters_stand_for_the_policies_labels() -> None:
    assert [label.value for label in Action] == list(ACTIONS) == list(DECISIONS["act"])
    assert [label.value for label in Next] == list(NEXT)
    assert [label.value for label in Entry] == list(DECISIONS["select"]) == list(DECISIONS["select_by_text"])
    assert [label.value for label in Subject] == list(SUBJECTS) == list(DECISIONS["subject"])
    assert [label.value for label in Judgement] == list(JUDGEMENTS) == list(DECISIONS["verifier"])
    assert [label.value for label in Same] == list(DECISIONS["entity"])
    assert [label.value for label in Plan] == list(DECISIONS["planner"]) == list(DECISIONS["tool_router"])


def test_blocks_hold_both_formats_and_conflicts() -> None:
    parts = list(blocks(3_000_000, 5, own=0))
    questions = [question for part, _ in parts for question in part]
    assert {q.conflict.kind for q in questions if q.conflict} >= {"stale", "rumour", "twin"}
    assert any(question.scene.free for question in questions)
    assert not all(question.scene.free for question in questions)
    assert len({question.id for question in questions}) == len(questions)


def test_text_groups_are_the_same_for_the_same_seed() -> None:
    first, second = TextSource(5), TextSource(5)
    assert [first.group() for _ in range(30)] == [second.group() for _ in range(30)]


@given(seeds)
@settings(max_examples=8, deadline=None)
def test_renamed_things_are_called_the_same_throughout_and_taught_ones_keep_their_names(seed: int) -> None:
    rng = random.Random(seed)
    tasks, renaming = GeneratorTasks(LIBRARY, rng), Renaming(LIBRARY, rng)
    own = {thing.name for thing in LIBRARY.world.things if not thing.recognised}
    for question in rng.sample(QUESTIONS, 6):
        examples = tasks.group(question, 0)
        printed = any(set((example.request.words or "").split()) & own for example in examples)
        for before, after in zip(examples, renaming.renamed(examples), strict=True):
            then, now = (_WORD.findall(str((e.request.all_values(), e.answer))) for e in (before, after))
            pairs = set(zip(then, now, strict=True))
            assert printed or all((old == new) == (old not in own) for old, new in pairs)
            assert len({new for _, new in pairs}) == len({old for old, _ in pairs})
