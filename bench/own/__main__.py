"""`python -m bench.own --bundle FOLDER [--split dev]`: ask about one's own things, judge, print and write results.

What is not right is listed in WORKDIR/own-files/SPLIT.md, to be read by eye; of the splits that may be read, what the
default misses is kept in bench/results/own-misses-SPLIT.md. `--split fresh3` is for the end: the things of the others
are what one may look at.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from rich.console import Console

import quizglass
import quizglass_bundle
import quizglass_client
import quizglass_server
from bench import results, sections
from bench.everyday.setup import encoders
from bench.fingerprints import code, weights
from bench.own.asking import Asker, Log, Told, serving
from bench.own.dataset import READ, SPLITS, OwnQuestion, OwnThing, all_asides, all_things, digest, of_split
from bench.own.measures import DEFAULT, Case, answer_rows, by_kind, policy_rows, recognition_rows
from bench.own.photographs import Photographs
from bench.own.plain_generator import ALONE, SEARCHED, NearestNotes, PlainGenerator
from bench.own.quoting import RULES, NearestSentences
from bench.own.report import table, write_misses, write_report
from bench.own.signs import signs
from bench.results import Row, at_least, at_most
from bench.sections import Part
from bench.worlds import in_own_order
from quizglass_bundle.files import Bundle
from quizglass_client import Client
from quizglass_lab.finetuning.shared.records import file_hash

_PEERS = ("image", "both")
_SAMPLE = 200
"""Of the lists of the data, that are published beside the table."""


@dataclass(frozen=True)
class Reader:
    """Another generator in place of the bundle's."""

    name: str
    asker: Asker


@dataclass(frozen=True)
class Stage:
    """What every section works with."""

    bundle: Path
    split: str
    peers: Sequence[str]
    quick: bool
    folder: Path
    photographs: Photographs
    asker: Asker
    reader: Reader | None
    plain: PlainGenerator | None
    """The bundle's generator by itself; None: it has none."""
    log: Log
    """Of that generator's answers."""
    say: Callable[[str], None]

    @property
    def things(self) -> list[OwnThing]:
        """Those of the split; of a quick run a few of them."""
        some = of_split(all_things(), self.split)
        return some[:: len(some) // 6] if self.quick else some

    @property
    def questions(self) -> list[tuple[OwnThing, OwnQuestion]]:
        """All about the things, one thing after the other."""
        return [(thing, question) for thing in self.things for question in thing.questions]


def recognition(stage: Stage) -> Part:
    """What each picture is taken for."""
    found = [(thing, stage.asker.recognised(thing)) for thing in stage.things if thing.picture]
    return Part(recognition_rows(found), {"taken for": [[thing.id, thing.way, name] for thing, name in found]})


def answers(stage: Stage) -> Part:
    """Every question under the default, the other policies, the plain rules, and by the generator by itself."""
    told: dict[str, list[Told]] = {name: [] for name in (DEFAULT, *stage.peers)}
    for number, (thing, question) in enumerate(stage.questions):
        stage.say(f"question {number + 1} of {len(stage.questions)}")
        # In an order that is drawn for each, so that what one has left in the server helps none more than others.
        for name in in_own_order(question.id, [*told]):
            policy = "" if name == DEFAULT else name
            told[name].append(stage.asker.ask(question.id, question.text, thing, policy))
    told |= asyncio.run(_quoted(stage)) | _generated(stage)
    cases = {
        name: [
            Case(question, thing, each, stage.asker.recognised(thing))
            for (thing, question), each in zip(stage.questions, some, strict=True)
        ]
        for name, some in told.items()
    }
    write_report(stage.folder / f"{stage.split}.md", cases)
    if stage.split in READ and not stage.quick:
        write_misses(results.RESULTS / f"own-misses-{stage.split}.md", stage.split, cases[DEFAULT])
    Console().print(table(cases), markup=False)
    return Part(answer_rows(cases, all_things()), {"by kind": by_kind(cases)})


def asides(stage: Stage) -> Part:
    """Questions in other languages, English that is taken for one, and small talk."""
    about = {thing.id: thing for thing in all_things()}
    told = {
        each: stage.asker.ask(each.id, each.text, about[each.about], "")
        for each in all_asides()
        if each.split == stage.split
    }
    foreign = [answer.reason == "language" for each, answer in told.items() if each.kind == "language"]
    talk = [bool(answer.cited) or answer.supported for each, answer in told.items() if each.kind == "talk"]
    english = [
        stage.asker.ask(question.id, question.text, thing, "").reason == "language"
        for thing, question in stage.questions
    ]
    rows = [
        at_least(f"other languages: refused with the reason, of {len(foreign)}", _share(foreign), "%", 100),
        at_most(f"English: refused for its language, of {len(english)}", _share(english), "%", 1),
        at_most(f"small talk answered from evidence, of {len(talk)}", sum(talk), "answers", 0),
    ]
    return Part(rows, {"told": [[each.text, answer.text, answer.outcome] for each, answer in told.items()]})


def printed(stage: Stage) -> Part:
    """Every question about signs that are drawn into photographs."""
    stage.say("asking about signs")
    return signs(stage.split, stage.asker, stage.photographs, few=stage.quick)


def reader(stage: Stage) -> Part:
    """Every question with another generator, under the policies that are compared with the default."""
    if stage.reader is None:
        raise SystemExit("the section reader needs --reader MODEL.gguf")
    cases: dict[str, list[Case]] = {}
    for policy in stage.peers:
        some = cases[f"{policy}, {stage.reader.name}"] = []
        for number, (thing, question) in enumerate(stage.questions):
            stage.say(f"{policy}: question {number + 1} of {len(stage.questions)}")
            told = stage.reader.asker.ask(question.id, question.text, thing, policy)
            some.append(Case(question, thing, told, recognised=""))  # no row of these is about recognition
    Console().print(table(cases), markup=False)
    return Part(
        [row for policy, some in cases.items() for row in policy_rows(policy, some)], {"by kind": by_kind(cases)}
    )


SECTIONS: Mapping[str, Callable[[Stage], Part]] = {
    "recognition": recognition,
    "answers": answers,
    "asides": asides,
    "reader": reader,
    "signs": printed,
}
_ALWAYS = ("recognition", "answers", "asides")
"""Sections that need nothing but the bundle."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sections. Returns 0, or 1 when one failed or a bar was missed."""
    args = _arguments(arguments)
    # The split stands in a section's name too, so that a run of one keeps what was published of the others.
    args.only = [f"{args.split}-{name}" for name in args.only or (*_ALWAYS, *(["reader"] if args.reader else ()))]
    named = [f"{split}-{name}" for split in reversed(SPLITS) for name in SECTIONS]
    runner = sections.Runner("own", named, args, partly=named)
    folder: Path = args.workdir.resolve() / "own-files"
    settings = {"split": args.split, "bundle": weights(args.bundle), "things": digest(), "default": args.default_policy}
    with runner.status() as say, ExitStack() as stack:
        stage = _stage(args, folder, settings, stack, say)
        measured = {f"{args.split}-{name}": section for name, section in SECTIONS.items()}
        runner.measure(lambda name: _named(measured[name](stage), args.split), **settings, policies=args.policies)
    Console().print(f"all that is not right: {folder / args.split}.md", markup=False)
    return runner.finish(sample=_SAMPLE)


def _arguments(arguments: Sequence[str] | None) -> Namespace:
    parser = sections.arguments("own", __doc__, SECTIONS)
    parser.add_argument("--split", choices=SPLITS, default="dev", help="which things are asked about")
    parser.add_argument("--bundle", type=Path, default=Path("work/everyday/bundle"), help="what is served")
    parser.add_argument("--photographs", type=Path, default=Path("work/everyday"), help="where PyPI's are kept")
    parser.add_argument("--default-policy", default="", help="the server's, instead of what it chooses itself")
    parser.add_argument("--policies", nargs="*", default=_PEERS, help="policies of the server to compare with")
    parser.add_argument("--reader", type=Path, help="a GGUF model to read the notes in the bundle's generator's place")
    args = parser.parse_args(arguments)
    if not (args.bundle / "manifest.json").is_file():
        parser.error(f"--bundle: no bundle in {args.bundle}; `make everyday` builds one in work/everyday/bundle")
    return args


def _stage(
    args: Namespace, folder: Path, settings: Mapping[str, object], stack: ExitStack, say: Callable[[str], None]
) -> Stage:
    """What sections work with; servers are started when the first answer is missing, and ended with the stack."""
    log = folder / f"{_name(settings)}.jsonl"
    if not args.resume:
        log.unlink(missing_ok=True)
    photographs = Photographs(folder / "debian", args.photographs.resolve(), say)
    bundle, kept = args.bundle.resolve(), Log(log)

    def connect() -> Client:
        say("fetching photographs, starting the server, importing the notes")
        flags = ("--default-policy", args.default_policy) if args.default_policy else ()
        return stack.enter_context(serving(bundle, folder, photographs, flags))

    def read() -> Client:
        say("starting a server with the other generator, importing the notes")
        given = ("--generator", str(args.reader.resolve()))
        return stack.enter_context(serving(bundle, folder / "reader", photographs, given))

    other = None
    if args.reader:
        also = folder / f"{_name({**settings, 'reader': file_hash(args.reader)})}.jsonl"
        other = Reader(args.reader.stem, Asker(read, Log(also), photographs))
    loaded = Bundle.load(bundle, hashes=False)
    plain = stack.enter_context(PlainGenerator(loaded)) if loaded.has("generator") else None
    asker = Asker(connect, kept, photographs)
    return Stage(bundle, args.split, args.policies, args.quick, folder, photographs, asker, other, plain, kept, say)


async def _quoted(stage: Stage) -> dict[str, list[Told]]:
    """What the plain rules say, in the order of the questions."""
    loaded = await encoders(stage.bundle)
    nearest = await NearestSentences.read([thing for thing in all_things() if thing.stored], loaded.text)
    return {
        rule: [
            Told(await nearest.quote(question.text, stage.asker.recognised(thing), bool(thing.picture), rule))
            for thing, question in stage.questions
        ]
        for rule in RULES
    }


def _generated(stage: Stage) -> dict[str, list[Told]]:
    """What the generator by itself answers, in the order of the questions; nothing where there is none."""
    if stage.plain is None:
        return {}
    told: dict[str, list[Told]] = {ALONE: [], SEARCHED: []}
    notes = asyncio.run(_nearest_notes(stage))
    for number, ((_, question), found) in enumerate(zip(stage.questions, notes, strict=True)):
        stage.say(f"generator by itself: question {number + 1} of {len(notes)}")
        for name, shown in {ALONE: [], SEARCHED: found}.items():
            told[name].append(stage.log.get(question.id, name, partial(stage.plain.answer, question.text, shown)))
    return told


async def _nearest_notes(stage: Stage) -> list[list[str]]:
    """The notes that are shown for each question: as many as the bundle shows of a text search."""
    loaded, count = await encoders(stage.bundle), Bundle.load(stage.bundle, hashes=False).manifest.evidence.found
    nearest = await NearestNotes.read([thing for thing in all_things() if thing.stored], loaded.text)
    return [await nearest.to(question.text, count) for _, question in stage.questions]


def _named(part: Part, split: str) -> Part:
    """The split stands in each row's name, to keep their figures apart."""
    return Part([Row(**{**vars(row), "name": f"{split}: {row.name}"}) for row in part.rows], part.data)


def _name(settings: Mapping[str, object]) -> str:
    """Of the file of answers: another bundle, dataset or code has another."""
    measured = code(quizglass, quizglass_client, quizglass_bundle, quizglass_server)
    return sha256(f"{sorted(settings.items())} {measured}".encode()).hexdigest()[:12]


def _share(some: Sequence[bool]) -> float:
    return 100 * sum(some) / max(1, len(some))


if __name__ == "__main__":
    sys.exit(main())
