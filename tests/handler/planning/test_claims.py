from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from config.units import GroupId, Instant
from handler.planning.claims import BEARERS, ClaimBearers
from handler.planning.launches import Claim
from handler.planning.world import Server, ServerState
from tests.support.worlds import a_server

OWN = Claim(counter=4, nonce="aaaaaaaa")
GROUPS = ("web", "db", "batch")

listings = st.tuples(
    st.sampled_from(GROUPS),
    st.none()
    | st.lists(
        st.tuples(st.integers(1, 20), st.integers(0, 5), st.booleans(), st.booleans()),
        max_size=6,
        unique_by=lambda machine: machine[0],
    ),
)
"""A group's machines (number, age, deleted, bears the claim), or None: the group is deleted."""


def machines(group: str, listed: Sequence[tuple[int, int, bool, bool]]) -> list[Server]:
    first = 100 * GROUPS.index(group)
    return [
        a_server(
            first + number,
            ServerState.DELETING if deleted else ServerState.RUNNING,
            created_at=Instant(age),
            claim=OWN if bears else None,
        )
        for number, age, deleted, bears in listed
    ]


@given(st.lists(listings, max_size=12))
def test_the_oldest_machines_of_all_groups_bear_the_claim_in_whatever_order_groups_are_listed(events) -> None:
    bearers, there = ClaimBearers(), dict[str, list[Server]]()
    for group, listed in events:
        if listed is None:
            bearers.forget(GroupId(group))
            there.pop(group, None)
        else:
            there[group] = machines(group, listed)
            bearers.listed(GroupId(group), there[group])
        living = [each for servers in there.values() for each in servers if each.state is not ServerState.DELETING]
        first = sorted(living, key=lambda server: (server.created_at, server.name))[:BEARERS]
        assert bearers.unclaimed(OWN) == tuple(server.name for server in first if server.claim != OWN)
