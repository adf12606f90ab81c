"""The machine of random misfortunes, with releases that are rolled out, stopped and changed under way."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from config.model.rolling import Allowance, RollBudgets
from handler.convergence.passes import Pass
from handler.planning.roles import state_of
from handler.planning.rolling import WORDS
from handler.planning.rolls import RollState
from handler.planning.status import MemberState
from handler.planning.steps import MarkLeaving
from handler.ports.stored import StoredGroup
from tests.properties.test_convergence import Fleet
from tests.support.nightly import runs
from tests.support.worlds import WEB

rolls = st.builds(
    RollBudgets,
    surge=st.builds(Allowance, number=st.sampled_from([0, 1, 3])),
    unavailable=st.builds(Allowance, number=st.sampled_from([0, 1, 2])),
).filter(lambda budgets: not budgets.is_none)


class RollingFleet(Fleet):
    """All that befalls a fleet, and rolls on top of it."""

    most_surge = 0

    @rule(release=st.integers(1, 3))
    def declare(self, release: int) -> None:
        """Declare another profile, which alone replaces no member."""
        self.bed.release(release)

    @rule(budgets=rolls)
    def roll(self, budgets: RollBudgets) -> None:
        self.bed.roll(budgets)
        self.most_surge = max(self.most_surge, budgets.of(self.most_desired)[0])

    @rule()
    def stop_roll(self) -> None:
        self.bed.stop_roll()

    @rule(release=st.integers(1, 3), budgets=rolls, passes=st.integers(2, 9))
    def roll_out(self, release: int, budgets: RollBudgets, passes: int) -> None:
        self.declare(release)
        self.roll(budgets)
        for _ in range(passes):
            kept = self.bed.store.kept[WEB]
            done = self.bed.run()
            self.check_roll(kept, done)
            self.bed.clock.advance(1.0 if done.next_in is None else done.next_in)

    def check_roll(self, kept: StoredGroup, done: Pass) -> None:
        """While a roll replaces members, as many serve as it has to leave in service."""
        rolled = {s.member for s in done.plan.steps if isinstance(s, MarkLeaving) and s.because == WORDS}
        if not rolled or kept.roll is None or not kept.state.desired:
            return
        gone = {step.member for step in done.plan.steps if isinstance(step, MarkLeaving)}
        states = {m.name: state_of(m, done.world, kept.definition, done.world.at) for m in done.world.members}
        serving = {name for name, state in states.items() if state is MemberState.IN_SERVICE}
        least = kept.state.desired - kept.roll.budgets.of(kept.state.desired)[1]
        if rolled & serving and len(serving - gone) < least:
            self.complaints.append(f"{sorted(rolled)} leave, and only {sorted(serving - gone)} serve")

    @invariant()
    def there_are_never_more_members_than_were_ever_desired(self) -> None:
        """…and the surge above them."""
        wrong = (self.wronged | self.lied_of) & self.bed.machines
        assert self.staying() <= self.most_desired + self.most_surge + len(wrong)

    def teardown(self) -> None:
        super().teardown()
        roll = self.bed.store.kept[WEB].roll if hasattr(self, "bed") else None
        assert roll is None or not roll.runs, "once faults stop, a roll ends"
        if roll is not None and roll.state is RollState.DONE and roll.target == self.bed.definition.profile_digest:
            made = [record for record in self.bed.store.members(WEB) if not record.given]  # others may come after it
            assert {record.profile for record in made} <= {roll.target}


TestRollingFleet = RollingFleet.TestCase
TestRollingFleet.settings = runs(30, steps=40)
