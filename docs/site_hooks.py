"""What MkDocs does beside its usual work: navigation by docs/README.md, and links that lead out of docs/."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
CONTRIBUTING = "contributing.md"
_ENTRY = re.compile(r"\[([^\]]+)\]\(([^)#]+\.md)\)")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_FENCED = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make the navigation of the index: a section a door, with the pages of its table."""
    docs = Path(config.docs_dir)
    sections: list[dict[str, Any]] = []
    for line in (docs / "README.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            sections.append({line[3:]: []})
        elif sections and line.startswith("|"):
            (pages,) = sections[-1].values()
            pages += [_entry(docs, *found) for found in _ENTRY.findall(line.split("|")[1])]
    config.nav = [{"Home": "README.md"}, *sections]
    return config


def _entry(docs: Path, title: str, link: str) -> dict[str, Any]:
    """A page, or a folder with its other pages below its overview."""
    title = title[0].upper() + title[1:]
    if link.startswith("../CONTRIBUTING"):
        return {title: CONTRIBUTING}
    if not link.endswith("/README.md"):
        return {title: link}
    others = (path.relative_to(docs).as_posix() for path in sorted((docs / link).parent.rglob("*.md")))
    return {title: [{"Overview": link}, *(name for name in others if name != link)]}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add CONTRIBUTING.md as a page, and the plots of measurements."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files.append(File.generated(config, CONTRIBUTING, content=_led(text, ROOT, "", files)))
    for plot in (ROOT / "bench" / "results").glob("*.png"):
        files.append(File.generated(config, f"results/{plot.name}", abs_src_path=str(plot)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Have links lead to what the site has; a file of the repository that it lacks is named instead."""
    if page.file.src_uri == CONTRIBUTING:
        return markdown
    return _led(markdown, (Path(config.docs_dir) / page.file.src_uri).parent, page.file.src_uri, files)


def _led(markdown: str, folder: Path, page: str, files: Files) -> str:
    def led(match: re.Match[str]) -> str:
        sign, text, link, anchor = match[1], match[2], match[3], match[4] or ""
        if re.match(r"[a-z]+:", link):
            return match[0]
        target = Path(os.path.normpath(folder / link)).relative_to(ROOT).as_posix()
        if target.startswith("docs/"):
            there = target.removeprefix("docs/")
        elif target == "CONTRIBUTING.md":
            there = CONTRIBUTING
        elif target.startswith("bench/results/") and sign:
            there = f"results/{Path(target).name}"
        else:
            return f"{text} (`{target}`)"
        return f"{sign}[{text}]({os.path.relpath(there, Path(page).parent)}{anchor})"

    parts = _FENCED.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(led, part) for part in parts)
