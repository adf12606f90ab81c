"""Target tracking as written → its policies and conditions.

`keep` becomes two policies, `keep.out` and `keep.in`, each with the one condition of its name: the value is further
above the target, or below it, than is tolerated. So holds, quiet times, guards, explanations and history treat them as
policies of the file, and only the size differs: `config.model.adjustments.Tracking`. AWS makes two alarms likewise. No
name in the file has a dot, so these names cannot collide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from config.document.quantities import brought
from config.document.scalars import Amount
from config.document.targets import FollowedDocument, InDocument, OutDocument, TargetDocument
from config.model.adjustments import Adjustment, AdjustmentVerb, TargetLoad, Tracking
from config.model.catalogue import Compare, Condition, Policy
from config.model.counters import Counter, Per
from config.model.reductions import Reduce
from config.units import ConditionId, CounterId, PolicyId

OUT, IN = ".out", ".in"
"""What the names of the two end with."""


def owner_of(name: str) -> str:
    """The name in the file that a policy or condition comes from.

    >>> owner_of("keep.out"), owner_of("out")
    ('keep', 'out')
    """
    return name.partition(".")[0]


def sides_of(entry: FollowedDocument) -> tuple[str, ...]:
    """Which of the two there are."""
    return (OUT,) if entry.only else (OUT, IN)


def conditions(name: str, entry: FollowedDocument, counters: Mapping[CounterId, Counter]) -> Iterator[Condition]:
    """When the size is too small, and when too large. Whether the counter is declared is not looked at."""
    level, in_unit = _level(entry, counters)
    tolerance = entry.tolerance if isinstance(entry, TargetDocument) else 0.0
    total = _load(entry, counters) is TargetLoad.TOTAL
    for side in sides_of(entry):
        yield Condition(
            id=ConditionId(name + side),
            counter=CounterId(entry.counter),
            across=entry.across or (Reduce.SUM if total and _per(entry, counters) is Per.MEMBER else Reduce.AVG),
            aggregate=entry.aggregate,
            window=entry.window,
            compare=Compare.ABOVE if side == OUT else Compare.BELOW,
            threshold=level * (1 + tolerance if side == OUT else 1 - tolerance),
            in_unit=in_unit,
            per_member=total,
            quorum=entry.quorum,
        )


def policies(name: str, entry: FollowedDocument, counters: Mapping[CounterId, Counter]) -> Iterator[Policy]:
    """What is done about it, either way."""
    level, _ = _level(entry, counters)
    for side in sides_of(entry):
        pace: OutDocument | InDocument = entry.out if side == OUT else entry.in_
        verb = AdjustmentVerb.ADD if side == OUT else AdjustmentVerb.REMOVE
        yield Policy(
            id=PolicyId(name + side),
            when=(ConditionId(name + side),),
            duration=pace.duration,
            adjustment=Tracking(
                by=ConditionId(name + side),
                verb=verb,
                level=level,
                load=_load(entry, counters),
                at_most=_at_most(verb, pace.at_most),
            ),
            quiet_time=pace.quiet_time,
        )


def _level(entry: FollowedDocument, counters: Mapping[CounterId, Counter]) -> tuple[float, str | None]:
    """The target in the unit of the counter, or the unit that has no meaning there.

    A size that is passed through is a total, 1 for each.
    """
    quantity = (entry.value or entry.each) if isinstance(entry, TargetDocument) else None
    return (1.0, None) if quantity is None else brought(quantity, counters.get(CounterId(entry.counter)))


def _load(entry: FollowedDocument, counters: Mapping[CounterId, Counter]) -> TargetLoad:
    if not isinstance(entry, TargetDocument) or entry.each is not None:
        return TargetLoad.TOTAL
    return TargetLoad.WHOLE if _per(entry, counters) is Per.GROUP else TargetLoad.EACH


def _per(entry: FollowedDocument, counters: Mapping[CounterId, Counter]) -> Per:
    counter = counters.get(CounterId(entry.counter))
    return Per.MEMBER if counter is None else counter.per


def _at_most(verb: AdjustmentVerb, amount: Amount | None) -> Adjustment | None:
    return None if amount is None else Adjustment(verb=verb, amount=amount.number, percent=amount.percent)
