"""Draws the pictures that come with the server's page, with questions to ask about each.

    python clients/demo/samples.py      writes server/quizglass_server/web/static/samples

They show things of the demo's world: whoever ran `make demo` has its knowledge, and gets the answers of the demo.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from demo import NEW_THINGS, SCENES, SEED, fitting, questions

from quizglass_export.pocketworld.dataset import SCENE_SIZE, build_world
from quizglass_export.pocketworld.draw import draw_scene

OUT = Path(__file__).parents[2] / "server" / "quizglass_server" / "web" / "static" / "samples"
SHOWN = {
    0: "A drawn scene with a plant",
    1: "A drawn scene with a sign",
    2: "A drawn scene with a packet that the model knows",
    3: "A drawn scene with a packet that is looked up",
    5: "A drawn scene with two plants",
    7: "A drawn scene with something that no source knows all about",
}
"""Scenes of the demo, and what they look like."""


def main() -> int:
    """Write pictures and their list."""
    OUT.mkdir(parents=True, exist_ok=True)
    world = build_world(SEED, NEW_THINGS, core=True)
    pool = questions(world)
    samples = []
    for number, (place, alt) in enumerate(SHOWN.items(), 1):
        scene = SCENES[place]
        question = fitting(scene, pool)[scene.which]
        name = f"{number}.png"
        draw_scene(question.scene, SCENE_SIZE).save(OUT / name, optimize=True)
        samples.append({"file": name, "alt": alt, "questions": [question.text]})
    (OUT / "samples.json").write_text(json.dumps(samples, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
