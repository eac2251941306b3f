from importlib import import_module

import pytest

from quizglass_bundle.manifest import Roles
from quizglass_bundle.parts import NAMED
from quizglass_server.roles.shared.loading import RoleKey
from quizglass_server.roles.table import Models
from quizglass_server.roles.tagger import TAGGER

FILES = {"hearing": "speech", "voice": "speech"}
"""Roles that share a file, which has their name otherwise."""
ALONE = sorted(Roles.model_fields.keys() - {*NAMED, "deciders"})


@pytest.mark.parametrize("role", ALONE)
def test_a_role_is_in_one_file_with_its_key(role: str) -> None:
    key = getattr(import_module(f"quizglass_server.roles.{FILES.get(role, role)}"), role.upper())
    assert key == RoleKey(role)
    models, model = Models(), object()
    assert models[key] is None
    models.put(role, model)
    assert models[key] is models.get(role) is model


def test_what_fills_no_role_is_none_and_a_role_can_be_emptied() -> None:
    models = Models()
    for name in ("planner", "deciders.act", "tagger", "generator.prompts.plan"):
        assert not models.has(name)
    models[TAGGER] = object()  # type: ignore[assignment]
    assert models.has("tagger")
    models[TAGGER] = None
    assert not models.has("tagger")
