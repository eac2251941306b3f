"""What a template of a stranger can cost: little, whatever it says; and which part of it is refused, by its name."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quizglass_bundle.inputs.prompts import EXAMPLE, PromptError, PromptTemplate, SegmentKind, load_template
from quizglass_bundle.inputs.template_sandbox import MOST_SOURCE, MOST_WORK

LONG = "a" * 30_000
NESTED = "{% for a in range(1000) %}" * 3 + "{% endfor %}" * 3
HOSTILE = [
    ("{{ 'a' * 10000000000 }}", r"\* is for numbers"),
    ("{{ 9 ** 9 ** 9 }}", "pow is not allowed"),
    ("{{ 999999 * 999999 * 999999 }}", "a number is larger"),
    ("{{ '%1000000000s' % 'a' }}", "% is for numbers"),
    ("{{ '{:>1000000000}'.format('a') }}", "calls are not allowed"),
    ("{{ 'a'.ljust(1000000000) }}", "calls are not allowed"),
    ("{{ lipsum(1000000) }}", "calls are not allowed"),
    ("{{ 'a' | center(1000000000) }}", "there is no filter 'center'"),
    ("{{ 'a' | indent(1000000000) }}", "there is no filter 'indent'"),
    ("{{ 1 | round(1000000000) }}", "there is no filter 'round'"),
    ("{{ found | map('center', 1000000000) | join }}", "there is no filter 'map'"),
    (NESTED, "repeats more than"),
    ("{% for a in range(1000000000) %}{% endfor %}", "a range has more than"),
    ("{% for a in [1] recursive %}{{ loop([1, 2]) }}{% endfor %}", "recursive"),
    ("{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}", "macro is not allowed"),
    ("{% set a %}{{ question }}{% endset %}", "assignblock is not allowed"),
    ("{% set a = question %}" + "{% set a = a ~ a %}" * 60, "writes or repeats more than"),
    ("{% set n = namespace(a=1) %}", "calls are not allowed"),
    ("{% set a = '" + LONG + "' %}" + "{{ a }}" * 3000, "writes or repeats more than"),
    ("{{ range(1000) | join('" + LONG + "') }}", "writes or repeats more than"),
    ("{% for a in found %}" + LONG + "{% endfor %}" * 1, None),
    ("{% for a in range(1000) %}" + LONG + "{% endfor %}", "repeats more than"),
    ("{% set a = question %}{{ [a, a, a] }}", "a list that is written out"),
    ("{{ found }}", "a list cannot be shown"),
    ("{{ [1, 2] | upper }}", "upper takes a text"),
    ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "nested too deeply"),
    ("{{" + " not" * 9000 + " 1 }}", "nested too deeply"),
    ("{% for a in found %}" * 100 + "{% endfor %}" * 100, "levels of indentation"),
    ("a" * (MOST_SOURCE + 1), "longer than 65,536 characters"),
    ("{% include 'other' %}", "include is not allowed"),
]


@pytest.mark.parametrize(("text", "reason"), HOSTILE)
def test_what_would_take_all_memory_or_never_end_is_refused_by_name(
    tmp_path: Path, text: str, reason: str | None
) -> None:
    (tmp_path / "plan.jinja").write_text(text)
    if reason is None:
        load_template(tmp_path / "plan.jinja", sees=True)
        return
    with pytest.raises(PromptError, match=rf"(?s)prompt template plan\.jinja: .*{reason}"):
        load_template(tmp_path / "plan.jinja", sees=True)


def test_what_prompts_are_made_of_is_there() -> None:
    text = (
        "{% for each in history if each.answer %}{{ loop.index + 1 }}. {{ each['question'] }}{% if not loop.last %}, "
        "{% endif %}{% endfor %}{% set last = found[1:] | last | default('nothing') %} {{ last }} "
        "{{ found | length }} {{ 'yes' if domain in ['a', 'b'] else 'no' }} {{ tags | join(', ') }} "
        "{{ 'A' ~ 'b' | upper }} {{ range(3) | join }} {{ loop is defined }}"
    )
    told = {**EXAMPLE, "history": [{"question": "who", "answer": "her"}] * 2, "found": ["x", "y"], "tags": ["t", "u"]}
    prompt = PromptTemplate(text, "t").render(**told)
    assert "".join(segment.text for segment in prompt) == "2. who, 3. who y 2 no t, u AB 012 False"


PIECE = st.sampled_from(
    (
        *("{{ question }}", "{{ x }}", "{{ x ~ x }}", "{{ found | join(x) }}", "{{ loop.index }}", "text ", LONG[:500]),
        *("{% set x = question %}", "{% set x = x ~ x ~ 'b' %}", "{% set x = x | upper %}", "{{ images[0] }}"),
        *("{{ 'a' * 99999999 }}", "{{ x + x }}", "{{ x.join(found) }}", "{{ found + found }}", "{{ 99999 * 99999 }}"),
    )
)
OPENING = st.sampled_from(
    ("{% for x in found %}", "{% for x in range(1000) %}", "{% for x in x %}", "{% for x in [1, 'b'] if x %}")
)


@given(
    st.recursive(
        PIECE,
        lambda inner: (
            st.lists(inner, max_size=5).map("".join)
            | st.tuples(OPENING, inner).map(lambda pair: f"{pair[0]}{pair[1]}{{% endfor %}}")
            | inner.map(lambda text: f"{{% if x is defined %}}{text}{{% endif %}}")
        ),
        max_leaves=40,
    )
)
@settings(max_examples=300, deadline=None)
def test_no_template_writes_more_than_its_bound(text: str) -> None:
    try:
        prompt = PromptTemplate("{% set x = question %}" + text, "t").render(
            pictures=1, question="who " * 500, found=["a " * 500] * 30
        )
    except PromptError:
        return
    own = sum(len(segment.text) for segment in prompt if segment.kind is SegmentKind.TEXT)
    assert own <= MOST_WORK + MOST_SOURCE
