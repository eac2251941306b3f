"""Answers for ears and small displays: what is said, what fits, and what never reaches a display."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import width

from quizglass.session import Markup, OutputProfile, SegmentState, Speech
from quizglass.values import AnswerDelta, Done, FinishReason, Provisional, Verdict, VerdictOutcome, Withdrawn
from quizglass_server.errors import InvalidInput
from quizglass_server.session.conversation import Said
from quizglass_server.session.output.pages import pages
from quizglass_server.session.output.plain import without_markup
from quizglass_server.session.output.profile import Shape, check
from quizglass_server.session.output.spoken import spoken
from quizglass_server.session.segments import Segmenter, cleaned

STEERING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\x1b\x07\x85"
TEXTS = st.text(
    st.one_of(st.sampled_from("ab 123.,%€*_`#-\n中👩\u200d\u0301ᄀ" + STEERING), st.characters()), max_size=80
)
PROFILES = st.builds(
    OutputProfile,
    max_segment_chars=st.sampled_from([0, 20, 60]),
    max_words=st.sampled_from([0, 5, 12]),
    max_lines=st.sampled_from([0, 1, 3]),
    max_columns=st.integers(8, 40),
    markup=st.sampled_from(Markup),
    speech=st.sampled_from(Speech),
)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("It is 3.5 km away, e.g. at 10:30.", "It is three point five kilometres away, for example at ten thirty."),
        ("$5.20 or €1, 50 % off", "five dollars and twenty cents or one euro, fifty percent off"),
        ("-3 °C and 1 m, 5km", "minus three degrees Celsius and one metre, five kilometres"),
        ("Built in 1990 for 2,345.", "Built in nineteen ninety for two thousand three hundred and forty-five."),
        ("the 3rd of 5–7", "the third of five to seven"),
        ("007", "zero zero seven"),
        ("Dr. Ada at 9:05 and 9:00", "Doctor Ada at nine oh five and nine o'clock"),
        ("version 1.2.3, B12, 2024-05-01 and 1/2", "version 1.2.3, B12, 2024-05-01 and 1/2"),
    ],
)
def test_what_is_hard_to_say_is_written_as_it_is_said(written, said):
    assert spoken(written) == said


@given(st.text(st.one_of(st.sampled_from("0123456789.,:-–/$€%°C kmgstndrh"), st.characters()), max_size=40))
def test_what_is_said_is_not_changed_when_it_is_said_again(text):
    assert spoken(spoken(text)) == spoken(text)


def test_marks_of_markdown_leave_their_words():
    text = "# Hall\n- **two** [doors](http://x.example)\n- `A1`\n\n5 * 3 **open"
    assert without_markup(text) == "Hall two doors A1 5 * 3 open"


@given(TEXTS, st.integers(0, 4), st.integers(8, 40))
def test_pages_are_the_text_and_fit_the_display(text, lines, columns):
    text = " ".join(text.split())
    shown = pages(text, lines, columns)
    assert "".join(each for each, _ in shown) == text
    for _, page in shown:
        assert not lines or len(page) <= lines
        assert all(width(line) <= columns for line in page)


def test_a_grapheme_is_never_parted():
    family = "👨\u200d👩\u200d👧"
    assert [lines for _, lines in pages(family * 5, 1, 8)] == [(family * 4,), (family,)]


@given(st.lists(TEXTS, max_size=6), PROFILES, st.booleans())
def test_segments_keep_to_their_profile_whatever_is_written(pieces, profile, led_in):
    segmenter = Segmenter(Shape(profile), profile.max_words)
    segments = [*segmenter.lead_in("One moment.")] if led_in else []
    for piece in pieces:
        segments += segmenter.take(cleaned(AnswerDelta(piece), lines=True))
    segments += segmenter.take(cleaned(Done("".join(pieces).strip(), FinishReason.COMPLETE), lines=True))
    assert [each.index for each in segments] == list(range(len(segments)))
    answer = [each for each in segments if not each.lead_in]
    for each in segments:
        assert each.state is SegmentState.CONFIRMED
        assert len(each.text) <= (profile.max_segment_chars or 240)
        assert all(width(line) <= profile.max_columns for line in each.lines)
        assert not profile.max_lines or len(each.lines) <= profile.max_lines
        for text in (each.text, *each.lines):
            assert not any(unicodedata.category(c) == "Cc" for c in text)
            assert not set(text) & set(STEERING)
    assert not profile.max_words or len("".join(each.text for each in answer).split()) <= profile.max_words


def test_an_answer_ends_at_the_last_sentence_that_fits_and_keeps_the_rest():
    segmenter = Segmenter(Shape(OutputProfile()), 5)
    segments = segmenter.take(AnswerDelta("One two three. Four five six. Seven. "))
    segments += segmenter.take(Done("One two three. Four five six. Seven.", FinishReason.COMPLETE))
    assert [each.text for each in segments] == ["One two three."]
    assert segmenter.unconfirmed.strip() == "Four five six. Seven."
    segmenter = Segmenter(Shape(OutputProfile()), 5)
    (segment,) = segmenter.take(Done("One two three four five six.", FinishReason.COMPLETE))
    assert (segment.text, segmenter.unconfirmed) == ("One two three four five", " six.")


def test_a_draft_that_was_taken_back_leaves_its_words_to_the_answer():
    segmenter = Segmenter(Shape(OutputProfile()), 5)
    segmenter.take(Provisional("One two three four five. Six."))
    segmenter.take(AnswerDelta("Seven eight nine. "))
    (retracted, confirmed) = segmenter.take(Withdrawn())
    assert (retracted.state, confirmed.text) == (SegmentState.RETRACTED, "Seven eight nine.")
    assert segmenter.unconfirmed == " "


def test_a_lead_in_comes_before_an_answer_or_not_at_all():
    segmenter = Segmenter(Shape(OutputProfile()))
    (lead_in,) = segmenter.lead_in("One moment.")
    assert (lead_in.index, lead_in.lead_in, lead_in.state) == (0, True, SegmentState.CONFIRMED)
    (segment,) = segmenter.take(Done("It is red.", FinishReason.COMPLETE))
    assert (segment.index, segment.text, segment.lead_in) == (1, "It is red.", False)
    assert segmenter.lead_in("One moment.") == ()


@pytest.mark.parametrize(
    ("profile", "field"),
    [
        (OutputProfile(max_words=4), "open.output.max_words"),
        (OutputProfile(max_columns=7), "open.output.max_columns"),
        (OutputProfile(max_lines=2), "open.output.max_columns"),
        (OutputProfile(max_lines=101, max_columns=20), "open.output.max_lines"),
        (OutputProfile(lead_in_after=31.0), "open.output.lead_in_after_us"),
        (OutputProfile(lead_in="x" * 81), "open.output.lead_in"),
    ],
)
def test_a_profile_that_cannot_be_met_is_refused_by_its_field(profile, field):
    with pytest.raises(InvalidInput) as refused:
        check(profile, "open.output")
    assert refused.value.field == field


DISPUTED = Verdict(VerdictOutcome.SUPPORTED, 0.5, 0.5, {"disputed": "98 crowns [2]"})


@pytest.mark.parametrize(
    ("verdict", "doubt"),
    [
        (Verdict(VerdictOutcome.UNSUPPORTED, 0.5, 0.5), " But nothing I found confirms that."),
        (DISPUTED, " But other sources say otherwise."),
    ],
)
def test_a_doubtful_answer_is_followed_by_its_doubt_however_many_words_it_may_have(verdict, doubt):
    segmenter = Segmenter(Shape(OutputProfile(max_words=5)), 5)
    segments = [*segmenter.take(AnswerDelta("It is safe for all cats.")), *segmenter.take(verdict)]
    segments += segmenter.take(Done("It is safe for all cats.", FinishReason.COMPLETE))
    assert [(each.text, each.doubt, each.state) for each in segments] == [
        ("It is safe for all", False, SegmentState.CONFIRMED),
        (doubt, True, SegmentState.CONFIRMED),
    ]
    assert segmenter.confirmed == segments
    said = Said("ask", "Is it safe?", segments)
    assert (said.heard, said.unheard) == ("It is safe for all", "")


@pytest.mark.parametrize("outcome", [VerdictOutcome.SUPPORTED, VerdictOutcome.UNCHECKED, VerdictOutcome.ABSTAINED])
def test_no_other_answer_is_doubted(outcome):
    segmenter = Segmenter(Shape(OutputProfile()))
    segmenter.take(Verdict(outcome, 0.5, 0.5))
    assert [each.doubt for each in segmenter.take(Done("It is red.", FinishReason.COMPLETE))] == [False]
