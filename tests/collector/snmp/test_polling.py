from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from collector.samples import Reply
from collector.snmp.engine import Cure, Trouble, Varbinds
from collector.snmp.polling import Found, Habits, get_all

OIDS = [f"1.3.{place}" for place in range(8)]
SPOILT = Trouble(reply=Reply.NO_SUCH_COUNTER, detail="noSuchName", cure=Cure.SPLIT)
SILENT = Trouble(reply=Reply.TIMEOUT, detail="no answer", cure=Cure.PATIENCE)


class Agent:
    """Refuses requests with a spoiler in them, or with too many objects."""

    def __init__(self, *spoilers: str, most: int = 100) -> None:
        self.spoilers = set(spoilers)
        self.most = most
        self.asked: list[Sequence[str]] = []

    async def get(self, oids: Sequence[str]) -> Varbinds | Trouble:
        self.asked.append(oids)
        if self.spoilers & set(oids) or len(oids) > self.most:
            return SPOILT
        return dict.fromkeys(oids, 1)


def polls(agent: Agent, habits: Habits, count: int, oids: Sequence[str] = OIDS) -> list[Found | Trouble]:
    async def scene() -> list[Found | Trouble]:
        found = []
        for _ in range(count):
            habits.begin()
            found.append(await get_all(agent.get, oids, habits))
        return found

    return asyncio.run(scene())


def test_an_agent_that_answers_is_asked_once() -> None:
    agent = Agent()

    assert polls(agent, Habits(), 1) == [dict.fromkeys(OIDS, 1)]
    assert agent.asked == [OIDS]


def test_spoilers_take_turns_to_be_asked_again() -> None:
    agent, habits = Agent(OIDS[1], OIDS[6]), Habits()
    polls(agent, habits, 1)
    agent.asked.clear()

    polls(agent, habits, 4)

    together = [oid for oid in OIDS if oid not in agent.spoilers]
    assert agent.asked == [together, [OIDS[1]], together, [OIDS[6]]] * 2


def test_what_was_learned_is_doubted_after_a_while() -> None:
    agent, habits = Agent(most=4), Habits()
    polls(agent, habits, 1)
    agent.most = 100

    polls(agent, habits, 25)

    assert agent.asked[-1] == OIDS


def test_an_agent_that_refuses_everything_is_not_asked_for_everything_at_every_poll() -> None:
    agent, habits = Agent(*OIDS), Habits()
    (first,) = polls(agent, habits, 1)
    agent.asked.clear()

    (second,) = polls(agent, habits, 1)

    assert first == second == dict.fromkeys(OIDS, SPOILT)
    assert agent.asked == [[OIDS[0]]]


def test_silence_ends_it_at_once_and_teaches_nothing() -> None:
    async def silent(oids: Sequence[str]) -> Trouble:
        asked.append(oids)
        return SILENT

    asked: list[Sequence[str]] = []
    habits = Habits()

    assert asyncio.run(get_all(silent, OIDS, habits)) is SILENT
    assert asked == [OIDS]
    assert habits == Habits()


@given(
    spoilers=st.lists(st.sets(st.sampled_from(OIDS)), min_size=1, max_size=6),
    most=st.integers(1, 8),
    oids=st.lists(st.sampled_from(OIDS), unique=True, min_size=1),
)
def test_whatever_an_agent_refuses_each_object_has_its_own_answer(
    spoilers: list[set[str]], most: int, oids: list[str]
) -> None:
    """Spoilers come and go; what has an answer is never said to have none for longer than its turn takes."""
    agent, habits = Agent(most=most), Habits()
    for now in spoilers:
        agent.spoilers = now
        (found,) = polls(agent, habits, 1, oids)
        assert not isinstance(found, Trouble)
        assert set(found) == set(oids)
        assert all(found[oid] == 1 or found[oid] is SPOILT for oid in oids)
        assert all(found[oid] is SPOILT for oid in now & set(oids))
    agent.spoilers = set()
    last = polls(agent, habits, 2, oids)[-1]
    assert last == dict.fromkeys(oids, 1)
