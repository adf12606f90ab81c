"""A running group is attached to one more balancer with all members, and leaves it drained, whenever Trimtab dies."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from config.errors import Permanent, Refused, Transient
from config.model.catalogue import BalancerUse
from config.model.made_rule import MadeRule
from config.units import BalancerId, CloudId, GroupId
from handler.planning.attachments import Behind, behind_of, hindrance, to_attach, to_detach, unfit
from handler.planning.membership import keep
from handler.planning.records import before
from handler.planning.settled import sifted
from handler.planning.steps import Detach, Drain, Enable, Join, Leave, NoteRegistration, Wait
from handler.planning.world import BalancerView, Leaving, Phase, RegistrationState, ServerState
from tests.support.attaching import DECLARED, SIDE, a_standing, an_attachment, attach, detach, with_side
from tests.support.beds import Bed, grown
from tests.support.fake_cloud import Killed
from tests.support.provisioning import a_managed
from tests.support.worlds import (
    EDGE,
    NOW,
    WEB,
    a_definition,
    a_member,
    a_record,
    a_registration,
    a_server,
    a_world,
    name_of,
)

BEHIND = ((EDGE, 8080), (SIDE, 81))


# What is written, or refused.


def test_all_members_that_stay_come_behind_it_and_so_do_those_to_come() -> None:
    standing = a_standing(a_record(1), a_record(2, Phase.INTENDED), a_record(3, Phase.LEAVING), listed=(EDGE,))
    change = to_attach(standing, an_attachment(), DECLARED)
    assert [(record.sequence, record.balancers) for record in change.records] == [(1, BEHIND), (2, BEHIND)]
    assert [(use.balancer, use.port) for use in change.definition.group.balancers] == [*BEHIND]
    assert change.definition.balancers[SIDE] == DECLARED
    assert change.attachments == (an_attachment(),)


def test_a_detached_group_keeps_what_its_file_lists() -> None:
    attached = to_attach(a_standing(a_record(1), listed=(EDGE,)), an_attachment(), DECLARED)
    standing = replace(
        a_standing(*attached.records, listed=(EDGE,)),
        definition=attached.definition,
        attachments=attached.attachments,
    )
    change = to_detach(standing, SIDE)
    assert [(record.balancers, record.detaching) for record in change.records] == [(BEHIND, (SIDE,))]
    assert ([use.balancer for use in change.definition.group.balancers], change.attachments) == ([EDGE], ())
    assert change.definition.balancers[SIDE] == DECLARED, "members are behind it until they have left"


def test_old_members_come_behind_what_the_file_has_listed_since() -> None:
    newer = a_record(2, balancers=((EDGE, 8080), (SIDE, 8080)))
    change = to_attach(a_standing(a_record(1), newer, listed=(EDGE, SIDE)), an_attachment(8080), DECLARED)
    assert [record.sequence for record in change.records] == [1]
    assert change.attachments == (), "the file's word needs no other beside it"


def test_a_member_that_was_about_to_leave_a_balancer_stays() -> None:
    standing = a_standing(a_record(1, balancers=BEHIND, detaching=(SIDE,)), listed=(EDGE,))
    (record,) = to_attach(standing, an_attachment(), DECLARED).records
    assert (record.balancers, record.detaching) == (BEHIND, ())


def test_to_attach_what_is_attached_changes_no_member() -> None:
    standing = a_standing(a_record(1, balancers=BEHIND), listed=(EDGE,), attachments=(an_attachment(),))
    assert to_attach(standing, an_attachment(), DECLARED).records == ()


@pytest.mark.parametrize(
    ("listed", "records", "port", "says"),
    [
        pytest.param((SIDE,), [a_record(1)], 81, "model.yaml:9 has group web behind side at port 8080", id="contrary"),
        pytest.param(
            (SIDE,), [a_record(1, balancers=((SIDE, 8080),))], 8080, "already, by model.yaml:9", id="said by the file"
        ),
        pytest.param((), [a_record(1, balancers=BEHIND)], 82, "at port 81: detach web from it first", id="other port"),
    ],
)
def test_what_the_file_or_members_say_otherwise_is_refused(listed, records, port, says) -> None:
    with pytest.raises(Refused, match=says):
        to_attach(a_standing(*records, listed=listed), an_attachment(port), DECLARED)


@pytest.mark.parametrize(
    ("listed", "records", "says"),
    [
        pytest.param((SIDE,), [a_record(1, balancers=BEHIND)], "model.yaml:9 has group web behind side", id="file"),
        pytest.param((), [a_record(1)], "group web is not behind side", id="no member is there"),
        pytest.param((), [a_record(1, balancers=BEHIND, detaching=(SIDE,))], "leaving side already", id="leaving"),
    ],
)
def test_what_cannot_be_detached_is_refused(listed, records, says) -> None:
    with pytest.raises(Refused, match=says):
        to_detach(a_standing(*records, listed=listed), SIDE)


READABLE = {EDGE: BalancerView(registrations={}), SIDE: BalancerView(registrations={})}


@pytest.mark.parametrize(
    ("world", "occupants", "says"),
    [
        pytest.param(a_world(a_member(1), balancer_views=READABLE), {}, None, id="nothing"),
        pytest.param(
            a_world(a_member(1), balancer_views={SIDE: BalancerView(registrations=None, because="side is down")}),
            {},
            "side is down",
            id="dead",
        ),
        pytest.param(
            a_world(a_member(1), complete=False, balancer_views=READABLE), {}, "half of it timed out", id="partial"
        ),
        pytest.param(
            a_world(replace(a_member(1), server=a_server(1, address=None)), balancer_views=READABLE),
            {},
            "web-k3f9ab-1 has no address",
            id="without an address",
        ),
        pytest.param(
            a_world(
                replace(a_member(1), server=a_server(1, ServerState.BUILDING, address=None)), balancer_views=READABLE
            ),
            {},
            None,
            id="still built",
        ),
        pytest.param(
            a_world(a_member(1), balancer_views=READABLE),
            {("127.0.1.2", 81): "mail"},
            "belongs to mail",
            id="taken",
        ),
        pytest.param(
            a_world(a_member(1), balancer_views=READABLE),
            {("127.0.1.2", 81): name_of(1)},
            None,
            id="registered there already",
        ),
        pytest.param(a_world(a_member(1), balancer_views=READABLE), {("127.0.1.2", 80): "mail"}, None, id="other port"),
        pytest.param(
            a_world(a_member(1), balancer_views={SIDE: BalancerView(registrations={}, foreign=("mail",))}),
            {},
            "mail is registered with side and is not ours, and web is exclusive",
            id="a foreign machine beside an exclusive group",
        ),
    ],
)
def test_all_is_looked_at_before_anything_changes(world, occupants, says) -> None:
    change = to_attach(a_standing(a_record(1), listed=(EDGE,)), an_attachment(), DECLARED)
    why = hindrance(change, world, SIDE, occupants)
    assert why is None if says is None else says in (why or "")


def test_a_group_shows_its_balancers_who_attached_them_and_how_many_members_leave() -> None:
    old = BalancerId("old")
    records = (
        a_record(1, balancers=((EDGE, 8080), (old, 9))),
        a_record(2, balancers=BEHIND, detaching=(SIDE,)),
    )
    attached = to_attach(a_standing(listed=(EDGE,)), an_attachment(), DECLARED)
    standing = replace(
        a_standing(*records, listed=(EDGE,), attachments=attached.attachments), definition=attached.definition
    )
    assert behind_of(standing) == (
        Behind(balancer=EDGE, port=8080, by="file", members=2, leaving=0),
        Behind(balancer=old, port=9, by="", members=1, leaving=0),
        Behind(balancer=SIDE, port=81, by="ada", members=1, leaving=1),
    )


@pytest.mark.parametrize(
    ("cloud", "others", "says"),
    [
        pytest.param("box", (), None, id="fit"),
        pytest.param("box", (GroupId("api"),), "made is made for the group api", id="of another group"),
        pytest.param("lab", (), "made is made on the cloud lab, and members come from box", id="on another cloud"),
    ],
)
def test_what_is_made_is_made_for_one_group_where_its_members_are(cloud, others, says) -> None:
    why = unfit(a_managed(on=CloudId(cloud)), a_definition(), others)
    assert why is None if says is None else says in (why or "")


@pytest.mark.parametrize(("port", "says"), [(81, None), (80, "made leads to port 81, its private_port, and not to 80")])
def test_a_rule_that_is_made_leads_to_the_port_at_which_members_serve(port, says) -> None:
    plain = a_definition()
    use = BalancerUse(balancer=BalancerId("made"), port=port)
    definition = replace(plain, group=replace(plain.group, balancers=(use,)))
    rule = MadeRule(private_port=81, network="tier")
    assert unfit(a_managed(on=CloudId("box"), vip=None, rule=rule), definition, ()) == says


# What follows from it.


def test_the_balancers_own_id_of_a_registration_is_kept_while_the_member_is_registered() -> None:
    registered = a_world(a_member(1), registrations=[replace(a_registration(1), id="7c1b")])
    member = registered.members[0]
    assert member.record is not None
    (step,) = keep(member, member.record, registered, a_definition(), NOW).steps
    assert step == NoteRegistration(member=member.name, balancer=EDGE, id="7c1b")
    noted = before(step, member.record, None, NOW)
    assert noted is not None
    assert noted.registrations == ((EDGE, "7c1b"),)
    again = a_world(replace(member, record=noted), registrations=registered.balancer_views[EDGE].registrations.values())
    assert keep(again.members[0], noted, again, a_definition(), NOW).steps == ()
    assert sifted(again) == ([*again.members], [])
    left = before(Detach(member=member.name, balancer=EDGE), noted, None, NOW)
    assert left is not None
    assert left.registrations == ()


def both(bed: Bed) -> tuple[set[str], set[str]]:
    return set(bed.edge.states), set(bed.balancers[SIDE].states)


def test_a_group_comes_behind_a_balancer_and_leaves_it_and_serves_all_the_while() -> None:
    bed = with_side(grown(3))
    attach(bed)
    bed.settle()
    bed.expect(3)
    assert bed.balancers[SIDE].addresses[name_of(1)] == ("198.18.0.2", 81)
    bed.desire(4)
    bed.settle()
    bed.expect(4)
    detach(bed)
    bed.settle()
    assert both(bed) == (bed.machines, set())
    assert bed.known(Phase.IN_SERVICE) == bed.machines
    assert {record.balancers for record in bed.store.members(WEB)} == {((EDGE, 8080),)}
    assert {record.drained_at for record in bed.store.members(WEB)} == {None}
    assert bed.cloud.destroyed == []


def test_a_member_joins_only_when_it_is_ready_and_meanwhile_serves_where_it_did() -> None:
    bed = with_side(grown(1))
    bed.unready.add("198.18.0.2")
    attach(bed)
    assert dict(bed.run().plan.waits) == {Wait.NOT_READY: 1}
    assert both(bed) == (bed.machines, set())
    bed.unready.clear()
    bed.settle()
    bed.expect(1)


def test_a_member_that_leaves_a_balancer_drains_first() -> None:
    bed = with_side(grown(1))
    attach(bed)
    bed.settle()
    side = bed.balancers[SIDE]
    side.busy = 30.0
    detach(bed)
    done = bed.run()
    assert ([type(step) for step in done.plan.steps], side.states) == (
        [Drain],
        {name_of(1): RegistrationState.DRAINING},
    )
    bed.clock.advance(29.0)
    assert bed.run().plan.steps == ()
    bed.clock.advance(1.0)
    assert [type(step) for step in bed.run().plan.steps] == [Leave, Detach]
    assert bed.run().plan.converged


@pytest.mark.parametrize("state", [ServerState.PARKED, ServerState.UNKNOWN, ServerState.PASSING])
def test_a_member_that_is_set_aside_or_unsure_still_leaves_the_balancer(state: ServerState) -> None:
    bed = with_side(grown(2))
    attach(bed)
    bed.settle()
    bed.cloud.say(name_of(1), state)
    detach(bed)
    for _ in range(3):
        bed.run()
        bed.clock.advance(60.0)
    assert both(bed) == (bed.machines, set())
    assert {record.detaching for record in bed.store.members(WEB)} == {()}
    assert bed.cloud.destroyed == []


def test_a_balancer_that_cannot_be_read_keeps_its_members_and_no_others_from_repair() -> None:
    bed = with_side(grown(2))
    attach(bed)
    bed.settle()
    detach(bed)
    bed.balancers[SIDE].faults.always["registrations"] = Transient("no route")
    bed.edge.reload()
    done = bed.run()
    assert {type(step) for step in done.plan.steps} == {Join, Enable}
    assert set(bed.edge.states.values()) == {RegistrationState.SERVING}
    assert {record.detaching for record in bed.store.members(WEB)} == {(SIDE,)}
    bed.balancers[SIDE].faults.clear()
    bed.settle()
    assert both(bed) == (bed.machines, set())


def test_a_member_that_cannot_leave_is_retried_and_not_forgotten_there() -> None:
    bed = with_side(grown(1))
    attach(bed)
    bed.settle()
    detach(bed)
    bed.balancers[SIDE].faults.always["leave"] = Permanent("not allowed")
    bed.run()
    bed.clock.advance(60.0)
    assert bed.run().failures == ("leave: not allowed (web-k3f9ab-1)",)
    assert both(bed) == (bed.machines, bed.machines)
    bed.balancers[SIDE].faults.clear()
    bed.settle()
    assert both(bed) == (bed.machines, set())


def test_a_member_that_is_created_during_a_detach_never_joins_that_balancer() -> None:
    bed = with_side(grown(1))
    attach(bed)
    bed.settle()
    bed.balancers[SIDE].busy = 30.0
    detach(bed)
    bed.desire(2)
    bed.settle()
    assert both(bed) == (bed.machines, set())
    assert len(bed.machines) == 2


def test_a_leaving_member_that_is_also_detached_is_destroyed_after_both() -> None:
    bed = with_side(grown(2))
    attach(bed)
    bed.settle()
    bed.balancers[SIDE].busy = 30.0
    detach(bed)
    bed.run()
    bed.desire(1)
    bed.cloud.before_destroy = lambda name: [  # type: ignore[assignment]
        pytest.fail(f"{name} is registered") for balancer in bed.balancers.values() if name in balancer.states
    ]
    bed.settle()
    assert both(bed) == (bed.machines, set())
    assert (len(bed.machines), len(bed.cloud.destroyed)) == (1, 1)


def nothing(bed: Bed) -> None:
    """A group that has just grown."""


def attached_before(bed: Bed) -> None:
    attach(bed)
    bed.settle()


@pytest.mark.parametrize(("prepare", "act"), [(nothing, attach), (attached_before, detach)], ids=["attach", "detach"])
def test_killed_at_any_instant_all_members_are_behind_it_or_none(
    prepare: Callable[[Bed], None], act: Callable[[Bed], None]
) -> None:
    for instant in range(1, 500):
        bed = with_side(grown(2))
        prepare(bed)
        bed.instants.count, bed.instants.kill_at = 0, instant
        with suppress(Killed):
            act(bed)
            bed.settle()
        survived = bed.instants.count < instant
        bed.restart()
        bed.settle()
        assert set(bed.edge.states) == bed.machines == bed.known(Phase.IN_SERVICE)
        behind = {record.balancers for record in bed.store.members(WEB)}
        used = tuple((use.balancer, use.port) for use in bed.store.kept[WEB].definition.group.balancers)
        assert behind == {used}, f"killed at {instant}"
        assert set(bed.balancers[SIDE].states) == (bed.machines if SIDE in dict(used) else set())
        assert {record.detaching for record in bed.store.members(WEB)} == {()}
        assert bed.cloud.destroyed == []
        if survived:
            assert instant > 8
            return
    raise AssertionError("the scenario never ends")


def test_a_replacement_is_behind_what_the_group_is_attached_to() -> None:
    bed = with_side(grown(2))
    attach(bed)
    bed.settle()
    bed.replace(name_of(1))
    bed.settle()
    bed.expect(2)
    assert Leaving.REPLACED in {record.leaving for record, _ in bed.store.records.values()}
