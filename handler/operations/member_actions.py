"""Actions of people on one member, as changes of its record. Pure."""

from __future__ import annotations

from dataclasses import replace

from config.errors import Refused
from config.units import Instant
from handler.planning.desired import Definition
from handler.planning.launches import LaunchId
from handler.planning.world import Leaving, Phase, Record, Server, ServerState


def to_protect(record: Record) -> Record:
    """Protect a member: it is never chosen as surplus.

    Raises:
        Refused: it is leaving already.
    """
    if record.phase is Phase.LEAVING:
        raise Refused(f"{record.name} is leaving already: it is too late to protect it")
    return replace(record, protected=True)


def to_unprotect(record: Record) -> Record:
    """End a member's protection."""
    return replace(record, protected=False)


def to_replace(record: Record) -> Record:
    """Have a new member made in its place.

    Raises:
        Refused: it is not in service.
    """
    if record.phase is not Phase.IN_SERVICE:
        raise Refused(f"{record.name} is {record.phase.value}, not in service: there is nothing to replace")
    return replace(record, leaving=Leaving.REPLACED)


def chosen(record: Record, now: Instant, *, force: bool) -> Record:
    """Mark a member that a person named as leaving; the size falls with it.

    Raises:
        Refused: it is leaving already, or protected and not forced.
    """
    if record.phase is Phase.LEAVING:
        raise Refused(f"{record.name} is leaving already")
    if record.protected and not force:
        off = f"trimtab member protect {record.group} {record.name} --off"
        raise Refused(f"{record.name} is protected: end the protection ({off}), or use --force")
    return replace(record, phase=Phase.LEAVING, leaving=Leaving.CHOSEN, leaving_at=now, attempts=())


def evicted(record: Record, now: Instant, *, force: bool) -> Record:
    """Evict a member: it leaves its balancers and loses its mark, and its machine goes on running.

    Raises:
        Refused: it is leaving already, or protected and not forced, or the cloud has not listed it yet.
    """
    if record.phase is Phase.INTENDED and not record.given:
        raise Refused(f"{record.name} has not been found in the cloud yet, so there is no machine to keep")
    return replace(chosen(record, now, force=force), leaving=Leaving.EVICTED)


def given(launch: LaunchId, server: Server, definition: Definition, now: Instant) -> Record:
    """Return the record of an existing machine that is to become a member under this name: the intent to mark it.

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
