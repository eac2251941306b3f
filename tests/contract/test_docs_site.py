"""The documentation as a site: `make docs`."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("material", reason="MkDocs is not installed; the extra docs has it")

ROOT = Path(__file__).parents[2]
FETCHED = re.compile(r"""<(?:script|img|iframe)[^>]* src="?https?:|<link[^>]*rel="?stylesheet[^>]*https?:""")
CHROMIUM = shutil.which(os.environ.get("CHROMIUM", "chromium"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", folder]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_there_and_fetches_nothing_from_elsewhere(site):
    for page in (ROOT / "docs").rglob("*.md"):
        made = site / page.relative_to(ROOT / "docs").with_suffix(".html")
        made = made.with_name("index.html") if page.name == "README.md" else made
        assert not FETCHED.search(made.read_text(encoding="utf-8")), page.name


def test_the_index_has_four_doors(site):
    index = (site / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<h2 id=[^>]*>([\w ]+)", index) == ["Use it", "Run it", "Extend it", "Understand it"]


def test_every_page_can_be_found(site):
    found = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    titles = {each["title"] for each in found}
    assert {"Operations", "Protocol", "Contributing"} <= titles


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_search_works_from_files_in_a_browser(site, tmp_path):
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}",
        "--virtual-time-budget=20000",
    ]
    command = [str(CHROMIUM), *flags, "--dump-dom", f"{(site / 'index.html').as_uri()}?q=thumbnails"]
    page = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120).stdout
    assert re.search(r"md-search-result__meta[^>]*>[1-9]", page), page[-500:]
    assert f'href="{(site / "clients.html").as_uri()}' in page
