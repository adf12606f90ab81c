from __future__ import annotations

import asyncio

from collector.snmp.window import RequestWindow, Turns
from tests.support.waiting import PATIENT


def test_no_more_than_its_places_are_taken_and_waiting_callers_come_in_turn() -> None:
    async def scene() -> list[int]:
        window = RequestWindow(2)
        entered: list[int] = []

        async def visit(number: int) -> None:
            place = await window.enter()
            entered.append(number)
            await gates[number].wait()
            place.leave()
            place.leave()  # only the first time counts

        gates = [asyncio.Event() for _ in range(4)]
        visits = [asyncio.ensure_future(visit(number)) for number in range(4)]
        await asyncio.sleep(0)
        seen = [len(entered)]
        for gate in gates:
            gate.set()
            for _ in range(10):  # turns of the loop: more than a place takes to its next holder
                await asyncio.sleep(0)
            seen.append(len(entered))
        await asyncio.gather(*visits)
        window.close()
        assert entered == [0, 1, 2, 3]
        return seen

    assert asyncio.run(scene()) == [2, 3, 4, 4, 4]


def test_a_place_is_free_again_soon_even_if_it_is_not_left() -> None:
    async def scene() -> None:
        window = RequestWindow(1)
        first = await window.enter()
        async with asyncio.timeout(PATIENT):
            second = await window.enter()
        assert (first.left, second.left) == (True, False)
        window.close()

    asyncio.run(scene())


def test_a_caller_that_gives_up_waiting_takes_no_place_with_it() -> None:
    async def scene() -> None:
        window = RequestWindow(1)
        place = await window.enter()
        waiting = [asyncio.ensure_future(window.enter()) for _ in range(2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        place.leave()
        waiting[1].cancel()  # in the turn in which the place was handed to it
        await asyncio.gather(*waiting, return_exceptions=True)
        next_one = asyncio.ensure_future(window.enter())
        await asyncio.sleep(0)
        assert next_one.done(), "the place that was handed to a cancelled wait is free again"
        window.close()

    asyncio.run(scene())


def test_several_places_are_taken_at_once_as_far_as_they_are_free_and_left_one_by_one() -> None:
    async def scene() -> list[int]:
        window = RequestWindow(5)
        first = await window.enter(3)
        second = await window.enter(3)
        waiting = asyncio.ensure_future(window.enter(3))
        await asyncio.sleep(0)
        assert not waiting.done()
        for _ in range(4):  # the fourth time, nothing is left
            first.leave_one()
        third = await waiting
        window.close()
        return [first.places, second.places, third.places]

    assert asyncio.run(scene()) == [0, 2, 3]


def test_a_turn_that_is_handed_to_a_task_that_has_given_up_goes_to_the_next() -> None:
    async def scene() -> None:
        turns = Turns(1)
        assert turns.take() == 1
        waiting = [asyncio.ensure_future(turns.wait()) for _ in range(2)]
        await asyncio.sleep(0)
        assert turns.take() == 0, "no task overtakes those that wait"
        waiting[0].cancel()
        turns.give_back()
        await waiting[1]
        turns.give_back()
        assert turns.idle

    asyncio.run(scene())
