"""Draws the pictures that come with the server's page, with a question to ask about each.

    python -m quizglass_lab.demo.samples      writes server/quizglass_server/web/static/samples

They show things of the drawn world: whoever ran `make demo-world` has its knowledge, and gets its answers. Where that
world or its questions change, they are drawn again (`tests/lab/unit/demo/test_demo_samples.py` tells).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from PIL import Image

from quizglass_lab.demo.world import NEW_THINGS, POOL, SCENES, SEED, fitting, questions
from quizglass_lab.pocketworld.dataset import FORMAT, SCENE_SIZE, build_world
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.questions import make_questions
from quizglass_lab.pocketworld.scenes import Scene

OUT = Path(__file__).parents[3] / "server" / "quizglass_server" / "web" / "static" / "samples"
BUNDLE = "starter"
"""Name of the bundle that knows these things: the page of any other shows none of them."""
SHOWN = (
    replace(SCENES[0], family="visible"),
    replace(SCENES[1], which=5),
    SCENES[2],
    SCENES[3],
    SCENES[5],
    replace(SCENES[7], which=5),
)
"""Parts of the demo: one for each plan, words in a picture, and what no source knows.

Where the page would have the demo's own picture taken again, another one that the starter gets right.
"""


def main() -> int:
    """Write pictures and their list."""
    OUT.mkdir(parents=True, exist_ok=True)
    listed = []
    for number, (picture, alt, question) in enumerate(samples(), 1):
        name = f"{number}.png"
        picture.save(OUT / name, optimize=True)
        listed.append({"file": name, "alt": alt, "questions": [question]})
    (OUT / "samples.json").write_text(json.dumps({"bundle": BUNDLE, "samples": listed}, indent=2) + "\n")
    return 0


def samples() -> Iterator[tuple[Image.Image, str, str]]:
    """Of each: the picture, what it looks like, and the question."""
    world = build_world(SEED, NEW_THINGS, core=True, format=FORMAT)
    pool = [*questions(world), *make_questions(world, 4 * POOL, SEED, unseen_share=0.5, format=FORMAT)]
    for part in SHOWN:
        question = fitting(part, pool)[part.which]
        yield draw_scene(question.scene, SCENE_SIZE), _described(question.scene), question.text


def _described(scene: Scene) -> str:
    kinds = [placed.thing.kind for placed in scene.things]
    return f"A drawn scene: {', '.join(kinds)}{' and a sign' if scene.sign else ''}"


if __name__ == "__main__":
    sys.exit(main())
