"""Dumps of MediaWiki: the latest revision of each article, in words that say what the page says, or nothing."""

from __future__ import annotations

import gzip
import subprocess
import sys
from html import escape
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quizglass_client.cli.imports.entries import BadLine, GoodLine
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.cli.imports.wiki.article import ArticleReader
from quizglass_client.cli.imports.wiki.dump import read_wiki
from quizglass_client.terminal.usage import UsageError

parser = pytest.importorskip("mwparserfromhell")
ROOT = Path(__file__).parents[4]


def revision(text, number=1, timestamp="2024-06-01T10:00:00Z", more=""):
    return f"<revision><id>{number}</id><timestamp>{timestamp}</timestamp>{more}<text>{escape(text)}</text></revision>"


def page(title, *revisions, number=7, more="<ns>0</ns>"):
    return f"<page><title>{escape(title)}</title>{more}<id>{number}</id>{''.join(revisions)}</page>"


def dump(*pages, about="", language="en"):
    return f'<mediawiki xml:lang="{language}"><siteinfo>{about}</siteinfo>{"".join(pages)}</mediawiki>'


@pytest.fixture
def read(tmp_path):
    """Entries by their titles, refused pages, and what the report says beside them."""

    def read_dump(content):
        path = tmp_path / "d.xml"
        path.write_text(content, encoding="utf-8")
        report = ImportReport()
        lines = list(read_wiki(path, report))
        entries = {line.entry.title: line.entry for line in lines if isinstance(line, GoodLine)}
        return entries, [line for line in lines if isinstance(line, BadLine)], report

    return read_dump


def article(markup):
    return ArticleReader(parser, ["File", "Category"]).read(markup)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_the_latest_revision_counts_whatever_their_order(read, order) -> None:
    three = [revision(f"Text {n}.", 100 - n, f"20{10 + n}-01-01T00:00:00Z") for n in range(3)]
    entries, refused, report = read(dump(page("A", *(three[at] for at in order))))
    assert (entries["A"].text, entries["A"].time, refused) == ("Text 2.", 1_325_376_000, [])
    assert (report.left_out, report.complete) == ({"older revisions": 2}, True)


def test_revisions_of_the_same_second_are_ordered_by_their_number(read) -> None:
    entries, _, _ = read(dump(page("A", revision("New.", 12), revision("Old.", 9))))
    assert entries["A"].text == "New."


def test_a_hidden_revision_gives_way_to_the_one_before(read) -> None:
    hidden = '<revision><id>9</id><timestamp>2025-01-01T00:00:00Z</timestamp><text deleted="deleted"/></revision>'
    entries, refused, _ = read(dump(page("A", revision("There."), hidden), page("B", hidden)))
    assert (entries["A"].text, [line.message for line in refused]) == ("There.", ["B: the dump does not hold its text"])


def test_a_long_history_takes_little_memory_and_ends_nothing(tmp_path) -> None:
    with gzip.open(tmp_path / "d.xml.gz", "wt", compresslevel=1) as file:
        file.write("<mediawiki><page><title>A</title><ns>0</ns><id>1</id>")
        for number in range(400):
            file.write(revision("x" * 1_000_000 + f" {number}", number, f"2024-01-01T00:{number % 60:02}:00Z"))
        file.write("</page>" + page("B", revision("Next.")) + "</mediawiki>")
    code = (
        "import re, sys\nfrom pathlib import Path\nfrom quizglass_client.cli.imports.report import ImportReport\n"
        "from quizglass_client.cli.imports.wiki.dump import read_wiki\n"
        "titles = [line.entry.title for line in read_wiki(Path(sys.argv[1]), ImportReport())]\n"
        "own = re.search(r'VmHWM:\\s*(\\d+)', Path('/proc/self/status').read_text())[1]\n"
        "print(int(own) // 1024, *titles)\n"
    )
    path = str(tmp_path / "d.xml.gz")
    done = subprocess.run([sys.executable, "-c", code, path], cwd=ROOT, capture_output=True, text=True, timeout=300)
    mebibytes, *titles = done.stdout.split()
    assert (titles, int(mebibytes) < 256) == (["A", "B"], True), done.stderr


@pytest.mark.parametrize(
    ("language", "about", "titles"),
    [
        ("en", "", ["Talk:Lamp", "User talk:Lamp", "user_talk:Lamp", "File:Lamp.jpg", "Category:Lamps"]),
        ("de", "", ["Diskussion:Lampe", "Datei:Lampe.jpg", "Kategorie:Lampen", "Talk:Lampe"]),
        ("en", "<sitename>Shop wiki</sitename>", ["Shop wiki:About", "Shop wiki talk:About"]),
        ("xx", '<namespaces><namespace key="1">Parolado</namespace></namespaces>', ["Parolado:Lampo", "Talk:Lampo"]),
    ],
)
def test_of_dumps_without_namespaces_the_titles_say_them(read, language, about, titles) -> None:
    articles = ["Lamp", "Alien: Covenant", "2001: A Space Odyssey"]
    pages = [page(title, revision("Text."), more="") for title in (*articles, *titles)]
    entries, refused, report = read(dump(*pages, about=about, language=language))
    assert (list(entries), refused, report.complete) == (articles, [], True)
    assert report.left_out.total() == len(titles)


def test_pages_in_other_namespaces_are_counted_by_their_names(read) -> None:
    about = '<namespaces><namespace key="1">Diskussion</namespace><namespace key="100">Portal</namespace></namespaces>'
    namespaces = [1, 1, 6, 100, *range(5_000, 5_050)]
    pages = [page(f"x{at}:A", revision("x"), more=f"<ns>{ns}</ns>") for at, ns in enumerate(namespaces)]
    _, _, report = read(dump(*pages, about=about))
    counted = {"pages in Diskussion": 2, "pages in File": 1, "pages in Portal": 1, "pages in other namespaces": 50}
    assert report.left_out == counted


@pytest.mark.parametrize(
    "text",
    ["#REDIRECT [[B]]", "#redirect[[B]]", " #Redirect : [[B#Part]] {{R from move}}", "#WEITERLEITUNG [[B]]",
     "#перенаправление [[B]]", "#転送 [[B]]", "#ATTSTĀT [[B]]\n[[Category:X]]"],
)  # fmt: skip
def test_redirects_that_are_written_as_text_are_left_out(read, text) -> None:
    entries, _, report = read(dump(page("A", revision(text)), page("B", revision("Text."))))
    assert (list(entries), report.left_out, report.complete) == (["B"], {"redirects": 1}, True)


def test_a_list_that_begins_with_a_link_is_no_redirect(read) -> None:
    entries, _, _ = read(dump(page("A", revision("# [[B]]\n# [[C]]")), page("D", revision("#First [[B]] came."))))
    assert {title: entry.text for title, entry in entries.items()} == {"A": "B\n\nC", "D": "First B came."}


@pytest.mark.parametrize("content", ["<rss><channel/></rss>", "<html><body/></html>", "<feed/>"])
def test_other_xml_is_named(read, content) -> None:
    with pytest.raises(UsageError, match=r"d\.xml is no MediaWiki dump"):
        read(content)


def test_pages_whose_text_is_elsewhere_or_no_article_are_refused_by_their_titles(read) -> None:
    stub = '<revision><id>1</id><text bytes="320" /></revision>'
    item = revision("{}", more="<model>wikibase-item</model>")
    entries, refused, _ = read(dump(page("A", stub), page("B", item), page("C"), page("D", revision("x"), number="")))
    assert (entries, [line.message.partition(":")[0] for line in refused]) == ({}, ["A", "B", "C", "D"])
    assert "wikibase-item" in refused[1].message


@pytest.mark.parametrize(
    ("about", "id"),
    [
        ("", "wiki/7"),
        ("<base>https://w.example:8080/wiki/Main_Page</base>", "wiki/w.example:8080/7"),
        ("<dbname>enwiki</dbname><base>https://en.w.example/wiki/Main_Page</base>", "wiki/enwiki/7"),
        ("<dbname>../a b/é</dbname>", "wiki/..-a-b/7"),
        ("<base>no address</base>", "wiki/7"),
    ],
)
def test_pages_of_several_wikis_have_ids_of_their_own(read, about, id) -> None:
    entries, _, _ = read(dump(page("A", revision("x")), about=about))
    assert entries["A"].id == id


def test_addresses_are_whole_or_not_there(read) -> None:
    about = "<base>https://w.example/wiki/Main_Page</base>"
    titles = ["Velmora (car)", "考" * 80]
    entries, _, _ = read(dump(*(page(title, revision("x")) for title in titles), about=about))
    assert [entries[title].source for title in titles] == [
        "https://w.example/wiki/Velmora_%28car%29",
        f"https://w.example/wiki/{'考' * 80}",
    ]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("{{convert|324|m|ft}}", "324 m"),
        ("{{cvt|3|to|5|km|mi|abbr=on}}", "3 to 5 km"),
        ("{{Convert|3|-|5|sqmi}}", "3–5 sq mi"),
        ("{{convert|6|ft|2|in|cm|0}}", "6 ft 2 in"),
        ("{{convert|20|x|30|cm2}}", "20 × 30 cm²"),
        ("{{convert|21|C|F}}", "21 °C"),
        ("{{convert|7.8|e6km2|e6sqmi}}", "7.8 million km²"),
        ("{{formatnum:4500000}}", "4500000"),
        ("{{formatnum:{{nts|4500}}}}", "4500"),
        ("{{date|1931-05-01|mdy}}", "1931-05-01"),
        ("{{start date|1931|5|1|df=y}}", "1931-05-01"),
        ("{{Start date and age|1931|5}}", "1931-05"),
        ("{{birth date and age|df=yes|1931|5|1}}", "1931-05-01"),
        ("{{death date and age|2001|2|3|1931|5|1}}", "2001-02-03"),
        ("{{date|1|mai|1931}}", "1 mai 1931"),
        ("{{nowrap|Olm & Sons}}", "Olm & Sons"),
        ("{{nowrap|{{convert|5|km}} away}}", "5 km away"),
        ("{{ubl|A|B}}", "A, B"),
        ("{{hlist|A|[[B|C]]|}}", "A, C"),
        ("{{lang|fr|tour}}", "tour"),
        ("{{lang-fr|tour}}", "tour"),
        ("{{transliteration|ru|bashnya}}", "bashnya"),
        ("{{frac|1|2}}", "1/2"),
        ("{{frac|3|1|2}}", "3 1/2"),
        ("{{val|1.5|0.2|e=6|u=kg}}", "1.5±0.2×10^6 kg"),
        ("{{circa|1931}}", "c. 1931"),
        ("{{circa}}", "c."),
        ("{{as of|2020|5|lc=y}}", "as of 2020-05"),
        ("5{{nbsp}}m", "5 m"),
        ("{{US$|4.5 million}}", "US$4.5 million"),
        ("{{€|5}} or {{GBP|4}}", "€5 or £4"),
        ("H{{sub|2}}O", "H2O"),
        ("{{chem|H|2|O}}", "H2O"),
        ("{{coord|51|30|26|N|0|7|39|W|type:city}}", "51°30′26″N 0°7′39″W"),
        ("{{coord|51.5|-0.12}}", "51.5, -0.12"),
        ("{{height|ft=6|in=2}}", "6 ft 2 in"),
        ("{{unité|324|m}}", "324 m"),
        ("{{gaps|1|000|000}}", "1000000"),
        ("{{currency|5|NOK}}", "NOK 5"),
        ("1990{{ndash}}95", "1990–95"),
        ("{{ill|Olm and Sons|de}}", "Olm and Sons"),
        ("{{flag|Norway}}", "Norway"),
        ("{{nowrap|1=a=b}}", "a=b"),
        ("{{small|'''bold''' [[link]]}}", "bold link"),
    ],
)
def test_what_known_templates_show_is_in_texts_and_facts(markup, text) -> None:
    read = article(f"{{{{Infobox tower\n| fact = {markup}\n}}}}\nIt has {markup} there.")
    assert (read.attributes, read.text, read.cuts) == ({"fact": text}, f"It has {text} there.", [])


@pytest.mark.parametrize(
    "markup",
    ["{{age|1931|5|1}}", "{{#expr:1+1}}", "{{convert|many|m}}", "{{date}}", "<math>x^2</math>", "{{unheard of|5}}",
     "{{nowrap|{{unheard of|5}} m}}", "${{unheard of}}", "{{frac|1|2|3|4}}"],
)  # fmt: skip
def test_what_is_not_known_takes_its_sentence_along_and_is_named(markup) -> None:
    read = article(
        f"{{{{Infobox tower|fact={markup}|floors=81}}}}\n"
        f"First by Dr. Holm, c. 1931. It cost {markup} crowns of No. 5 then. Last.\n\nNext."
    )
    assert (read.attributes, read.text) == ({"floors": "81"}, "First by Dr. Holm, c. 1931. Last.\n\nNext.")
    assert [place for place, _ in read.cuts][:1] == ["fact"]
    assert len(read.cuts) == 2


def test_the_names_of_templates_that_took_sentences_are_said() -> None:
    read = article("{{navbox}}\nIt is {{age|1931}} old. So {{#if:x|y}} it is.")
    assert (read.text, [place for place, _ in read.cuts]) == ("", ["{{age}}, {{#if:x}}"])
    assert read.left_out == {"templates that stand alone": 1}


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("{{Short description|x}}{{good article}}'''It''' is.", "It is."),
        ("It is{{citation needed|date=May}}.{{sfn|Olm|1931}} So.", "It is. So."),
        ("It is.{{unheard of}} So.", "It is. So."),
        ("It is.{{sfn|Olm}} So.<ref>x</ref> At {{unheard of}} it was.{{efn|y}} Then.", "It is. So. Then."),
        ("Paris ({{IPAc-en|p}}; French: {{lang|fr|Paris}}) is.", "Paris (French: Paris) is."),
        ("Paris ({{IPA-fr|paʁi}}) is. Call main() or f( ).", "Paris is. Call main() or f( )."),
        ("{{Use dmy dates}}\n{{main|B}}\nIt is.\n{{navbox|5}}", "It is."),
        ("One<br/>two<br>three", "One\n\ntwo\n\nthree"),
        ("* a\n* b", "a\n\nb"),
        ("It is.\n[[de:Turm]]\n[[Category:Towers]]\n[[File:a.jpg|thumb|A {{convert|3|m}} b]]", "It is."),
        ("It is.<ref>{{cite web|url=x}}</ref> So<ref name=a /> it is.", "It is. So it is."),
        ("__NOTOC__ It is.", "It is."),
        ("これは{{unheard of}}です。次。", "次。"),
    ],
)
def test_what_is_no_part_of_a_text_goes_without_a_trace(markup, text) -> None:
    assert article(markup).text == text


def test_lists_and_breaks_in_facts_are_lists() -> None:
    read = article(
        "{{Infobox <!-- short --> tower\n| by = A<br/>B<br />{{small|C}}\n| of = {{plainlist|\n* steel\n* glass\n}}\n"
        "| in = \n* x\n* y\n| <!-- old --> at = {{coord|1|2}}<ref>z</ref>\n}}"
    )
    assert read.kind == "tower"
    assert read.attributes == {"by": "A, B, C", "of": "steel, glass", "in": "x, y", "at": "1, 2"}


def test_what_has_no_room_is_named(read) -> None:
    facts = "".join(f"|f{number}={number}" for number in range(201))
    markup = f"{{{{Infobox a|long={'x' * 501}{facts}}}}}{{{{Infobox b|other=1}}}}\n{'word ' * 45_000}"
    entries, _, report = read(dump(page("A", revision(markup))))
    assert (len(entries["A"].attributes), len(entries["A"].text), report.complete) == (200, 200_000, False)
    said = " ".join(report.lines())
    for why in (
        "A: long: cut: facts of more than 500",
        "A: f200: cut: facts after",
        "infoboxes after",
        "texts are cut",
    ):
        assert why in said


def test_a_dump_that_breaks_off_is_read_so_far(read) -> None:
    whole = dump(page("A", revision("x")), page("B", revision("y")))
    entries, refused, _ = read(whole[: whole.index("<title>B")])
    assert (list(entries), [line.line for line in refused]) == (["A"], [2])


_PIECES = (
    *("{{", "}}", "|", "[[", "]]", "nowrap", "convert", "5", "m", "unheard", "It is.", " So ", "\n", "<br>", "<ref>"),
    *("</ref>", "{|", "|}", "=", "''", "*", "<math>", "</math>", "\ud7ff", "\ue000", "&lt;", "("),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=30).map("".join))
def test_any_markup_at_all_is_read(markup) -> None:
    read = article(markup)
    said = read.text + "".join(read.attributes.values())
    assert said.encode().decode() == said  # what stood for something else is gone
    assert not set(said) & set("\0\1\2")


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 9_999), st.sampled_from(["{{convert|%d|m}}", "{{formatnum:%d}}", "{{nowrap|%d}}"])),
        min_size=1,
        max_size=6,
    )
)
def test_numbers_in_known_templates_are_kept_wherever_they_stand(drawn) -> None:
    said = " and ".join(template % number for number, template in drawn)
    read = article(f"{{{{Infobox a|fact={said}}}}}\nIt has {said}.")
    for number, _ in drawn:
        assert str(number) in read.text
        assert str(number) in read.attributes["fact"]
