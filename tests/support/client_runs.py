"""The command `quizglass knowledge` as a function, for tests, and a wiki that it imports."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from quizglass_client.cli import main

Ran = tuple[int, dict[str, Any], str]
"""Exit status, what it reported as JSON, and its standard error."""
WIKI = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en">
<siteinfo><base>https://en.example.org/wiki/Main_Page</base></siteinfo>
<page><title>Velmora</title><ns>0</ns><id>12</id><revision><id>9</id><timestamp>2001-09-09T01:46:40Z</timestamp>
<text>{{Infobox automobile
| name = Velmora
| maker = [[Tandex]]
| price = 45 [[crown (coin)|crowns]]
}}
The '''Velmora''' is a [[car]].&lt;ref&gt;A book.&lt;/ref&gt; [[File:front.jpg|thumb|The front]]

== History ==
Begun in {{circa}} 1974 &amp;amp; sold.

{| class="wikitable"
! a !! b
|}
[[Category:Cars]]</text></revision></page>
<page><title>Velmora (car)</title><ns>0</ns><id>13</id><redirect title="Velmora" />
<revision><text>#REDIRECT</text></revision></page>
<page><title>Talk:Velmora</title><ns>1</ns><id>14</id><revision><text>Hm.</text></revision></page>
</mediawiki>"""


def knowledge_command(target: str, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs it against a server with the words given."""

    def run(*words: object) -> Ran:
        status = main(["--server", target, "knowledge", *map(str, words), "--json"])
        out, err = capsys.readouterr()
        return status, json.loads(out) if out else {}, err

    return run
