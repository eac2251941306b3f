"""A server of one's own ends with whoever started it."""

from pathlib import Path
from subprocess import Popen

import pytest

from quizglass_client.errors import ServerUnavailable
from quizglass_client.local import LocalServer


class Interrupted(LocalServer):
    """Interrupted while the server loads its models."""

    def _ready_address(self, process: "Popen[str]") -> str:
        raise KeyboardInterrupt


def test_interrupted_before_it_is_ready_it_leaves_no_process(tmp_path: Path) -> None:
    server = Interrupted(tmp_path, tmp_path)
    with pytest.raises(KeyboardInterrupt), server:
        pass
    assert server._process is not None
    assert server._process.returncode is not None


def test_a_server_that_cannot_start_says_where_its_log_is(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(ServerUnavailable, match=r"status 3.*log"), LocalServer(tmp_path, tmp_path, log=log):
        pass
    assert "manifest.json" in log.read_text()
    with pytest.raises(ServerUnavailable, match=r"status 3.*log=FILE"), LocalServer(tmp_path, tmp_path):
        pass
