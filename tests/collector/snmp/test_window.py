from __future__ import annotations

import asyncio

from collector.snmp.window import RequestWindow


def test_no_more_than_its_places_are_taken_and_those_who_wait_come_in_turn() -> None:
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
            await asyncio.sleep(0.001)
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
        async with asyncio.timeout(2.0):
            second = await window.enter()
        assert (first.left, second.left) == (True, False)
        window.close()

    asyncio.run(scene())


def test_who_gives_up_waiting_takes_no_place_with_him() -> None:
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
