"""Who may ask: names of the server and origins of pages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.web.http.origins import Origins

OWN = Origins("127.0.0.1", ["https://glasses.example", "http://10.0.0.5:8080"])
labels = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=9)


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:1", "127.0.0.1:80", "[::1]:8", "glasses.example", "10.0.0.5:9"]
)
def test_names_of_the_server_are_taken_on_any_port(host):
    assert OWN.takes_host(host)
    assert OWN.takes_host(host.upper())


@pytest.mark.parametrize(
    "host", [None, "", ":80", "10.0.0.6", "[::2]", "localhost.", "127.0.0.1.example", "a@b", "[", "a b"]
)
def test_other_names_are_not(host):
    assert not OWN.takes_host(host)


def test_over_tls_a_name_is_the_certificates_matter_and_a_pages_origin_still_counts():
    assert OWN.takes_host("anything.example", "https")
    assert not OWN.takes_host(None, "https")
    assert not OWN.takes_origin("https://evil.example", "anything.example", "https")


def test_an_address_to_listen_on_is_a_name_of_the_server():
    assert Origins("192.168.1.20").takes_host("192.168.1.20:50062")
    assert Origins("fe80::1").takes_host("[fe80::1]:50062")


@given(labels, labels)
def test_a_name_that_only_contains_one_of_the_servers_is_not_taken(before, after):
    for name in (f"{before}.localhost", f"localhost.{after}", f"{before}.glasses.example", f"glasses.example.{after}"):
        assert not OWN.takes_host(name)


@given(st.sampled_from(["http", "https"]), labels, st.integers(1, 65535))
def test_an_origin_is_the_servers_only_as_it_is_called(scheme, name, port):
    origin = f"{scheme}://{name}:{port}"
    assert OWN.takes_origin(origin, f"{name}:{port}", scheme)
    for host in (name, f"{name}:{port + 1}", f"x{name}:{port}", None):
        assert not OWN.takes_origin(origin, host, scheme)
    assert not OWN.takes_origin(origin, f"{name}:{port}", "http" if scheme == "https" else "https")


def test_named_origins_are_taken_whatever_the_server_is_called():
    assert OWN.takes_origin("https://glasses.example", "localhost:1", "http")
    for origin in ("http://glasses.example", "https://glasses.example:444", "https://glasses.example.evil", "null"):
        assert not OWN.takes_origin(origin, "localhost:1", "http")
    assert OWN.takes_origin(None, "localhost", "http")
