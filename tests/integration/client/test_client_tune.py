"""`quizglass knowledge tune`: thresholds from a store's own pictures and attributes, by a server on a socket."""

import asyncio
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from quizglass import values
from quizglass.values import Entry
from quizglass_client import Client
from quizglass_client.cli import main
from quizglass_client.cli.imports.entries import GoodLine, read_entries
from quizglass_client.local import LocalServer
from quizglass_lab.pocketworld.dataset import build_world, write_entries
from quizglass_server.domain import turns as domain
from quizglass_server.policies.table import PolicyStatus
from quizglass_server.roles.load import RoleStatus
from tests.support.client_runs import knowledge_command
from tests.support.rpc_fakes import FOUND, png, serving_on_a_thread

COLOURS = {"a": "red", "b": "blue", "c": "yellow"}


@pytest.fixture
def stage(tmp_path: Path):
    with serving_on_a_thread(tmp_path / "server") as made:
        for name, colour in COLOURS.items():
            shown = png(64, 48, colour)
            about = {"attributes": {"price": f"4{name} crowns"}, "picture_sha256": (sha256(shown).digest(),)}
            made.knowledge.entries[name] = Entry(name, name.upper(), **about)
            made.knowledge.pictures[name] = (shown,)
        made.assistant.search = by_colour
        yield made


async def by_colour(_text, picture, _limit, *_) -> list[domain.Evidence]:
    """As a search that knows entries by their colours; grey is a little like all of them."""
    middle = picture.pixels[picture.pixels.shape[0] // 2, picture.pixels.shape[1] // 2].astype(int)
    named = {"a": (255, 0, 0), "b": (0, 0, 255), "c": (255, 255, 0)}
    scores = {name: 1 - abs(middle - colour).sum() / 765 for name, colour in named.items()}
    ordered = sorted(scores, key=scores.__getitem__, reverse=True)
    return [replace(FOUND, entry_id=name, search_score=float(scores[name])) for name in ordered]


def test_the_line_lies_between_an_entry_s_own_picture_and_pictures_of_nothing(stage, capsys) -> None:
    status, told, _ = knowledge_command(stage.target, capsys)("tune")
    proposal = told["image_accept"]
    assert status == 0
    assert proposal["right_kept"] == 1
    assert proposal["plain_passed"] == []
    assert 0.67 < proposal["value"] < 0.99
    assert proposal["scores"]["right"]["count"] == 9, "three views of each"
    assert "rerank_accept" not in told, "the bundle does not rerank"


def test_a_line_for_a_score_and_its_lead_is_proposed_where_entries_can_be_compared(stage, capsys) -> None:
    status, told, _ = knowledge_command(stage.target, capsys)("tune")
    proposal = told["view_accept"]
    right, others = proposal["scores"]["right"], proposal["scores"]["others"]
    assert (status, proposal["useful"], proposal["plain_passed"], proposal["right_kept"]) == (0, True, [], 1)
    assert (right["count"], others["count"]) == (9, 9)
    assert max(others["median"], proposal["scores"]["plain: white"]["most"]) < proposal["value"] <= right["least"]
    assert right["least"] > told["image_accept"]["scores"]["right"]["most"], "a lead counts"
    main(["--server", stage.target, "knowledge", "tune"])
    assert f"--set thresholds.view_accept={proposal['value']}" in capsys.readouterr().out


def test_two_entries_are_too_few_to_compare(stage, capsys) -> None:
    del stage.knowledge.entries["c"]
    search = stage.assistant.search

    async def of_two(*asked) -> list[domain.Evidence]:
        return [hit for hit in await search(*asked) if hit.entry_id != "c"]

    stage.assistant.search = of_two
    status, told, err = knowledge_command(stage.target, capsys)("tune")
    assert (status, list(told)) == (0, ["image_accept"])
    assert "too few have pictures" in " ".join(err.split())


def test_a_lead_that_says_nothing_is_not_proposed(stage, capsys) -> None:
    search = stage.assistant.search

    async def side_by_side(*asked) -> list[domain.Evidence]:
        first, second, *rest = await search(*asked)
        return [replace(first, search_score=0.9), replace(second, search_score=0.9), *rest]

    stage.assistant.search = side_by_side
    _, told, _ = knowledge_command(stage.target, capsys)("tune")
    assert (told["view_accept"]["value"], told["view_accept"]["useful"]) == (None, False)
    assert main(["--server", stage.target, "knowledge", "tune"]) == 0
    assert "--set thresholds.view_accept=" not in capsys.readouterr().out


def reranking(stage, right: float, other: float) -> None:
    """Have the stage's server rerank, and give these to the passage that is right and to another one."""
    roles = [RoleStatus(name, "onnx", "cpu", ready=True, sees_pictures=False) for name in ("reranker", "generator")]
    stage.models.statuses = lambda: roles
    stage.assistant.policies, stage.assistant.policy_statuses = ("text",), (PolicyStatus("text", ()),)

    async def reranked(turn: domain.Turn, _policy, _budget):
        name = turn.question.rstrip("?")[-1].lower()
        own = replace(FOUND, entry_id=name, text=f"The price of it is 4{name} crowns.", rerank_score=right)
        yield values.EvidenceFound((replace(own, rerank_score=0.0),))
        yield values.EvidenceFound((own, replace(own, entry_id="z", rerank_score=other)))
        await asyncio.Event().wait()  # until the turn is left

    stage.assistant.script = reranked


def test_a_line_for_relevance_is_proposed_where_the_bundle_reranks(stage, capsys) -> None:
    reranking(stage, right=0.9, other=0.3)
    status, told, _ = knowledge_command(stage.target, capsys)("tune", "--questions", "2")
    assert status == 0
    assert told["rerank_accept"]["value"] == pytest.approx(0.6, abs=1e-3)
    assert told["rerank_accept"]["scores"]["right"]["count"] == 2


def test_the_table_says_what_it_does_and_where_it_is_put(stage, capsys) -> None:
    assert main(["--server", stage.target, "knowledge", "tune"]) == 0
    out = capsys.readouterr().out
    assert "plain: grey" in out
    assert "refuses" in out
    assert "little more than a guess" in out
    assert "--set thresholds.image_accept=0." in out


def test_a_value_that_would_let_everything_pass_is_not_proposed(stage, capsys) -> None:
    reranking(stage, right=0.2, other=0.7)
    assert main(["--server", stage.target, "knowledge", "tune"]) == 0
    out = capsys.readouterr().out
    assert "rerank_accept: no value keeps 100.0% of the right ones and refuses most of the others" in out
    assert "--set thresholds.image_accept=" in out
    assert "--set thresholds.rerank_accept=" not in out


def test_no_value_is_given_that_its_own_figures_call_useless(stage, capsys) -> None:
    reranking(stage, right=0.2, other=0.7)
    _, told, _ = knowledge_command(stage.target, capsys)("tune")
    assert (told["rerank_accept"]["value"], told["rerank_accept"]["useful"]) == (None, False)
    assert told["image_accept"]["useful"]


def test_a_line_that_pictures_of_nothing_pass_is_not_proposed(stage, capsys) -> None:
    async def everything_alike(_text, _picture, _limit, *_) -> list[domain.Evidence]:
        return [replace(FOUND, entry_id=name, search_score=0.9) for name in COLOURS]

    stage.assistant.search = everything_alike
    assert main(["--server", stage.target, "knowledge", "tune"]) == 0
    out = capsys.readouterr().out
    assert "refuses pictures that show nothing (grey, black, white, noise, gradient); leave it as it is" in out
    assert "--set thresholds.image_accept=" not in out


def test_a_store_without_pictures_is_refused(stage, capsys) -> None:
    stage.knowledge.entries = {
        name: replace(entry, picture_sha256=()) for name, entry in stage.knowledge.entries.items()
    }
    status, _, err = knowledge_command(stage.target, capsys)("tune")
    assert (status, "no entry has a picture" in err) == (2, True)


@pytest.mark.parametrize("words", [("--keep", "0"), ("--keep", "much"), ("--entries", "0")])
def test_numbers_out_of_range_are_refused(words: tuple[str, str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["knowledge", "tune", *words])


def test_the_starter_bundle_tells_its_own_pictures_from_nothing(starter_bundle: Path, tmp_path: Path, capsys) -> None:
    write_entries(build_world(7007, 16), tmp_path, size=112)
    with LocalServer(starter_bundle, tmp_path / "knowledge") as server, Client(server.target, timeout=120) as client:
        lines = read_entries(tmp_path / "entries.jsonl")
        client.add_entries(line.entry for line in lines if isinstance(line, GoodLine))
        status, told, _ = knowledge_command(server.target, capsys)("tune", "--entries", "16", "--questions", "6")
    image, rerank = told["image_accept"], told["rerank_accept"]
    assert status == 0
    assert image["scores"]["right"]["median"] > image["scores"]["others"]["median"]
    assert image["right_kept"] >= 0.98
    assert rerank["scores"]["right"]["median"] > rerank["scores"]["others"]["median"]
