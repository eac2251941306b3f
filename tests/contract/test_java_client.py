"""The Java client is built by a script: what it needs is said when it is missing, and by its page."""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "clients/java/build.sh"
PACKAGES = re.search(r"^packages=\((.*?)\)", BUILD.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[1].split()


def test_what_is_missing_is_named_with_the_command_that_installs_it(tmp_path):
    built = subprocess.run([BUILD], env=os.environ | {"JAVA_LIBS": str(tmp_path)}, capture_output=True, text=True)
    assert built.returncode == 1
    assert re.match(r"The Java client needs what is not there: \S+.*\. apt install default-jdk-headless ", built.stderr)
    assert all(package in built.stderr for package in PACKAGES)


def test_its_page_names_every_package():
    page = (ROOT / "docs/clients.md").read_text(encoding="utf-8")
    assert [package for package in PACKAGES if package not in page] == []
