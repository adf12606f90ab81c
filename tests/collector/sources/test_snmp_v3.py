"""SNMP v3 against a real snmpd: every way to sign and encrypt, what is refused, and what must not be believed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import pytest

from collector.samples import Reply
from collector.sources.snmp import SnmpSource
from config.model.access import AuthProtocol, PrivProtocol, SnmpAccess, SnmpLibrary
from config.model.counters import Counter
from config.model.reductions import Reduce
from tests.support.collector import Answers, a_catalogue, an_object, answers, rosters
from tests.support.ports import free_udp_port
from tests.support.snmp import a_column, a_source, a_user, snmp_poller
from tests.support.snmp_relay import Spoil, relayed
from tests.support.snmpd import Snmpd, running_snmpd, user_lines
from tests.support.waiting import PATIENT, scaled

pytestmark = pytest.mark.real("snmpd")

FORTY_TWO = "1.3.6.1.4.1.8072.9999.1.0"
MISSING = "1.3.6.1.4.1.8072.9999.99.0"
COLUMN = "1.3.6.1.4.1.8072.9999.5.1"
PAIRS = [
    ("open", None, None),
    *((f"a{auth.value}", auth, None) for auth in AuthProtocol),
    *((f"p{auth.value}{priv.value}", auth, priv) for auth, priv in product(AuthProtocol, PrivProtocol)),
]
SOME = [
    pair for pair in PAIRS if pair[2] is None or pair[0] in {"psha256des", "pshaaes", "pmd5aes192", "psha512aes256"}
]
SHA, AES = AuthProtocol.SHA, PrivProtocol.AES
ENGINES = pytest.mark.parametrize("engine", SnmpLibrary, ids=lambda engine: engine.value)
LINES = [
    f"override {FORTY_TWO} integer 42",
    *(f"override {COLUMN}.{row} integer {row}" for row in (1, 2, 10)),
    *(line for name, auth, priv in PAIRS for line in user_lines(name, auth, priv)),
    "view narrow included .1.3.6.1.4.1.8072.9999.5",
    *user_lines("narrow", SHA, AES)[:1],
    "rouser narrow priv -V narrow",
]


@pytest.fixture(scope="module")
def snmpd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snmpd]:
    with running_snmpd(tmp_path_factory.mktemp("snmpd"), lines=LINES) as agent:
        yield agent


async def polled(access: SnmpAccess, counters: Sequence[Counter], source: SnmpSource | None = None) -> Answers:
    found, _ = await polled_with_details(access, counters, source)
    return found


async def polled_with_details(
    access: SnmpAccess, counters: Sequence[Counter], source: SnmpSource | None = None
) -> tuple[Answers, str]:
    polling = snmp_poller(source)
    scrape = await polling.poll(a_catalogue(counters, snmp=access), rosters({"a": "127.0.0.1"}), timeout=PATIENT)
    if source is None:
        await polling.close()
    return answers(scrape), " ".join(scrape.details.values())


@pytest.mark.parametrize(
    ("engine", "users"), [(SnmpLibrary.GUFO, PAIRS), (SnmpLibrary.PYSNMP, SOME)], ids=["gufo", "pysnmp"]
)
def test_every_way_to_sign_and_encrypt_is_understood(
    snmpd: Snmpd, engine: SnmpLibrary, users: Sequence[tuple[str, AuthProtocol | None, PrivProtocol | None]]
) -> None:
    access = {name: a_user(snmpd.port, name, auth=auth, priv=priv, engine=engine) for name, auth, priv in users}
    catalogue = a_catalogue(
        [an_object(FORTY_TWO), an_object(MISSING), a_column(COLUMN)], groups=list(access), snmp=access
    )
    everyone = {key: value for name in access for key, value in rosters({name: snmpd.address}, group=name).items()}

    async def scene() -> Answers:
        polling = snmp_poller()
        scrape = await polling.poll(catalogue, everyone, timeout=PATIENT)
        await polling.close()
        return answers(scrape)

    expected = {FORTY_TWO: 42.0, MISSING: Reply.NO_SUCH_COUNTER, f"{COLUMN} sum": 13.0}
    assert asyncio.run(scene()) == {(name, oid): value for name in access for oid, value in expected.items()}


@ENGINES
def test_an_encrypted_walk_ends_where_the_view_ends(snmpd: Snmpd, engine: SnmpLibrary) -> None:
    access = a_user(snmpd.port, "narrow", auth=SHA, priv=AES, engine=engine)

    found = asyncio.run(polled(access, [a_column(COLUMN), a_column(COLUMN, Reduce.LAST)]))

    assert found == {("a", f"{COLUMN} sum"): 13.0, ("a", f"{COLUMN} last"): 10.0}


REFUSED = {
    "a wrong password": ("asha", SHA, None, ("WRONG", "PRIV"), "wrong password"),
    "another protocol": ("asha", AuthProtocol.SHA256, None, ("AUTH", "PRIV"), "another protocol"),
    "an unknown user": ("nobody", SHA, AES, ("AUTH", "PRIV"), "no such user"),
    "an unknown user without a password": ("nobody", None, None, ("AUTH", "PRIV"), "no such user"),
    "a user who must sign": ("asha", None, None, ("AUTH", "PRIV"), "access rules"),
    "a user who must encrypt": ("pshaaes", SHA, None, ("AUTH", "PRIV"), "access rules"),
}


@ENGINES
@pytest.mark.parametrize(("name", "auth", "priv", "passwords", "words"), REFUSED.values(), ids=REFUSED)
def test_credentials_that_do_not_match_are_a_reply_with_a_reason(
    snmpd: Snmpd,
    name: str,
    auth: AuthProtocol | None,
    priv: PrivProtocol | None,
    passwords: tuple[str, str],
    words: str,
    engine: SnmpLibrary,
) -> None:
    access = a_user(snmpd.port, name, auth=auth, priv=priv, passwords=passwords, engine=engine)

    found, detail = asyncio.run(polled_with_details(access, [an_object(FORTY_TWO)]))

    assert found == {("a", FORTY_TWO): Reply.AUTH}
    assert words in detail
    assert "guess" not in detail


@pytest.mark.parametrize(("engine", "reply"), [(SnmpLibrary.GUFO, Reply.AUTH), (SnmpLibrary.PYSNMP, Reply.TIMEOUT)])
def test_a_wrong_password_of_encryption_is_met_by_silence(snmpd: Snmpd, engine: SnmpLibrary, reply: Reply) -> None:
    """gufo's session knows that the agent has introduced itself; pysnmp does not say so."""
    access = a_user(snmpd.port, "pshaaes", auth=SHA, priv=AES, passwords=("AUTH", "WRONG"), engine=engine)

    async def scene() -> tuple[Answers, str]:
        source = a_source(0.2)
        found = await polled_with_details(access, [an_object(FORTY_TWO)], source)
        await source.close()
        return found

    found, detail = asyncio.run(scene())

    assert found == {("a", FORTY_TWO): reply}
    assert "priv" in detail


ID = "exactEngineID 0x80001f880474726962"
LIVES: Mapping[str, Sequence[tuple[str, Sequence[str]]]] = {
    "it counts its starts": [("one", [ID]), ("one", [ID])],
    "it has forgotten its starts": [("one", [ID]), ("one", [ID]), ("two", [ID])],
    "it is another engine": [("one", []), ("two", [])],
}
"""In which directory, and with which lines, an agent is started each time."""


@ENGINES
@pytest.mark.parametrize("lives", LIVES.values(), ids=LIVES)
def test_an_agent_that_restarts_is_heard_at_the_next_poll(
    tmp_path: Path, engine: SnmpLibrary, lives: Sequence[tuple[str, Sequence[str]]]
) -> None:
    port = free_udp_port()
    access = a_user(port, "pshaaes", auth=SHA, priv=AES, engine=engine)

    async def scene() -> list[Answers]:
        source = a_source(0.5, scaled(2.0), PATIENT)
        found = []
        for place, lines in lives:
            (tmp_path / place).mkdir(exist_ok=True)
            with running_snmpd(tmp_path / place, port=port, lines=[*lines, *LINES]):
                found.append(await polled(access, [an_object(FORTY_TWO)], source))
        await source.close()
        return found

    assert asyncio.run(scene()) == [{("a", FORTY_TWO): 42.0}] * len(lives)


def last_bit(answer: bytes) -> bytes:
    return answer[:-1] + bytes([answer[-1] ^ 1])


def unsigned(answer: bytes) -> bytes:
    """As if the agent had not signed it: the flags say so (RFC 3412, 6.4)."""
    place = answer.index(bytes.fromhex("020103"), 10)  # the security model, USM
    return answer[: place - 1] + bytes([answer[place - 1] & ~1]) + answer[place:]


@ENGINES
@pytest.mark.parametrize("spoil", [last_bit, unsigned], ids=["changed on the way", "not signed"])
def test_what_the_agent_has_not_signed_is_not_believed(snmpd: Snmpd, spoil: Spoil, engine: SnmpLibrary) -> None:
    async def scene() -> list[Answers]:
        async with relayed(snmpd) as (port, relay):
            access = a_user(port, "asha", auth=SHA, engine=engine)
            source = a_source(scaled(1.0))
            found = [await polled(access, [an_object(FORTY_TWO)], source)]
            relay.spoil = spoil
            found.append(await polled(access, [an_object(FORTY_TWO)], source))
            await source.close()
            return found

    good, bad = asyncio.run(scene())

    assert good == {("a", FORTY_TWO): 42.0}
    assert set(bad.values()) <= {Reply.TIMEOUT, Reply.MALFORMED, Reply.AUTH}


def test_a_forged_answer_does_not_stand_in_the_way_of_the_true_one(snmpd: Snmpd) -> None:
    async def scene() -> Answers:
        async with relayed(snmpd) as (port, relay):
            access = a_user(port, "asha", auth=SHA)
            source = a_source(scaled(1.0))
            await polled(access, [an_object(FORTY_TWO)], source)

            def before(answer: bytes) -> bytes:
                relay._transport.sendto(last_bit(answer), relay.caller)
                return answer

            relay.spoil = before
            found = await polled(access, [an_object(FORTY_TWO)], source)
            await source.close()
            return found

    assert asyncio.run(scene()) == {("a", FORTY_TWO): 42.0}


def test_a_forged_answer_behind_an_old_signed_one_is_not_believed(snmpd: Snmpd) -> None:
    """gufo-snmp skips what answers another request, and goes on to the next datagram, which must be looked at too."""
    kept: list[bytes] = []

    def keep(answer: bytes) -> bytes:
        kept.append(answer)
        return answer

    async def scene() -> Answers:
        async with relayed(snmpd) as (port, relay):
            access = a_user(port, "asha", auth=SHA)
            source = a_source(scaled(1.0))
            relay.spoil = keep
            await polled(access, [an_object(FORTY_TWO)], source)

            def forge(answer: bytes) -> bytes:
                relay._transport.sendto(kept[-1], relay.caller)
                return answer.replace(b"\x02\x01\x2a", b"\x02\x01\x63")

            relay.spoil = forge
            found = await polled(access, [an_object(FORTY_TWO)], source)
            await source.close()
            return found

    assert asyncio.run(scene()) == {("a", FORTY_TWO): Reply.TIMEOUT}


def test_first_contact_takes_two_requests_and_later_ones_one(snmpd: Snmpd) -> None:
    async def scene() -> list[int]:
        async with relayed(snmpd) as (port, relay):
            access = a_user(port, "pshaaes", auth=SHA, priv=AES)
            source = a_source(scaled(1.0))
            counts = []
            for _ in range(3):
                await polled(access, [an_object(FORTY_TWO)], source)
                counts.append(relay.requests)
            await source.close()
            return counts

    assert asyncio.run(scene()) == [2, 3, 4]


def test_an_agent_that_was_heard_and_falls_silent_is_not_suspected_of_another_password(snmpd: Snmpd) -> None:
    async def scene() -> tuple[Answers, str]:
        async with relayed(snmpd) as (port, relay):
            access = a_user(port, "pshaaes", auth=SHA, priv=AES)
            source = a_source(0.2)
            await polled(access, [an_object(FORTY_TWO)], source)
            relay.deaf = True
            found = await polled_with_details(access, [an_object(FORTY_TWO)], source)
            await source.close()
            return found

    found, detail = asyncio.run(scene())

    assert found == {("a", FORTY_TWO): Reply.TIMEOUT}
    assert "no answer" in detail
