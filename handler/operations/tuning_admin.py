"""Settings of a group: what may be changed, and what another one would have come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from config.document.overlay import overlaid
from config.document.places import ParsedText
from config.errors import Refused
from config.units import GroupId, Instant
from handler.engine.declared import Declaration
from handler.engine.engine import Engine
from handler.operations.lookup import runtime_of
from handler.tuning.known import limit_of, require_known
from handler.tuning.parameters import Parameter, parameters_of
from handler.what_if.question import Answer, Question


class TuningAdmin:
    """Asks workers, and knows what is declared."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def parameters(self, group: GroupId) -> tuple[Parameter, ...]:
        """Return what can be tuned of a group.

        Raises:
            NoSuch: there is no such group.
            Refused: it is not declared any more, it is not known what its counters would have shown at another size,
                or there is nothing to judge by.
        """
        declared = declared_of(self._engine, group)
        require_known(declared.catalogue, group)
        limit_of(declared.catalogue, group, None)
        return parameters_of(whole(declared).data, declared.catalogue, group)

    async def what_if(
        self, group: GroupId, since: Instant, until: Instant, values: Mapping[str, str], person: str
    ) -> Answer:
        """Return what other values would have come to, for a person who waits for it.

        Args:
            group: a group.
            since: the beginning of the time that is replayed.
            until: its end.
            values: by name of a parameter, as a person writes them; what is missing is as declared.
            person: one question at a time: a newer one of the same person ends it.

        Raises:
            NoSuch: there is no such group.
            Refused: why there is no answer.
        """
        declared, recordings = declared_of(self._engine, group), self._engine.parts.recordings
        if recordings is None:
            raise Refused("this daemon records nothing")
        require_known(declared.catalogue, group)
        question = Question(
            state=recordings.parent,
            reading=replace(whole(declared), keys={}, values={}),  # places are for messages, and cannot be sent
            digest=declared.catalogue.digest,
            group=group,
            since=since,
            until=until,
            values=values,
        )
        return await self._engine.what_if.ask(person, question)


def declared_of(engine: Engine, group: GroupId) -> Declaration:
    """Return what is declared, which has the group.

    Raises:
        NoSuch: there is no such group.
        Refused: it is no longer declared.
    """
    runtime_of(engine, group)
    declared = engine.declared()
    if group not in declared.catalogue.groups:
        raise Refused(f"group {group} is no longer declared: there is no setting to try")
    return declared


def whole(declared: Declaration) -> ParsedText:
    """Return the file with the entities of the API that are in force."""
    kept = [entity for key, entity in declared.entities.items() if key not in declared.merged.quarantined]
    return overlaid(declared.file, kept) if kept else declared.file
