"""Calls each endpoint in bursts, with pauses until it sleeps, or nearly; at night nothing calls any endpoint."""

import asyncio
import json
import time
from collections import defaultdict
from random import Random

from benchmarks.caller import Answer, Caller, invocation, steps_ms
from benchmarks.own_answers import number_in
from benchmarks.scene import ROW
from benchmarks.soak.answers import Call
from benchmarks.soak.stage import WARM_IDLE_S, Stage
from benchmarks.soak.truth import Truth

CALLERS = (1, 1, 2, 4, 8, 16)
ANSWER_WITHIN_S = 100.0
ASLEEP_WITHIN_S = 60.0
ABSENT_SHARE = 0.03
"""The share of calls for a model that does not exist."""


class Night:
    """Now and then nothing calls, until every endpoint sleeps and the zygote has gone, or is about to."""

    def __init__(self, stage: Stage, truth: Truth, random: Random) -> None:
        self._stage = stage
        self._truth = truth
        self._random = random
        self._day = asyncio.Event()
        self._day.set()

    async def over(self) -> None:
        await self._day.wait()

    async def run(self, until_s: float) -> None:
        while time.monotonic() < until_s:
            await asyncio.sleep(self._random.uniform(10.0, 25.0))
            self._day.clear()
            await asyncio.to_thread(self._stage.until_quiet, ASLEEP_WITHIN_S)
            await asyncio.sleep(self._random.uniform(0.0, 2 * WARM_IDLE_S))
            self._truth.deeds["nights"] += 1
            self._truth.deeds["nights without a zygote"] += not self._stage.zygotes()
            self._day.set()


class Visitors:
    """Those of one endpoint."""

    def __init__(self, endpoint: str, stage: Stage, truth: Truth, random: Random, night: Night) -> None:
        self._night = night
        self._endpoint = endpoint
        self._stage = stage
        self._truth = truth
        self._random = random
        self._in_flight: dict[str, list[float]] = defaultdict(list)  # when the calls for a model began

    async def run(self, until_s: float) -> None:
        while time.monotonic() < until_s:
            await self._visit()
            await self._stay_away()
            await self._night.over()

    # -- being there -----------------------------------------------------------------------------------------------
    async def _visit(self) -> None:
        """Some callers at once, each with some calls, one after the other."""
        plans = [self._random.randint(1, 30) for _ in range(self._random.choice(CALLERS))]
        await asyncio.gather(*(self._stay(Random(self._random.random()), calls) for calls in plans))

    async def _stay(self, random: Random, calls: int) -> None:
        caller = await Caller.connected(self._stage.port)
        for _ in range(calls):
            if not await self._call(caller, self._wanted(random)):
                break
            await asyncio.sleep(random.expovariate(20.0))
        await caller.close()

    def _wanted(self, random: Random) -> str:
        absent = self._truth.absent()
        if absent and random.random() < ABSENT_SHARE:
            return random.choice(absent)
        return random.choice(self._truth.present())

    async def _call(self, caller: Caller, model: str) -> bool:
        """Whether the connection can be used again."""
        known, began_s = self._truth.known(self._endpoint), time.monotonic()
        others = self._in_flight[model]
        others.append(began_s)
        led_s = min(others)
        answer, lost = None, ""
        try:
            answer = await asyncio.wait_for(caller.call(invocation(self._endpoint, model, ROW)), ANSWER_WITHIN_S)
        except (OSError, EOFError) as error:  # a TimeoutError is one of the first
            lost = f"no answer: {error!r}"
        finally:
            others.remove(began_s)
        call = Call(self._endpoint, model, led_s, began_s, time.monotonic(), error=lost)
        self._truth.ended(_told(call, answer) if answer is not None else call, known)
        return answer is not None

    # -- and not ---------------------------------------------------------------------------------------------------
    async def _stay_away(self) -> None:
        """For a moment, about as long as it takes to fall asleep, or until it sleeps for sure and a bit longer."""
        if self._random.random() < 0.4:
            await asyncio.sleep(self._random.uniform(0.2, 3.5))
        else:
            await self.until_asleep()
            await asyncio.sleep(self._random.uniform(0.0, 2.0))

    async def until_asleep(self) -> None:
        deadline_s = time.monotonic() + ASLEEP_WITHIN_S
        while time.monotonic() < deadline_s:
            looked_s = time.monotonic()
            if await asyncio.to_thread(self._asleep):
                return self._truth.slept(self._endpoint, looked_s)
            await asyncio.sleep(0.2)
        return self._truth.odd(f"{self._endpoint} is still awake after {ASLEEP_WITHIN_S:g} s without a call")

    def _asleep(self) -> bool:
        return not self._stage.present()[self._endpoint] and not self._stage.instances(self._endpoint)


def _told(call: Call, answer: Answer) -> Call:
    """The call with its answer read."""
    seen = {"steps": steps_ms(answer.headers.get("server-timing", "")), "ended_s": answer.ended_s}
    if answer.status == 200:
        return Call(**{**vars(call), **seen, "number": number_in(answer.body)})
    code = answer.headers.get("x-amzn-errortype", str(answer.status)).rstrip(":")
    return Call(**{**vars(call), **seen, "error": f"{code} {_message(answer.body)}"})


def _message(body: bytes) -> str:
    try:
        told = json.loads(body)
    except ValueError:
        return body[:200].decode(errors="replace")
    return str(told.get("Message", told))
