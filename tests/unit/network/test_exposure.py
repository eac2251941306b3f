"""What has to be there before a server listens on addresses that others reach."""

import logging

import pytest

from quizglass_server.config.load import Settings
from quizglass_server.errors import SettingsError
from quizglass_server.network.exposure import check_exposure, check_local, parts_elsewhere

TLS = {"tls_cert": "server.pem", "tls_key": "server.key"}
LOGIN = {"tokens": "tokens.json"}


def settings(**given):
    return Settings(bundle="bundle", knowledge="knowledge", **given)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"host": "localhost", "web_port": 0, "web_host": "::1"},
        {"host": "127.0.0.9"},
        {"host": "0.0.0.0", **TLS, **LOGIN},
        {"host": "0.0.0.0", **TLS, "tls_client_ca": "ca.pem"},
        {"web_host": "0.0.0.0", "operations_host": "0.0.0.0"},  # nothing listens there without a port
    ],
)
def test_protected_and_unreachable_servers_start_without_a_word(given, caplog):
    check_exposure(settings(**given))
    assert not caplog.records


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"host": "0.0.0.0"}, r"^host: 0\.0\.0\.0 .*encryption .*tls init.* and a login .*token add.*say --insecure$"),
        ({"host": "glasses.example"}, "^host: glasses.example"),
        ({"host": "::", **TLS}, "which takes a login"),
        ({"web_host": "0.0.0.0", "web_port": 0, **LOGIN}, "^web_host: .*which takes encryption"),
        ({"operations_host": "::", "operations_port": 0, **TLS}, "^operations_host: .*which takes a login"),
        ({"tls_cert": "server.pem"}, "^tls_key: required with tls_cert; give --tls-key"),
        ({"tls_key": "server.key", "insecure": True}, "^tls_cert: required with tls_key; give --tls-cert"),
        ({"tls_client_ca": "ca.pem", "insecure": True}, "^tls_client_ca: .*give --tls-cert and --tls-key"),
    ],
)
def test_servers_that_others_reach_unprotected_do_not_start(given, says):
    with pytest.raises(SettingsError, match=says):
        check_exposure(settings(**given))


def test_who_wants_it_so_is_warned(caplog):
    with caplog.at_level(logging.WARNING):
        check_exposure(settings(host="0.0.0.0", insecure=True, **TLS))
    (record,) = caplog.records
    assert "login" in record.without
    assert "encryption" not in record.without


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, ()),
        ({"hearing": "/usr/bin/hear", "voice": "unix:///run/voice"}, ()),
        ({"generator_url": "http://127.0.0.1:8000", "hearing": "tcp://127.0.0.1:1"}, ("generator", "hearing")),
        ({"voice": "tcp://10.0.0.1:1"}, ("voice",)),
    ],
)
def test_local_only_refuses_parts_that_are_elsewhere(given, names):
    shut, free = settings(local_only=True, **given), settings(**given)
    assert parts_elsewhere(shut) == names
    check_local(free, parts_elsewhere(free))
    if names:
        with pytest.raises(
            SettingsError, match=f"^local_only: {' and '.join(names)} would be behind a network address"
        ):
            check_local(shut, parts_elsewhere(shut))
    else:
        check_local(shut, parts_elsewhere(shut))
