"""The workloads: each deploys an endpoint, sends its traffic, and returns what became of it."""

from collections.abc import Callable, Mapping

from benchmarks.own_ledgers.artifacts import pickles, scripts
from benchmarks.own_ledgers.further_workloads import pipeline, queued, routed
from benchmarks.own_ledgers.script_bursts import BURSTS
from benchmarks.own_ledgers.stage import NAME, SLO_S, WorkloadPlayed, WorkloadStage, names, zipf_calls
from benchmarks.own_ledgers.transform_workload import transformed
from torpor.hosting.endpoint_deployment import EndpointPlan

IDLE_S = 120.0
NAP_S = 400.0


def native(stage: WorkloadStage) -> WorkloadPlayed:
    """More models than an instance holds."""
    pickles(stage.folder / "models", list(names(40)), (2.0, 4.0, 8.0))
    plan = EndpointPlan(NAME, stage.models(stage.folder / "models"), {"TORPOR_MEMORY_MIB": "110"})
    return stage.played(stage.deployed(plan), zipf_calls(40, 1200, 20.0, seed=1), SLO_S, 60.0)


def of_scripts(stage: WorkloadStage) -> WorkloadPlayed:
    """Scripts that compute for longer than calls are apart, at times."""
    scripts(stage.folder / "models", list(names(6)), work_s=0.02)
    plan = EndpointPlan(NAME, stage.models(stage.folder / "models"))
    return stage.played(stage.deployed(plan), zipf_calls(6, 150, 6.0, seed=2), SLO_S, 60.0)


def serverless(stage: WorkloadStage) -> WorkloadPlayed:
    """A serverless variant that falls asleep between bursts."""
    pickles(stage.folder / "models", list(names(10)), (2.0,))
    settings = {"TORPOR_IDLE_SECONDS": f"{IDLE_S:g}"}
    size = {"MemorySizeInMB": 2048, "MaxConcurrency": 20}
    endpoint = stage.deployed(EndpointPlan(NAME, stage.models(stage.folder / "models"), settings, serverless=size))
    stage.asleep(endpoint, IDLE_S)
    trace = zipf_calls(10, 160, 8.0, seed=3, burst=20, nap_s=NAP_S)
    return stage.played(endpoint, trace, SLO_S, IDLE_S + 60.0)


def sleeping(stage: WorkloadStage) -> WorkloadPlayed:
    """Instances that sleep between bursts, and some bursts within their keep-alive."""
    pickles(stage.folder / "models", list(names(12)), (2.0, 6.0))
    settings = {"TORPOR_IDLE_SECONDS": f"{IDLE_S:g}"}
    endpoint = stage.deployed(
        EndpointPlan(NAME, stage.models(stage.folder / "models"), settings, instances_min=0, instances_max=1)
    )
    stage.asleep(endpoint, IDLE_S)
    trace = zipf_calls(12, 160, 8.0, seed=4, burst=20, nap_s=NAP_S)
    [chunk] = trace.parts
    chunk.times_s[80:] -= 320.0  # one nap that is no sleep
    scaled = {"instances_min": 0, "instances_max": 1, "idle_s": IDLE_S}
    return stage.played(endpoint, trace, SLO_S, IDLE_S + 60.0, **scaled)


def scaling(stage: WorkloadStage) -> WorkloadPlayed:
    """One instance becomes three while more requests are in flight than it is meant to have."""
    scripts(stage.folder / "models", list(names(9)), delay_s=0.3)
    settings = {"TORPOR_CONCURRENCY": "2", "TORPOR_IDLE_SECONDS": f"{IDLE_S:g}"}
    endpoint = stage.deployed(
        EndpointPlan(NAME, stage.models(stage.folder / "models"), settings, instances_min=1, instances_max=3)
    )
    trace = zipf_calls(9, 300, 12.0, seed=5, burst=100, nap_s=NAP_S)
    scaled = {"instances_min": 1, "instances_max": 3, "idle_s": IDLE_S, "concurrency": 2}
    return stage.played(endpoint, trace, SLO_S, IDLE_S + 60.0, **scaled)


WORKLOADS: Mapping[str, Callable[[WorkloadStage], WorkloadPlayed]] = {
    "native": native,
    "scripts": of_scripts,
    "serverless": serverless,
    "sleeping": sleeping,
    "scaling": scaling,
    **BURSTS,
    "pipeline": pipeline,
    "async": queued,
    "transform": transformed,
    "routers": routed,
}
