"""How many bodies wait, and which are verified first."""

import asyncio

import pytest

from pipelines.pushes.admission import Admission, NoRoom


class Bodies:
    """Bodies that ask an admission with room for 100 bytes and two turns."""

    def __init__(self) -> None:
        self.admission = Admission(100, 2)
        self.verified: list[int] = []
        self.at_a_time = self.most_at_a_time = 0
        self.may_end = asyncio.Event()

    async def send(self, size: int, arrives: bool = True) -> None:
        async def read() -> bytes:
            if not arrives:
                await asyncio.Event().wait()
            return b"x" * size

        async with self.admission.turn(size, read) as body:
            self.at_a_time += 1
            self.most_at_a_time = max(self.most_at_a_time, self.at_a_time)
            self.verified.append(len(body))
            await self.may_end.wait()
            self.at_a_time -= 1

    async def start(self, size: int, arrives: bool = True) -> "asyncio.Task[None]":
        task = asyncio.create_task(self.send(size, arrives))
        await asyncio.sleep(0)
        return task


def test_two_are_verified_at_a_time_small_ones_first() -> None:
    async def all_verified() -> Bodies:
        bodies = Bodies()
        tasks = [await bodies.start(size) for size in (20, 20, 30, 10, 11)]
        bodies.may_end.set()
        await asyncio.gather(*tasks)
        return bodies

    bodies = asyncio.run(all_verified())
    assert (bodies.verified, bodies.most_at_a_time) == ([20, 20, 10, 11, 30], 2)


@pytest.mark.parametrize("arrives", [True, False])
def test_a_smaller_body_takes_the_room_of_the_largest_that_waits(arrives: bool) -> None:
    async def bodies() -> None:
        bodies = Bodies()
        verified = [await bodies.start(30), await bodies.start(30)]
        waiting = await bodies.start(40, arrives)
        small = await bodies.start(1)
        with pytest.raises(NoRoom):
            await waiting
        bodies.may_end.set()
        await asyncio.gather(*verified, small)
        assert bodies.verified == [30, 30, 1]

    asyncio.run(bodies())


def test_a_body_without_room_is_refused_at_once() -> None:
    """Bodies that are being verified keep their room, and smaller ones do not give way."""

    async def bodies() -> None:
        bodies = Bodies()
        verified = [await bodies.start(50), await bodies.start(50)]
        with pytest.raises(NoRoom):
            await bodies.send(1)
        bodies.may_end.set()
        await asyncio.gather(*verified)
        await bodies.send(100)
        assert bodies.verified == [50, 50, 100]

    asyncio.run(bodies())


def test_a_body_that_fails_gives_its_room_and_turn_back() -> None:
    async def bodies() -> None:
        admission = Admission(10, 1)

        async def read() -> bytes:
            return b"x" * 10

        for _ in range(3):
            with pytest.raises(ValueError):
                async with admission.turn(10, read):
                    raise ValueError
        async with admission.turn(10, read) as body:
            assert len(body) == 10

    asyncio.run(bodies())


def test_a_turn_that_comes_as_the_wait_ends_is_passed_on() -> None:
    async def bodies() -> None:
        bodies = Bodies()
        verified = [await bodies.start(1), await bodies.start(1)]
        waiting, last = await bodies.start(2), await bodies.start(3)
        bodies.may_end.set()
        await asyncio.gather(*verified)
        waiting.cancel()  # Its turn has come, and it has not noticed.
        await asyncio.gather(waiting, last, return_exceptions=True)
        assert bodies.verified[:2] == [1, 1] and bodies.verified[-1] == 3
        await bodies.send(4)

    asyncio.run(bodies())
