"""Where settings come from, which of them wins, and what is said about wrong ones."""

import json
import logging
import os
import subprocess
import sys
import tomllib
from contextvars import copy_context
from pathlib import Path
from typing import get_args
from unittest.mock import patch

import pytest

from quizglass_server.cli import build_parser, main
from quizglass_server.config.load import Settings, all_fields, as_toml
from quizglass_server.config.load import load_settings as from_this_environment
from quizglass_server.config.logs import HumanFormatter, JsonFormatter, RateLimitedLogger, set_peer
from quizglass_server.config.settings import BatchOptions, GeneratorOptions, MemoryOptions
from quizglass_server.errors import SettingsError

UNSET = {
    "audit_log",
    "default_policy",
    "engine_cache",
    "generator",
    "generator_token_file",
    "hearing",
    "knowledge_token_file",
    "llama_server",
    "memory_directory",
    "operations_port",
    "projector",
    "require_signature",
    "session_key_file",
    "sources",
    "state_directory",
    "tenants",
    "tls_cert",
    "tls_client_ca",
    "tls_key",
    "tokens",
    "web_port",
    "voice",
}

NEEDED = {"bundle": "b", "knowledge": "k"}


def load_settings(
    flags: dict[str, str], config: Path | None = None, environment: dict[str, str] | None = None
) -> Settings:
    """With no more variables than these."""
    with patch.dict(os.environ, environment or {}, clear=True):
        return from_this_environment(flags, config)


def test_flags_go_before_environment_before_file(tmp_path: Path) -> None:
    config = tmp_path / "quizglass.toml"
    config.write_text('bundle = "file"\nknowledge = "file"\nport = 1\nqueue = 1\nmax_turns = 1\n')
    environment = {"QUIZGLASS_PORT": "2", "QUIZGLASS_QUEUE": "2", "HOME": "/", "QUIZGLASS_CONFIG": str(config)}
    settings = load_settings({"port": "3", "host": None}, environment=environment)
    assert (settings.port, settings.queue, settings.max_turns) == (3, 2, 1)
    assert settings.bundle == Path("file")
    assert settings.host == "127.0.0.1"


def test_settings_made_directly_do_not_read_the_environment(monkeypatch) -> None:
    monkeypatch.setenv("QUIZGLASS_PORT", "2")
    assert Settings(bundle=Path("b"), knowledge=Path("k")).port == 50061


@pytest.mark.parametrize(
    ("flags", "environment", "file", "message"),
    [
        (NEEDED, {"QUIZGLASS_PROT": "1"}, "", "QUIZGLASS_PROT: no such setting; did you mean QUIZGLASS_PORT?"),
        (NEEDED, {"QUIZGLASS_XYZZY": "1"}, "", "QUIZGLASS_XYZZY: no such setting"),
        (NEEDED, {"QUIZGLASS_SERVER_PORT": "1"}, "", "QUIZGLASS_SERVER_PORT: no such setting"),
        ({"port": "x"}, {}, "", "--port: input should be a valid integer"),
        (NEEDED, {}, "vision_threads = 2", "vision_threads: no such setting any more: pictures are encoded with"),
        (NEEDED, {"QUIZGLASS_VISION_THREADS": "2"}, "", "QUIZGLASS_VISION_THREADS: no such setting any more"),
        (NEEDED, {}, "max_turn = 3", "quizglass.toml: max_turn: no such setting; did you mean max_turns?"),
        (NEEDED, {}, "port = ", "quizglass.toml: not valid TOML"),
        (NEEDED | {"port": "x"}, {}, "", "--port: input should be a valid integer"),
        (NEEDED | {"max_turns": "0"}, {}, "", "--max-turns: input should be greater than or equal to 1"),
        (NEEDED, {"QUIZGLASS_GRACE_S": "no"}, "", "QUIZGLASS_GRACE_S: input should be a valid number"),
        (NEEDED, {}, 'log_format = "xml"', "quizglass.toml: log_format: input should be 'human' or 'json'"),
        (NEEDED | {"bundle": ""}, {}, "", "--bundle: empty, which would be the working directory; name a path, or"),
        (NEEDED, {"QUIZGLASS_MEMORY_DIRECTORY": ""}, "", "QUIZGLASS_MEMORY_DIRECTORY: empty, which would be the work"),
        (NEEDED, {}, 'state_directory = "a\\u0000b"', "quizglass.toml: state_directory: no path has a zero character"),
        (
            NEEDED | {"max_frame_aspect": "inf"},
            {},
            "",
            "--max-frame-aspect: input should be less than or equal to 10000",
        ),
        (NEEDED | {"message_bytes": "1"}, {}, "", "--message-bytes: input should be greater than or equal to 262144"),
        (
            {"bundle": "b"},
            {},
            "",
            "knowledge: required; give --knowledge, QUIZGLASS_KNOWLEDGE or",
        ),
    ],
)
def test_wrong_settings_are_named_as_they_were_written(
    flags: dict[str, str], environment: dict[str, str], file: str, message: str, tmp_path: Path
) -> None:
    config = tmp_path / "quizglass.toml"
    config.write_text(file)
    with pytest.raises(SettingsError) as refused:
        load_settings(flags, config, environment)
    assert message in refused.value.message


def test_settings_are_their_groups_and_a_group_leaves_the_rest_behind() -> None:
    settings = load_settings(NEEDED | {"generator_batch": "3", "memory_ttl_s": "60"})
    assert isinstance(settings, GeneratorOptions)
    assert isinstance(settings, MemoryOptions)
    assert BatchOptions.of(settings) == BatchOptions(generator_batch=3)
    assert MemoryOptions.of(settings).memory_ttl_s == 60
    with pytest.raises(ValueError, match="frozen"):
        settings.generator_batch = 4


def test_a_group_made_in_code_has_the_defaults_of_the_settings() -> None:
    assert GeneratorOptions.of(load_settings(NEEDED)) == GeneratorOptions()


@pytest.mark.parametrize("place", ["123", "null", '"quoted"', "[1]"])
def test_a_variable_is_taken_as_it_is_written(place: str) -> None:
    assert load_settings({"bundle": "b"}, environment={"QUIZGLASS_KNOWLEDGE": place}).knowledge == Path(place)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(NEEDED, tmp_path / "absent.toml", {})


def test_the_variables_of_other_programs_are_left_alone() -> None:
    load_settings(NEEDED, environment={"QUIZGLASS_CLIENT_ADDRESS": "x", "QUIZGLASS_SERVER": "x"})


def test_printed_settings_can_be_read_back(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["--bundle", "some dir", "--knowledge", 'odd"name', "--port", "0", "--print-config"]) == 0
    printed = capsys.readouterr().out
    (tmp_path / "printed.toml").write_text(printed)
    again = load_settings({}, tmp_path / "printed.toml", {})
    assert (again.bundle, again.knowledge, again.port) == (Path("some dir"), Path('odd"name'), 0)
    assert as_toml(again) == printed
    assert set(tomllib.loads(printed)) == set(Settings.model_fields) - UNSET
    assert '# engine_cache = ""' in printed


def test_what_is_printed_is_read_back_whatever_the_letters(tmp_path: Path) -> None:
    settings = load_settings({"bundle": 'modèle \U0001f453 "q"\x7f\\', "knowledge": "知識\t"}, environment={})
    (tmp_path / "printed.toml").write_text(as_toml(settings), encoding="ascii")
    assert load_settings({}, tmp_path / "printed.toml", {}) == settings


def test_origins_are_read_in_any_case_and_printed_as_browsers_write_them(tmp_path: Path) -> None:
    given = {"web_origins": "https://Glasses.example:443/, http://10.0.0.5:8080"}
    settings = load_settings({**NEEDED, **given}, environment={})
    assert settings.web_origins == ("https://glasses.example", "http://10.0.0.5:8080")
    (tmp_path / "printed.toml").write_text(as_toml(settings))
    assert load_settings({}, tmp_path / "printed.toml", {}).web_origins == settings.web_origins
    listed = tmp_path / "listed.toml"
    listed.write_text('web_origins = ["https://Glasses.example/", "http://10.0.0.5:8080"]')
    assert load_settings(NEEDED, listed, {}).web_origins == settings.web_origins
    listed.write_text('web_origins = ["glasses.example"]')
    with pytest.raises(SettingsError, match=r"listed\.toml: web_origins: 'glasses\.example' is not of the form"):
        load_settings(NEEDED, listed, {})
    for wrong in ("glasses.example", "*", "null", "ftp://a", "https://a/b", "https://a:b", "https://u@a", "https://"):
        with pytest.raises(SettingsError, match=r"web[_-]origins.*is not of the form https://HOST"):
            load_settings({**NEEDED, "web_origins": wrong}, environment={})


def test_a_milvus_is_printed_as_it_was_given_and_a_wrong_one_is_named(tmp_path: Path) -> None:
    settings = load_settings({"bundle": "b", "knowledge": "http://host:1/shop"}, environment={})
    (tmp_path / "printed.toml").write_text(as_toml(settings))
    assert load_settings({}, tmp_path / "printed.toml", {}) == settings
    assert str(settings.knowledge) == "http://host:1/shop"
    for given, says in (("http://a:secret@host", "holds a password"), ("ftp://host", "no backend"), ("", "empty")):
        with pytest.raises(SettingsError, match=f"--knowledge: .*{says}") as refused:
            load_settings({"bundle": "b", "knowledge": given}, environment={})
        assert "secret" not in refused.value.message
    with pytest.raises(SettingsError, match="--knowledge-collections"):
        load_settings({"bundle": "b", "knowledge": "k", "knowledge_collections": "odd name"}, environment={})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vision-threads", "1"], "--vision-threads: no such flag any more: pictures"),
        (["--prot", "1"], "--prot: no such flag; did you mean --port?"),
        (["--policy", "quote"], "--policy: no such flag; did you mean --default-policy?"),
        (["--log-format", "xml", "--bundle", "b", "--knowledge", "k"], "invalid choice"),
        ([], "bundle: required"),
        (["doctr"], "argument COMMAND: invalid choice: 'doctr'"),
        (["doctor", "--jsn"], "--jsn: no such flag; did you mean --json?"),
        (["doctor", "--port", "x"], "--port: input should be a valid integer"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_status_2(arguments: list[str], message: str, capsys) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("quizglass-server: ")
    assert message in error
    assert error.count("\n") == 1


def test_every_setting_is_a_documented_flag() -> None:
    assert set(all_fields()) == set(Settings.model_fields)
    shown = build_parser().format_help()
    for name, field in all_fields().items():
        assert f"--{name.replace('_', '-')} " in shown
        assert field.description
    assert "--knowledge DIR" in shown
    assert "--knowledge-token-file FILE" in shown


def test_help_and_completion_load_no_engine() -> None:
    code = (
        "import sys\nfrom quizglass_server.cli import main\n"
        "try: main(['--print-completion', 'bash'])\nexcept SystemExit as end: status = end.code\n"
        "assert not status, status\n"
        "heavy = {'grpc', 'onnxruntime', 'llama_cpp', 'numpy', 'rapidocr'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "quizglass-server" in done.stdout


def record(message: str, **fields: object) -> logging.LogRecord:
    made = logging.makeLogRecord({"msg": message, "levelname": "INFO", "name": "quizglass_server.test"})
    vars(made).update(fields)
    return made


def test_json_logs_are_one_object_with_the_fields() -> None:
    line = JsonFormatter().format(record("turn finished", turn="abc", ms=1.5, skipped=[], plan=None, odd=Path("p\n")))
    assert "\n" not in line
    parsed = json.loads(line)
    assert parsed["message"] == "turn finished"
    assert (parsed["level"], parsed["turn"], parsed["ms"], parsed["odd"]) == ("info", "abc", 1.5, "p\n")
    assert "skipped" not in parsed
    assert "plan" not in parsed


def test_what_is_known_of_a_caller_counts_before_what_a_line_says_and_leaves_the_rest() -> None:
    def said() -> dict[str, object]:
        set_peer("192.0.2.7:50123")
        line = record("device paired", peer="ipv4:192.0.2.7:50123", tenant="north")
        return dict(json.loads(JsonFormatter().format(line)))

    told = copy_context().run(said)
    assert (told["peer"], told["tenant"]) == ("192.0.2.7:50123", "north")


def test_warnings_of_python_are_lines_of_the_log() -> None:
    warn = "import warnings; from quizglass_server.config.logs import configure; configure('json', 'info'); "
    warn += "warnings.warn('a library is unhappy')"
    done = subprocess.run([sys.executable, "-c", warn], capture_output=True, text=True, check=True)
    (line,) = done.stderr.splitlines()
    assert "UserWarning: a library is unhappy" in json.loads(line)["message"]


def test_json_logs_are_json_whatever_standard_error_can_encode() -> None:
    line = JsonFormatter().format(record("turn finished", reason="caf\xe9 \u65e5"))
    assert json.loads(line.encode("ascii"))["reason"] == "caf\xe9 \u65e5"


@pytest.mark.parametrize(
    "name", [name for name, field in all_fields().items() if Path in (field.annotation, *get_args(field.annotation))]
)
def test_no_path_is_empty(name: str) -> None:
    with pytest.raises(SettingsError, match=f"--{name.replace('_', '-')}: empty"):
        load_settings(NEEDED | {name: ""})


def test_a_warning_that_comes_again_and_again_is_counted_instead(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    sparing = RateLimitedLogger(logging.getLogger("test"), every_s=10.0, now=lambda: now)
    for _ in range(3):
        sparing.warning("no message", peer="a")
    sparing.warning("another", peer="a")
    now = 10.0
    sparing.warning("no message", peer="b")
    told = [(record.getMessage(), record.peer, record.left_out) for record in caplog.records]  # type: ignore[attr-defined]
    assert told == [("no message", "a", None), ("another", "a", None), ("no message", "b", 2)]


def test_human_logs_cannot_be_forged() -> None:
    line = HumanFormatter().format(record("bad\nINFO forged", reason="x\ny z", turn="abc", skipped=["read:FAILED"]))
    assert "\n" not in line
    assert 'reason="x\\ny z"' in line
    assert "turn=abc" in line
    assert "skipped=read:FAILED" in line


def test_trusted_proxies_are_addresses_and_networks(tmp_path: Path) -> None:
    settings = load_settings({**NEEDED, "trusted_proxies": "127.0.0.1, 10.0.0.0/8,::1"}, environment={})
    assert settings.trusted_proxies == ("127.0.0.1/32", "10.0.0.0/8", "::1/128")
    (tmp_path / "printed.toml").write_text(as_toml(settings))
    assert load_settings({}, tmp_path / "printed.toml", {}).trusted_proxies == settings.trusted_proxies
    for wrong in ("localhost", "10.0.0.1/8", "*", "10.0.0.0/40"):
        with pytest.raises(SettingsError, match=r"trusted[_-]proxies.*is no IP address and no network"):
            load_settings({**NEEDED, "trusted_proxies": wrong}, environment={})
