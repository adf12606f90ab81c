from __future__ import annotations

from collections.abc import Mapping

from collector.samples import Sheet
from collector.snmp.agents import Community
from collector.snmp.requests import Plans, PollPlan
from collector.targets import Round, layout_for, targets_of
from config.model.access import SecretRef, SnmpVersion
from config.model.catalogue import Catalogue
from config.model.counters import CounterKind
from config.units import GroupId, ProfileId
from tests.support.collector import a_catalogue, a_moment, an_object, rosters
from tests.support.snmp import a_column, an_access

UPTIME = "1.3.6.1.2.1.1.3.0"


def a_round(catalogue: Catalogue, secrets: Mapping[str, str], members: Mapping[str, str]) -> Round:
    everyone = rosters(members)
    layout = layout_for(catalogue, everyone.values())

    def read(ref: SecretRef) -> str:
        if ref.env not in secrets:
            raise FileNotFoundError(f"{ref.env} is not set")
        return secrets[ref.env]

    return Round(
        catalogue=catalogue,
        targets=targets_of(layout, everyone),
        sheet=Sheet(layout),
        clock=a_moment,
        read_secret=read,
    )


def names_of(plan: PollPlan) -> list[str]:
    return [agent.identity.name for agent in plan.requests]


def test_a_plan_holds_while_nothing_changes_and_a_changed_secret_makes_another() -> None:
    catalogue = a_catalogue([an_object("1.3.1")], snmp=an_access(161, community="COMMUNITY"))
    secrets = {"COMMUNITY": "old"}
    asked = a_round(catalogue, secrets, {"a": "192.0.2.1"})
    plans = Plans()

    first, second = plans.of(asked), plans.of(asked)
    secrets["COMMUNITY"] = "new"
    third = plans.of(asked)

    assert first is second
    assert (names_of(first), names_of(third)) == (["old"], ["new"])


def test_what_another_catalogue_wanted_is_forgotten() -> None:
    plans = Plans()
    for counter in ("1.3.1", "1.3.2"):
        plan = plans.of(a_round(a_catalogue([an_object(counter)]), {}, {"a": "192.0.2.1"}))

        (request,) = plan.requests.values()
        assert request.oids() == [counter]
    assert list(plans._kept) == [GroupId("web")]


def test_a_secret_that_cannot_be_read_refuses_its_rows_and_says_why() -> None:
    catalogue = a_catalogue([an_object("1.3.1"), an_object("1.3.2")], snmp=an_access(161, community="UNSET"))

    plan = Plans().of(a_round(catalogue, {}, {"a": "192.0.2.1"}))

    assert plan.refused == {0: "UNSET is not set", 1: "UNSET is not set"}
    assert plan.requests == {}
    assert plan.identities == {ProfileId("web"): "UNSET is not set"}


def test_without_anything_to_ask_no_secret_is_read() -> None:
    catalogue = a_catalogue([an_object("1.3.1")], snmp=an_access(161, community="UNSET"))

    assert Plans().of(a_round(catalogue, {}, {"a": ""})).refused == {}
    assert Plans().of(a_round(catalogue, {}, {})).refused == {}


def test_the_uptime_is_asked_for_once_and_only_with_what_rises() -> None:
    rising = an_object("1.3.1", kind=CounterKind.RISING)
    for counters, expected in (
        ([an_object("1.3.1")], ["1.3.1"]),
        ([rising], ["1.3.1", UPTIME]),
        ([rising, an_object(UPTIME)], ["1.3.1", UPTIME]),
        ([a_column("1.3.5")], []),
        ([a_column("1.3.5", rising=True)], [UPTIME]),
    ):
        (request,) = Plans().of(a_round(a_catalogue(counters), {}, {"a": "192.0.2.1"})).requests.values()
        assert request.oids() == expected


def test_members_at_one_address_are_one_agent() -> None:
    plan = Plans().of(a_round(a_catalogue([an_object("1.3.1")]), {}, {"a": "192.0.2.1", "b": "192.0.2.1"}))

    (agent,) = plan.requests
    assert agent.identity == Community(SnmpVersion.V2C, "public")
    assert plan.requests[agent].rows == {"1.3.1": [0, 1]}
