"""An alert in a real Prometheus: it scrapes a server by our rules, fires for what is wrong there, and stops."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import yaml

from quizglass_client.local import LocalServer
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.tls import Certificate, issued, replace_files

pytest.importorskip("prometheus_client", reason="the extra web is not installed")

RULES = Path(__file__).parents[3] / "deploy" / "alerts" / "quizglass.yaml"
PATIENCE_S = 90.0


@pytest.fixture
def program() -> str:
    found = shutil.which("prometheus")
    if found is None:
        pytest.skip("Prometheus is not installed: apt install prometheus")
    return found


@contextmanager
def prometheus(program: str, scraped: str, trusted: Certificate, folder: Path) -> Iterator[str]:
    """One that scrapes an address over TLS and evaluates our rules all the time; its own address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    target = {"targets": [scraped]}
    tls = {"ca_file": str(trusted.path), "server_name": "localhost"}
    scrape = {"job_name": "quizglass", "scheme": "https", "tls_config": tls, "static_configs": [target]}
    often = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    config = folder / "prometheus.yaml"
    config.write_text(yaml.safe_dump({"global": often, "rule_files": [str(RULES)], "scrape_configs": [scrape]}))
    command = [program, f"--config.file={config}", f"--storage.tsdb.path={folder / 'series'}"]
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen([*command, f"--web.listen-address={address}"], stdout=log, stderr=log)
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def asked(url: str) -> Any:
    """The data of an answer; None as long as there is none."""
    try:
        with urlopen(url, timeout=5) as answer:
            return json.load(answer)["data"]
    except (URLError, ConnectionError, TimeoutError):
        return None


def firing(url: str) -> list[str] | None:
    """Names of the alerts that fire; None before the server was scraped."""
    up, alerts = (
        asked(f"{url}/api/v1/query?query=up%7Bjob%3D%22quizglass%22%7D%20%3D%3D%201"),
        asked(f"{url}/api/v1/alerts"),
    )
    if not up or not up["result"] or alerts is None:
        return None
    return sorted(each["labels"]["alertname"] for each in alerts["alerts"] if each["state"] == "firing")


def wait_until(holds: Callable[[], bool], folder: Path) -> None:
    until = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until, (folder / "prometheus.log").read_text()[-4000:]
        time.sleep(0.2)


def test_a_certificate_that_is_about_to_expire_fires_its_alert_until_it_is_renewed(
    program: str, tmp_path: Path
) -> None:
    for name in ("served", "renewed"):
        (tmp_path / name).mkdir()
    served, renewed = issued(tmp_path / "served", days=10), issued(tmp_path / "renewed", days=90)
    trusted = Certificate(tmp_path / "trusted.pem", served.key)
    trusted.path.write_bytes(served.path.read_bytes() + renewed.path.read_bytes())
    flags = ["--operations-port", "0", "--tls-cert", str(served.path), "--tls-key", str(served.key)]
    with LocalServer(write_bundle(tmp_path / "bundle"), tmp_path / "knowledge", flags=flags) as server:
        scraped = server.operations.removeprefix("https://")
        with prometheus(program, scraped, trusted, tmp_path) as url:
            wait_until(lambda: firing(url) == ["QuizglassCertificateExpires"], tmp_path)
            replace_files(served, renewed)
            wait_until(lambda: firing(url) == [], tmp_path)
