"""What follows from a sentence, and what looks like it and does not: order, parts, numbers, voices and pronouns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.values import Origin, VerdictOutcome
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.language.lexemes import lexemes
from quizglass_server.steps.verify import verify

FOLLOWS = [
    ("Brenn", "It was built on May 14, 1903.", "It was built on 14 May 1903."),
    ("Lighthouse", "Ana Brint designed the tower in 1871.", "The tower was designed by Ana Brint in 1871."),
    ("Lighthouse", "It was painted by Ana Brint.", "Ana Brint painted it."),
    ("Lighthouse", "It was painted by Ana Brint.", "Ana Brint painted the lighthouse."),
    ("Lighthouse", "Storms destroyed the first lamp.", "The first lamp was destroyed."),
    ("Heron", "The heron waits in shallow water and catches fish.", "In shallow water the heron waits."),
    ("Heron", "Since 1910 the heron has bred in Brenn.", "The heron has bred in Brenn since 1910."),
    ("Heron", "It came to Brenn from Tandric.", "It came from Tandric to Brenn."),
    ("Heron", "The heron is the tallest bird of Brenn.", "The tallest bird of Brenn is the heron."),
    ("Heron", "Its long, grey neck bends.", "Its neck is grey."),
    ("Heron", "Its grey neck bends.", "The heron's neck is grey."),
    ("Heron", "It eats the eggs of ducks.", "It eats duck eggs."),
    ("Heron", "It usually nests in trees.", "It nests usually in trees."),
    ("Brenn", "Ana Brint was an architect who built Brenn.", "The architect Ana Brint built Brenn."),
    ("Brenn", "Frogs, newts and toads live here.", "Toads and newts live here."),
    ("Brenn", "Frogs, newts and toads live here.", "Newts, toads and frogs live here."),
    ("Brenn", "The clock gets its power from water.", "Water gives the clock its power."),
    ("Shrew", "The shrew lives in Brenn and eats insects.", "It eats insects."),
    ("Brenn", "It is open on Mondays and Tuesdays, closed on Fridays.", "It is closed on Fridays."),
    ("Piano", "Bought in 2019 for 300 euros, repaired in 2021 for 90 euros.", "It was repaired in 2021."),
    ("Shrew", "It sleeps in caves. It drinks nectar.", "It sleeps in caves and drinks nectar."),
    ("Brenn", "The north gate has one tower, while the south gate has two.", "The south gate has two towers."),
    (
        "Bridge",
        "It can carry 1,500 kg at up to 30 km/h.",
        "It can carry 1500 kilograms at up to 30 kilometres per hour.",
    ),
    (
        "Bridge",
        "It covers 0.5 square kilometres and opened on 3 May 1950.",
        "It covers 0.5 km² and opened on May 3, 1950.",
    ),
    ("Bridge", "It cost two and lasted one hundred and five days.", "It lasted 105 days."),
    ("Bridge", "About 2.5 million people cross it.", "About 2 500 000 people cross it."),
    ("Bridge", "It costs 5 euros and one third pay 20 percent.", "It costs €5 and 1/3 pay 20%."),
    ("Bridge", "It is 2\u00bd metres wide.", "It is 2 1/2 metres wide."),
    ("Bridge", "It is 2.5 metres wide, and \u00be full.", "It is 2\u00bd metres wide, and 3/4 full."),
    ("Bridge", "It carries 10\u201312 cars.", "It carries 10 to 12 cars."),
    ("Bridge", "It rose from 10 to 12 metres.", "It rose to 12 metres."),
    ("Bridge", "Ana Brint built it in the 1970s.", "In the 1970s Ana Brint built it."),
    ("Bridge", "It was replaced by the 1970s.", "By the 1970s it was replaced."),
    ("Bridge", "In winter it reaches -12 °C.", "In winter it reaches -12 °C."),
]

DOES_NOT_FOLLOW = [
    ("Owl", "The owl hunts the mouse.", "The mouse hunts the owl."),
    ("Owl", "The owl hunts the mouse.", "The owl is hunted by the mouse."),
    ("Owl", "The owl hunts the mouse.", "The owl is hunted."),
    ("Owl", "The owl was hunted by farmers.", "The owl hunted farmers."),
    ("Owl", "The owl was hunted.", "The owl hunts."),
    ("Owl", "Farmers hunted it.", "It hunted farmers."),
    ("Owl", "Its feathers are white and its eyes are yellow.", "Its eyes are white and its feathers are yellow."),
    ("Owl", "The owl has a white face with a dark ring.", "The owl has a dark face with a white ring."),
    ("Owl", "Its wing is 30 cm long.", "The owl is 30 cm long."),
    ("Owl", "Its wing is 30 cm long.", "It is 30 cm long."),
    ("Owl", "The owl has red eyes.", "The owl is red."),
    ("Owl", "Males hoot, and females screech.", "Females hoot, and males screech."),
    ("Owl", "It is the second largest owl.", "It is the largest owl."),
    ("Owl", "It is nearly extinct.", "It is extinct."),
    ("Owl", "It lives up to 20 years.", "It lives 20 years."),
    ("Owl", "It weighs less than 2 kg.", "It weighs 2 kg."),
    ("Owl", "The owl is larger than the crow.", "The crow is larger than the owl."),
    ("Ring", "Brass is made of copper and zinc. Bronze is made of copper and tin.", "Brass is made of copper and tin."),
    ("Ring", "Brass is copper and zinc, and bronze is copper and tin.", "Brass is copper and tin."),
    ("Ana Brint", "She won the race in 1903 and the medal in 1911.", "In 1911 she won the race."),
    ("Ana Brint", "She won the race in 1903 and was honoured in 1911.", "She won the race, in 1911."),
    ("Ana Brint", "She was born in Brenn and died in Tandric.", "She was born in Tandric and died in Brenn."),
    ("Ana Brint", "Ole Hask followed her.", "She followed Ole Hask."),
    ("Ana Brint", "She taught Ole Hask's daughter.", "Ole Hask taught Ana Brint's daughter."),
    ("Ana Brint", "The brother of Ana Brint flew to Brenn.", "Ana Brint flew to Brenn."),
    ("Brenn", "The king of Brenn met the queen of Tandric.", "The king of Tandric met the queen of Brenn."),
    ("Brenn", "It came to Brenn from Tandric.", "It came to Tandric from Brenn."),
    ("Brenn", "One church has two towers and three bells.", "One church has three towers and two bells."),
    ("Brenn", "Tandric is colder because Brenn is sheltered.", "Brenn is colder because Tandric is sheltered."),
    ("Brenn", "In winter it reaches -12 °C.", "In winter it reaches 12 °C."),
    ("Brenn", "About 60 percent of the houses are empty.", "The houses are empty."),
    ("Brenn", "It reaches 12 °C.", "It reaches -12 °C."),
    ("Brenn", "Five million people live here.", "Five people live here."),
    ("Brenn", "It has 5 million people.", "It has 5"),
    ("Brenn", "It has 5 million people.", "5"),
    ("Brenn", "It has 5 million people.", "It has a population of 5"),
    ("Brenn", "One third of it burned.", "one"),
    ("Brenn", "It was built in the 1970s.", "It was built in 1970."),
    ("Brenn", "It was built in 1970.", "It was built in the 1970s."),
    ("Brenn", "It is 10 to 12 metres deep.", "It is 10 metres deep."),
    ("Brenn", "It is 10 to 12 metres deep.", "It is 12 metres deep."),
    ("Brenn", "It is 10\u201312 metres deep.", "It is 12 metres deep."),
    ("Brenn", "It is 2\u00bd metres deep.", "It is 2 metres deep."),
    ("Brenn", "It is 2 \u00bd metres deep.", "It is 2 metres deep."),
    ("Brenn", "It is 2 1/2 metres deep.", "It is 2 metres deep."),
    ("Brenn", "It is probably deserted.", "It is deserted."),
    ("Brenn", "It was built on 14 March 1903.", "It was built on 14 May 1903."),
    ("Brenn", "It closes in September.", "It closes in May."),
    ("Brenn", "Frogs, newts and toads live here.", "Toads and fish live here."),
    ("Brenn", "Frogs, newts and toads live here.", "Newts eat toads."),
    ("Brenn", "Frogs and newts eat flies, and toads eat worms.", "Newts and toads eat flies."),
    ("Brenn", "Ana plays the cello, Bo and Ole play the harp.", "Bo and Ana play the cello."),
    ("Brenn", "Ana plays the cello, Bo and Ole play the harp.", "Ana plays the harp."),
    ("Brenn", "Ana beat Bo and Ole.", "Ole and Ana beat Bo."),
    ("Brenn", "It is open on Mondays and Tuesdays, closed on Fridays.", "It is open on Fridays."),
    ("Brenn", "Open on Mondays, shut on Fridays.", "It is open on Fridays."),
    ("Brenn", "Paper goes out on Mondays, glass on Thursdays.", "Paper goes out on Thursdays."),
    ("Piano", "Bought in 2019 for 300 euros, repaired in 2021 for 90 euros.", "It was repaired for 300 euros."),
    ("Piano", "Bought in 2019 for 300 euros, repaired in 2021 for 90 euros.", "It was bought in 2021."),
    ("Brenn", "Two toads died. Newts live here.", "Toads and newts live here."),
    ("Shrew", "The shrew lives in Brenn and eats insects.", "It lives in insects."),
    ("Shrew", "They sleep in caves and drink nectar.", "They sleep in nectar."),
    ("Brenn", "It was painted by Otto.", "It was painted by Will."),
]  # fmt: skip

NOUNS = ("fox", "hen", "wolf", "crab", "toad", "moth", "hawk", "mole")
VERBS = (("chases", "chased"), ("eats", "eaten"), ("follows", "followed"), ("catches", "caught"), ("kills", "killed"))


def stated(title: str, text: str, answer: str) -> bool:
    shown = Evidence("1", Origin.TEXT_SEARCH, "e", title, text, used=True)
    return verify(answer, [shown]).outcome is VerdictOutcome.SUPPORTED


@pytest.mark.parametrize(("title", "text", "answer"), FOLLOWS)
def test_the_same_in_another_order_or_form_follows(title: str, text: str, answer: str) -> None:
    assert stated(title, text, answer)


@pytest.mark.parametrize(("title", "text", "answer"), DOES_NOT_FOLLOW)
def test_exchanged_parts_never_follow(title: str, text: str, answer: str) -> None:
    assert not stated(title, text, answer)


@given(
    st.sampled_from(NOUNS),
    st.sampled_from(NOUNS),
    st.sampled_from(VERBS),
    st.sampled_from(NOUNS),
    st.sampled_from(("", " in 1903")),
)
def test_who_does_what_to_whom_stays(one: str, other: str, verb: tuple[str, str], title: str, when: str) -> None:
    if one == other:
        return
    active, passive = f"The {one} {verb[0]} the {other}{when}.", f"The {other} is {verb[1]} by the {one}{when}."
    turned, turned_passive = f"The {other} {verb[0]} the {one}{when}.", f"The {one} is {verb[1]} by the {other}{when}."
    for text in (active, passive):
        assert [stated(title, text, answer) for answer in (active, passive)] == [True, True]
        assert [stated(title, text, answer) for answer in (turned, turned_passive)] == [False, False]


@given(st.integers(0, 10**12))
def test_thousands_are_separated_in_any_way(number: int) -> None:
    ways = {
        lexemes(f"{number:,}".replace(",", separator))[0].meaning for separator in (",", "", " ", "\u00a0", "\u202f")
    }
    assert ways == {str(number)}


@given(st.text(max_size=120), st.text(max_size=120))
def test_any_text_is_read(text: str, answer: str) -> None:
    stated("a", text, answer)


def test_many_equal_words_are_compared_in_few_steps() -> None:
    assert not stated("a", "b the c " * 60, "c the b " * 61)
