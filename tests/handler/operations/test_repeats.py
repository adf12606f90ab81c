from __future__ import annotations

from dataclasses import replace

import pytest

from handler.identity.actors import Actor, Origin, Way, local
from handler.operations.repeats import Again, EarlierAnswer, Judged, Repetition, caller_of, fingerprint_of, judged
from handler.ports.identity import StoredCall
from tests.support.store import at

BEGUN = StoredCall(caller="user ada", key="k", fingerprint="f", at=at(0))
DONE = replace(BEGUN, status=202, body="{}")


@pytest.mark.parametrize(
    ("found", "running", "recognised", "verdict"),
    [
        pytest.param(None, False, False, Again(), id="the first"),
        pytest.param(None, True, False, Again(), id="the first of two that came together"),
        pytest.param(DONE, False, False, EarlierAnswer(202, "{}"), id="done before"),
        pytest.param(DONE, True, False, EarlierAnswer(202, "{}"), id="done just now"),
        pytest.param(replace(DONE, body=None), False, False, Repetition.NOT_KEPT, id="done, and not kept"),
        pytest.param(BEGUN, True, False, Repetition.RUNNING, id="being done"),
        pytest.param(BEGUN, False, False, Repetition.UNKNOWN, id="interrupted"),
        pytest.param(BEGUN, False, True, Again(), id="interrupted, and the act knows whether it was done"),
        pytest.param(replace(DONE, fingerprint="g"), False, False, Repetition.OTHER, id="another request"),
        pytest.param(replace(BEGUN, fingerprint="g"), True, True, Repetition.OTHER, id="another request, meanwhile"),
    ],
)
def test_a_key_is_judged_by_what_is_kept_of_it(
    found: StoredCall | None, running: bool, recognised: bool, verdict: Judged
) -> None:
    assert judged(found, "f", running=running, recognised=recognised) == verdict


def test_keys_belong_to_a_user_whatever_its_token_and_to_no_other_caller() -> None:
    def user(name: str, token: str) -> Actor:
        return Actor(name=name, origin=Origin(way=Way.TOKEN, credential=token), is_user=True)

    assert caller_of(user("ada", "laptop")) == caller_of(user("ada", "ci"))
    others = [user("ada", "ci"), user("bob", "ci"), local(peer="uid 0"), local(peer="uid 1"), local("ada", "uid 2")]
    assert len({caller_of(actor) for actor in others}) == len(others)


def test_every_part_of_a_request_makes_another_fingerprint() -> None:
    parts = [("POST", "/a", b"", b""), ("PUT", "/a", b"", b""), ("POST", "/b", b"", b""), ("POST", "/a", b"q", b"")]
    assert len({fingerprint_of(*each) for each in [*parts, ("POST", "/a", b"", b"q")]}) == 5
