"""The records of the ledger: one invocation, and one instance's life. They hold values and decide nothing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torpor_container import wire
from torpor_container.typed_json import read

SERVERLESS = "serverless-"
ON_PROVISIONED = "+provisioned"
"""The end of a serverless instance's size in the sums of its traffic, if provisioned concurrency keeps it ready."""
TRANSFORM_JOB = "transform."
"""What the instances of a transform job have before its name, where an endpoint's have the endpoint's: no endpoint has
a name with a dot."""
NO_SECONDS: Mapping[str, float] = {}
"""The seconds by container where there is only one container."""


class InvocationRecord(NamedTuple):
    """One invocation of a variant, successful or not. Nobody changes its mappings afterwards."""

    at_s: float  # epoch seconds when it arrived
    request_id: str
    endpoint: str
    variant: str
    model: str  # the TargetModel, or the adapter of an inference component; "" on a single-model variant
    instance: str  # the incarnation; "" if it never reached one
    status: int  # the HTTP status that the caller got
    steps: Mapping[str, float]  # seconds by `wire.Step`, overhead included; they add up to `total_s`
    total_s: float
    request_bytes: int
    response_bytes: int
    cold: wire.ColdLoad | None  # the instance's own account of a load; None on a hit
    effort: wire.EffortFields | None = None  # of the prediction, if that was measured
    inference_id: str = ""  # the caller's InferenceId, if it sent one
    container_s: Mapping[str, float] = NO_SECONDS  # seconds in each container of a pipeline, in its order
    shadow: bool = False  # a copy of a request, which a shadow variant got
    face: str = ""  # the face by which it came, such as `open-inference`; "" for SageMaker's own
    choice: str = ""  # why this model answers a request that named a group; "" for one that named a model


def cold_load(text: str | bytes | None) -> wire.ColdLoad | None:
    """The column of a load, or the header of an answer, which is JSON. An earlier version wrote no efforts."""
    return None if text is None else read(wire.ColdLoad, {"efforts": {}, **json.loads(text)})


class WarmRequests(NamedTuple):
    """Warm invocations of one model by one instance in one minute, which differ only in their times.

    The effort of none of their predictions was measured.
    """

    at_s: float  # epoch seconds of one arrival
    endpoint: str
    variant: str
    model: str
    instance: str
    totals_s: Sequence[float]
    predicts_s: Sequence[float]
    request_bytes: int
    response_bytes: int
    span_s: tuple[float, float] | None = None  # the first and the last arrival
    container_s: Mapping[str, float] = (
        NO_SECONDS  # their seconds in each container of a pipeline together, in its order
    )
    shadow: bool = False  # copies of requests, which a shadow variant got
    seconds: int = 0  # the seconds of the minute in which any arrived, as bits; 0 is not known
    moments: str = ""  # of some arrivals: `core.ledger.arrival_moments`
    face: str = ""  # as in InvocationRecord


class MemoryReading(NamedTuple):
    """The memory that an instance uses beside its models, at one moment. Each container of a pipeline has its own
    reading: a container without a model cache uses all its memory beside models."""

    at_s: float  # epoch seconds
    endpoint: str
    variant: str
    instance: str
    budget_bytes: int  # the instance's memory
    own_bytes: int
    short: bool = False  # models were evicted at that moment to make room
    container: str = ""  # the container of a pipeline; "" for the only one
    workers: int | None = None  # of a single-model container: as in `wire.ColdLoad`; None if that is not known


@dataclass(frozen=True, slots=True)
class InstanceLife:
    """One instance's life, from its launch until its end or until now."""

    endpoint: str
    variant: str
    instance: str
    slot: int
    size: str  # its ml.* type, or SERVERLESS and its memory in MiB
    why_started: str
    started_s: float
    ready_s: float | None = None
    why_stopped: str = ""
    stopped_s: float | None = None
    provisioned: bool = False  # kept awake by ProvisionedConcurrency
    shadow: bool = False  # its variant is a shadow variant
    changed_s: float | None = None  # when an update last made its variant a shadow variant, or made it none
    volume_gb: float | None = None  # VolumeSizeInGB; None: as much as Torpor gives it
    placed_on: str = ""  # of a copy of an inference component: the production variant on whose instances it is
    reserved_mib: float = 0.0  # of a copy: the memory that is set aside for it there
    reserved_cores: float = 0.0
    reserved_accelerators: float = 0.0
