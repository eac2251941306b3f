"""What tests of several rooms share."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def starter_bundle() -> Path:
    """The bundle that ships with the repository."""
    return ROOT / "models" / "starter" / "bundle"
