"""Instances that are played apart take the decisions that they take together, in order of time, to the byte."""

import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.helpers.thorough_values import one_in
from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.engine.simulated_variant import Simulation, VariantReading
from torpor.simulator.engine.variant.variant_plan import Machine, VariantPlan
from torpor.workloads import Chunk, Recorded
from torpor.workloads.profile import ModelProfile
from torpor_container.core.residency import Decision

MB = 1_000_000
MODELS, REQUESTS = 60, 800
TOLD = ("model", "arrived_s", "slot", "routed_s", "ready_s", "done_s", "outcome")
READ_EVERY_S = 5.0
BUSY: dict[str, float] = {"quiet": 0.05, "busy": 0.006, "far too busy": 0.001}
"""Mean seconds between two requests, by name."""


def trace(dice: random.Random, gap_s: float) -> Recorded:
    """Bursts for few models of many, in chunks of several sizes."""
    now_s, times_s, models = 0.0, list[float](), list[int]()
    for _ in range(REQUESTS):
        now_s += dice.expovariate(1 / gap_s) * (10 if dice.random() < 0.01 else 1)
        times_s.append(now_s)
        models.append(min(dice.randrange(MODELS), dice.randrange(MODELS), dice.randrange(MODELS)))
    cuts = [0, 7, 300, 301, 500, REQUESTS]
    chunks = [
        Chunk(np.array(times_s[first:end]), np.array(models[first:end], np.int32)) for first, end in pairwise(cuts)
    ]
    return Recorded([f"model-{number}" for number in range(MODELS)], chunks, lasts_s=now_s + 20.0)


def profiles(dice: random.Random, device: bool) -> dict[str, ModelProfile]:
    made = {}
    for number in range(MODELS):
        size_bytes = dice.randrange(5 * MB, 120 * MB)
        made[f"model-{number}"] = ModelProfile(
            f"model-{number}",
            size_bytes,
            size_bytes,
            download_s=dice.uniform(0.0, 0.1),
            unpack_s=dice.uniform(0.0, 0.02),
            load_s=dice.uniform(0.0, 0.1),
            unload_s=dice.uniform(0.0, 0.05),
            predict_s=dice.uniform(0.0, 0.03),
            predict_delay_s=dice.choice((0.0, dice.uniform(0.0, 0.03))),
            workers=dice.choice((0, 0, 1)),
            device_bytes=size_bytes // 2 if device else 0,
            enter_s=0.01,
            device_predict_s=dice.uniform(0.0, 0.01),
        )
    return made


def story(seed: str, gap_s: float, apart_min: int, **changes: Any) -> dict[str, Any]:
    """All that happens: requests in their batches, decisions, readings and counters."""
    dice, batches, decided, readings = random.Random(seed), list[Any](), list[Any](), list[VariantReading]()
    machine = Machine(400 * MB, 900 * MB, threads=2, processors=2, loads_max=2)
    if changes.get("ample", False):
        machine = replace(machine, memory_bytes=800 * MB, threads=9, processors=8, loads_max=8)
    fields = {name: changes[name] for name in changes if name not in ("instances", "device", "ample")}
    device = changes.get("device", False)
    machine = replace(machine, device_bytes=150 * MB if device else 0, **fields)
    played, known = trace(dice, gap_s), profiles(dice, device)

    def ended(calls: list[SimulatedCall]) -> None:
        batches.append([[getattr(call, name) for name in TOLD] for call in calls])

    def decision(slot: str, one: Decision) -> None:
        decided.append((slot, repr(one)))

    plan = VariantPlan(machine, changes.get("instances", 4), begun=True)
    simulation = Simulation(plan, known, ended, decision, apart_min=apart_min)

    def read(_: None) -> None:
        readings.append(simulation.reading())
        if not simulation.quiet:
            simulation.kernel.after(READ_EVERY_S, read, None)

    simulation.kernel.after(READ_EVERY_S, read, None)
    simulation.run(played)
    lives = [(life.slot, life.began_s, life.ready_s, life.ended_s) for life in simulation.lives]
    counts = {name: getattr(simulation.counts, name) for name in ("loads", "load_s", "downloads", "unloads", "entries")}
    return {"requests": batches, "decisions": decided, "readings": readings, "lives": lives, "counts": counts}


CASES: list[tuple[str, dict[str, Any]]] = [
    ("quiet", {"instances": 4, "policy": "GDSF"}),
    ("busy", {"instances": 2}),
    ("busy", {"instances": 4}),
    ("busy", {"instances": 4, "cache": False}),
    ("busy", {"instances": 4, "device": True}),
    ("busy", {"instances": 3, "batch_size": 4, "batch_delay_s": 0.02}),
    ("far too busy", {"instances": 4}),
    ("far too busy", {"instances": 90, "processors": None}),
    ("quiet", {"instances": 4, "ample": True}),
    ("busy", {"instances": 4, "ample": True}),
    ("busy", {"instances": 20, "ample": True, "policy": "GDSF"}),
    ("busy", {"instances": 7, "ample": True, "processors": None, "memory_bytes": 2_000 * MB, "disk_bytes": 4_000 * MB}),
    ("far too busy", {"instances": 30, "ample": True, "policy": "S3-FIFO"}),
]


@pytest.mark.parametrize(("busy", "changes"), one_in(2, CASES), ids=str)
def test_instances_apart_tell_the_story_that_they_tell_together(busy: str, changes: dict[str, Any]) -> None:
    apart, together = (story(f"{busy} {changes}", BUSY[busy], apart_min, **changes) for apart_min in (2, 1_000))
    for told in together:
        assert apart[told] == together[told], told
    assert sum(map(len, apart["requests"])) == REQUESTS
