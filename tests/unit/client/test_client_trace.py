"""What a trace's files hold, and that no text can make a page do or load anything."""

from __future__ import annotations

import io
import json
import re
import stat
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from quizglass.values import Accepted, Evidence, EvidenceFound, LedgerEntry, Region, StepDetail, Verdict
from quizglass_client.trace.crops import MOST_CROPS, Crops
from quizglass_client.trace.record import Trace
from quizglass_client.types import Event
from tests.support.explained_turns import DONE, LEFT, PRICE, RIGHT, STEPS, step, told, whole_turn

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=https://evil.example/x onerror=alert(1)>',
    "' onmouseover='alert(1)' style='background:url(//evil.example)",
    "</style></summary></details><iframe src=javascript:alert(1)>",
    "<!--",
    "]]>",
    "&lt;b&gt; &amp; &#x3c;script&#x3e;",
    "\u202egnp.exe\u202c \u2066x\u2069 \u200fmark",
    "{{7*7}} ${x} `x`",
    "<meta http-equiv=refresh content='0;url=//evil.example'><base href=//evil.example>",
)
ALLOWED = set(
    """html head meta title style body a header h1 h2 h3 img p bdi dl dt dd main details summary span svg rect div
    figure figcaption mark strong section table thead tbody tr th td""".split()  # noqa: SIM905
)


class Reader(HTMLParser):
    """Tags with their attributes, and all text outside of the style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.style = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in ("meta", "img"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] == ["style"]:
            self.style += data
        else:
            self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def two_colours() -> Image.Image:
    image = Image.new("RGB", (80, 40), "red")
    image.paste("blue", (40, 0, 80, 40))
    return image


def shown(uri: str) -> Image.Image:
    assert uri.startswith("data:image/jpeg;base64,")
    return Image.open(io.BytesIO(b64decode(uri.partition(",")[2]))).convert("RGB")


def harmless(page: str) -> Reader:
    """The page, read, after everything in it was seen to do and load nothing."""
    read = Reader(page)
    assert {tag for tag, _ in read.tags} <= ALLOWED
    for tag, attributes in read.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (tag, attributes)
        assert attributes.get("src", "data:image/jpeg;base64,").startswith("data:image/jpeg;base64,")
        assert attributes.get("href", "#steps") == "#steps"
    (policy,) = [each["content"] for tag, each in read.tags if each.get("http-equiv") == "Content-Security-Policy"]
    assert b64encode(sha256(read.style.encode()).digest()).decode() in policy
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "unsafe" not in policy
    assert not re.search(r"url\(|@import|https?:", read.style)
    return read


def hostile_turns() -> Iterator[tuple[str, list[Event]]]:
    for text in HOSTILE:
        evidence = Evidence(text, text, text, text, text, 0.5, 0.5, text, True)
        detail = StepDetail(text, text, 0.5, text, LEFT)
        bad = replace(step(text, 0.0, 0.1), role=text, inputs=(detail,), outputs=(detail,), reason=text, branch=text)
        done = replace(DONE, answer=text, abstain_reason=text, citations=())
        verdict = Verdict(text, 0.5, 0.5, {text: text})
        yield text, told(Accepted(text, (), 5.0), bad, EvidenceFound((evidence,)), verdict, done)


@pytest.mark.parametrize(("text", "events"), list(hostile_turns()))
def test_hostile_text_stays_text(text: str, events: list[Event]) -> None:
    read = harmless(Trace(text, events, two_colours()).html())
    plain = re.sub("[\u200e\u200f\u202a-\u202e\u2066-\u2069]", "", text)
    assert read.text.count(plain) >= 10
    assert not re.search("[\u200e\u200f\u202a-\u202e\u2066-\u2069]", read.text)


def test_a_page_shows_which_bytes_were_handed_to_whom() -> None:
    ledger = (LedgerEntry("generator", 12_345, "prompts"), LedgerEntry("knowledge", 20, elsewhere=True))
    read = harmless(Trace("How much?", told(replace(DONE, ledger=ledger)), None).html())
    assert "generator 12,345 bytes, keeps prompts; knowledge 20 bytes elsewhere" in read.text


def test_a_page_shows_answer_steps_evidence_crops_and_scores() -> None:
    page = Trace("How much?", whole_turn(), two_colours()).html()
    read = harmless(page)
    for part in ("How much?", "45 crowns [1]", "cogplanner-parallel+", "Round 1", "branch 2", "no time", "taken back"):
        assert part in read.text, part
    assert "The Velmora costs 45 crowns." in read.text
    assert "0.750" in read.text
    crops = [each["src"] for tag, each in read.tags if tag == "img" and each.get("alt") == ""]
    left, right = (shown(uri) for uri in crops)
    assert left.getpixel((5, 5))[0] > 200 > left.getpixel((5, 5))[2]  # type: ignore[index]
    assert right.getpixel((5, 5))[2] > 200 > right.getpixel((5, 5))[0]  # type: ignore[index]
    rows = [each["class"] for tag, each in read.tags if tag == "tr" and "class" in each]
    assert rows == ["used"], "evidence that is sent again is shown as it was sent last"


def test_a_page_can_be_used_by_keyboard_and_in_the_dark() -> None:
    read = harmless(Trace("How much?", whole_turn()).html())
    tags = [tag for tag, _ in read.tags]
    assert tags.count("details") == tags.count("summary") == len(STEPS) + 2
    assert ("main", {"id": "steps"}) in read.tags
    assert all(each["aria-label"] for tag, each in read.tags if tag == "svg")
    assert "prefers-color-scheme: dark" in read.style
    assert ":focus-visible" in read.style


def test_a_turn_without_picture_steps_or_end_has_a_page() -> None:
    for events in ([], whole_turn()[:1], whole_turn()[:6], told(DONE)):
        read = harmless(Trace("How much?", events).html())
        assert "img" not in [tag for tag, _ in read.tags]
        assert ("did not come to its end" in read.text) == (not events or events[-1].payload is not DONE)


@pytest.mark.parametrize("picture", [b"no picture", b"\x89PNG\r\n\x1a\n broken", Path("/nonexistent/photo.jpg")])
def test_a_picture_that_cannot_be_read_is_not_shown(picture: bytes | Path) -> None:
    read = harmless(Trace("How much?", whole_turn(), picture).html())
    assert "img" not in [tag for tag, _ in read.tags]


def test_regions_of_a_later_server_are_within_the_picture() -> None:
    crops = Crops(two_colours())
    for region in (Region(-1, -1, 2, 2), Region(0.9, 0.9, 0.1, 0.1), Region(5, 5, 6, 6), Region(0, 0, 0, 0), RIGHT):
        assert min(shown(crops.crop(region)).size) >= 1
    for number in range(MOST_CROPS + 9):
        last = crops.crop(Region(0, 0, 1, 1 / (number + 2)))
    assert last == ""


def test_a_crop_is_upright_like_what_the_server_saw() -> None:
    out, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = 3  # upside down
    two_colours().save(out, "JPEG", exif=exif)
    pixel = shown(Crops(out.getvalue()).crop(LEFT)).getpixel((5, 5))
    assert isinstance(pixel, tuple)
    assert pixel[2] > 200


def test_json_holds_every_event(tmp_path: Path) -> None:
    Trace("Wie viel? \u202e", whole_turn()).write(tmp_path / "turn.JSON")
    held = json.loads((tmp_path / "turn.JSON").read_text(encoding="utf-8"))
    assert (held["version"], held["question"], held["finished"]) == (1, "Wie viel? \u202e", True)
    assert [event["event"] for event in held["events"]].count("step") == len(STEPS)
    assert json.loads(Trace("?", whole_turn()[:3]).json())["finished"] is False


def test_a_file_is_its_users_alone_and_replaces_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "turn.html"
    path.write_text("old")
    Trace("How much?", whole_turn()).write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [each.name for each in tmp_path.iterdir()] == ["turn.html"]
    with pytest.raises(ValueError, match=r"none of \.json, \.html"):
        Trace("How much?", []).write(tmp_path / "turn.txt")


def test_evidence_is_shown_once(tmp_path: Path) -> None:
    items: Sequence[Evidence] = (PRICE, replace(PRICE, id="2", used=False))
    read = harmless(Trace("?", told(EvidenceFound(tuple(items)), DONE)).html())
    assert [each["class"] for tag, each in read.tags if tag == "tr" and "class" in each] == ["used", "unused"]
