"""Known vulnerabilities of installed parts, looked up in a file, as a process."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[3] / "deploy" / "advisories.py"


def record(name, events=(), *, versions=(), ecosystem="PyPI", **more):
    package = {"ecosystem": ecosystem, "name": name}
    ranges = [{"type": "ECOSYSTEM", "events": list(events)}] if events else []
    affected = {"package": package, "ranges": ranges, "versions": list(versions)}
    return {
        "id": f"TEST-{name}",
        "summary": "It can\nbe read.",
        "modified": "2026-01-02",
        "affected": [affected],
        **more,
    }


def looked_up(folder, *records, packed=False):
    """Status and lines."""
    parts = [{"name": "Some_Package", "version": "1.10.0"}, {"name": "odd", "version": "not-one"}]
    sbom, advisories = folder / "sbom.json", folder / "advisories"
    sbom.write_text(json.dumps({"components": parts}))
    if packed:
        with zipfile.ZipFile(advisories, "w") as archive:
            for number, each in enumerate(records):
                archive.writestr(f"{number}.json", json.dumps(each))
    else:
        advisories.write_text(json.dumps(list(records)))
    command = [sys.executable, PROGRAM, sbom, advisories]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("packed", [False, True], ids=["list", "zip"])
def test_a_vulnerability_is_named_with_its_part(tmp_path, packed):
    since = [{"introduced": "0"}, {"fixed": "1.10.1"}]
    status, lines = looked_up(tmp_path, record("some-package", since), record("other", since), packed=packed)
    assert status == 1
    assert lines[0] == "some-package 1.10.0: TEST-some-package It can be read."
    assert lines[1:] == ["2 parts, 2 advisories, the newest of 2026-01-02: 1 vulnerabilities"]


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ([{"introduced": "1.9"}], 1),
        ([{"introduced": "0"}, {"fixed": "1.10"}], 0),
        ([{"introduced": "1.11"}], 0),
        ([{"introduced": "0"}, {"last_affected": "1.10.0"}], 1),
        ([{"introduced": "0"}, {"last_affected": "1.9"}], 0),
        ([{"introduced": "0"}, {"fixed": "1.2"}, {"introduced": "1.9"}, {"fixed": "2"}], 1),
    ],
)
def test_versions_are_compared_as_versions(tmp_path, events, status):
    assert looked_up(tmp_path, record("some.package", events))[0] == status


def test_versions_that_are_listed_are_affected_and_withdrawn_records_say_nothing(tmp_path):
    assert looked_up(tmp_path, record("some-package", versions=["1.10.0"]))[0] == 1
    assert looked_up(tmp_path, record("odd", versions=["not-one"]))[0] == 1
    assert looked_up(tmp_path, record("odd", [{"introduced": "0"}]))[0] == 0
    assert looked_up(tmp_path, record("some-package", versions=["1.10.0"], withdrawn="2026-01-01"))[0] == 0
    assert looked_up(tmp_path, record("some-package", versions=["1.10.0"], ecosystem="npm"))[0] == 0


def test_a_file_that_is_none_is_told_apart_from_one_without_vulnerabilities(tmp_path):
    (tmp_path / "sbom.json").write_text('{"components": []}')
    command = [sys.executable, PROGRAM, tmp_path / "sbom.json", tmp_path / "absent"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "absent" in done.stderr) == (2, True)
