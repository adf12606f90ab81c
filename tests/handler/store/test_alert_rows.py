"""Webhooks and what was told through them: the store on disk, and the one in memory that stands in for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.errors import StoreError
from config.units import HookId
from handler.ports.alerts import AlertStatus
from handler.ports.store import Store
from tests.support.memory_store import MemoryStore
from tests.support.store import NOW, WEB, a_delivery, a_hook, at, full_hook, opened

SLOW = a_delivery().alert
FIRING, RESOLVED = AlertStatus

REAL = pytest.mark.real("postgres")


@pytest.fixture(params=["memory", "file_store", pytest.param("server_store", id="on_server@", marks=REAL)])
def any_store(request) -> Store:
    return MemoryStore() if request.param == "memory" else request.getfixturevalue(request.param)


# Webhooks


def test_a_webhook_is_kept_whole_and_they_come_by_name(any_store):
    any_store.save_hook(full_hook())
    any_store.save_hook(a_hook())
    assert any_store.hooks() == (a_hook(), full_hook())


def test_webhooks_survive_a_restart(file):
    store = opened(file)
    store.save_hook(full_hook())
    store.close()
    again = opened(file)
    assert again.hooks() == (full_hook(),)
    again.close()


def test_a_webhook_is_replaced_whole(any_store):
    any_store.save_hook(full_hook())
    plain = replace(a_hook("prometheus", id="h2"), last_used_at=at(90))
    any_store.save_hook(plain)
    assert any_store.hooks() == (plain,)


def test_two_webhooks_cannot_share_a_name_not_even_a_revoked_one(any_store):
    any_store.save_hook(full_hook())
    with pytest.raises(StoreError):
        any_store.save_hook(a_hook("grafana", id="h3"))
    assert any_store.hooks() == (full_hook(),)


@pytest.mark.parametrize(
    ("before", "used", "after"), [(None, 5, 5), (5, 9, 9), (9, 5, 9)], ids=["first", "later", "an-earlier-one-late"]
)
@pytest.mark.parametrize(
    "use",
    [
        lambda store, when: store.use_hooks({HookId("h1"): when}),
        lambda store, when: store.save_hook(replace(a_hook(), last_used_at=when)),
    ],
    ids=["used", "saved"],
)
def test_the_last_use_only_moves_forward(
    any_store: Store, before: float | None, used: float, after: float, use: Callable[[Store, float], None]
):
    any_store.save_hook(replace(a_hook(), last_used_at=None if before is None else at(before)))
    use(any_store, at(used))
    assert any_store.hooks()[0].last_used_at == at(after)


def test_saving_a_webhook_does_not_forget_its_last_use(any_store):
    any_store.save_hook(a_hook())
    any_store.use_hooks({HookId("h1"): at(5)})
    any_store.save_hook(replace(a_hook(), revoked_at=at(9)))
    assert any_store.hooks() == (replace(a_hook(), revoked_at=at(9), last_used_at=at(5)),)


def test_a_webhook_that_is_not_there_is_left_out(any_store):
    any_store.save_hook(a_hook())
    any_store.use_hooks({HookId("gone"): at(5), HookId("h1"): at(6)})
    assert [hook.last_used_at for hook in any_store.hooks()] == [at(6)]


def test_no_salt_and_no_digest_is_ever_shown():
    assert "5a17" not in repr(full_hook())
    assert "16e57" not in repr(full_hook())


# Deliveries


def test_the_first_delivery_of_an_alert_stays_the_answer(any_store):
    first, again = a_delivery(at(1), decision="d1"), a_delivery(at(2), decision="d2")
    any_store.deliver((first,))
    any_store.deliver((again,))
    assert any_store.delivered(WEB, SLOW, "f1") == (first,)


@pytest.mark.parametrize(
    "other",
    [
        a_delivery(decision="d2", group="worker"),
        a_delivery(decision="d2", fingerprint="f2"),
        a_delivery(decision="d2", starts_at=at(1)),
        a_delivery(NOW, RESOLVED, decision="d2"),
    ],
    ids=["another-group", "another-alert-of-the-rule", "another-start", "another-status"],
)
def test_what_differs_is_reported_for_the_first_time(any_store, other):
    any_store.deliver((a_delivery(),))
    any_store.deliver((other,))
    assert other in any_store.delivered(other.group, other.alert, other.fingerprint)


def test_several_deliveries_are_written_at_once_and_equal_ones_once(any_store):
    known, new = a_delivery(at(1)), a_delivery(at(5), fingerprint="f2", decision="d2")
    any_store.deliver((known,))
    any_store.deliver((new, a_delivery(at(5), decision="d3"), replace(new, at=at(6), decision="d4")))
    assert any_store.delivered(WEB, SLOW, "f1") == (known,)
    assert any_store.delivered(WEB, SLOW, "f2") == (new,)


def test_of_one_alert_the_latest_start_comes_first(any_store):
    deliveries = (
        a_delivery(starts_at=at(5)),
        a_delivery(starts_at=at(5), status=RESOLVED),
        a_delivery(starts_at=at(1)),
        a_delivery(starts_at=at(1), status=RESOLVED),
    )
    any_store.deliver((deliveries[3], deliveries[0], deliveries[2], deliveries[1], a_delivery(fingerprint="f2")))
    assert any_store.delivered(WEB, SLOW, "f1") == deliveries


def test_no_deliveries_write_nothing(any_store):
    any_store.deliver(())
    assert any_store.delivered(WEB, SLOW, "f1") == ()


DELIVERIES = st.lists(
    st.builds(
        a_delivery,
        st.integers(0, 9).map(at),
        st.sampled_from(AlertStatus),
        fingerprint=st.sampled_from(["f1", "f2"]),
        starts_at=st.sampled_from([at(0.1), at(1 / 3)]),
        decision=st.text("abc", min_size=1, max_size=2),
    ),
    max_size=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(DELIVERIES, max_size=3))
def test_the_store_in_memory_tells_as_the_one_on_disk(in_file, batches):
    memory = MemoryStore()
    in_file.prune(before=at(1000), bytes_at_most=1 << 30)
    for batch in batches:
        in_file.deliver(batch)
        memory.deliver(batch)
    for fingerprint in ("f1", "f2"):
        assert in_file.delivered(WEB, SLOW, fingerprint) == memory.delivered(WEB, SLOW, fingerprint)
