"""The compose file says what the Dockerfile and the documentation say."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[3]
SERVICE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]["quizglass"]
STAGE = re.search(r"^FROM \S+ AS cpu\n(.*)", (ROOT / "Dockerfile").read_text(), re.DOTALL | re.MULTILINE)[1]
PAGE = (ROOT / "docs" / "network.md").read_text()


def test_it_builds_the_target_that_runs_without_a_card_under_the_name_of_the_documentation():
    assert SERVICE["build"] == {"context": "..", "target": "cpu"}
    assert SERVICE["image"] == "quizglass"
    assert f"docker build --tag {SERVICE['image']} ." in (ROOT / "Dockerfile").read_text()


def test_it_runs_as_the_images_user_who_may_change_nothing_but_the_knowledge():
    assert SERVICE["user"] == re.search(r"^USER (\S+)$", STAGE, re.MULTILINE)[1]
    assert SERVICE["read_only"] is True
    assert SERVICE["tmpfs"] == ["/tmp"]
    assert SERVICE["cap_drop"] == ["ALL"]
    assert SERVICE["security_opt"] == ["no-new-privileges:true"]
    bundle, knowledge = SERVICE["volumes"]
    assert bundle.endswith(":/bundle:ro")
    assert knowledge == f"knowledge:{re.search(r'^VOLUME (/knowledge)$', STAGE, re.MULTILINE)[1]}"


def test_its_ports_are_those_that_the_server_listens_on_and_are_published_on_loopback_alone():
    listened = [re.search(r"^EXPOSE (\d+)$", STAGE, re.MULTILINE)[1], given("--web-port")]
    assert SERVICE["ports"] == [f"127.0.0.1:{port}:{port}" for port in listened]
    assert given("--web-host") == "0.0.0.0"


def test_its_health_check_is_the_images():
    image = re.search(r"^HEALTHCHECK (.*) CMD (\[.*\])$", STAGE, re.MULTILINE)
    flags = dict(flag.removeprefix("--").split("=") for flag in image[1].split())
    check = dict(SERVICE["healthcheck"])
    assert check.pop("test") == ["CMD", *yaml.safe_load(image[2])]
    assert {name.replace("_", "-"): str(value) for name, value in check.items()} == flags


def test_it_waits_longer_than_the_server_takes_to_stop():
    assert int(SERVICE["stop_grace_period"].removesuffix("s")) > float(given("--withdraw-s")) + float(
        given("--grace-s")
    )


def test_the_documentation_starts_it():
    assert "deploy/compose.yaml" in PAGE


def given(flag):
    """The value of an option of the command."""
    command = [str(word) for word in SERVICE["command"]]
    return command[command.index(flag) + 1]
