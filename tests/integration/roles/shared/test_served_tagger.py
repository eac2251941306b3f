"""A served bundle with a tagger, over a real socket: which prompts show the likely content of a picture."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from quizglass_bundle.files import Bundle
from quizglass_client import Client, Entry
from quizglass_client.local import LocalServer
from quizglass_server.config.settings import EngineOptions
from quizglass_server.errors import BundleError
from quizglass_server.roles.load import load_models
from tests.support.bundles.tiny_bundle import PROMPTS, write_bundle

ROLES = ("image_encoder", "text_encoder", "generator", "tagger")
TAGGED = {**PROMPTS, "rewrite": "<|im_start|>{% for tag in tags %}{{ tag }} {% endfor %}{{ question }} Rewrite:"}
FLAGS = ("--threads", "1", "--provider", "cpu")


def jpeg(colour: str) -> bytes:
    encoded = io.BytesIO()
    Image.new("RGB", (80, 60), colour).save(encoded, "JPEG")
    return encoded.getvalue()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    folder = tmp_path_factory.mktemp("served")
    root = write_bundle(folder / "bundle", ROLES, TAGGED)
    with LocalServer(root, folder / "knowledge", flags=FLAGS) as server:
        with Client(server.target) as client:
            client.add_entries([Entry("car", "red car", text="this is the red car")])
        yield server


def test_the_rewriter_is_shown_what_the_store_has_no_picture_of(served: LocalServer) -> None:
    with Client(served.target) as client:
        told = {role.role: (role.engine, role.executor, role.sees_pictures) for role in client.capabilities().roles}
        answer = client.answer("What is this?", jpeg("red"), policy="both", explain=True)
    assert told["tagger"] == ("onnx", "cpu", True)
    (tag,) = [step for step in answer.steps if step.name == "tag"]
    assert tag.role == "tagger"
    assert [detail.text for detail in tag.outputs] == ["red car"]
    (rewrite,) = [step for step in answer.steps if step.name == "rewrite"]
    assert [detail.text for detail in rewrite.inputs if detail.label == "tags"] == ["red car"]
    assert not [item for item in answer.evidence if item.origin == "image_search"]
    assert answer.done.skipped == ()
    assert "tag" in {timing.stage for timing in answer.done.timings}


def test_a_policy_whose_prompts_name_no_tags_does_not_run_it(served: LocalServer) -> None:
    with Client(served.target) as client:
        for policy in ("none", "image"):
            answer = client.answer("What is this?", jpeg("blue"), policy=policy)
            assert "tag" not in {timing.stage for timing in answer.done.timings}


def test_ask_explains_it(served: LocalServer, tmp_path: Path) -> None:
    (tmp_path / "green.jpg").write_bytes(jpeg("lime"))
    command = [sys.executable, "-m", "quizglass_client.cli", "ask", str(tmp_path / "green.jpg"), "What is this?"]
    command += ["--server", served.target, "--policy", "text", "--explain"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    assert "koala" in shown
    assert "tagger" in shown


async def test_a_bundle_whose_labels_do_not_fit_is_not_served(tmp_path: Path) -> None:
    root = write_bundle(tmp_path / "bundle", ("tagger",))
    (root / "tagger" / "labels.txt").write_text("red car\n")
    manifest = json.loads((root / "manifest.json").read_text())
    manifest["files"].pop("tagger/labels.txt")
    (root / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(BundleError, match=r"roles\.tagger\.labels names 'tagger/labels\.txt', which files does not"):
        Bundle.load(root)
    root = write_bundle(tmp_path / "other", ("tagger",))
    (root / "tagger" / "labels.txt").write_text("red car\nkoala\n")
    with pytest.raises(BundleError, match=r"labels\.txt: 14 bytes, manifest\.json says"):
        await load_models(Bundle.load(root), EngineOptions(threads=1, provider="cpu"))
