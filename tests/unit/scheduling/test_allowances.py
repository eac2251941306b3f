"""Quotas: what is counted, when it is refused, and that time gives it back."""

import pytest

from quizglass_server.errors import QuotaExceeded
from quizglass_server.scheduling import allowances
from quizglass_server.scheduling.allowances import Allowance, Quota, allowed, count_upload, counted_turn
from quizglass_server.scheduling.clock import EngineClock, metered, record_engine, stage_clock


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when the test says so."""

    class Clock:
        now = 1000.0

        def __call__(self):
            return self.now

    made = Clock()
    monkeypatch.setattr(allowances, "monotonic", made)
    return made


def test_without_a_quota_nothing_is_refused():
    allowance = Allowance("tenant", Quota())
    allowance.computed(1e9)
    allowance.uploaded(1 << 60)
    allowance.check_upload()
    allowance.stored(1 << 60)
    allowance.check()


def test_engine_seconds_may_go_into_debt_and_come_back_within_a_minute(clock):
    allowance = Allowance("tenant", Quota(engine_s=30))
    allowance.computed(29.9)
    allowance.check()
    allowance.computed(15.1)
    with pytest.raises(QuotaExceeded, match="the quota engine_s of this tenant is used up") as refusal:
        allowance.check()
    assert refusal.value.retry_after_s == pytest.approx(30)
    assert refusal.value.metadata == {"quota": "engine_s", "of": "tenant"}
    clock.now += 29
    with pytest.raises(QuotaExceeded):
        allowance.check()
    clock.now += 2
    allowance.check()


def test_what_was_not_used_is_not_saved_up(clock):
    allowance = Allowance("token", Quota(upload_bytes=600))
    clock.now += 3600
    allowance.uploaded(700)
    with pytest.raises(QuotaExceeded) as refusal:
        allowance.check_upload()
    assert refusal.value.retry_after_s == pytest.approx(10)
    clock.now += 11
    allowance.check_upload()


def test_turns_are_counted_while_they_run_by_tenant_and_by_token():
    tenant, one, other = (
        Allowance("tenant", Quota(turns=2)),
        Allowance("token", Quota(turns=1)),
        Allowance("token", Quota()),
    )
    with allowed((tenant, one)), counted_turn():
        with pytest.raises(QuotaExceeded, match="turns of this token"), counted_turn():
            pass
        with (
            allowed((tenant, other)),
            counted_turn(),
            pytest.raises(QuotaExceeded, match="turns of this tenant"),
            counted_turn(),
        ):
            pass
        with allowed((tenant, other)), counted_turn():
            pass
    with allowed((tenant, one)), counted_turn():
        pass


def test_what_is_stored_is_refused_for_good():
    with pytest.raises(QuotaExceeded, match="delete something") as refusal:
        Allowance("tenant", Quota(stored_bytes=100)).stored(100)
    assert refusal.value.retry_after_s is None


def test_uploads_count_for_all_allowances_of_the_caller(clock):
    tenant, token = Allowance("tenant", Quota(upload_bytes=10)), Allowance("token", Quota())
    with allowed((tenant, token)):
        count_upload(11)
        with pytest.raises(QuotaExceeded):
            count_upload(1)
    count_upload(1 << 40)


def test_what_a_token_is_refused_is_not_charged_to_its_tenant(clock):
    tenant = Allowance("tenant", Quota(upload_bytes=100))
    with allowed((tenant, Allowance("token", Quota(upload_bytes=10)))):
        count_upload(11)
        for _ in range(100):
            with pytest.raises(QuotaExceeded, match="of this token"):
                count_upload(11)
    with allowed((tenant, Allowance("token", Quota()))):
        count_upload(11)


def test_a_message_that_was_begun_is_taken_to_its_end(clock):
    with allowed((Allowance("tenant", Quota(upload_bytes=10)),)):
        count_upload(10)
        count_upload(10, begun=True)
        with pytest.raises(QuotaExceeded) as refusal:
            count_upload(1)
    assert refusal.value.retry_after_s == pytest.approx(60)


def test_engine_time_reaches_the_meter_in_stages_and_outside_of_them_and_once():
    taken = []
    with metered(taken.append):
        record_engine(250_000)
        with stage_clock() as stage:
            record_engine(500_000)
            assert stage.us == 500_000
        with stage_clock(metered=False):
            record_engine(1_000_000)
    record_engine(2_000_000)
    assert taken == [0.25, 0.5]
    EngineClock(taken.append).add(1_000_000, share=0.25)
    assert taken[-1] == 0.25
