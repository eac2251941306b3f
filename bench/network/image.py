"""The container image: how large it is, and how soon it serves, as a user that is not root with a read-only root."""

from __future__ import annotations

import asyncio
import re
import subprocess
from pathlib import Path

from bench.hostile.sections import Setup
from bench.results import Row, at_most
from bench.sections import Part

MOST_MB = 700
_CHECK = Path(__file__).parents[2] / "deploy" / "image" / "check.sh"
_SAID = re.compile(r"image (\d+) MB, bundle (\d+) MB; ready after ([\d.]+) s as user (\S+), root read-only")


async def run(setup: Setup) -> Part:
    """Start the image that `make image` has made, with the bundle of `make demo`, and ask it a question.

    Raises:
        RuntimeError: there is no such image, it cannot be started here (root, buildah), or it gives no answer.
    """
    setup.say("starting the image of make image")
    done = await asyncio.to_thread(subprocess.run, [str(_CHECK)], capture_output=True, text=True, check=False)
    said = _SAID.search(done.stdout)
    if done.returncode or said is None:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise RuntimeError(f"{_CHECK.name} ended with {done.returncode}: {last}; make image and make demo come first")
    image, bundle, ready_s = (float(each) for each in said.groups()[:3])
    together = image + bundle
    rows = [
        Row("image", image, "MB"),
        at_most("image and the demo's bundle", together, "MB", MOST_MB),
        Row(f"start to ready, as user {said[4]} with a read-only root", ready_s, "s"),
    ]
    return Part(rows, {})
