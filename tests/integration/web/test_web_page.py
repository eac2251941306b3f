"""The page's files: what is served of them, and with which bundle."""

from pathlib import Path

import pytest

from tests.support.web import ask, web_serving


@pytest.mark.parametrize("bundle", ["starter", "everyday"])
async def test_sample_pictures_are_those_of_the_bundle_or_none(tmp_path: Path, bundle: str) -> None:
    async with web_serving(tmp_path, bundle=bundle) as served:
        listed = (await ask(served, "GET", "/samples/samples.json")).json["samples"]
        assert len(listed) == (6 if bundle == "starter" else 0)
        assert (await ask(served, "GET", "/samples/1.png")).status == (200 if bundle == "starter" else 404)
        assert (await ask(served, "GET", "/")).status == 200
