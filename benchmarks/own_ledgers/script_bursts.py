"""Calls of scripts that all come at once: one script or six, which compute or wait, on two types of instances."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from benchmarks.own_ledgers.artifacts import scripts
from benchmarks.own_ledgers.stage import NAME, SLO_S, WorkloadPlayed, WorkloadStage, names
from torpor.hosting.endpoint_deployment import EndpointPlan
from torpor.workloads import Chunk, Recorded

CALLS, CALL_S = 72, 0.12
KINDS: Mapping[str, Mapping[str, float]] = {"compute": {"work_s": CALL_S}, "wait": {"delay_s": CALL_S}}
TYPES = ("ml.m5.large", "ml.c5.xlarge")
FIRST_S = 60.0
"""The models are loaded before, by a call of each at the beginning."""


def script_burst(stage: WorkloadStage, count: int, kind: str, instance_type: str) -> WorkloadPlayed:
    scripts(stage.folder / "models", list(names(count)), **KINDS[kind])
    plan = EndpointPlan(NAME, stage.models(stage.folder / "models"), instance_type=instance_type)
    times_s = np.concatenate([np.zeros(count), np.full(CALLS, FIRST_S)])
    numbers = np.concatenate([np.arange(count), np.arange(CALLS) % count]).astype(np.int32)
    trace = Recorded(names(count), [Chunk(times_s, numbers)])
    return stage.played(stage.deployed(plan), trace, SLO_S, 60.0)


BURSTS: Mapping[str, Callable[[WorkloadStage], WorkloadPlayed]] = {
    f"{count}-{kind}-{instance_type}": partial(script_burst, count=count, kind=kind, instance_type=instance_type)
    for instance_type in TYPES
    for kind in KINDS
    for count in (1, 6)
}
