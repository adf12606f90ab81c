"""Whether an answer is to what was asked: the right objects, each once, in the order of the question.

An agent that answers with another object than it was asked for (a subagent that is confused, a proxy that mixes up its
clients, an extension script that prints the wrong OID) would otherwise be believed: its value is a number as well.

Source: RFC 3416, 4.2.1 to 4.2.3: a response has the variable bindings of its request, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence

from collector.samples import Reply
from collector.snmp.engine import Cure, Raw, Trouble, Varbinds

Pairs = Sequence[tuple[str, Raw]]
"""OID and value, in the order of the answer."""


def of_get(asked: Sequence[str], pairs: Pairs) -> Varbinds | Trouble:
    """Take the answer to a question for single objects, each of which it must have.

    >>> of_get(["1.3.1", "1.3.2"], [("1.3.1", 5), ("1.3.2", None)])
    {'1.3.1': 5, '1.3.2': None}
    >>> of_get(["1.3.1"], [("1.3.7", 5)]).detail
    'the agent answers 1.3.7, which was not asked for, and not 1.3.1'
    """
    trouble = unasked(asked, [oid for oid, _ in pairs])
    if trouble is not None:
        return trouble
    if len(pairs) < len(asked):
        return _wrong(f"the agent answers {len(pairs)} of the {len(asked)} objects that it was asked for")
    return dict(pairs)


def unasked(asked: Sequence[str], answered: Sequence[str]) -> Trouble | None:
    """Say what is wrong with the OIDs of an answer; ``None``: they are those asked for, or some of them, in order."""
    if list(answered) == list(asked):
        return None
    due = iter(asked)
    for place, oid in enumerate(answered):
        if oid not in asked:
            missing = next((other for other in asked if other not in answered), None)
            instead = "" if missing is None else f", and not {missing}"
            return _wrong(f"the agent answers {oid}, which was not asked for{instead}")
        if oid in answered[:place]:
            return _wrong(f"the agent answers {oid} twice")
        if oid not in due:  # an iterator looks only at what follows the last one
            return _wrong(f"the agent answers {oid} in another order than it was asked")
    return None


def valueless(oid: str) -> Trouble:
    """Say that an object was answered with a null, which is neither a value nor a word for its absence."""
    return _wrong(f"the agent answers {oid} with nothing, and does not say why")


def of_walk(most: int, pairs: Pairs) -> Varbinds | Trouble:
    """Take the answer to a question for what follows an OID; its order is for the walk to judge.

    >>> of_walk(2, [("1.3.1", 5), ("1.3.1", 6)]).detail
    'the agent answers 1.3.1 twice'
    """
    if len(pairs) > most:
        return _stray(f"the agent answers {len(pairs)} objects where {most} were asked for")
    found: dict[str, Raw] = {}
    for oid, raw in pairs:
        if oid in found:
            return _stray(f"the agent answers {oid} twice")
        found[oid] = raw
    return found


def _wrong(detail: str) -> Trouble:
    """What still answers for an object that is asked for alone."""
    return Trouble(reply=Reply.MALFORMED, detail=detail, cure=Cure.SPLIT)


def _stray(detail: str) -> Trouble:
    return Trouble(reply=Reply.MALFORMED, detail=detail)
