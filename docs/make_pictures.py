"""Makes the pictures of the documentation: `python docs/make_pictures.py [scenes] [demo] [page]`.

    docs/pictures/pocketworld.png   scenes of a world; drawing only, needs no models
    docs/pictures/demo.svg          what `make demo` prints; run it after the demo changed
    docs/pictures/page.png          the server's page with an answer; needs Node and Chromium, as `make test-web` does

Run it in the environment of `make test`. With no argument all are made.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # for clients.demo
PICTURES = ROOT / "docs" / "pictures"
SEED = 7
TILE, ACROSS, DOWN = 144, 6, 4
WIDTH = 112
COLOURS = 192
SHOWN = ("What is this?", "Who do I call", "May I use cement", "How old is she?", "asked ")
"""Beginnings of the parts of the demo's output that the picture shows, in the demo's order."""
PHOTOGRAPH, QUESTION = "chelsea.jpg", "How often does she get wet food?"
"""What the page is asked: a photograph of the demo, and a question that its note answers."""
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;]*m|\][^\x1b]*\x1b\\\\)")


def scenes() -> Path:
    """Draw a sheet of scenes: one to six things, signs, and every fault of the camera."""
    from quizglass_lab.pocketworld.draw import draw_scene
    from quizglass_lab.pocketworld.questions import make_questions
    from quizglass_lab.pocketworld.world import make_world

    rng = random.Random(SEED)
    questions = make_questions(make_world(SEED, 90, format=2), 400, SEED, format=2)
    kinds: dict[tuple[str, int, bool], Image.Image] = {}
    for question in questions:
        scene = question.scene
        fault = scene.fault.name if scene.fault else "none"
        key = (fault, len(scene.things), scene.sign is not None)
        if key not in kinds:
            kinds[key] = draw_scene(scene, 2 * TILE).resize((TILE, TILE), Image.Resampling.LANCZOS)
    tiles = [kinds[key] for key in sorted(kinds, key=lambda key: (key[1], key[2], key[0]))]
    tiles = rng.sample(tiles, min(len(tiles), ACROSS * DOWN))
    sheet = Image.new("RGB", (ACROSS * TILE, -(-len(tiles) // ACROSS) * TILE), "white")
    for place, tile in enumerate(tiles):
        sheet.paste(tile, (place % ACROSS * TILE, place // ACROSS * TILE))
    path = PICTURES / "pocketworld.png"
    sheet.quantize(96).save(path, optimize=True)
    return path


def demo() -> Path:
    """Run the demo and draw a few of its answers as a terminal.

    Raises:
        RuntimeError: the demo failed, or prints none of the parts that are shown.
    """
    command = [sys.executable, "-m", "clients.demo.demo", "--end"]
    coloured = {"COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    run = subprocess.run(command, cwd=ROOT, env={**os.environ, **coloured}, capture_output=True, text=True)  # noqa: S603
    if run.returncode:
        raise RuntimeError(f"the demo ended with status {run.returncode}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    path = PICTURES / "demo.svg"
    terminal(run.stdout).save_svg(str(path), title="quizglass")
    return path


def page() -> Path:
    """Serve the demo's bundle with its notes, ask about a photograph, and take a picture of the page.

    Raises:
        subprocess.CalledProcessError: the import or the browser failed.
    """
    from clients.demo.album import write_album
    from quizglass_client.local import LocalServer
    from quizglass_export.everyday.packages import fetch
    from quizglass_export.everyday.quotes import build_quotes
    from quizglass_export.everyday.weights import PHOTOGRAPHS

    browser, path, workdir = ROOT / "tests" / "browser", PICTURES / "page.png", ROOT / "work" / "demo"
    fetch(PHOTOGRAPHS, workdir)
    bundle = build_quotes(workdir)
    notes, asked = write_album(workdir)
    with tempfile.TemporaryDirectory() as place:
        taken = Path(place) / "page.png"
        with LocalServer(bundle, Path(place) / "knowledge", flags=["--web-port", "0"]) as server:
            cli = [sys.executable, "-m", "quizglass_client.cli", "--server", server.target]
            subprocess.run([*cli, "knowledge", "import", str(notes)], check=True)  # noqa: S603  # our own, no shell
            node = shutil.which("node") or "node"
            shown = [node, "picture.mjs", server.web, str(taken), str(asked / PHOTOGRAPH), QUESTION]
            subprocess.run(shown, cwd=browser, check=True)  # noqa: S603
        with Image.open(taken) as image:
            image.convert("RGB").quantize(COLOURS).save(path, optimize=True)
    return path


def terminal(output: str) -> Console:
    """A recording of the parts of the demo's output that are shown.

    Raises:
        RuntimeError: there are none.
    """
    parts = [part.splitlines() for part in re.split(r"\n(?:\s*\n)+", output.replace(f"{ROOT}/", ""))]
    shown = [lines for lines in parts if lines and _ESCAPE.sub("", lines[0]).startswith(SHOWN)]
    if not shown:
        raise RuntimeError(f"the demo printed nothing that begins with {SHOWN}; change SHOWN in {Path(__file__).name}")
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print("$ make demo", style="bold", highlight=False)
    for lines in shown:
        console.print()
        for line in lines:
            console.print(Text.from_ansi(line), soft_wrap=False)
    return console


MADE = {"scenes": scenes, "demo": demo, "page": page}


def main() -> None:
    """Make the pictures that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", choices=list(MADE), default=[])
    wanted = parser.parse_args().which or list(MADE)
    PICTURES.mkdir(exist_ok=True)
    for name in wanted:
        path = MADE[name]()
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
