"""Any world, for properties of planning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from hypothesis import strategies as st

from config.units import Instant
from handler.planning.world import Attempts, BalancerView, Health, Leaving, Phase, RegistrationState, ServerState, World
from tests.support.worlds import EDGE, NOW, a_member, a_registration, a_world

FRESH: Final[dict[str, Any]] = {"intended_at": NOW - 10, "made_at": NOW - 5}
_ALSO: Final[list[dict[str, Any]]] = [
    {},
    {},
    {"leaving": Leaving.REPLACED},
    {"absent_listings": 2, "absent_at": NOW - 60},
    {"detaching": (EDGE,), "drained_at": NOW - 90},
    {"failing_since": NOW - 300},
    {"failing_since": NOW - 300, "in_service_at": NOW - 10},
]
_ATTEMPTS: Final = st.sampled_from(
    [
        (),
        *(
            (
                Attempts(
                    call=call, balancer=where, count=2, again_at=Instant(NOW + wait), failed=wait > 0, because="busy"
                ),
            )
            for call, where in (("create", None), ("destroy", None), ("join", EDGE), ("drain", EDGE), ("leave", EDGE))
            for wait in (-1.0, 5.0)
        ),
    ]
)
SIZES: Final = st.sampled_from([None, 0, 1, 3, 9])


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Any world of up to eight members."""
    phases = [None, Phase.INTENDED, Phase.MADE, Phase.IN_SERVICE, Phase.LEAVING]
    members, registrations = [], []
    for number in draw(st.lists(st.integers(1, 40), unique=True, max_size=8)):
        phase = draw(st.sampled_from(phases))
        state = draw(st.sampled_from([*ServerState, *([] if phase is None else [None, None])]))
        member = a_member(
            number,
            phase,
            state,
            disproved=state is None and draw(st.booleans()),
            ready=draw(st.sampled_from([None, False, True])),
            **draw(st.sampled_from([{}, FRESH])) if phase is not None else {},
            **draw(st.sampled_from(_ALSO)) if phase in {Phase.MADE, Phase.IN_SERVICE} else {},
            **{"protected": draw(st.booleans()), "attempts": draw(_ATTEMPTS)} if phase is not None else {},
        )
        since = draw(st.sampled_from([None, NOW - 10_000])) if state is ServerState.PASSING else None
        members.append(replace(member, passing_since=since))
        registration = draw(st.sampled_from([None, *RegistrationState]))
        if registration is not None:
            registrations.append(
                a_registration(
                    number, registration, draw(st.sampled_from([None, 0, 2])), draw(st.sampled_from([None, *Health]))
                )
            )
    readable, complete = draw(st.booleans()), draw(st.booleans())
    world = a_world(*members, registrations=registrations if readable else None, complete=complete)
    if not readable and draw(st.booleans()):
        return replace(
            world, balancer_views={EDGE: BalancerView(registrations=None, because="not there", not_found=True)}
        )
    return world
