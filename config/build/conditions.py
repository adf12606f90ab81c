"""A condition as written → as the core sees it; every name of an expression is resolved to a counter here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from config.document.conditions import ConditionDocument
from config.document.quantities import brought
from config.document.reduction_scalars import read_reduction
from config.model.catalogue import AnyCondition, Compare, Condition, ExpressionCondition, Term
from config.model.counters import Counter
from config.model.expressions import Dialect, Expression, Name, key_of, names_of
from config.model.reductions import Reduce, Reduction
from config.units import ConditionId, CounterId


def condition(id: ConditionId, entry: ConditionDocument, counters: Mapping[CounterId, Counter]) -> AnyCondition:
    """Make one condition. Whether its counters are declared is not looked at."""
    return _comparison(id, entry, counters) if entry.expression is None else _expression(id, entry, counters)


def _comparison(id: ConditionId, entry: ConditionDocument, counters: Mapping[CounterId, Counter]) -> Condition:
    compare, threshold = next(
        (compare, value) for compare in Compare if (value := getattr(entry, compare.value)) is not None
    )
    counts = Reduce.COUNT in {entry.across, entry.aggregate}
    number, in_unit = brought(threshold, counters.get(CounterId(entry.counter or "")), counts=counts)
    return Condition(
        id=id,
        counter=CounterId(entry.counter or ""),
        across=entry.across,
        aggregate=entry.aggregate,
        window=entry.window,
        compare=compare,
        threshold=number,
        in_unit=in_unit,
        per_member=entry.per_member is not None,
        quorum=entry.quorum,
    )


def _expression(
    id: ConditionId, entry: ConditionDocument, counters: Mapping[CounterId, Counter]
) -> ExpressionCondition:
    expression = entry.parsed
    return ExpressionCondition(
        id=id,
        expression=expression,
        terms=tuple(_terms(expression, entry.aggregate, counters)),
        across=entry.across,
        window=entry.window,
        quorum=entry.quorum,
    )


def _terms(expression: Expression, aggregate: Reduction, counters: Mapping[CounterId, Counter]) -> Iterable[Term]:
    """Every name once, where it stands first."""
    names = {key_of(name): name for name in reversed([*names_of(expression.tree)])}
    for key, name in sorted(names.items(), key=lambda item: item[1].column):
        statistic = aggregate if name.statistic is None else read_reduction(name.statistic)
        yield Term(name=key, counter=_counter(name, expression.dialect, counters), aggregate=statistic)


def _counter(name: Name, dialect: Dialect, counters: Mapping[CounterId, Counter]) -> CounterId:
    """The counter that a name means: in OneFlow's dialect, where names have no case, whatever its case is."""
    meant = CounterId(name.name)
    if meant in counters or dialect is Dialect.NATIVE:
        return meant
    return next((each for each in sorted(counters) if each.upper() == meant), meant)
