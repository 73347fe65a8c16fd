"""Changes the models in S3 while they are called: adds, overwrites and deletes them."""

import asyncio
import time
from itertools import count
from random import Random

from benchmarks.caller import Caller, request
from benchmarks.own_answers import saying
from benchmarks.soak.stage import BUCKET, Stage
from benchmarks.soak.truth import Truth

SHELF = 30
"""The most models; half of them exist at any time."""
SCRIPTS = 4
"""Every so many models is a user script."""


class Librarian:
    """Makes one change at a time, each with a unique number."""

    def __init__(self, stage: Stage, truth: Truth, random: Random) -> None:
        self._stage = stage
        self._truth = truth
        self._random = random
        self._numbers = count(1)

    async def fill(self) -> None:
        caller = await Caller.connected(self._stage.port)
        await caller.call(request("PUT", f"/{BUCKET}"))
        for number in range(SHELF):
            await self._put(caller, f"m{number:02}.tar.gz")
        await caller.close()

    async def run(self, until_s: float) -> None:
        caller = await Caller.connected(self._stage.port)
        while time.monotonic() < until_s:
            await asyncio.sleep(self._random.expovariate(1.5))
            await self._change(caller)
        await caller.close()

    async def _change(self, caller: Caller) -> None:
        present, absent = self._truth.present(), self._truth.absent()
        deed = self._random.choice(("add", "overwrite", "overwrite", "delete"))
        if deed == "add" and absent:
            await self._put(caller, self._random.choice(absent))
        elif deed == "delete" and len(present) > SHELF // 2:
            await self._delete(caller, self._random.choice(present))
        else:
            await self._put(caller, self._random.choice(present))

    async def _put(self, caller: Caller, model: str) -> None:
        number, script = next(self._numbers), int(model[1:3]) % SCRIPTS == 0
        history = self._truth.objects[model]
        self._truth.deeds["models added" if history.number is None else "models overwritten"] += 1
        artifact = await asyncio.to_thread(saying, number, script=script)
        history.change_begins(number, time.monotonic())
        await self._asked(caller, request("PUT", f"/{BUCKET}/models/{model}", {}, artifact))
        history.change_is_done(time.monotonic())

    async def _delete(self, caller: Caller, model: str) -> None:
        history = self._truth.objects[model]
        self._truth.deeds["models deleted"] += 1
        history.change_begins(None, time.monotonic())
        await self._asked(caller, request("DELETE", f"/{BUCKET}/models/{model}"))
        history.change_is_done(time.monotonic())

    async def _asked(self, caller: Caller, sent: bytes) -> None:
        answer = await caller.call(sent)
        if answer.status >= 300:
            self._truth.odd(f"S3 answered {answer.status} {answer.body[:200]!r}")
