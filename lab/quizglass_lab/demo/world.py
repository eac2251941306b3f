"""`make demo-world`: a server on the starter bundle and the starter knowledge, asked through the real client.

Draws a small world, imports it, asks one question for each plan, one about printed words, one that continues a
dialogue, one that nothing answers, and one under the policy of each other system, then two of which the second stands
on what the first left in its session, and shows each answer as it streams. Then it prints where the server's page is;
on a terminal the server goes on until it is interrupted. Ends with status 1 if anything failed or an answer is not the
right one, and with 130 if it is stopped before.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.rule import Rule

from quizglass.text import escape_unencodable_output
from quizglass_client import Answer, Client, ClientError, Event
from quizglass_client.local import LocalServer
from quizglass_client.terminal.page import show_page
from quizglass_client.terminal.show import TurnView
from quizglass_export.long_work import STOPPED, stopping
from quizglass_lab.pocketworld.dataset import FORMAT, SCENE_SIZE, build_world, write_entries
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.questions import ABSTAIN, Question, make_questions, make_unknowable
from quizglass_lab.pocketworld.scenes import make_scene
from quizglass_lab.pocketworld.world import Thing, World

SEED = 2026
NEW_THINGS = 100
POOL = 400
"""Questions made, of which the demo asks one of each family it shows."""
SESSION_PAIR = 0
"""Which two things of one kind the session is about; chosen like the questions below."""


@dataclass(frozen=True)
class DemoPart:
    """One part of the demo."""

    title: str
    family: str
    plan: str | None
    """The plan expected; None where any will do."""
    new_thing: bool = True
    """Whether the thing asked about is one that no model was trained on."""
    policy: str = ""
    """The server's own where empty."""
    which: int = 0
    """Which of the questions that fit. The small starter models do not get all of them right (docs/benchmarks has
    the shares): the demo shows ones they do, so that a failure means that something broke."""


SCENES = (
    DemoPart("Nothing to look up: the picture tells", "colour-named", "none", new_thing=False),
    DemoPart("Nothing to look up: words in the picture are read", "printed", "none", which=1),
    DemoPart("Nothing to look up: the model knows this one by heart", "identity", "none", new_thing=False, which=7),
    DemoPart("The picture is looked up: it is new to the models", "identity", "image", which=3),
    DemoPart("The text is looked up: the question names the thing", "named", "text", which=2),
    DemoPart("Both are looked up: first what it is, then what is asked", "specific", "both"),
    DemoPart("A dialogue: the thing was named a moment ago", "dialogue", "text", which=1),
    DemoPart("No source knows this", "unknowable", None),
    DemoPart(
        "CogPlanner: what to look up next is decided anew each round", "founder", None, policy="cogplanner-parallel+"
    ),
    DemoPart("OmniSearch: the same by prompts alone", "founder", None, which=1, policy="omnisearch+"),
    DemoPart("QA-Dragon: a draft says what it lacks", "specific", None, which=1, policy="qa-dragon+"),
    DemoPart("CoRe-MMRAG: what memory says beside what was found", "identity", None, which=3, policy="core-mmrag+"),
)


def main() -> int:
    """Run the demo. Returns the exit status."""
    escape_unencodable_output()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    parser.add_argument("--workdir", type=Path, default=Path(".run/demo"))
    parser.add_argument("--end", action="store_true", help="end after the questions, on a terminal too")
    args = parser.parse_args()
    try:
        with stopping():
            return _run(args)
    except KeyboardInterrupt:
        return STOPPED


def _run(args: argparse.Namespace) -> int:
    console = Console()
    console.print(Rule("quizglass, the drawn world"))
    folder, log = args.workdir / f"world-{SEED}-{FORMAT}", args.workdir / "server.log"
    world = build_world(SEED, NEW_THINGS, core=True, format=FORMAT)
    try:
        if not (folder / "entries.jsonl").exists():
            console.print(f"Drawing the starter world: {len(world.things)} things, their makers and people")
            write_entries(world, folder)
        shutil.rmtree(folder / "knowledge", ignore_errors=True)  # another bundle's would be embedded anew
        console.print(f"Starting quizglass-server on {args.bundle} (log: {log})")
        with LocalServer(args.bundle, folder / "knowledge", flags=["--web-port", "0"], log=log) as server:
            _import(server.target, folder)
            failures = _ask_everything(server.target, world, folder, console)
            _say_what_next(console, folder)
            for failure in failures:
                console.print(f"[red]Not as expected:[/] {escape(failure)}")
            stay = sys.stdin.isatty() and not args.end
            show_page(console, server.web, later="make serve has it on http://127.0.0.1:50062", stay=stay)
    except (ClientError, subprocess.CalledProcessError, OSError) as error:
        console.print(f"[red]The demo failed:[/] {escape(str(error))}")
        return 1
    return 1 if failures else 0


def _import(target: str, folder: Path) -> None:
    """Import the world with the command a user would type."""
    command = [sys.executable, "-m", "quizglass_client.cli", "--server", target, "knowledge", "import", str(folder)]
    subprocess.run(command, check=True)  # noqa: S603  # our own command, no shell


def questions(world: World) -> list[Question]:
    """What the demo chooses from."""
    return [
        *make_questions(world, POOL, SEED, unseen_share=0.5, format=FORMAT),
        *make_questions(world, POOL // 2, SEED, unseen_share=0.5, format=FORMAT, mix="cog"),
        *make_unknowable(world, POOL // 10, SEED, format=FORMAT),
    ]


def _choose(world: World) -> list[tuple[DemoPart, Question]]:
    """One question for each part, about a new thing or a trained one as the part asks."""
    pool = questions(world)
    return [(scene, fitting(scene, pool)[scene.which]) for scene in SCENES]


def fitting(scene: DemoPart, pool: list[Question]) -> list[Question]:
    """The questions that a part of the demo could ask."""
    return [
        q
        for q in pool
        if q.family == scene.family
        and scene.plan in (q.group, None)
        and (q.target is None or (q.target.startswith(f"w{SEED}-") is scene.new_thing))
    ]


def _ask_everything(target: str, world: World, folder: Path, console: Console) -> list[str]:
    """Ask each question; returns what was not as expected."""
    failures: list[str] = []
    with Client(target) as client:
        for scene, question in _choose(world):
            path = folder / f"{question.id}.png"
            draw_scene(question.scene, SCENE_SIZE).save(path)
            console.print()
            console.print(Rule(scene.title, align="left"))
            for asked, answered in question.history:
                console.print(f"[dim]before: {asked} {answered}[/]")
            console.print(f"[bold]{question.text}[/]  [dim]{path}[/]")
            answer = _shown(client.ask(question.text, path, history=question.history, policy=scene.policy), console)
            failures += _differences(scene, question, answer)
        failures += _session(client, world, folder, console)
    return failures


def pair(world: World) -> tuple[Thing, Thing]:
    """Two things of one kind whose prices only their articles tell."""
    told = [thing for thing in world.things if not thing.recognised and "price" in thing.facts]
    pairs = [(one, two) for one in told for two in told if one.kind == two.kind and one.id < two.id]
    return pairs[SESSION_PAIR]


def _session(client: Client, world: World, folder: Path, console: Console) -> list[str]:
    """Two questions about one picture, which is sent once; returns what was not as expected."""
    one, two = pair(world)
    path = folder / "session.png"
    draw_scene(make_scene((one, two), random.Random(SEED), fault_share=0), SCENE_SIZE).save(path)
    console.print()
    console.print(Rule("A session: what was asked is not said again, and the picture is not sent again", align="left"))
    failures: list[str] = []
    session = b""
    asked = ((f"How much does the {one.kind} on the left cost?", path, one), ("And the other one?", None, two))
    for text, picture, thing in asked:
        console.print(f"[bold]{text}[/]  [dim]{picture or ''}[/]")
        answer = _shown(client.ask(text, picture, session=session), console)
        session = answer.session
        if answer.text != thing.facts["price"]:
            failures.append(f"{text!r}: answered {answer.text!r}, expected {thing.facts['price']!r}")
    return failures


def _shown(events: Iterable[Event], console: Console) -> Answer:
    """The answer of a turn whose events are shown as they come."""
    view = TurnView(console)
    kept = []
    for event in events:
        view.event(event)
        kept.append(event)
    return Answer.of(kept)


def _differences(scene: DemoPart, question: Question, answer: Answer) -> list[str]:
    found = []
    if scene.plan and (answer.plan is None or answer.plan.plan != scene.plan):
        made = answer.plan.plan if answer.plan else "none made"
        found.append(f"{question.text!r}: plan {made}, expected {scene.plan}")
    right = {gold.casefold() for gold in (question.answer, *question.aliases)}
    if question.answer == ABSTAIN:
        if not answer.abstained:
            found.append(f"{question.text!r}: answered {answer.text!r}, which no source says")
    elif answer.text.casefold() not in right:
        found.append(f"{question.text!r}: answered {answer.text!r}, expected {question.answer!r}")
    return found


def _say_what_next(console: Console, folder: Path) -> None:
    picture = next(folder.glob("q*.png"))
    console.print()
    console.print(
        Panel(
            "make serve                                   # in one terminal, then in another:\n"
            "source .venv/bin/activate\n"
            f"quizglass knowledge import {folder}\n"
            f'quizglass ask {picture} "What is this called?"\n'
            "quizglass ask --help                         # policies, budgets, sessions, --explain, --json",
            title="What to type next",
        )
    )


if __name__ == "__main__":
    sys.exit(main())
