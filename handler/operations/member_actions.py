"""What people may have done to one member, as changes of its record. Pure."""

from __future__ import annotations

from dataclasses import replace

from config.errors import Refused
from config.units import Instant
from handler.planning.desired import Definition
from handler.planning.launches import LaunchId
from handler.planning.world import Leaving, Phase, Record, Server, ServerState


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
    return replace(record, phase=Phase.LEAVING, leaving=Leaving.CHOSEN, leaving_at=now, attempts=())


def evicted(record: Record, now: Instant, *, force: bool) -> Record:
    """A person takes it from the group: it leaves its balancers, loses its mark, and goes on.

    Raises:
        Refused: it is leaving already, or protected and nobody insists, or it is not known to be there.
    """
    if record.phase is Phase.INTENDED and not record.given:
        raise Refused(f"{record.name} is not known to be there: there is nothing yet that could be kept")
    return replace(chosen(record, now, force=force), leaving=Leaving.EVICTED)


def given(launch: LaunchId, server: Server, definition: Definition, now: Instant) -> Record:
    """A machine that is there, and is to be a member under this name: the intent of its mark.

    Raises:
        Refused: it does not run.
    """
    if server.state is not ServerState.RUNNING:
        raise Refused(f"{server.name} is {server.raw_state}, not running: only what runs can join a group")
    return Record(
        name=launch.name,
        group=launch.group,
        sequence=launch.sequence,
        phase=Phase.INTENDED,
        intended_at=now,
        server_id=server.id,
        balancers=tuple((use.balancer, use.port) for use in definition.group.balancers),
        given=True,
    )
