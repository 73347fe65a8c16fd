"""All that changes around the callers: objects come, go and are replaced, instances are killed, endpoints are updated."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from random import Random

from benchmarks.caller import Caller, request
from benchmarks.own_answers import saying
from benchmarks.soak.answers import Kill
from benchmarks.soak.stage import BUCKET, KINDS, Stage
from benchmarks.soak.truth import Truth

SHELF = 30
"""Models that there are at most; half of them are there at any time."""
SCRIPTS = 4
"""Every so many models is a user script."""
SETTLED_WITHIN_S = 60.0


class Librarian:
    """Adds, overwrites and deletes models, one at a time, each with a number that no other ever had."""

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


class Killer:
    """Kills an instance now and then, and more seldom the warm parent, and with it everything that it forked."""

    def __init__(self, stage: Stage, truth: Truth, random: Random) -> None:
        self._stage = stage
        self._truth = truth
        self._random = random

    async def run(self, until_s: float) -> None:
        while time.monotonic() < until_s:
            await asyncio.sleep(self._random.uniform(1.0, 6.0))
            if self._random.random() < 0.15:
                await self._kill(None, [pid for pid in [self._stage.warm_parent()] if pid is not None])
            else:
                kind = self._random.choice(KINDS)
                await self._kill(kind.name, self._stage.instances(kind.name)[:1])

    async def _kill(self, endpoint: str | None, victims: list[int]) -> None:
        if not victims:
            return  # it sleeps
        self._truth.deeds["instances killed" if endpoint else "warm parents killed"] += 1
        followers = victims if endpoint else [*victims, *self._stage.forked()]
        with self._killing(endpoint):
            for pid in victims:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            while any(_runs(pid) for pid in followers):
                await asyncio.sleep(0.002)

    @contextmanager
    def _killing(self, endpoint: str | None) -> Iterator[None]:
        """What is in flight from now until they are gone may be lost."""
        kills = self._truth.kills
        kills.append(Kill(endpoint, time.monotonic()))
        yield
        kills[-1] = replace(kills[-1], ended_s=time.monotonic())


def _runs(pid: int) -> bool:
    with suppress(OSError), open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    return False


class Operator:
    """Updates endpoints while they serve or sleep: to a configuration that needs other instances, or to a new weight;
    and makes one more endpoint and deletes it again."""

    def __init__(self, stage: Stage, truth: Truth, random: Random) -> None:
        self._stage = stage
        self._truth = truth
        self._random = random
        self._configs = {kind.name: kind.name for kind in KINDS}
        self._numbers = count(1)

    async def open(self) -> None:
        for kind in KINDS:
            await asyncio.to_thread(self._create, kind.name)

    async def run(self, until_s: float) -> None:
        while time.monotonic() < until_s:
            await asyncio.sleep(self._random.uniform(4.0, 12.0))
            deed = self._random.choice((self._replace, self._replace, self._weigh, self._come_and_go))
            await asyncio.to_thread(deed)

    def _replace(self) -> None:
        kind = self._random.choice(KINDS)
        config, old = f"{kind.name}-{next(self._numbers)}", self._configs[kind.name]
        self._stage.configure(kind, config)
        self._stage.sagemaker.update_endpoint(EndpointName=kind.name, EndpointConfigName=config)
        self._settled(kind.name)
        self._stage.forget(old)
        self._configs[kind.name] = config
        self._truth.deeds["endpoints updated"] += 1

    def _weigh(self) -> None:
        kind = self._random.choice(KINDS)
        weight = {"VariantName": "AllTraffic", "DesiredWeight": self._random.uniform(1.0, 9.0)}
        self._stage.sagemaker.update_endpoint_weights_and_capacities(
            EndpointName=kind.name, DesiredWeightsAndCapacities=[weight]
        )
        self._settled(kind.name)
        self._truth.deeds["weights updated"] += 1

    def _come_and_go(self) -> None:
        kind = replace(self._random.choice(KINDS), name="guest")
        self._stage.configure(kind, kind.name)
        self._stage.sagemaker.create_endpoint(EndpointName=kind.name, EndpointConfigName=kind.name)
        self._settled(kind.name)
        self._stage.sagemaker.delete_endpoint(EndpointName=kind.name)
        while kind.name in {one["EndpointName"] for one in self._stage.sagemaker.list_endpoints()["Endpoints"]}:
            time.sleep(0.05)
        self._stage.forget(kind.name)
        self._truth.deeds["endpoints made and deleted"] += 1

    def _create(self, name: str) -> None:
        kind = next(kind for kind in KINDS if kind.name == name)
        self._stage.configure(kind, name)
        self._stage.sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=name)
        self._settled(name)

    def _settled(self, name: str) -> None:
        deadline_s = time.monotonic() + SETTLED_WITHIN_S
        while True:
            found = self._stage.sagemaker.describe_endpoint(EndpointName=name)
            if found["EndpointStatus"] == "InService":
                break
            if found["EndpointStatus"] == "Failed" or time.monotonic() > deadline_s:
                self._truth.odd(f"{name} is {found['EndpointStatus']}: {found.get('FailureReason')}")
                break
            time.sleep(0.05)
        if reason := found.get("FailureReason"):
            self._truth.odd(f"{name} was rolled back: {reason}")
