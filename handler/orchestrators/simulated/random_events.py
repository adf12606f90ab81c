"""Random events of a simulated cloud. Pure: chance is a number that follows from a seed and a question."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from hashlib import blake2b
from statistics import NormalDist
from typing import assert_never

from config.model.simulation import Behaviour, BootTime, CallFaults, ListingFaults
from config.units import Instant, Seconds
from handler.orchestrators.simulated.machines import SimulatedMachine
from handler.planning.world import ServerState

_NORMAL = NormalDist()
_P95 = _NORMAL.inv_cdf(0.95)


def draw(seed: int, *question: object) -> float:
    """A number from 0 up to 1, evenly spread over questions; the same for the same question.

    >>> draw(7, "boot", "web-k3f9ab-1") == draw(7, "boot", "web-k3f9ab-1") != draw(8, "boot", "web-k3f9ab-1")
    True
    """
    text = "\0".join(map(str, (seed, *question)))
    return int.from_bytes(blake2b(text.encode(), digest_size=6).digest()) / 2**48


class Fault(enum.Enum):
    """The failure of one call."""

    ERROR = "error"
    FALSE_ERROR = "false_error"
    TIMEOUT = "timeout"
    PARTIAL = "partial"
    TRUNCATED = "truncated"


def fault_of(faults: CallFaults | ListingFaults, chance: float) -> Fault | None:
    """Return a call's failure; ``None``: there is none."""
    below = 0.0
    for what, share in _shares(faults).items():
        below += share
        if chance < below:
            return what
    return None


def _shares(faults: CallFaults | ListingFaults) -> Mapping[Fault, float]:
    match faults:
        case CallFaults():
            return {Fault.ERROR: faults.error, Fault.FALSE_ERROR: faults.false_error, Fault.TIMEOUT: faults.timeout}
        case ListingFaults():
            return {Fault.PARTIAL: faults.partial, Fault.TRUNCATED: faults.truncated}
        case _:
            assert_never(faults)


def boot_time(boot: BootTime, chance: float) -> Seconds:
    """Return the seconds that a server builds, at most ten times the median.

    >>> boot = BootTime(median=30.0, p95=120.0)
    >>> boot_time(boot, 0.5), round(boot_time(boot, 0.95), 6), boot_time(boot, 1 - 2**-48)
    (30.0, 120.0, 300.0)
    """
    if boot.p95 == boot.median:
        return boot.median
    spread = math.log(boot.p95 / boot.median) / _P95
    return min(boot.median * math.exp(spread * _NORMAL.inv_cdf(max(chance, 2**-49))), 10 * boot.median)


def waiting_time(mean: Seconds, chance: float) -> Seconds:
    """Return the seconds until the next event of a constant rate."""
    return -mean * math.log1p(-chance)


def new_machine(behaviour: Behaviour, name: str, number: int, at: Instant) -> SimulatedMachine:
    """Create a server with its complete life."""

    def chance(of: str) -> float:
        return draw(behaviour.seed, of, name)

    built = Instant(at + boot_time(behaviour.boot, chance("boot")))
    if chance("stillborn") < behaviour.stillborn:
        fails = Instant(at + chance("when stillborn") * (built - at))
        return SimulatedMachine(
            name=name, number=number, turns=((at, ServerState.BUILDING), (fails, ServerState.ERROR))
        )
    turns = [(at, ServerState.BUILDING), (built, ServerState.RUNNING)]
    if behaviour.error_after is not None:
        after = waiting_time(behaviour.error_after, chance("error"))
        turns.append((Instant(built + after), ServerState.ERROR))
    vanishes = None
    if behaviour.vanish_after is not None:
        vanishes = Instant(built + waiting_time(behaviour.vanish_after, chance("vanish")))
    return SimulatedMachine(name=name, number=number, turns=tuple(turns), gone_at=vanishes)
