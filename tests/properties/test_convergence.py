"""A machine of random misfortunes. After every step the fleet is safe; once faults stop, it is as desired."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from random import Random

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from config.errors import DriverError, Permanent, Refused, StoreError, Transient
from config.model.catalogue import Budget
from config.model.repair import HealthRepair, Repair
from config.model.simulation import (
    LIES,
    Behaviour,
    BootTime,
    CallFaults,
    CallRate,
    Incident,
    ListingFaults,
    ScriptedEvent,
)
from config.units import BalancerId, MemberName
from handler.convergence.passes import Pass
from handler.planning.evidence import Loss, Saying
from handler.planning.judgement import MANY
from handler.planning.plan import plan
from handler.planning.step_outcomes import StepResult
from handler.planning.steps import KINDS, MarkLeaving, Step
from handler.planning.world import Health, Leaving, Member, Phase, Record, RegistrationState, ServerState, World
from tests.support.beds import grown
from tests.support.fake_cloud import LOST, FakeBalancer
from tests.support.nightly import runs
from tests.support.worlds import EDGE, WEB, a_definition, desired, limits

BACK = BalancerId("back")
FOREIGN = tuple(MemberName(name) for name in ("database-1", "web-zzzzzz-1", "api-k3f9ab-1"))

_HEALTHS = [Health.HEALTHY, Health.FAILING, Health.FAILING, Health.UNKNOWN]
_WELL = (ServerState.BUILDING, ServerState.RUNNING)

errors = st.sampled_from([LOST, LOST, Transient("timed out"), Permanent("refused"), Transient("busy", retry_after=9.0)])
calls = st.sampled_from(["create", "destroy", "list", "find", "mark", "unmark"])
moves = st.sampled_from(["join", "enable", "drain", "leave", "registrations"])


shares = st.sampled_from([0.0, 0.0, 0.2])
means = st.sampled_from([None, None, 600.0])
behaviours = st.builds(
    Behaviour,
    seed=st.integers(1, 99),
    boot=st.sampled_from([BootTime(median=0.0, p95=0.0), BootTime(median=5.0, p95=20.0), BootTime(median=40, p95=40)]),
    stop=st.sampled_from([0.0, 5.0, 40.0]),
    quota=st.sampled_from([None, None, 8]),
    rate_limit=st.sampled_from([None, None, CallRate(calls=5, per=10.0)]),
    listing=st.builds(ListingFaults, lag=st.sampled_from([0.0, 8.0, 20.0]), partial=shares, truncated=shares),
    create=st.builds(CallFaults, error=shares, false_error=shares, timeout=shares),
    destroy=st.builds(CallFaults, error=shares, false_error=shares, timeout=shares),
    stillborn=shares,
    error_after=means,
    vanish_after=means,
)


repairs = st.sampled_from(
    [Repair(), *(Repair(unhealthy=HealthRepair(after=10.0, warm_up=5.0, at_most=most)) for most in (1, 2, 9))]
)


class Fleet(RuleBasedStateMachine):
    """One group behind two balancers, beside machines of others."""

    @initialize(behaviour=behaviours, repair=repairs)
    def begin(self, behaviour: Behaviour, repair: Repair, workers: int = 1) -> None:
        """With one worker a story can be told again word for word, which the search for a short one needs."""
        budget = Budget(outstanding=4, per_hour=100_000)
        definition = a_definition(balancers=(EDGE, BACK), budget=budget, build_timeout=60.0, repair=repair)
        self.bed = grown(4, definition=definition, workers=workers)
        self.bed.cloud.before_create = self.check_create
        self.bed.cloud.before_destroy = self.check_destroy
        self.most_desired = 4
        for name in FOREIGN:
            self.bed.cloud.add(name)
            self.bed.edge.states[name] = RegistrationState.SERVING
        self.bed.cloud.simulation.behaviour = behaviour  # only now: foreign members are to stay
        self.bed.cloud.destroyed.clear()
        self.complaints: list[str] = []
        self.done: dict[tuple[str, MemberName, BalancerId | None], float] = {}
        """When what was ordered was last answered with success."""
        for where, balancer in self.bed.balancers.items():
            balancer.ordered = partial(self.check_ordered, where)
        self.wronged: set[MemberName] = set()
        """Members that are there, and were taken for lost on the cloud's word: one or two at a time may be."""
        self.lied_of: set[str] = set()
        """Members about which the cloud was ever wrong."""

    def check_create(self, name: MemberName) -> None:
        if self.bed.cloud.state(name) is not None and name not in self.lies():
            self.complaints.append(f"{name} is made, and it is there already")

    def check_destroy(self, name: MemberName) -> None:
        """Raising here would only be a driver's fault to the pass; so complaints are kept for the invariants."""
        kept = self.bed.store.records.get(name)
        if kept is None or kept[0].phase is not Phase.LEAVING:
            self.complaints.append(f"{name} is destroyed and was not chosen")
        elif kept[0].leaving is Leaving.EVICTED:
            self.complaints.append(f"{name} is destroyed and was to be kept")
        for where, balancer in self.bed.balancers.items():
            if name in balancer.states:
                self.complaints.append(f"{name} is destroyed before it has left {where}")
        done = self.done.get(("destroy", name, None))
        going = self.bed.cloud.state(name) in {None, ServerState.DELETING}
        if going and done is not None and self.bed.clock() - done < self.bed.definition.group.grace:
            self.complaints.append(f"{name} is destroyed again, and goes already")

    def check_ordered(self, where: BalancerId, call: str, name: MemberName, already: bool) -> None:
        """Nothing is ordered that is so already, once it has been answered with success."""
        if already and (call, name, where) in self.done:
            self.complaints.append(f"{name} is told again to {call} at {where}")

    # What people do

    @rule(size=st.integers(0, 7))
    def resize(self, size: int) -> None:
        self.bed.desire(size)
        self.most_desired = max(self.most_desired, size)

    @precondition(lambda self: self.bed.known(Phase.MADE, Phase.IN_SERVICE))
    @rule(data=st.data())
    def replace(self, data: st.DataObject) -> None:
        self.bed.replace(data.draw(st.sampled_from(sorted(self.bed.known(Phase.MADE, Phase.IN_SERVICE)))))

    @precondition(lambda self: self.desired)
    @rule()
    def adopt(self) -> None:
        """A person gives a machine that is there; what is refused or cannot be written down changes nothing."""
        machine = self.bed.cloud.add(MemberName(f"given{self.bed.cloud.simulation.made}"))
        with suppress(StoreError, Refused, DriverError):
            self.bed.adopt(machine.name)
        self.most_desired = max(self.most_desired, self.desired)

    @precondition(lambda self: self.desired and self.bed.known(Phase.MADE, Phase.IN_SERVICE))
    @rule(data=st.data())
    def evict(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.bed.known(Phase.MADE, Phase.IN_SERVICE))))
        with suppress(StoreError):
            self.bed.evict(name)

    @property
    def desired(self) -> int:
        return self.bed.store.kept[WEB].state.desired or 0

    @rule()
    def restart(self) -> None:
        self.bed.restart()

    # What happens to machines and balancers

    @precondition(lambda self: self.bed.machines)
    @rule(data=st.data())
    def die(self, data: st.DataObject) -> None:
        self.bed.cloud.die(data.draw(st.sampled_from(sorted(self.bed.machines))))

    @precondition(lambda self: self.whole())
    @rule(data=st.data(), state=st.sampled_from([ServerState.ERROR, ServerState.STOPPED, ServerState.UNKNOWN]))
    def say(self, data: st.DataObject, state: ServerState) -> None:
        """Who is broken stays broken: a replacement may have been made already."""
        self.bed.cloud.say(data.draw(st.sampled_from(self.whole())), state)

    def whole(self) -> list[MemberName]:
        return sorted(name for name in self.bed.machines if self.bed.cloud.state(name) in _WELL)

    @precondition(lambda self: self.bed.machines)
    @rule(data=st.data())
    def deleted_by_a_person(self, data: st.DataObject) -> None:
        self.bed.cloud.go(data.draw(st.sampled_from(sorted(self.bed.machines))), 20.0)

    @precondition(lambda self: self.bed.machines)
    @rule(data=st.data())
    def hide(self, data: st.DataObject) -> None:
        """A listing lags, for however long."""
        self.bed.cloud.hidden.add(data.draw(st.sampled_from(sorted(self.bed.machines))))

    @rule(what=st.sampled_from(sorted(LIES, key=str)), share=st.sampled_from([0.3, 0.5, 1.0]), passes=st.integers(0, 9))
    def lie(self, what: ScriptedEvent, share: float, passes: int) -> None:
        """The cloud is wrong about some of its machines, for a minute or for an hour."""
        at = self.bed.clock() - self.bed.cloud.simulation.began
        script = tuple(
            Incident(at=at, what=what, share=share, lasts=lasts) for lasts in (60.0, 3600.0)[: 1 + passes % 2]
        )
        self.bed.cloud.behave(script=script)
        self.lied_of |= self.lies()
        self._pass(passes)

    def lies(self) -> set[str]:
        return {*self.bed.cloud.simulation.lies(self.bed.clock())}

    @rule()
    def tell_the_truth(self) -> None:
        self.bed.cloud.behave(script=())

    @rule(data=st.data(), balancer=st.sampled_from([EDGE, BACK]))
    def check_health(self, data: st.DataObject, balancer: BalancerId) -> None:
        """Health checks change their answer about all members, or about some."""
        drawn = data.draw(st.sampled_from([*_HEALTHS, None]))
        health = self.bed.balancers[balancer].health
        for name in sorted(self.bed.machines):
            health[name] = data.draw(st.sampled_from(_HEALTHS)) if drawn is None else drawn

    @precondition(lambda self: self.bed.machines)
    @rule(data=st.data(), size=st.integers(0, 7))
    def fail_for_long(self, data: st.DataObject, size: int) -> None:
        """One or two members fail while all others are healthy, or all fail; and the size may change meanwhile."""
        all_of = sorted(self.bed.machines)
        some = data.draw(st.lists(st.sampled_from(all_of), min_size=1, max_size=2))
        health = self.bed.edge.health
        health.update(dict.fromkeys(all_of, Health.HEALTHY))
        health.update(dict.fromkeys(data.draw(st.sampled_from([some, some, all_of])), Health.FAILING))
        self._pass(1)
        self.bed.clock.advance(10.0)
        self.resize(size)
        self._pass(3)

    @rule(behaviour=behaviours)
    def change_ways(self, behaviour: Behaviour) -> None:
        """What befalls machines that are there already was decided when they were made."""
        lag = self.bed.cloud.simulation.behaviour.listing.lag
        self.bed.cloud.simulation.behaviour = replace(behaviour, listing=replace(behaviour.listing, lag=lag))

    @rule(partial=st.booleans())
    def list_in_part(self, partial: bool) -> None:
        self.bed.cloud.partial = partial

    @rule(call=calls, error=errors)
    def fail_cloud(self, call: str, error: DriverError) -> None:
        self.bed.cloud.faults.script(call, error)

    @rule(balancer=st.sampled_from([EDGE, BACK]), call=moves, error=errors)
    def fail_balancer(self, balancer: BalancerId, call: str, error: DriverError) -> None:
        self.bed.balancers[balancer].faults.script(call, error)

    @rule(call=calls)
    def cloud_is_silent(self, call: str) -> None:
        self.bed.cloud.faults.always[call] = Transient("no answer")

    @rule(balancer=st.sampled_from([EDGE, BACK]))
    def balancer_is_silent(self, balancer: BalancerId) -> None:
        self.bed.balancers[balancer].faults.always["registrations"] = Transient("no answer")

    @rule()
    def answer_again(self) -> None:
        for side in (self.bed.cloud, *self.bed.balancers.values()):
            side.faults.always.clear()
        self.bed.cloud.hidden.clear()

    @rule(balancer=st.sampled_from([EDGE, BACK]))
    def reload(self, balancer: BalancerId) -> None:
        foreign = {name: RegistrationState.SERVING for name in FOREIGN if name in self.bed.balancers[balancer].states}
        self.bed.balancers[balancer].reload()
        self.bed.balancers[balancer].states.update(foreign)

    @rule(writes=st.integers(0, 6))
    def fill_disk(self, writes: int) -> None:
        self.bed.store.fail_write_in = writes

    @rule()
    def free_disk(self) -> None:
        self.bed.store.full, self.bed.store.fail_write_in = False, None

    @rule(seconds=st.sampled_from([1.0, 7.0, 35.0, 70.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.bed.clock.advance(seconds)

    # What Trimtab does

    @rule(passes=st.integers(1, 4))
    def converge(self, passes: int) -> None:
        self._pass(passes)

    @rule(size=st.integers(0, 7), passes=st.integers(2, 6))
    def resize_and_converge(self, size: int, passes: int) -> None:
        self.resize(size)
        self._pass(passes)

    @rule()
    def calm(self) -> None:
        """Faults end for a while: what they left behind is worked off, or the next ones fall on it."""
        self.answer_again()
        self.free_disk()
        self.bed.cloud.partial = False
        self._pass(8)

    def _pass(self, passes: int) -> None:
        for _ in range(passes):
            wanted = self.bed.store.kept[WEB].state.desired or 0
            done = self.bed.run()
            self.check_order(done.world)
            self.check_evidence(done)
            for outcome in done.outcomes:
                if outcome.result is StepResult.DONE and outcome.member is not None:
                    key = KINDS[type(outcome.step)], outcome.member, getattr(outcome.step, "balancer", None)
                    self.done[key] = outcome.finished_at
            self.check_repair(done.plan.steps, done.world, wanted)
            self.bed.clock.advance(1.0 if done.next_in is None else done.next_in)

    def check_evidence(self, done: Pass) -> None:
        """Of members that are there, no more than two at once are taken for lost, and none that is heard for gone."""
        wrong = {name for name in done.plan.believed if self.bed.cloud.state(name) in _WELL}
        losses = done.world.losses.members
        fresh = {name for name in wrong if name not in losses or not losses[name].believed}
        if len(fresh) >= MANY:
            self.complaints.append(f"{sorted(fresh)} are taken for lost at once, and are there")
        listed = {member.name for member in done.world.members if member.server is not None}
        heard = {name for name in wrong - listed if _is_heard(losses.get(name))}
        if heard:
            self.complaints.append(f"{sorted(heard)} are taken for gone, and are heard")
        self.wronged |= wrong

    def check_order(self, world: World) -> None:
        """Whatever the order in which members are found, the plan is the same."""
        size, definition = desired(self.bed.store.kept[WEB].state.desired), self.bed.definition
        plans = [
            plan(size, replace(world, members=members), definition, limits(), world.at)
            for members in (world.members, world.members[::-1], world.members[1::2] + world.members[::2])
        ]
        if not plans[0] == plans[1] == plans[2]:
            self.complaints.append(f"the order of members changes the plan: {plans}")

    def check_repair(self, steps: Sequence[Step], world: World, wanted: int) -> None:
        """No more are sent away for their health than the budget, those out of work already included; never all."""
        rule = self.bed.definition.group.repair.unhealthy
        gone = {step.member for step in steps if isinstance(step, MarkLeaving) and step.why is Leaving.UNHEALTHY}
        if not gone:
            return
        serving = {member.name for member in world.members if _serves(member)}
        well = {name for name in serving if not self.fails(name, world)}
        if rule is None or rule.at_most is None or wanted - len(serving - gone) > rule.at_most:
            self.complaints.append(f"{sorted(gone)} are replaced for their health, against {rule}")
        if not well:
            self.complaints.append(f"all members fail, and {sorted(gone)} are replaced for it")

    def fails(self, name: MemberName, world: World) -> bool:
        """Whether a credible balancer says so: one that finds another member healthy."""
        failing = [
            balancer_view.registrations
            for balancer_view in world.balancer_views.values()
            if balancer_view.registrations is not None
        ]
        believed = [
            registrations
            for registrations in failing
            if any(registration.health is Health.HEALTHY for registration in registrations.values())
        ]
        return any(name in registrations and registrations[name].health is Health.FAILING for registrations in believed)

    # What holds after every step

    @invariant()
    def no_member_is_made_twice_or_destroyed_unchosen_or_registered(self) -> None:
        assert self.complaints == [], self.complaints

    @invariant()
    def foreigners_are_untouched(self) -> None:
        assert set(FOREIGN) <= set(self.bed.cloud.machines)
        assert not set(FOREIGN) & set(self.bed.cloud.destroyed)
        assert set(FOREIGN) <= set(self.bed.edge.states)
        assert {self.bed.edge.states[name] for name in FOREIGN} == {RegistrationState.SERVING}

    @invariant()
    def no_machine_is_without_a_record(self) -> None:
        """Every member that was made was intended first, and is remembered until its cloud says that it is gone."""
        assert self.bed.machines - self.lied_of <= self.bed.known()

    @invariant()
    def there_are_never_more_members_than_were_ever_desired(self) -> None:
        assert self.staying() <= self.most_desired + len((self.wronged | self.lied_of) & self.bed.machines)

    def staying(self) -> int:
        """Open intents, and machines that are to stay: neither leaving, nor broken, nor going, nor to be replaced.

        An adopted machine existed before: it counts only against the size that it raises.
        """
        made = [record for record in self.bed.store.members(WEB) if record.leaving is None and not record.given]
        return sum(map(self.may_serve, made))

    def may_serve(self, record: Record) -> bool:
        state = self.bed.cloud.state(record.name)
        return record.phase is Phase.INTENDED if state is None else state in {*_WELL, ServerState.UNKNOWN}

    def teardown(self) -> None:
        """Faults stop; a person believes that many are gone; then the fleet is as desired within bounded passes."""
        if not hasattr(self, "bed"):
            return
        self.answer_again()
        self.free_disk()
        self.list_in_part(partial=False)
        for side in (self.bed.cloud, *self.bed.balancers.values()):
            side.faults.clear()
        for balancer in self.bed.balancers.values():
            balancer.health = dict.fromkeys(self.bed.machines, Health.HEALTHY)
        self.bed.cloud.calm()
        for name in self.bed.cloud.machines:
            if self.bed.cloud.state(name) is ServerState.UNKNOWN:
                self.bed.cloud.say(name, ServerState.RUNNING)
        self.bed.settle(accept_vanished=True, passes=500)
        again = self.bed.run()
        assert (again.plan.steps, again.outcomes) == ((), ())
        for balancer in self.bed.balancers.values():
            forget_foreigners(balancer)
        self.bed.expect(self.bed.store.kept[WEB].state.desired or 0)
        self.foreigners_remain()

    def foreigners_remain(self) -> None:
        assert set(FOREIGN) <= set(self.bed.cloud.machines)
        assert self.complaints == [], self.complaints


def _serves(member: Member) -> bool:
    running = member.server is not None and member.server.state is ServerState.RUNNING
    return running and member.record is not None and member.record.phase is Phase.IN_SERVICE


def _is_heard(loss: Loss | None) -> bool:
    return loss is not None and any(testimony.says is Saying.HEARD for testimony in loss.testimonies)


def forget_foreigners(balancer: FakeBalancer) -> None:
    for name in FOREIGN:
        balancer.states.pop(name, None)


TestFleet = Fleet.TestCase
TestFleet.settings = runs(50, steps=40)


SHAKY = Behaviour(
    seed=3,
    boot=BootTime(median=5.0, p95=20.0),
    stop=5.0,
    create=CallFaults(error=0.1, false_error=0.1, timeout=0.1),
    destroy=CallFaults(error=0.1, false_error=0.1, timeout=0.1),
    stillborn=0.1,
)


@pytest.mark.parametrize("seed", range(12))
def test_what_holds_of_calls_in_a_row_holds_side_by_side_too(seed: int) -> None:
    """Threads take turns as they please, so these stories are not searched: they are only told."""
    chance, fleet = Random(seed), Fleet()  # noqa: S311
    fleet.begin(behaviour=SHAKY, repair=Repair(), workers=4)
    faults = [LOST, Transient("timed out"), Permanent("refused"), Transient("busy", retry_after=9.0)]
    acts: list[Callable[[], object]] = [
        lambda: fleet.resize_and_converge(size=chance.randrange(8), passes=3),
        lambda: fleet.bed.cloud.die(chance.choice(sorted(fleet.bed.machines))) if fleet.bed.machines else None,
        lambda: fleet.bed.cloud.faults.script(chance.choice(["create", "destroy", "find"]), chance.choice(faults)),
        lambda: fleet.bed.edge.faults.script(
            chance.choice(["join", "enable", "drain", "leave"]), chance.choice(faults)
        ),
        lambda: fleet.fill_disk(writes=chance.randrange(7)),
        fleet.free_disk,
        fleet.restart,
        lambda: fleet.reload(balancer=chance.choice([EDGE, BACK])),
        lambda: fleet.wait(seconds=chance.choice([1.0, 35.0, 400.0])),
        lambda: fleet.converge(passes=3),
    ]
    for _ in range(25):
        chance.choice(acts)()
        fleet.no_member_is_made_twice_or_destroyed_unchosen_or_registered()
        fleet.foreigners_are_untouched()
        fleet.no_machine_is_without_a_record()
        fleet.there_are_never_more_members_than_were_ever_desired()
    fleet.teardown()
