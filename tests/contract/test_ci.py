"""What `make test` and continuous integration do where Node, Chromium or Java is missing, on a `PATH` of stand-ins."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEEDED = ("node", "npm", "openssl", "javac", "jar", "protoc", "grpc_java_plugin")
SYSTEM = ("bash", "cat", "dirname", "env", "make", "mkdir", "paste", "rm", "sed", "timeout", "touch", "chmod")
JARS = subprocess.run(
    [ROOT / "clients/java/build.sh", "absent"],
    env={"PATH": os.environ["PATH"], "JAVA_LIBS": "/nowhere"},
    capture_output=True,
    text=True,
    check=True,
).stdout.split()


class Machine:
    """A machine that has what a test gives it.

    Args:
        folder: where its commands are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._log = folder / "log"
        self.bin, libs = folder / "bin", folder / "libs"
        self.bin.mkdir()
        libs.mkdir()
        for name in SYSTEM:
            (self.bin / name).symlink_to(shutil.which(name) or name)
        for name in NEEDED:
            self.has(name)
        self.has("node", "echo 20")
        for jar in filter(lambda each: each.endswith(".jar"), JARS):
            (libs / Path(jar).name).touch()
        self._environment = {"PATH": str(self.bin), "JAVA_LIBS": str(libs), "CHROMIUM": str(self.bin / "chromium")}
        self.has("chromium")

    def has(self, name: str, does: str = "true") -> None:
        """Have a command, in place of the real one; its calls are logged."""
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f'#!{self.bin}/bash\necho {name} "$@" >>{self._log}\n{does}\n', encoding="utf-8")
        path.chmod(0o755)

    def lacks(self, *names: str) -> None:
        """Do without commands."""
        for name in names:
            (self.bin / name).unlink()

    def run(self, *command: str) -> tuple[int, str]:
        """Run a command in the repository; its exit status and all that it said."""
        self._log.write_text("", encoding="utf-8")
        done = subprocess.run(
            [self.bin / "bash", "-c", 'exec "$@"', "bash", *command],
            cwd=ROOT,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return done.returncode, done.stdout + done.stderr

    def called(self, name: str) -> list[str]:
        """With what a command was called, call by call."""
        lines = self._log.read_text(encoding="utf-8").splitlines()
        return [line.removeprefix(name).strip() for line in lines if line.split()[0] == name]


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def server(machine):
    """A machine of continuous integration: root, with apt-get, and a make that does nothing."""
    machine.has("make")
    machine.has("id", "echo 0")
    machine.has("apt-get")
    return machine


def installs(server, name):
    """What has apt-get install a command."""
    stand_in = f"{server.bin}/{name}"
    return f'[ "$1" = update ] || {{ printf "#!{server.bin}/bash\\necho 20\\n" >{stand_in}; chmod +x {stand_in}; }}'


def test_nothing_is_said_where_all_is_there(machine):
    assert machine.run("clients/needs.sh") == (0, "")


def test_all_that_is_missing_is_named_at_once_with_one_line_to_get_it(machine):
    machine.lacks("node", "npm", "chromium", "javac")
    status, said = machine.run("clients/needs.sh")
    assert status == 1
    for name in ("Node 20 or later", "npm", "Chromium", "javac"):
        assert name in said
    (line,) = [line.split() for line in said.splitlines() if "apt install" in line]
    assert {"nodejs", "npm", "chromium", "default-jdk-headless", "libgrpc-java", "junit5"} <= set(line)
    assert machine.run("clients/needs.sh", "packages") == (0, " ".join(line[2:]) + "\n")


def test_a_node_that_is_too_old_is_named(machine):
    machine.has("node", "echo 18")
    status, said = machine.run("clients/needs.sh")
    assert (status, "this is 18" in said, "apt install nodejs\n" in said) == (1, True, True)


@pytest.fixture
def tested(machine):
    """Runs the clients' tests on a machine whose make does nothing but what the test says; what was said and made."""

    def run(make="true"):
        machine.has("make", make)
        status, said = machine.run("clients/test.sh")
        return status, said, [call.removeprefix("--no-print-directory ") for call in machine.called("make")]

    return run


def test_all_clients_are_tested_where_their_tools_are_there(tested):
    made = ["web-packages", "test-web", "typescript-packages", "test-typescript", "test-java"]
    assert tested() == (0, "", made)


@pytest.mark.parametrize(
    ("missing", "left", "packages"),
    [
        ("node", ("web", "typescript"), "nodejs"),
        ("chromium", ("web",), "chromium"),
        ("javac", ("java",), "default-jdk-headless "),
        ("openssl", ("typescript", "java"), "openssl"),
    ],
)
def test_clients_without_their_tools_are_named_at_the_end_and_nothing_fails(machine, tested, missing, left, packages):
    machine.lacks(missing)
    status, said, made = tested()
    assert status == 0
    assert {each for each in made if each.startswith("test-")} == {
        f"test-{each}" for each in ("web", "typescript", "java") if each not in left
    }
    named, *clients, install = said.strip().splitlines()
    assert "make test-all" in named
    assert clients == [f"  make test-{each}: its tools are not installed" for each in left]
    assert install.startswith(f"Install their tools: apt install {packages}")


def test_clients_whose_packages_cannot_be_had_are_left_out(tested):
    status, said, made = tested('[[ "$2" != *-packages ]]')
    assert (status, made) == (0, ["web-packages", "typescript-packages", "test-java"])
    assert "make test-typescript: its packages cannot be had from npm" in said


@pytest.mark.parametrize("client", ["web", "java"])
def test_a_test_of_a_client_that_fails_fails_them(tested, client):
    assert tested(f'[ "$2" != test-{client} ]')[0] != 0


def test_make_test_needs_no_tools_of_other_clients(machine):
    machine.lacks("node", "npm", "chromium", "javac")
    status, said = machine.run("make", "--dry-run", "test", f"VENV={machine.bin}/venv")
    assert status == 0, said
    assert said.index("pytest") < said.index("clients/test.sh")


def test_make_test_all_names_what_is_missing_before_anything_else(machine):
    machine.lacks("javac")
    status, said = machine.run("make", "test-all", f"VENV={machine.bin}/venv")
    assert (status, "javac" in said, "apt install default-jdk-headless" in said) == (2, True, True)
    assert not (machine.bin / "venv").exists()


def test_a_python_that_is_too_old_is_named_before_anything_is_made(machine):
    machine.has("python3", '[ "$1" = --version ] && echo Python 3.10.12; exit 1')
    status, said = machine.run("make", f"{machine.bin}/venv/bin/python", f"VENV={machine.bin}/venv")
    assert status == 2
    assert "needs Python 3.11 or later, and python3 is Python 3.10.12; name another: PYTHON=python3.12" in said
    assert not (machine.bin / "venv").exists()


@pytest.mark.parametrize("there", [False, True])
def test_an_environment_that_is_half_made_does_not_stay(machine, there):
    venv = machine.bin / "venv"
    if there:
        venv.mkdir()
    machine.has("python3", '[ "$1" = -m ] || exit 0; mkdir -p $3/bin; touch $3/bin/python; exit 1')
    status, said = machine.run("make", f"{venv}/bin/python", f"VENV={venv}")
    assert (status, "apt install python3-venv" in said) == (2, True)
    assert venv.exists() is there  # what was not made here is not removed


def installed(machine, does, *words):
    """What make has pip install once the server is there."""
    venv = machine.bin / "venv"
    for name in ("bin", "bin/python", ".server", ".llama"):  # in the order in which they are made
        path = venv / name
        path.mkdir(parents=True) if name == "bin" else path.touch()
    machine.has("pip", does)
    (venv / "bin/python").write_text(f'#!{machine.bin}/bash\nexec {machine.bin}/pip "${{@:4}}"\n')
    (venv / "bin/python").chmod(0o755)
    status, said = machine.run("make", f"{venv}/.dev", f"VENV={venv}", *words)
    return status, said, machine.called("pip")


def test_pytorch_comes_without_cuda_and_from_the_usual_index_where_that_cannot_be_had(machine):
    status, said, calls = installed(machine, '[[ "$*" != *index-url* ]]')
    assert (status, "the usual index gives PyTorch" in said) == (0, True)
    assert "--index-url https://download.pytorch.org/whl/cpu torch==" in calls[0]
    assert "export" in calls[1]


def test_pytorch_is_what_the_usual_index_has_where_that_is_wanted(machine):
    status, _, calls = installed(machine, "true", "TORCH_INDEX=")
    assert (status, len(calls)) == (0, 1)


def test_the_typescript_client_is_built_without_an_environment_of_python(machine):
    status, said = machine.run("make", "client-typescript", f"VENV={machine.bin}/venv", "TYPESCRIPT_PACKAGES=")
    assert (status, machine.called("npm")[-1]) == (0, "run --silent build"), said
    assert not (machine.bin / "venv").exists()


def test_make_clean_removes_what_the_clients_were_built_of(tmp_path):
    made = ("clients/java/build", "clients/typescript/dist", "clients/typescript/node_modules", ".hypothesis")
    for folder in (*made, "tests/browser/node_modules", "work/bench"):
        (tmp_path / folder).mkdir(parents=True)
    subprocess.run(["make", "-f", ROOT / "Makefile", "clean"], cwd=tmp_path, check=True, capture_output=True)
    left = [folder for folder in (*made, "tests/browser/node_modules") if (tmp_path / folder).exists()]
    assert (left, (tmp_path / "work/bench").exists()) == ([], True)


def test_ci_installs_nothing_where_all_is_there(server):
    assert server.run(".ci/run")[0] == 0
    assert server.called("make") == ["clients-packages", "test-all", "test-lab"]
    assert not server.called("apt-get")


def test_ci_installs_what_is_missing(server):
    server.lacks("node")
    server.has("apt-get", installs(server, "node"))
    assert server.run(".ci/run")[0] == 0
    update, install = server.called("apt-get")
    assert (update, install.endswith("install -y --no-install-recommends nodejs")) == ("update", True)
    assert server.called("make") == ["clients-packages", "test-all", "test-lab"]


def test_ci_uses_the_lists_that_are_there_where_they_cannot_be_brought_up_to_date(server):
    server.lacks("npm")
    server.has("apt-get", f'[ "$1" != update ] || exit 100\n{installs(server, "npm")}')
    assert server.run(".ci/run")[0] == 0
    assert server.called("make") == ["clients-packages", "test-all", "test-lab"]


@pytest.mark.parametrize("how", ["apt fails", "apt has none", "not root", "no apt"])
def test_ci_tests_what_it_can_where_nothing_can_be_installed(server, how):
    server.lacks("chromium")
    if how == "apt fails":
        server.has("apt-get", "exit 100")
    elif how == "not root":
        server.has("id", "echo 1000")
    elif how == "no apt":
        server.lacks("apt-get")
    status, said = server.run(".ci/run")
    assert status == 0
    assert server.called("make") == ["test", "test-lab"]
    assert "Chromium" in said
    assert how != "not root" or not server.called("apt-get")


def test_ci_tests_what_it_can_where_npm_has_no_packages(server):
    server.has("make", '[ "$1" != clients-packages ]')
    status, said = server.run(".ci/run")
    assert (status, server.called("make")) == (0, ["clients-packages", "test", "test-lab"])
    assert "Not all clients can be tested here" in said


@pytest.mark.parametrize("there", [True, False])
def test_a_test_that_fails_fails_ci(server, there):
    server.has("make", '[[ "$1" != test* ]]')
    if not there:
        server.lacks("javac")
    assert server.run(".ci/run")[0] != 0
    assert server.called("make")[-1] == ("test-all" if there else "test")


def test_a_card_is_checked_in_an_environment_of_its_own() -> None:
    """The tests' environment has onnxruntime, whose files those of onnxruntime-gpu would overwrite."""
    command = ["make", "-n", "-f", str(ROOT / "Makefile"), "GPU_VENV=apart", "gpu-check"]
    said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert said.splitlines()[-1].strip() == "apart/bin/python -m bench.gpu"
    assert not re.search(r"(?<!\S)\.venv/|server\[[^]]*\b(cpu|onnx|gpu)\b", said)
    shown = re.findall(r"\$\((sed .*? server/pyproject\.toml)\)", said)
    found = [
        subprocess.run(each, shell=True, cwd=ROOT, check=True, capture_output=True, text=True).stdout for each in shown
    ]
    assert [each.partition("[")[0].partition(">")[0] for each in found] == ["onnxruntime-gpu", "tensorrt"]
