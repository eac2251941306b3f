"""The wheels that `make wheels` builds: each installed by itself, and started."""

import subprocess
import sys
import zipfile

import pytest

from quizglass import __version__
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.installed import ROOT, Installed

READY = """
import io, sys
from quizglass_client import Client, InvalidRequest
from quizglass_client.pictures import encode
picture = open(sys.argv[1], "rb").read()
assert encode(picture, 100_000) == picture
try:
    encode(picture, 8)
except InvalidRequest as error:
    print(error)
print(sorted({"rich", "shtab", "PIL"} & set(sys.modules)))
with Client("127.0.0.1:1") as client:
    print(client.healthy())
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    done = subprocess.run([ROOT / ".ci/wheels", folder, sys.executable], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_they_are_four_of_one_version_and_name_no_folder_of_this_machine(wheels):
    names = ("quizglass", "quizglass_bundle", "quizglass_server", "quizglass_export")
    assert {path.name for path in wheels.iterdir()} == {f"{name}-{__version__}-py3-none-any.whl" for name in names}
    for path in wheels.iterdir():
        with zipfile.ZipFile(path) as archive:
            (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            assert b"file://" not in archive.read(metadata)
            assert not [name for name in archive.namelist() if "quizglass_lab" in name]


def test_the_client_sends_pictures_without_pillow_rich_and_shtab(wheels, tmp_path):
    client = Installed(tmp_path, "quizglass", wheels=wheels)
    assert not {"PIL", "rich", "shtab"} & {path.name for path in client.site.iterdir()}
    photograph = next((ROOT / "server/quizglass_server/web/static/samples").glob("*.png"))
    done = client.run("python", "-c", READY, photograph)
    said = done.stdout.splitlines()
    assert (done.returncode, said[1:]) == (0, ["[]", "False"]), done.stderr
    assert "needs Pillow; in the clone: pip install '.[cli]'" in said[0]
    assert client.run("quizglass", "--version").stdout == f"quizglass {__version__}\n"
    done = client.run("quizglass", "health")
    assert (done.returncode, "pip install '.[cli]'" in done.stderr, done.stderr.count("\n")) == (2, True, 1)


def test_the_command_starts(wheels, tmp_path):
    assert Installed(tmp_path, "quizglass[cli]", wheels=wheels).run("quizglass", "--version").stdout == (
        f"quizglass {__version__}\n"
    )


def test_the_server_starts(wheels, tmp_path):
    server = Installed(tmp_path, "quizglass", "quizglass-bundle", "quizglass-server", wheels=wheels)
    assert server.run("quizglass-server", "--version").stdout == f"quizglass-server {__version__}\n"
    config = server.run("quizglass-server", "--print-config", "--bundle", "b", "--knowledge", "k")
    assert config.returncode == 0, config.stderr


def test_the_exporter_looks_into_a_bundle(wheels, tmp_path):
    bundle = write_bundle(tmp_path / "bundle", ("image_encoder", "text_encoder"))
    exporter = Installed(
        tmp_path, "quizglass", "quizglass-bundle", "quizglass-server[onnx]", "quizglass-export", wheels=wheels
    )
    done = exporter.run("quizglass-export", "inspect", bundle, "--json")
    assert (done.returncode, '"name": "tiny"' in done.stdout) == (0, True), done.stderr
