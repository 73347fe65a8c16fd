"""Uses the control plane during traffic: updates, creates and deletes endpoints."""

import asyncio
import time
from dataclasses import replace
from itertools import count
from random import Random

from benchmarks.soak.stage import KINDS, Stage
from benchmarks.soak.truth import Truth

SETTLED_WITHIN_S = 60.0


class Operator:
    """Gives an endpoint a configuration that needs other instances, or a new weight; or makes one more for a moment."""

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
