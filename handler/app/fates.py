"""What people may have done to one member, as changes of its record. Pure."""

from __future__ import annotations

from dataclasses import replace

from config.errors import Refused
from config.units import Instant
from handler.world import Leaving, Phase, Record


def to_protect(record: Record) -> Record:
    """Never choose it as surplus.

    Raises:
        Refused: it is leaving already.
    """
    if record.phase is Phase.LEAVING:
        raise Refused(f"{record.name} is leaving already: it is too late to protect it")
    return replace(record, protected=True)


def to_unprotect(record: Record) -> Record:
    """Let it be surplus again."""
    return replace(record, protected=False)


def to_replace(record: Record) -> Record:
    """Have another one made in its place.

    Raises:
        Refused: it does not serve.
    """
    if record.phase is not Phase.IN_SERVICE:
        raise Refused(f"{record.name} is {record.phase.value}, not in service: there is nothing to replace")
    return replace(record, leaving=Leaving.REPLACED)


def chosen(record: Record, now: Instant, *, force: bool) -> Record:
    """A person has named it: it leaves, and the size is lowered by it.

    Raises:
        Refused: it is leaving already, or protected and nobody insists.
    """
    if record.phase is Phase.LEAVING:
        raise Refused(f"{record.name} is leaving already")
    if record.protected and not force:
        off = f"trimtab member protect {record.group} {record.name} --off"
        raise Refused(f"{record.name} is protected: take that away ({off}), or insist with --force")
    return replace(record, phase=Phase.LEAVING, leaving=Leaving.CHOSEN, leaving_at=now)
