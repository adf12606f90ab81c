"""Requests with a key: the store on disk, and the one in memory that stands in for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from handler.ports.identity import CallStore, StoredCall, user_caller
from tests.support.memory_store import MemoryStore
from tests.support.store import at, opened

CALL = StoredCall(caller=user_caller("ada"), key="k1", fingerprint="f", at=at(0))

REAL = pytest.mark.real("postgres")


@pytest.fixture(params=["memory", "file_store", pytest.param("server_store", id="on_server@", marks=REAL)])
def any_store(request: pytest.FixtureRequest) -> CallStore:
    found: CallStore = MemoryStore() if request.param == "memory" else request.getfixturevalue(request.param)
    return found


def begin(store: CallStore, call: StoredCall, lasts: float = 100.0, at_most: int = 10) -> StoredCall | None:
    return store.begin_call(call, lasts, at_most)


def test_the_first_is_written_and_a_repetition_gets_it_with_its_answer(any_store: CallStore) -> None:
    assert begin(any_store, CALL) is None
    assert begin(any_store, replace(CALL, fingerprint="g", at=at(1))) == CALL
    any_store.end_call(CALL.caller, CALL.key, 202, "{}")
    assert begin(any_store, replace(CALL, at=at(2))) == replace(CALL, status=202, body="{}")


def test_a_key_of_another_caller_is_another_key(any_store: CallStore) -> None:
    assert begin(any_store, CALL) is None
    assert begin(any_store, replace(CALL, caller=user_caller("bob"))) is None


def test_a_row_goes_when_it_is_too_old_and_when_it_was_not_carried_out(any_store: CallStore) -> None:
    begin(any_store, CALL)
    assert begin(any_store, replace(CALL, at=at(100))) is not None
    assert begin(any_store, replace(CALL, at=at(101))) is None
    any_store.forget_call(CALL.caller, CALL.key)
    assert any_store.calls() == ()


def test_the_oldest_of_a_caller_make_room_and_those_of_others_stay(any_store: CallStore) -> None:
    begin(any_store, replace(CALL, caller=user_caller("bob")))
    for number in range(5):
        begin(any_store, replace(CALL, key=f"k{number}", at=at(number)), at_most=3)
    assert [(call.caller, call.key) for call in any_store.calls()] == [
        *((CALL.caller, f"k{number}") for number in (2, 3, 4)),
        (user_caller("bob"), "k1"),
    ]


def test_a_clock_that_was_set_back_evicts_no_newer_key_and_makes_none_last_longer(any_store: CallStore) -> None:
    for number in range(3):
        begin(any_store, replace(CALL, key=f"k{number}", at=at(1_000 + number)), at_most=3)
    for number in (3, 4):
        begin(any_store, replace(CALL, key=f"k{number}", at=at(number)), at_most=3)
    assert {call.key for call in any_store.calls()} >= {"k3", "k4"}
    begin(any_store, replace(CALL, key="k5", at=at(104)), at_most=3)
    assert {call.key for call in any_store.calls()} == {"k4", "k5"}, "a hundred seconds after the clock was set"


def test_answers_go_with_their_user(any_store: CallStore) -> None:
    begin(any_store, CALL)
    begin(any_store, replace(CALL, caller=user_caller("bob")))
    any_store.delete_user("ada")  # type: ignore[attr-defined]  # the whole store has it
    assert [call.caller for call in any_store.calls()] == [user_caller("bob")]


def test_an_answer_outlives_the_daemon(file: Path) -> None:
    first = opened(file)
    begin(first, CALL)
    first.end_call(CALL.caller, CALL.key, 201, '{"a":1}')
    first.close()
    second = opened(file)
    assert begin(second, replace(CALL, at=at(1))) == replace(CALL, status=201, body='{"a":1}')
    second.close()
