"""Sessions of v1 and v2c: what a question means is the codec's (`plain_codec`), when and where it is asked is here."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence

from collector.snmp.agents import Agent, Community
from collector.snmp.conversation import Talk
from collector.snmp.engine import NO_SUCH_NAME, STATUSES, Raw, Trouble, Varbinds, silence
from collector.snmp.messages import read_plain
from collector.snmp.plain_codec import (
    BULK,
    GARBAGE,
    NEXT,
    QueryTemplate,
    head,
    number_of,
    pairs_of,
    question,
    request,
)
from collector.snmp.varbinds import Pairs, of_walk
from config.model.access import SnmpVersion
from config.units import Seconds

_VERSIONS = {SnmpVersion.V1: 0, SnmpVersion.V2C: 1}

Settle = Callable[[Sequence[Raw] | Trouble], None]
"""Is given the value of every object, in the order of the question, or why there is none."""


class PlainSession:
    """A conversation with one agent under a community.

    Args:
        agent: the agent to ask.
        community: the agent's community.
        talk: with it.
    """

    def __init__(self, agent: Agent, community: Community, talk: Talk) -> None:
        self.silence = silence(agent)
        """What no answer may mean."""
        self._talk = talk
        self._version = _VERSIONS[community.version]
        self._community = community.name
        self._head = head(self._version, community.name)
        self._numbers = map(number_of, itertools.count(int.from_bytes(os.urandom(4))))

    def question(self, oids: Sequence[str]) -> QueryTemplate:
        """What to ask this agent for, to be kept."""
        return question(self._version, self._community, tuple(oids))

    def begin(self, asked: QueryTemplate, settle: Settle) -> None:
        """Ask, and do not wait: the caller says when that is over (`end`), and how long it may last.

        Args:
            asked: of `question`.
            settle: is given the answer when it is there, or at once if there is no way to ask.
        """
        number = next(self._numbers)

        def hear(heard: bytes | Trouble) -> None:
            answer = heard if isinstance(heard, Trouble) else asked.read(heard, number)
            if answer is not None:
                settle(answer)

        self._talk.begin(asked.request(number), hear)

    def end(self) -> None:
        """Take no answer any more."""
        self._talk.end()

    async def get(self, oids: Sequence[str], patience: Seconds) -> Varbinds | Trouble:
        """Ask for these objects in one request."""
        asked, number = self.question(oids), next(self._numbers)
        found = await self._talk.ask(
            asked.request(number), lambda datagram: asked.read(datagram, number), patience, self.silence
        )
        return found if isinstance(found, Trouble) else dict(zip(oids, found, strict=True))

    async def after(self, oid: str, most: int, patience: Seconds) -> Varbinds | Trouble:
        """Ask for up to ``most`` objects that follow an OID; v1 has no way to ask for more than one."""
        most = most if self._version else 1
        number = next(self._numbers)

        def understand(datagram: bytes) -> Pairs | Trouble | None:
            answer = read_plain(datagram)
            if answer is None:
                return GARBAGE
            return pairs_of(answer) if (answer.version, answer.number) == (self._version, number) else None

        asked = request(self._head, BULK if self._version else NEXT, number, most, (oid,))
        found = await self._talk.ask(asked, understand, patience, self.silence)
        if isinstance(found, Trouble):
            return {} if found is STATUSES[NO_SUCH_NAME] else found
        return of_walk(most, [pair for pair in found if pair[1] is not None])  # the end bears the last one's name

    def close(self) -> None:
        """Give back the socket."""
        self._talk.close()
