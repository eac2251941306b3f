"""What `quizglass ask --explain` prints for a question of two hops, for docs/explain.md: `python -m bench.explained`.

The starter bundle answers it over a real socket, from a world that no model was trained on. Run it after the bundle or
what is printed changed, and `python -m bench.render` after it; a test compares it with what is printed now, but for
what times and their bars look like.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.processes import ended_together
from quizglass_client import Client
from quizglass_client.cli.imports.entries import GoodLine, read_entries
from quizglass_client.local import LocalServer
from quizglass_lab.pocketworld.dataset import SCENE_SIZE, build_world, write_entries
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.questions import Question, make_questions
from quizglass_lab.pocketworld.world import World

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs" / "pictures" / "explained.txt"
BUNDLE = ROOT / "models" / "starter" / "bundle"
SEED, THINGS, FAMILY, WHICH = 2026, 100, "founder", 1
"""Of the world, and which of its questions is shown: one that the starter gets right, like those of the demo."""
_DIFFERS = (
    (re.compile(r"^time .*$", re.MULTILINE), "time #"),
    (re.compile(r"^turn +\w+ +([\w+-]+), .*$", re.MULTILINE), r"turn # \1"),
    (re.compile("[·━]{24}"), "#"),
    (re.compile(r" *\d+ ms"), "# ms"),
)


def main() -> int:
    """Write the file."""
    with ended_together(), TemporaryDirectory() as folder:
        FILE.write_text(explained(Path(folder)), encoding="utf-8")
    print(f"{FILE.relative_to(ROOT)}: written")
    return 0


def explained(folder: Path, bundle: Path = BUNDLE) -> str:
    """The command and what it prints; `folder` takes the world and what the server keeps."""
    world = build_world(SEED, THINGS, core=True)
    question = asked(world)
    write_entries(world, folder, size=112)
    draw_scene(question.scene, SCENE_SIZE).save(folder / "photo.png")
    words = ["ask", "photo.png", question.text, "--policy", "planning-agent+", "--explain"]
    with LocalServer(bundle, folder / "knowledge") as server:
        with Client(server.target) as client:
            entries = read_entries(folder / "entries.jsonl")
            client.add_entries(line.entry for line in entries if isinstance(line, GoodLine))
        command = [sys.executable, "-m", "quizglass_client.cli", "--server", server.target, *words]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    printed = "\n".join(line.rstrip() for line in run.stdout.splitlines())
    return f"$ quizglass {shlex.join(words)}\n{printed}\n"


def asked(world: World) -> Question:
    """The question that is shown: who founded the maker of a thing that has to be looked up first."""
    questions = make_questions(world, 400, SEED, unseen_share=0.5)
    return [each for each in questions if each.family == FAMILY and each.group == "both"][WHICH]


def masked(text: str) -> str:
    """The text without what differs from run to run: times, their bars, the turn's name, the budget left."""
    for differs, mark in _DIFFERS:
        text = differs.sub(mark, text)
    return text


if __name__ == "__main__":
    sys.exit(main())
