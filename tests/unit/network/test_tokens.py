"""The file of tokens, and how a call's token is checked."""

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.errors import NotPermitted, Overloaded, SettingsError, Unauthenticated
from quizglass_server.network import tokens as token_files
from quizglass_server.network.login import Logins
from quizglass_server.network.pairing import offered
from quizglass_server.network.permissions import Permission
from quizglass_server.network.tokens import TokenFile, Tokens, load_tokens, made
from quizglass_server.scheduling.clients import Client, asked_by

ASK = frozenset({Permission.ASK})
PAST, FUTURE = datetime.now(UTC) - timedelta(seconds=5), datetime.now(UTC) + timedelta(days=1)


def test_the_file_is_this_users_alone_and_has_no_token_in_it(tmp_path):
    file = TokenFile(tmp_path / "tokens")
    texts = []
    for name in ("glasses", "glasses", "phone"):
        text, token = made(name, ASK, FUTURE)
        file.add(token)
        texts.append(text)
    assert stat.S_IMODE((tmp_path / "tokens").stat().st_mode) == 0o600
    content = (tmp_path / "tokens").read_text()
    assert not any(text in content or text.split("_", 2)[2] in content for text in texts)
    tokens = load_tokens(tmp_path / "tokens")
    assert [tokens.of(text).name for text in texts] == ["glasses", "glasses", "phone"]
    assert [path.name for path in tmp_path.iterdir()] == ["tokens"]


def test_a_name_that_several_tenants_use_is_revoked_of_one_alone(tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    records = {tenant: made("phone", Permission, None, tenant)[1] for tenant in ("", "anna", "bert")}
    for record in records.values():
        file.add(record)
    with pytest.raises(SettingsError, match=r"tenants '', anna, bert have tokens called 'phone'; give --tenant"):
        file.revoke("phone")
    assert file.revoke("phone", "anna") == (records["anna"],)
    assert file.revoke("phone", "") == (records[""],)
    assert file.revoke("phone") == (records["bert"],)
    with pytest.raises(SettingsError, match="has no token"):
        file.revoke("phone", "anna")


def test_tokens_are_revoked_by_id_or_all_of_a_name(tmp_path):
    file = TokenFile(tmp_path / "tokens")
    first, second, other = (made(name, ASK, None)[1] for name in ("glasses", "glasses", "phone"))
    for token in (first, second, other):
        file.add(token)
    assert file.revoke(first.id) == (first,)
    assert load_tokens(file.path).every == (second, other)
    assert file.revoke("glasses") == (second,)
    with pytest.raises(SettingsError, match="no token with the name or id 'glasses'"):
        file.revoke("glasses")
    assert load_tokens(file.path).every == (other,)


def test_a_code_ends_with_the_token_that_may_have_offered_it(tmp_path):
    """Else whoever stole the token could redeem one after its end."""
    file = TokenFile(tmp_path / "tokens")
    boss, asker, other = (
        made(name, may, None)[1] for name, may in (("boss", Permission), ("asker", ASK), ("other", Permission))
    )
    for token in (boss, asker, other):
        file.add(token)
    codes = {whose: offered(f"of-{whose}", ASK, None, paired_by=whose)[1] for whose in (boss.id, other.id, "")}
    for code in codes.values():
        file.offer(code)
    file.revoke("asker")
    assert set(load_tokens(file.path).pairings) == set(codes.values())
    file.revoke("boss")
    assert set(load_tokens(file.path).pairings) == {codes[other.id], codes[""]}


def test_a_file_that_the_servers_group_reads_is_read_by_it_after_a_change(tmp_path):
    """Else a server of another user would not learn that a token was revoked."""
    file = TokenFile(tmp_path / "tokens")
    for name in ("glasses", "phone"):
        file.add(made(name, ASK, None)[1])
    file.path.chmod(0o644)
    file.revoke("phone")
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o640


def test_tokens_that_are_added_at_the_same_time_are_all_there(tmp_path):
    records = [made(f"n{number}", ASK, None)[1] for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda token: TokenFile(tmp_path / "tokens").add(token), records))
    assert set(load_tokens(tmp_path / "tokens").every) == set(records)


def test_a_file_never_grows_so_large_that_it_is_not_read(tmp_path, monkeypatch):
    file = TokenFile(tmp_path / "tokens.json")
    first = made("anna", Permission, None)[1]
    file.add(first)
    monkeypatch.setattr(token_files, "_MOST_BYTES", 2 * file.path.stat().st_size)
    file.add(made("bert", Permission, None)[1])
    with pytest.raises(SettingsError, match="revoke some"):
        file.add(made("clara", Permission, None)[1])
    assert first in load_tokens(file.path)
    file.revoke("anna")


def test_a_tenants_devices_leave_room_for_those_of_others(tmp_path, monkeypatch):
    monkeypatch.setattr(token_files, "_MOST_OF_TENANT", 3)
    file = TokenFile(tmp_path / "tokens.json")
    for number in range(3):
        pairing = offered(f"device-{number}", Permission, None, tenant="anna")[1]
        file.offer(pairing)
        file.settle(pairing, made(pairing.name, Permission, None, "anna")[1])
    with pytest.raises(SettingsError, match="anna has 3 tokens"):
        file.offer(offered("another", Permission, None, tenant="anna")[1])
    file.offer(offered("another", Permission, None, tenant="bert")[1])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no whole file"),
        (b'{"version": 1, "tokens": [', "no whole file"),
        (b'{"version": 2, "tokens": []}', "version"),
        (b'{"version": 1, "tokens": [], "tenants": []}', "tenants"),
        (b"\xff\xfe", "no whole file"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(content, says, tmp_path):
    path = tmp_path / "tokens"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=says):
        load_tokens(path)
    with pytest.raises(SettingsError, match=says):
        TokenFile(path).add(made("glasses", ASK, None)[1])
    assert path.read_bytes() == content


def test_a_record_that_says_more_than_is_known_is_refused(tmp_path):
    """It may be of a later version, and say that the token may less."""
    file = TokenFile(tmp_path / "tokens")
    file.add(made("glasses", ASK, None)[1])
    content = json.loads(file.path.read_text())
    content["tokens"][0]["only_from"] = "192.0.2.0/24"
    file.path.write_text(json.dumps(content))
    with pytest.raises(SettingsError, match="only_from"):
        load_tokens(file.path)


def test_a_file_that_others_may_write_is_refused(tmp_path):
    file = TokenFile(tmp_path / "tokens")
    file.add(made("glasses", ASK, None)[1])
    file.path.chmod(0o620)
    with pytest.raises(SettingsError, match="can be written by other users"):
        load_tokens(file.path)


@pytest.mark.parametrize("name", ["", " ", "a b", "\x1b[31m", "-x", "x" * 65, "ä"])
def test_names_that_could_pass_for_something_else_in_a_log_are_refused(name):
    with pytest.raises(SettingsError, match="is no name for a token"):
        made(name, ASK, None)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_a_valid_token_says_who_calls(scheme):
    text, token = made("glasses", ASK, FUTURE)
    assert Logins(Tokens([token])).enter(f"{scheme} {text}", ASK).name == "glasses"


def test_without_tokens_anyone_may_do_everything():
    login = Logins().enter(None, ASK)
    login.check()
    login.need(Permission.MEMORY)
    assert login.name == ""


def test_each_wrong_token_is_told_why():
    (valid, token), (over, expired) = made("glasses", ASK, None), made("old", ASK, PAST)
    logins = Logins(Tokens([token, expired]))
    other, _ = made("glasses", ASK, None)
    wrong = {
        None: "MISSING",
        "": "MISSING",
        f"Basic {valid}": "MALFORMED",
        valid: "MALFORMED",
        f"Bearer {'x' * 5000}": "MALFORMED",
        f"Bearer {valid}x": "UNKNOWN",
        f"Bearer {valid[:-1]}": "UNKNOWN",
        f"Bearer {other}": "UNKNOWN",
        f"Bearer {valid[:12]}{other[12:]}": "UNKNOWN",
        f"Bearer {over}": "EXPIRED",
    }
    for authorization, why in wrong.items():
        with pytest.raises(Unauthenticated) as refusal:
            logins.enter(authorization, ASK)
        assert refusal.value.metadata["why"] == why
        assert valid not in refusal.value.message


def test_a_token_that_does_not_allow_a_call_is_told_what_would():
    text, token = made("glasses", ASK, None)
    with pytest.raises(NotPermitted, match="the token of glasses does not allow this: it takes operate or write"):
        Logins(Tokens([token])).enter(f"Bearer {text}", frozenset({Permission.WRITE, Permission.OPERATE}))


@given(st.text(max_size=200))
def test_nothing_that_may_come_gets_in_or_fails_otherwise(authorization):
    logins = Logins(Tokens([made("glasses", ASK, None)[1]]))
    with pytest.raises(Unauthenticated):
        logins.enter(authorization, ASK)


def test_an_address_that_fails_again_and_again_is_held_off_and_its_valid_tokens_are_not():
    text, token = made("glasses", ASK, None)
    logins = Logins(Tokens([token]))

    def attempt(address: str, authorization: str):
        with asked_by(Client(address)):
            return logins.enter(authorization, ASK)

    for _ in range(20):
        with pytest.raises(Unauthenticated):
            attempt("192.0.2.7", "Bearer guessed")
    for _ in range(3):
        with pytest.raises((Overloaded, Unauthenticated)) as held_off:
            attempt("192.0.2.7", "Bearer guessed")
    assert isinstance(held_off.value, Overloaded)
    assert held_off.value.retry_after_s
    assert attempt("192.0.2.7", f"Bearer {text}").name == "glasses"
    with pytest.raises(Unauthenticated):
        attempt("192.0.2.8", "Bearer guessed")


def test_a_caller_is_welcome_until_its_token_is_revoked_or_over():
    text, token = made("glasses", ASK, FUTURE)
    logins = Logins(Tokens([token]))
    login = logins.enter(f"Bearer {text}", ASK)
    login.check()
    logins.tokens = Tokens([token, made("phone", ASK, None)[1]])
    login.check()
    logins.tokens = Tokens()
    with pytest.raises(Unauthenticated, match="revoked"):
        login.check()
