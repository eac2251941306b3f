"""Which policies a bundle can serve: what a policy says it needs is what it takes to run it, no more and no less."""

import json
import subprocess
import sys
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quizglass.values import Done, Plan
from quizglass_bundle.files import Bundle
from quizglass_bundle.manifest import Roles
from quizglass_bundle.parts import NAMED
from quizglass_export import cli
from quizglass_export.assembly.next_steps import next_steps
from quizglass_server.assistant.assistant import Assistant
from quizglass_server.doctor.finding import Status
from quizglass_server.doctor.serving import policies
from quizglass_server.errors import RoleMissing
from quizglass_server.policies import POLICIES, Policy
from quizglass_server.policies.policy import by_name
from quizglass_server.policies.table import BY_PREFERENCE, CHOICES, preferred, status_of, survey
from quizglass_server.scheduling.time_left import Budget
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.turn_fakes import World, done, turn

ENCODERS = ("image_encoder", "text_encoder")
ROLES = ("planner", "tool_router", "generator", "reranker", *ENCODERS)


class Fixed:
    """A decider that always says the same."""

    needs: frozenset[str] = frozenset()
    shows_several = False

    def __init__(self, label: str) -> None:
        self._label = label

    async def look_at(self, picture: object) -> None:
        """There is nothing to do."""

    async def probabilities(self, pictures: object, values: object) -> list[tuple[str, float]]:
        return [(self._label, 1.0)]


def test_every_need_is_a_part_of_a_bundle() -> None:
    for policy in POLICIES.values():
        for need in policy.needs:
            role, _, _ = need.partition(".")
            assert role in Roles.model_fields, policy.name


@pytest.mark.parametrize("policy", POLICIES.values(), ids=lambda policy: policy.name)
def test_what_a_policy_likes_is_a_role_that_it_uses_and_does_not_need(policy: Policy) -> None:
    needs, likes = set(policy.needs), set(policy.likes)
    assert likes <= {*Roles.model_fields, *NAMED} - needs
    assert len(likes) == len(policy.likes)
    assert ("detector" in likes) == ("image_encoder" in needs), "it looks pictures up"
    for role, beside in {"coarse_reranker": "reranker", "reranker": "text_encoder"}.items():
        assert role not in needs | likes or beside in needs | likes
    assert "reader" in likes


def test_what_an_ablation_leaves_out_it_does_not_like() -> None:
    liked = {name: set(POLICIES["qa-dragon+"].likes) - set(policy.likes) for name, policy in POLICIES.items()}
    assert liked["qa-dragon-no-domain-router+"] == {"domain_router"}
    assert liked["qa-dragon-no-reranking+"] == liked["qa-dragon-image-only+"] == {"coarse_reranker"}
    assert liked["qa-dragon-no-verifier+"] == set()


def test_what_a_policy_works_without_is_known() -> None:
    statuses = [
        status_of(POLICIES[name], lambda part: part not in {"reader", "detector"}) for name in ("none", "image")
    ]
    assert [(each.servable, each.without) for each in statuses] == [(True, ("reader",)), (True, ("detector", "reader"))]


@pytest.mark.parametrize("name", POLICIES)
async def test_a_policy_runs_with_what_it_needs_alone(name: str) -> None:
    world = World()
    world.models.deciders |= {"tool_router": Fixed("both"), "act": Fixed("none")}  # type: ignore[dict-item]
    for role in (*ROLES, "reader"):
        if role not in POLICIES[name].needs:
            world.models.put(role, None)
    events = await world.ask(policy=name)
    assert isinstance(events[-1], Done)
    needed = {*POLICIES[name].needs, *(f"generator.prompts.{task}" for task in POLICIES[name].tasks), CHOICES}
    assert status_of(POLICIES[name], lambda part: part in needed).servable


@pytest.mark.parametrize("name", POLICIES)
async def test_a_policy_ends_in_the_steps_that_it_names(name: str) -> None:
    world = World()
    world.models.deciders |= {"tool_router": Fixed("both"), "act": Fixed("none")}  # type: ignore[dict-item]
    world.models.decision = Plan.TEXT  # the third of QA-Dragon's branches: RAG
    answers = cycle([[" 45", " crowns"], [" 60", " crowns"]])  # CoRe-MMRAG's two sides differ

    async def another_answer() -> None:
        world.models.answer = next(answers)

    world.models.before["answer"] = another_answer
    ran = [timing.stage for timing in done(await world.ask(policy=name)).timings]
    ending = POLICIES[name].ending
    writing = [stage for stage in ran if stage in {"generate", "draft", "reason", "conclude", "weigh", *ending}]
    assert tuple(writing[-len(ending) :]) == ending


@pytest.mark.parametrize("ending", [None, (), ("generate", "conclude")], ids=["missing", "empty", "unknown"])
def test_a_policy_has_to_say_which_steps_write_its_answer(ending: tuple[str, ...] | None) -> None:
    said = {} if ending is None else {"ending": ending}
    policy: Any = SimpleNamespace(name="ended", needs=(), likes=(), tasks=("reason",), **said)
    with pytest.raises(TypeError, match="its `ending` has to name steps of generate, draft, weigh, reason;"):
        by_name([policy])


@pytest.mark.parametrize("name", POLICIES)
def test_what_is_missing_is_named(name: str) -> None:
    for task in POLICIES[name].tasks:
        prompt = f"generator.prompts.{task}"
        assert status_of(
            POLICIES[name], lambda part, out=(task, f"deciders.{task}", prompt): part not in out
        ).missing == (prompt,)
        assert status_of(POLICIES[name], lambda part, prompt=prompt: part != prompt).servable  # by a decider
    for need in POLICIES[name].needs:
        assert status_of(POLICIES[name], lambda part, need=need: part != need).missing == (need,)


def test_an_untuned_model_never_decides_unasked() -> None:
    assert set(BY_PREFERENCE) <= set(POLICIES) - {"prompt-based+"}
    assert not any(getattr(POLICIES[name], "published", False) for name in BY_PREFERENCE)
    assert all(set(POLICIES[name].tasks) <= {"rewrite", "reformulate"} for name in BY_PREFERENCE)
    assert preferred(survey(lambda part: True)) == "adaptive"
    assert preferred(survey(lambda part: part != "deciders.act")) == "planning-agent+"
    assert preferred(survey(lambda part: False)) is None


def test_a_policy_without_its_prompts_says_which(tmp_path: Path) -> None:
    bundle = Bundle.load(write_bundle(tmp_path / "b"))
    missing = {status.policy: status.missing for status in survey(bundle.has)}
    assert missing["cogplanner-parallel+"] == ("generator.prompts.reformulate", "generator.prompts.act")
    assert missing["core-one-stage+"] == missing["fixed-text+"] == missing["fixed-image+"] == ()
    assert "generator.prompts.verifier" in missing["qa-dragon+"]
    assert "generator.prompts.verifier" not in missing["qa-dragon-no-verifier+"]


def test_the_starter_bundle_serves_what_the_docs_say() -> None:
    starter = Bundle.load(Path(__file__).parents[3] / "models" / "starter" / "bundle", hashes=False)
    statuses = {status.policy: status for status in survey(starter.has)}
    assert {name for name, status in statuses.items() if status.servable} == set(POLICIES)
    assert statuses["qa-dragon+"].without == ("domain_router", "coarse_reranker")
    assert statuses["planning-agent+"].without == ("tagger", "coarse_reranker")


def test_a_generator_without_a_prompt_for_plans_cannot_be_asked_for_one(tmp_path: Path) -> None:
    bundle = Bundle.load(write_bundle(tmp_path / "b"))
    assert bundle.has("generator")
    assert bundle.has("generator.prompts.answer")
    assert not bundle.has("generator.prompts.plan")
    assert not bundle.has("tool_router.prompts.plan")
    (status,) = (each for each in survey(bundle.has) if each.policy == "prompt-based+")
    assert status.missing == ("generator.prompts.plan",)
    assert preferred(survey(bundle.has)) == "planning-agent+"


async def test_the_assistant_asks_the_bundle() -> None:
    world = World()
    assistant = Assistant(
        world.resources, has=lambda part: part not in ("plan", "deciders.plan", "generator.prompts.plan")
    )
    with pytest.raises(RoleMissing, match=r"no generator\.prompts\.plan, which policy 'prompt-based\+' needs"):
        await assistant.run(turn(), "prompt-based+", Budget(60), lambda _: None)
    assert world.models.calls.made == []


def test_what_comes_next_depends_on_what_can_be_served(tmp_path: Path) -> None:
    whole, encoders = tmp_path / "whole", tmp_path / "encoders"
    lines = next_steps(Bundle.load(write_bundle(whole)), whole)
    assert lines[-1] == f"next: quizglass-server --bundle {whole} --knowledge DIR"
    assert "without --default-policy planning-agent+" in lines[0]
    assert lines[1].startswith("WARNING: thresholds.image_accept and thresholds.rerank_accept not tuned")
    assert "`quizglass knowledge tune`" in lines[1]
    lines = next_steps(Bundle.load(write_bundle(encoders, ENCODERS)), encoders)
    assert "without --default-policy quote is taken" in lines[0]
    named = "thresholds.image_accept, thresholds.text_accept and thresholds.quote_accept"
    assert lines[1].startswith(f"WARNING: {named} not tuned")
    by_hand = "--set thresholds.text_accept=VALUE --set thresholds.quote_accept=VALUE"
    assert f"`quizglass-export repack {encoders} --out NEW {by_hand}` sets text_accept and quote_accept." in lines[1]
    texts = tmp_path / "texts"
    lines = next_steps(Bundle.load(write_bundle(texts, ("text_encoder", "generator"))), texts)
    assert lines[1].startswith("WARNING: thresholds.text_accept not tuned")
    assert "knowledge tune" not in lines[1]
    lines = next_steps(Bundle.load(write_bundle(tmp_path / "one", ("image_encoder",))), tmp_path / "one")
    assert lines[0] == "it can serve no policy yet; policy none needs generator"
    assert not any("quizglass-server" in line for line in lines)


def test_a_bundle_whose_lines_are_set_is_not_warned_of(tmp_path: Path) -> None:
    starter = Bundle.load(Path(__file__).parents[3] / "models" / "starter" / "bundle", hashes=False)
    assert not any("WARNING" in line for line in next_steps(starter, tmp_path))


def test_inspect_says_what_can_be_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = write_bundle(tmp_path / "b", ("image_encoder", "generator"))
    assert cli.main(["inspect", str(bundle), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["default_policy"] == "image"
    assert {each["policy"]: each["missing"] for each in told["policies"]}["both"] == ["text_encoder"]
    assert cli.main(["inspect", str(bundle)]) == 0
    assert "default policy: image" in capsys.readouterr().out


def test_a_server_does_not_start_with_a_default_policy_that_it_cannot_serve(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", ("image_encoder", "generator"))
    command = [sys.executable, "-m", "quizglass_server.cli", "--bundle", str(bundle), "--port", "0"]
    command += ["--knowledge", str(tmp_path / "k"), "--default-policy", "both"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "default_policy: both needs text_encoder" in ended.stderr
    assert "it can serve none, image" in ended.stderr


def test_the_doctor_names_what_a_default_policy_lacks(tmp_path: Path) -> None:
    bundle = Bundle.load(write_bundle(tmp_path / "b", ("image_encoder", "generator")))
    assert policies(bundle, None).values["default"] == "image"
    wrong = policies(bundle, "both")
    assert (wrong.status, wrong.text) == (Status.WRONG, "default_policy both needs text_encoder")
    encoders = Bundle.load(write_bundle(tmp_path / "e", ENCODERS))
    assert policies(encoders, None).values["default"] == "quote"
    alone = Bundle.load(write_bundle(tmp_path / "a", ("image_encoder",)))
    assert policies(alone, None).status is Status.WRONG
