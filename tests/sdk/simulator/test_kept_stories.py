"""Random simulations of every kind tell the same story as before: each decision, each request, each life, to the byte.

A change that makes the simulator faster leaves `STORIES` as they are. One that changes what is simulated changes them
on purpose: the failing test prints the new ones.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

from tests.helpers.thorough_values import one_in
from torpor.simulator.components.component_scenario import ComponentScenario
from torpor.simulator.components.component_setup import CopyScaling
from torpor.simulator.components.components_run import one_for_each, run_components
from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.engine.simulated_variant import Simulation
from torpor.simulator.scenario import Scenario
from torpor.simulator.simulation_inputs import SimulationInputs, Spreads
from torpor.simulator.simulation_run import run
from torpor.workloads import Chunk, Recorded
from torpor.workloads.profile import ContainerProfile, ModelProfile
from torpor_container.core.residency import Decision
from torpor_endpoint.core.resource_records import Serverless

MB = 1_000_000
MODELS, REQUESTS = 40, 500
TOLD = ("model", "arrived_s", "slot", "routed_s", "ready_s", "done_s", "outcome")
"""What is told of a request."""

DECIDED = ("at_s", "model", "action", "reason", "size_bytes", "took_s", "for_model")
COUNTED = ("loads", "load_s", "downloads", "unloads", "wakes", "dropped", "throttled")

PIPED = (
    ContainerProfile("before", 20 * MB, predict_s=0.004, predict_delay_s=0.001, start_s=0.3),
    ContainerProfile("models", models=True),
    ContainerProfile("after", 10 * MB, predict_s=0.002, threads=2, workers=1),
)
KINDS: dict[str, dict[str, Any]] = {
    "one instance": {},
    "one instance, GDSF": {"policy": "GDSF"},
    "one instance, S3-FIFO": {"policy": "S3-FIFO"},
    "one instance, SIEVE, one load at a time": {"policy": "SIEVE", "loads_max": 1},
    "three instances": {"instances": 3},
    "twelve instances, LFUDA": {"instances": 12, "policy": "LFUDA", "threads": 2},
    "one processor": {"processors": 1, "threads": 4},
    "one thread": {"threads": 1},
    "a small disk": {"disk_bytes": 500 * MB},
    "it knows the trace": {"policy": "BELADY-SIZE"},
    "it sleeps": {"instances_min": 0, "instances_max": 2, "idle_s": 2.0},
    "it sleeps, by habits": {"instances_min": 0, "instances_max": 2, "idle_s": 2.0, "keep_alive": "histogram"},
    "it scales": {"instances_min": 1, "instances_max": 5, "concurrency": 1},
    "models rest": {"model_idle_s": 2.0},
    "models rest, by habits": {"model_idle_s": 2.0, "model_keep_alive": "histogram"},
    "no model cache": {"model_cache": False},
    "serverless": {"serverless": Serverless(2048, 4)},
    "asynchronous": {"asynchronous": True, "instances_min": 0, "instances_max": 2, "idle_s": 3.0, "concurrency": 2},
    "batches": {"batch_size": 4, "batch_delay_s": 0.02, "threads": 1},
    "a pipeline": {"containers": PIPED, "instances": 2},
    "a device": {"device_mib": 900.0},
    "two instances with a device, GDSF": {"device_mib": 900.0, "instances": 2, "policy": "GDSF"},
    "a hundred instances, played apart": {"instances": 100},
}
STORIES: dict[str, str] = {
    "one instance": "1593 3c18939eeaaecbfa",
    "one instance, GDSF": "1707 c5d97f537eca8860",
    "one instance, S3-FIFO": "1719 f5b1a3cf06655459",
    "one instance, SIEVE, one load at a time": "1405 506f7fcf13fad056",
    "three instances": "907 ef213814fb889d28",
    "twelve instances, LFUDA": "592 292f8e85f114f7b8",
    "one processor": "1213 848cfe7049b3a3ba",
    "one thread": "1411 9477139fe31bedbd",
    "a small disk": "1597 8e6b35c2915d7a11",
    "it knows the trace": "1375 36341a2610b4367c",
    "it sleeps": "1797 5adb0ef96bcc95ed",
    "it sleeps, by habits": "1782 b42629f6d2fd5d03",
    "it scales": "1821 5f5532cbd11f70f1",
    "models rest": "1703 c4723c06927da8a2",
    "models rest, by habits": "1877 32c5a9f17a3d0267",
    "no model cache": "1743 85b79112743ee4b7",
    "serverless": "637 e2cfd0e2d763a6f4",
    "asynchronous": "1690 6e96aa8bb2985b45",
    "batches": "1839 73e3fdce252edc39",
    "a pipeline": "586 6b2e260092ad80bd",
    "a device": "3207 c4f44e2317da0f41",
    "two instances with a device, GDSF": "1594 253f7f6af4d99d51",
    "a hundred instances, played apart": "678 91cd8a7ff8e94c30",
    "components": "501 075c7e87d2d7239d",
    "components, strictly": "501 14c0f22cfd2afa22",
}


class Told:
    """A hash of all that happens."""

    def __init__(self) -> None:
        self.happened = 0
        self._hash = sha256()

    def add(self, *what: object) -> None:
        self.happened += 1
        self._hash.update(repr(what).encode())

    def decided(self, slot: str, decision: Decision) -> None:
        self.add(slot, *[getattr(decision, name) for name in DECIDED])

    def ended(self, calls: list[SimulatedCall]) -> None:
        for call in calls:
            self.add(*[getattr(call, name, None) for name in TOLD])

    def over(self, simulation: Simulation) -> None:
        self.add(*[getattr(simulation.counts, name) for name in COUNTED])
        for life in simulation.lives:
            self.add(life.slot, life.began_s, life.ready_s, life.retired_s, life.ended_s)

    def __str__(self) -> str:
        return f"{self.happened} {self._hash.hexdigest()[:16]}"


def drawn(name: str) -> SimulationInputs:
    """Bursts of requests for models of all sizes, a few of which are called often. No function is used whose last bit
    may be otherwise on another machine."""
    dice = random.Random(name)
    names = [f"model-{number}" for number in range(MODELS)]
    profiles = {one: profile(one, dice) for one in names}
    times_s, models, now_us = list[float](), list[int](), 0
    for _ in range(REQUESTS):
        now_us += dice.randrange(8_000_000 if dice.random() < 0.02 else 60_000)
        times_s.append(now_us / 1_000_000)
        models.append(min(dice.randrange(MODELS), dice.randrange(MODELS)))
    profiles = {one: CHANGED[name](known) for one, known in profiles.items()} if name in CHANGED else profiles
    trace = Recorded(names, [Chunk(np.array(times_s), np.array(models, np.int32))], lasts_s=times_s[-1] + 10.0)
    return SimulationInputs(trace, profiles, Spreads(), 1, name)


def profile(name: str, dice: random.Random) -> ModelProfile:
    size_bytes = dice.randrange(5 * MB, 120 * MB)
    return ModelProfile(
        name,
        size_bytes,
        size_bytes + dice.randrange(MB),
        download_s=dice.randrange(200) / 1000,
        unpack_s=dice.randrange(20) / 1000,
        load_s=dice.randrange(100) / 1000,
        unload_s=dice.choice((0.0, 0.001, 0.05)),
        predict_s=dice.randrange(60) / 1000,
        unpack_delay_s=dice.choice((0.0, 0.01)),
        load_delay_s=dice.choice((0.0, 0.02)),
        predict_delay_s=dice.choice((0.0, 0.0, 0.03)),
        mapped_bytes=dice.choice((0, 0, size_bytes // 2)),
        workers=dice.choice((0, 0, 1)),
        further_s=dice.choice((None, 0.001)),
    )


def on_device(one: ModelProfile) -> ModelProfile:
    """The same model where there is a device: it takes less there, and predicts faster."""
    device_predict_s = one.predict_s / 4
    return replace(one, device_bytes=one.memory_bytes // 2, enter_s=0.02, device_predict_s=device_predict_s)


CHANGED: dict[str, Callable[[ModelProfile], ModelProfile]] = {
    "a device": on_device,
    "two instances with a device, GDSF": on_device,
    "a hundred instances, played apart": lambda one: replace(one, mapped_bytes=0),
}
"""What a kind changes in the profiles of its models."""


def of_variant(name: str) -> Told:
    told, chosen = Told(), {"memory_bytes": 700 * MB, "processors": 2, "threads": 2, **KINDS[name]}
    if "serverless" in chosen or "containers" in chosen:
        del chosen["memory_bytes"]
    result = run(drawn(name), Scenario(**chosen), told.decided, told.ended, over=told.over)
    told.add(result.requests, result.failed, result.loads, result.evictions, result.downloads, result.wakes)
    return told


def of_components(strict: bool) -> Callable[[str], Told]:
    def of(name: str) -> Told:
        told, inputs = Told(), drawn(name)
        scaling = CopyScaling(target=1.0, copies_min=1, copies_max=3)
        fields = {"copies": 1} if strict else {"copies": 0, "scaling": scaling}
        setups = one_for_each(inputs, **fields)
        scenario = ComponentScenario(setups, "ml.m5.xlarge", instances=4, strict=strict)
        result = run_components(inputs, scenario, told.ended)
        told.add([(one.component, one.requests, one.cold, one.failed, one.copy_s) for one in result.components])
        return told

    return of


PLAYED: dict[str, Callable[[str], Told]] = dict.fromkeys(KINDS, of_variant) | {
    "components": of_components(False),
    "components, strictly": of_components(True),
}


@pytest.mark.parametrize("name", one_in(3, PLAYED))
def test_a_random_simulation_tells_the_same_story_as_before(name: str) -> None:
    assert str(PLAYED[name](name)) == STORIES[name]


def test_each_story_is_another_one() -> None:
    assert STORIES.keys() == PLAYED.keys()
    assert len(set(STORIES.values())) == len(STORIES)


if __name__ == "__main__":
    for each, play in PLAYED.items():
        print(f'    "{each}": "{play(each)}",')
