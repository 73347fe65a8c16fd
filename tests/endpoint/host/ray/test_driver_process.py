"""The driver is started again whenever it has ended, whatever keeps it from that for a moment. It needs no Ray."""

import asyncio
import errno
import json
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any, cast

import pytest

from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.host import HostError
from torpor_endpoint.host.ray.driver_messages import News
from torpor_endpoint.host.ray.driver_process import DriverProcess

WITHIN_S = 60.0


class FakeDriver:
    """A driver that says hello, and does whatever it is asked. It is its own standard input."""

    def __init__(self) -> None:
        self.stdin = self
        self.stdout, self.stderr = asyncio.StreamReader(), asyncio.StreamReader()
        self.returncode: int | None = None
        self.say({"hello": {"nodes": []}})

    def say(self, message: Any) -> None:
        self.stdout.feed_data(json.dumps(message).encode() + b"\n")

    def write(self, line: bytes) -> None:
        if self.returncode is None:
            self.say({"reply": json.loads(line)["id"], "error": ""})

    async def drain(self) -> None:
        """It takes everything at once."""

    def close(self) -> None:
        self.kill()

    def kill(self) -> None:
        if self.returncode is None:
            self.returncode = -9
            self.stdout.feed_eof()
            self.stderr.feed_eof()

    async def wait(self) -> int:
        return self.returncode or 0


class Machine:
    """Starts drivers. The next starts fail with `faults`, one after another."""

    def __init__(self) -> None:
        self.drivers: list[FakeDriver] = []
        self.faults: list[OSError] = []

    async def start(self, *command: str, **options: Any) -> asyncio.subprocess.Process:
        if self.faults:
            raise self.faults.pop(0)
        self.drivers.append(FakeDriver())
        return cast(asyncio.subprocess.Process, self.drivers[-1])


async def nothing() -> None:
    """Nothing has to be learnt of a new driver."""


def kept(
    machine: Machine, began: Callable[[], Awaitable[None]] = nothing, news: Callable[[News], None] = lambda told: None
) -> DriverProcess:
    return DriverProcess("auto", "d", {}, news, began, machine.start)


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.EMFILE, errno.ENOMEM])
def test_a_machine_that_starts_no_process_for_a_moment_starts_one_later(number: int) -> None:
    async def story() -> None:
        machine = Machine()
        driver = kept(machine)
        await driver.open()
        machine.faults = [OSError(number, "not now")] * 4
        machine.drivers[0].kill()
        await driver.ask("watch", WITHIN_S)
        assert len(machine.drivers) == 2
        await driver.close()

    run(story())


def test_an_endpoint_whose_driver_cannot_be_started_says_so() -> None:
    async def story() -> None:
        machine = Machine()
        machine.faults = [OSError(errno.EAGAIN, "Resource temporarily unavailable")]
        with pytest.raises(HostError, match=r"cannot be started: .* temporarily unavailable"):
            await kept(machine).open()

    run(story())


@pytest.mark.parametrize("fault", [HostError("Ray did not watch it"), RuntimeError("not foreseen")])
def test_a_driver_of_which_nothing_can_be_learnt_gives_way_to_another(fault: Exception) -> None:
    async def story() -> None:
        machine, learnt, faults = Machine(), asyncio.Event(), [fault, fault]

        async def began() -> None:
            if faults:
                raise faults.pop()
            learnt.set()

        driver = kept(machine, began)
        await driver.open()
        machine.drivers[0].kill()
        await learnt.wait()
        assert [one.returncode for one in machine.drivers] == [-9, -9, -9, None]
        await driver.close()

    run(story())


def test_pauses_grow_while_nothing_can_be_learnt() -> None:
    async def story() -> None:
        machine, clock, moments = Machine(), asyncio.get_running_loop().time, list[float]()

        async def began() -> None:
            moments.append(clock())
            if len(moments) < 8:
                raise HostError("Ray did not watch it")

        driver = kept(machine, began)
        await driver.open()
        machine.drivers[0].kill()
        while len(moments) < 8:
            await asyncio.sleep(1.0)
        pauses = [round(after - before, 3) for before, after in pairwise(moments)]
        assert pauses == [1.0, 2.0, 5.0, 10.0, 30.0, 30.0, 30.0]
        await driver.close()

    run(story())


@pytest.mark.parametrize("told", [{"news": {}}, {"reply": 0}, ["no message"], 7])
def test_a_driver_that_tells_what_cannot_be_taken_gives_way_to_another(told: Any) -> None:
    def news(told: News) -> None:
        raise KeyError(told["slot"])

    async def story() -> None:
        machine, began = Machine(), asyncio.Event()

        async def begins() -> None:
            began.set()

        driver = kept(machine, begins, news)
        await driver.open()
        asked = asyncio.create_task(driver.ask("watch", WITHIN_S))
        await asyncio.sleep(0)
        machine.drivers[0].say(told)
        machine.drivers[0].say({"news": {}})
        await began.wait()
        await asked
        assert len(machine.drivers) == 2
        await driver.close()

    run(story())
