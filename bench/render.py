"""Fills the generated regions of README.md and the pages in docs/: `python -m bench.render`, `--check` only compares.

A region stands between `<!-- bench:NAME -->` (or another name of `REGIONS`) and `<!-- /bench -->`, each on a line of
its own. Figures come from bench/results/*.json and from the parity report inside the starter bundle,
reference tables from the code (`reference`). What was not measured is said to be so. Running it twice changes nothing
the second time.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from bench import reference
from bench.markdown import cell, table

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
PARITY = ROOT / "models" / "starter" / "bundle" / "parity.json"
CHECKPOINTS = ROOT / "models" / "starter" / "checkpoints"
DEMO = ROOT / "docs" / "pictures" / "demo.svg"
EXPLAINED = ROOT / "docs" / "pictures" / "explained.txt"
MEASURED = (
    "accuracy",
    "policies",
    "verdict",
    "languages",
    "latency",
    "session",
    "engine",
    "hostile",
    "imports",
    "network",
    "voice",
    "knowledge",
    "export",
    "everyday",
    "own",
    "recipes",
)
_APART = {"losses": "recipes"}
"""Sections that stand in a region of their own, and the benchmark of each."""
MEASURES = ("right", "refused", "truthfulness")
"""Of every policy by parts of the questions."""
ORACLE = "oracle entry"
"""Which is no policy, though it stands beside them."""
_PAGES = {
    "accuracy": ("what each policy answers right, and what it looks up", "lab/benchmarks/accuracy.md"),
    "policies": ("the control flow of every policy, with decisions given", "lab/benchmarks/policies.md"),
    "verdict": ("the check of an answer beside labelled sentences", "lab/benchmarks/verdict.md"),
    "languages": ("questions in other languages that are refused", "benchmarks/languages.md"),
    "latency": ("planner and whole turns", "benchmarks/latency.md"),
    "session": ("a wearable's session: links, frames, coaching", "benchmarks/session.md"),
    "engine": ("generator, scorers and server under load, beside peers", "benchmarks/engine.md"),
    "hostile": ("memory and other users' turns under attack", "benchmarks/hostile.md"),
    "imports": ("damaged, odd and hostile files given to the import", "benchmarks/imports.md"),
    "network": ("what TLS, tokens and metrics cost, and who is turned away", "benchmarks/network.md"),
    "voice": ("speech: times, word errors, speaking over answers, cuts", "voice.md#how-fast-and-on-what"),
    "knowledge": ("the store beside others, damaged and killed", "benchmarks/knowledge.md"),
    "everyday": ("the everyday bundle: real photographs, passages and facts", "everyday.md#how-good-it-is"),
    "own": ("a person's own photographs and notes: what is answered", "benchmarks/own.md"),
    "recipes": (
        "recipes: the planner's, with ranks, full tuning and other answering models; CoRe-MMRAG's losses",
        "lab/finetuning.md#the-planners-recipe-measured",
    ),
    "export": ("exported models beside PyTorch", "bundles.md#every-architecture-measured"),
}
_SYSTEMS = {
    "none": "nothing looked up",
    "both": "always the picture and text",
    "planning-agent+": "planning agent+",
    "adaptive": "adaptive, the default",
    "cogplanner-sequential+": "CogPlanner+, sequential",
    "omnisearch+": "OmniSearch+",
    "core-mmrag+": "CoRe-MMRAG+",
    "qa-dragon+": "QA-Dragon+",
}
"""Policies of the table that README links to, and what they are called there."""
_REGION = re.compile(r"^<!-- ((\w+)(?::[\w-]+)?) -->\n(.*?)^<!-- /\2 -->$", re.DOTALL | re.MULTILINE)
_OPEN = re.compile(r"^<!-- ((?:bench|manifest):[\w-]+|picture|explained|settings|metrics|status) -->$", re.MULTILINE)
_DEFAULT = "adaptive"
"""The server's own policy, beside which the published ones stand."""
_LETTER = {
    "right, %": "right, %",
    "refused, %": "refused, %",
    "image searches": "image searches",
    "text searches": "text searches",
    "searching by the tariff, s": "searches at 6.4 and 1.4 s, s",
    "prompt tokens": "prompt tokens",
}
"""Figures of the forms to the letter in README's table, and what they are called there."""
_OF_MOST = re.compile(r"accuracy, [\w+-]+ \(95 %")
"""Rows that tell a policy's accuracy over all questions of a section; those of `planning` come first."""
_LINK = re.compile(r"\]\(((?:bench|docs)/[^)#\s]+)")
_MARKS = {True: "yes", False: "**no**", None: ""}

Result = Mapping[str, Any]


class RenderError(Exception):
    """A region cannot be filled; the message names the file and what to do."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Fill or compare. Returns 0, or 1 when a region is stale or cannot be filled."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; fail when a region is stale")
    only_check = parser.parse_args(arguments).check
    stale = 0
    try:
        for path in documents():
            before = path.read_text(encoding="utf-8")
            after = filled(before, path)
            if after == before:
                continue
            if only_check:
                stale += 1
                sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), after.splitlines(True), path.name))
            else:
                path.write_text(after, encoding="utf-8")
                print(f"{path.relative_to(ROOT)}: filled")
    except RenderError as error:
        print(f"render: {error}", file=sys.stderr)
        return 1
    if stale:
        print("the regions above are stale; run: python -m bench.render", file=sys.stderr)
    return 1 if stale else 0


def documents() -> list[Path]:
    """The documents that may hold regions."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def filled(text: str, path: Path) -> str:
    """A document with every region filled; regions name files as seen from the repository's root.

    Raises:
        RenderError: a region is not closed, or its name is unknown.
    """

    def fill(match: re.Match[str]) -> str:
        region = match[1]
        if region not in REGIONS:
            raise RenderError(f"{path.name}: no region {region!r}; choose one of {', '.join(REGIONS)}")
        return f"<!-- {region} -->\n{_LINK.sub(seen_from, REGIONS[region]().strip())}\n<!-- /{match[2]} -->"

    def seen_from(match: re.Match[str]) -> str:
        return f"]({os.path.relpath(ROOT / match[1], path.parent)}"

    opened, closed = len(_OPEN.findall(text)), len(_REGION.findall(text))
    if opened != closed:
        raise RenderError(
            f"{path.name}: {opened} regions are opened and {closed} are whole; close each on a line of its own"
        )
    return _REGION.sub(fill, text)


def result(name: str) -> Result | None:
    """A benchmark's result file; None where it has not been run."""
    path = RESULTS / f"{name}.json"
    return _json(path) if path.is_file() else None


def figures(name: str) -> str:
    """The rows of one benchmark, but for sections that stand apart."""
    found = result(name)
    if found is None:
        return _not_measured(name)
    plot = f"\n\n![{name}](bench/results/{name}.png)" if (RESULTS / f"{name}.png").is_file() else ""
    return f"{_rows(r for r in found['rows'] if r.get('section') not in _APART)}{plot}\n\n{_how(found)}"


def apart(section: str) -> str:
    """The rows of a section that has a region of its own."""
    name = _APART[section]
    rows = [row for row in (result(name) or {"rows": []})["rows"] if row["section"] == section]
    return _rows(rows) if rows else _not_measured(name)


def _rows(rows: Iterable[Result]) -> str:
    cells = ((cell(r["name"]), _figure(r), _peer(r), _bar(r), _MARKS[r["ok"]]) for r in rows)
    return table(("", "measured", "compared with", "bar", "reached"), cells)


def bars() -> str:
    """For the README: one line a benchmark, how many of its bars are reached, and where its table stands."""
    lines = []
    for name, (about, page) in _PAGES.items():
        found = result(name)
        rows = [row for row in found["rows"] if row["bar"]] if found else []
        reached = sum(row["ok"] is True for row in rows)
        count = f"{reached} of {len(rows)}" if found else f"`make bench-{name}` measures it"
        lines.append((f"[{name}](docs/{page})", about, count))
    return table(("benchmark", "what it measures", "bars reached"), lines)


def shares(key: str, first: str) -> str:
    """Accuracy of every policy, by plan group or by question family, in percent."""
    found = result("accuracy")
    if found is None:
        return _not_measured("accuracy")
    measured = found.get("data", {}).get("planning", {})
    kinds: Mapping[str, Mapping[str, float]] = measured.get(key) or found.get(key, {})
    columns = list(dict.fromkeys(column for row in kinds.values() for column in row))
    rows = (
        (name, *(_number(row[column]) if column in row else "" for column in columns)) for name, row in kinds.items()
    )
    return table((first, *columns), rows)


def unseen() -> str:
    """The bars of accuracy over the questions about things that no model was trained on alone."""
    found = result("accuracy")
    if found is None:
        return _not_measured("accuracy")
    measured: Sequence[Result] = [row for part in found["data"].values() for row in part.get("unseen", ())]
    rows = ((cell(r["name"]), _figure(r), _peer(r), _bar(r), _MARKS[r["ok"]]) for r in measured)
    return table(("on things never trained on", "measured", "compared with", "bar", "reached"), rows)


def systems() -> str:
    """The published systems with what is added, and the pipelines without a decision, in a few figures."""
    found = result("accuracy")
    data: Mapping[str, Any] = found["data"] if found else {}
    costs, hops = data.get("costs", {}).get("policies", {}), data.get("rounds", {}).get("hops", {})
    if found is None or not costs or not hops:
        return _not_measured("accuracy")
    planning = takewhile(lambda row: " minus " not in row["name"], found["rows"])
    of_most = {row["name"].split()[1]: row["value"] for row in planning if _OF_MOST.match(row["name"])}
    rows = (
        (
            title,
            _number(of_most[policy]) if policy in of_most else "",
            *(_number(costs[policy][column]) for column in ("right, %", "refused, %")),
            *(_number(hops[lookups].get(policy)) if policy in hops[lookups] else "" for lookups in ("2", "3")),
            *(_number(costs[policy][column]) for column in ("image searches", "text searches", "p50, ms")),
        )
        for policy, title in _SYSTEMS.items()
        if policy in costs
    )
    many = f"right of {data['planning']['questions']:,}, %"
    few = ("right of 120, %", "refused, %", "two lookups, %", "three, %", "image searches", "text searches", "turn, ms")
    head = ("", many, *few)
    return table(head, rows)


def letter() -> str:
    """The systems of that table to the letter, each beside the same with what is added, and why no figure of one table
    compares with one of the other."""
    found = result("accuracy")
    data: Mapping[str, Any] = found["data"] if found else {}
    measured: Mapping[str, Any] = data.get("published", {})
    if found is None or not measured:
        return _not_measured("accuracy")
    costs, pairs = measured["policies"], {pair.get("ours"): pair for pair in measured["pairs"]}
    rows = []
    for policy, title in _SYSTEMS.items():
        pair = pairs.get(policy, {})
        if policy == _DEFAULT or pair:
            forms = [pair["published"], policy] if pair else [policy]
            right, *others = (" → ".join(_number(costs[form][name]) for form in forms) for name in _LETTER)
            rows.append((title.replace("+", ""), right, _between(pair, "right"), *others))
    columns = (f"right of {measured['questions']}, %", "points more", *[*_LETTER.values()][1:])
    return f"{_which_questions(found)}\n\n{table(('as published → with what is added', *columns), rows)}"


def _which_questions(found: Result) -> str:
    """What sets the questions to the letter apart from those of `systems`, with the default's figure of both."""
    data, sections = found["data"], found["sections"]
    old, new = (sections[name]["versions"]["quizglass"] for name in ("planning", "published"))
    count, share = data["published"]["questions"], data["published"]["policies"][_DEFAULT]["right, %"]
    most = next(row["value"] for row in found["rows"] if row["name"].startswith(f"accuracy, {_DEFAULT} (95 %"))
    here, there = (", ".join(map(str, of)) for of in (sections["planning"]["seeds"], data["published"]["worlds"]))
    page = "docs/policies.md#published-and-with-a-plus"
    return f"""
A system with a plus is the published one [with what this server adds]({page}), as version {old} had it under the
paper's name. The table above has no other form. Below stands the form to the letter → the one with a plus, as version
{new} has them, on {count} other questions; without lookups these are `no-search` → `none`, with all of them
`always-both` → `both`. *Points more* is the 95 % interval of the difference. No figure compares with one above:
`{_DEFAULT}` was right on {_number(most)} % of {data["planning"]["questions"]:,} questions about the worlds {here} with
version {old}, and on {_number(share)} % ({share * count / 100:.0f}) of {count} about the worlds {there} with version
{new}. [All {len(data["published"]["pairs"])} published ones]({page}) stand with truthfulness and times on their own
page, and [old figures beside new ones](docs/lab/benchmarks/accuracy.md#old-figures-beside-new-ones) on that of
accuracy.
""".strip()


def costs() -> str:
    """Every policy beside the others: what it answers, and what that costs."""
    found = result("accuracy")
    measured: Mapping[str, Mapping[str, float]] = found["data"].get("costs", {}).get("policies", {}) if found else {}
    if not measured:
        return _not_measured("accuracy")
    columns = list(next(iter(measured.values())))
    rows = ((f"`{policy}`", *(_number(row[column]) for column in columns)) for policy, row in measured.items())
    return table(("policy", *columns), rows) + "\n\n![accuracy by cost](bench/results/accuracy-by-cost.png)"


def published() -> str:
    """The default, then every published system beside the same with what is added: the first figure of a pair is the
    paper's form."""
    found = result("accuracy")
    measured: Mapping[str, Any] = found["data"].get("published", {}) if found else {}
    if not measured:
        return _not_measured("accuracy")
    costs = measured["policies"]
    columns = {
        **{name: name for name in ("right, %", "refused, %", "truthfulness", "image searches", "text searches")},
        **{"searching by the tariff, s": "searches at 6.4 and 1.4 s, s", "p50, ms": "turn, ms"},
        **{name: name for name in ("prompt tokens", "written tokens")},
    }
    first, *others = columns

    def cells(forms: Sequence[str], names: Iterable[str]) -> list[str]:
        return [" → ".join(_number(costs[form][column]) for form in forms) for column in names]

    def worlds(forms: Sequence[str]) -> str:
        return " → ".join("; ".join(_number(each) for each in costs[form]["right in each world, %"]) for form in forms)

    def line(forms: Sequence[str], *differences: str) -> tuple[str, ...]:
        name = " → ".join(f"`{form}`" for form in forms)
        return name, *cells(forms, [first]), worlds(forms), *differences, *cells(forms, others)

    rows = [line([_DEFAULT], "", "")] if _DEFAULT in costs else []
    for pair in measured["pairs"]:
        forms = [pair[form] for form in ("published", "ours") if form in pair]
        rows.append(line(forms, _between(pair, "right"), _between(pair, "default")))
    seeds = "; ".join(f"{seed} ({count})" for seed, count in measured["worlds"].items())
    head = ("as published → with what is added", columns[first], f"in the worlds {seeds}", "points more, of the plus")
    return table((*head, f"of `{_DEFAULT}`", *(columns[name] for name in others)), rows)


def _between(pair: Mapping[str, Any], difference: str) -> str:
    """An interval of points; nothing where the two were not compared."""
    return f"{pair[difference][0]:+.1f} to {pair[difference][1]:+.1f}" if difference in pair else ""


def parts(measure: str) -> str:
    """Every policy by parts of the questions: a figure and its 95 % interval each.

    Args:
        measure: "right", "refused" (both in percent) or "truthfulness" (-1 to 1).
    """
    found = result("accuracy")
    measured: Mapping[str, Any] = found["data"].get("costs", {}).get("parts", {}) if found else {}
    if not measured:
        return _not_measured("accuracy")
    head = (f"{name} ({count})" for name, count in measured["questions"].items())
    rows = (
        (f"`{policy}`", *(_with_interval(*of[name]) for name in measured["questions"]))
        for policy, of in measured[measure].items()
    )
    return table((f"{measure}, of questions", *head), rows)


def disputes() -> str:
    """Every policy by kind of dispute, in percent, with the number of questions of each."""
    found = result("accuracy")
    kinds: Mapping[str, Mapping[str, float]] = found["data"].get("conflicts", {}).get("kinds", {}) if found else {}
    if not kinds:
        return _not_measured("accuracy")
    policies = dict.fromkeys(name for of in kinds.values() for name in of if name != "questions")
    rows = (
        (f"`{policy}`" if policy != ORACLE else policy, *(_share_of(of.get(policy)) for of in kinds.values()))
        for policy in policies
    )
    return table(("right, % of", *(f"{kind} ({_number(of['questions'])})" for kind, of in kinds.items())), rows)


def _share_of(value: float | None) -> str:
    return "" if value is None else _number(value)


def _with_interval(value: float, low: float, high: float) -> str:
    return f"{_number(value)} ({_number(low)} to {_number(high)})"


def stages() -> str:
    """What each stage of a turn takes, where it runs at all."""
    found = result("latency")
    if found is None:
        return _not_measured("latency")
    rows = (
        (f"`{name}`", str(took["turns"]), _number(took["p50_ms"]), _number(took["engine_p50_ms"]))
        for name, took in found["data"]["turns"].get("stages", {}).items()
    )
    return table(("stage", "turns with it", "p50, ms", "inside an engine, p50, ms"), rows)


def spans() -> str:
    """Where a turn's milliseconds go, by plan."""
    found = result("latency")
    measured = {} if found is None else found["data"].get("spans", {})
    if not measured:
        return _not_measured("latency")
    of = measured["table"]
    plans = [f"planned {plan} ({measured['turns'][plan]})" for plan in of]
    rows = ((row, *(_span(*of[plan][row]) for plan in of)) for row in next(iter(of.values())))
    return table(("mean ms (inside engines)", *plans), rows)


def _span(ms: float, engine: float) -> str:
    return f"{ms:.1f} ({engine:.1f})" if engine >= 0.05 else f"{ms:.1f}"


def parity() -> str:
    """The parity report inside the starter bundle."""
    if not PARITY.is_file() or PARITY.parent.is_symlink():  # a link stands in for a bundle that is yet to be built
        return "_Not measured yet: the starter bundle has not been built. `make bundle` builds and checks it._"
    report = _json(PARITY)
    rows = (
        (c["role"], c["measure"], f"{c['value']:.3g}", cell(c["demand"]), str(c["samples"]), _MARKS[c["passed"]])
        for c in report["checks"]
    )
    return table(("role", "measure", "value", "demanded", "samples", "holds"), rows)


def models() -> str:
    """Sizes of the starter checkpoints, from their own configurations."""
    if not CHECKPOINTS.is_dir() or CHECKPOINTS.is_symlink():
        return "_Not trained yet: `make starter` trains the models and packs their checkpoints._"
    sizes = {
        folder: sum(file.stat().st_size for file in folder.glob("*.safetensors"))
        for folder in sorted(CHECKPOINTS.iterdir())
        if folder.is_dir()
    }
    rows = [
        (f"`{folder.name}`", _architecture(folder), f"{size / 2**20:.1f} MiB") for folder, size in sizes.items() if size
    ]
    return table(("part", "size", "weights in float16"), rows)


def _architecture(folder: Path) -> str:
    adapter = folder / "adapter_config.json"
    if adapter.is_file():
        found = _json(adapter)
        return f"LoRA of rank {found['r']}, alpha {found['lora_alpha']}"
    config = _json(folder / "config.json")
    text = config.get("text_config", config)
    parts = [f"{text['num_hidden_layers']} layers × {text['hidden_size']}, {text['num_attention_heads']} heads"]
    if vision := config.get("vision_config"):
        layers, heads = (
            vision.get(key, vision.get(other))
            for key, other in (("depth", "num_hidden_layers"), ("num_heads", "num_attention_heads"))
        )
        parts.append(f"vision {layers} layers × {vision['hidden_size']}, {heads} heads")
    if (seen := config if "image_size" in config else vision or {}).get("image_size"):
        parts.append(f"{seen['image_size']} pixels in patches of {seen['patch_size']}")
    if "projection_dim" in config:
        parts.append(f"{config['projection_dim']} dimensions")
    return f"{config['model_type']}: {'; '.join(parts)}"


def machine() -> str:
    """What each benchmark ran on, with which versions and by which command."""
    return "\n\n".join(_how(found) if (found := result(name)) else _not_measured(name) for name in MEASURED)


def picture() -> str:
    """A picture of the demo at work, once `docs/make_pictures.py` has made it."""
    if DEMO.is_file():
        return f"![What make demo prints]({DEMO.relative_to(ROOT).as_posix()})"
    return "_The picture of the demo has not been made yet: `python docs/make_pictures.py demo` makes it._"


def explained() -> str:
    """A question of two hops and how its answer came about, as `bench.explained` has written it down."""
    if EXPLAINED.is_file():
        return f"```\n{EXPLAINED.read_text(encoding='utf-8').strip()}\n```"
    return "_Not asked yet: `python -m bench.explained` asks it._"


REGIONS: dict[str, Callable[[], str]] = {
    **{f"bench:{name}": (lambda name=name: figures(name)) for name in MEASURED},  # type: ignore[misc]
    **{f"bench:{section}": (lambda section=section: apart(section)) for section in _APART},  # type: ignore[misc]
    "bench:bars": bars,
    "bench:groups": lambda: shares("groups", "needs"),
    "bench:families": lambda: shares("families", "family"),
    "bench:systems": lambda: f"{systems()}\n\n{letter()}",
    "bench:unseen": unseen,
    "bench:costs": costs,
    "bench:published": published,
    **{f"bench:{measure}": (lambda measure=measure: parts(measure)) for measure in MEASURES},  # type: ignore[misc]
    "bench:disputes": disputes,
    "bench:stages": stages,
    "bench:spans": spans,
    "bench:parity": parity,
    "bench:models": models,
    "bench:machine": machine,
    "picture": picture,
    "explained": explained,
    "settings": reference.settings,
    "metrics": reference.metrics,
    "status": reference.statuses,
    "manifest:thresholds": reference.thresholds,
    "manifest:evidence": reference.evidence,
    "manifest:roles": reference.role_keys,
}


def _json(path: Path) -> Result:
    try:
        found: Result = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RenderError(f"{path.relative_to(ROOT)}: not readable JSON ({error}); measure again") from None
    return found


def _not_measured(name: str) -> str:
    return f"_Not measured yet: `make bench-{name}` measures it and `python -m bench.render` writes it here._"


def _how(found: Result) -> str:
    host, versions = found["machine"], found["versions"]
    cpu = f"{host['cpu'] or 'unknown CPU'}, {host['cores']} cores, {host['memory_gib']} GiB, {host['system']}"
    used = ", ".join(f"{name} {version}" for name, version in (versions | found.get("peers", {})).items())
    return f"Measured by {_commands(found)} on {cpu}{_elsewhere(found)}; {used}{_otherwise(found)}."


def _elsewhere(found: Result) -> str:
    """Sections that were measured on another processor than the last of them."""
    here = found["machine"]["cpu"]
    other: dict[str, list[str]] = {}
    for name, how in found.get("sections", {}).items():
        if how.get("cpu", here) != here:
            other.setdefault(how["cpu"], []).append(name)
    return "".join(f" (the sections {', '.join(names)} on {cpu})" for cpu, names in other.items())


def _otherwise(found: Result) -> str:
    """Sections that were measured with other versions than the last of them."""
    other: dict[str, list[str]] = {}
    for name, how in found.get("sections", {}).items():
        used = how.get("versions", {}).items()
        if apart := [f"{package} {version}" for package, version in used if found["versions"].get(package) != version]:
            other.setdefault(", ".join(apart), []).append(name)
    return "".join(f" (the sections {', '.join(names)} with {versions})" for versions, names in other.items())


def _commands(found: Result) -> str:
    """Every command that measured a section, in the order of the table; the last alone wrote the file."""
    ran = [how.get("command", found["command"]) for how in found.get("sections", {}).values()] or [found["command"]]
    return ", ".join(f"`{command}`" for command in dict.fromkeys(ran))


def _figure(row: Result) -> str:
    return f"{_number(row['value'])} {row['unit']}".strip()


def _peer(row: Result) -> str:
    if row["peer_value"] is None:
        return cell(row["peer"])
    ratio = f" (ratio {_number(row['ratio'])})" if row["ratio"] is not None else ""
    return f"{cell(row['peer'])}: {_number(row['peer_value'])}{ratio}"


def _bar(row: Result) -> str:
    return f"`{row['bar']}`" if row["bar"] else ""


def _number(value: float | None) -> str:
    if value is None:
        return "none"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


if __name__ == "__main__":
    sys.exit(main())
