"""The wire between an instance and its callers: header names, paths and JSON shapes. Nothing here acts.

The MME container contract is AWS's (`POST /models`, `POST /models/{name}/invoke`, ...). What Torpor adds travels under
`X-Torpor-*` headers and `/_torpor/*` paths, which a foreign container never sees.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NotRequired, TypedDict

# -- AWS's names ---------------------------------------------------------------------------------------------------
TARGET_MODEL = "X-Amzn-SageMaker-Target-Model"
CUSTOM_ATTRIBUTES = "X-Amzn-SageMaker-Custom-Attributes"
TARGET_VARIANT = "X-Amzn-SageMaker-Target-Variant"
INFERENCE_ID = "X-Amzn-SageMaker-Inference-Id"
SESSION_ID = "X-Amzn-SageMaker-Session-Id"
PREFIX_AWARE_ID = "X-Amzn-SageMaker-Prefix-Aware-Id"
NEW_SESSION_ID = "X-Amzn-SageMaker-New-Session-Id"
CLOSED_SESSION_ID = "X-Amzn-SageMaker-Closed-Session-Id"

ADAPTER = "X-Amzn-SageMaker-Adapter-Identifier"
"""Names an adapter to the container of its base model (AWS's model-hosting-container-standards)."""
ADAPTER_URL = "X-Torpor-Adapter-Url"
"""From where an instance fetches the adapter. No container gets it."""
ADAPTERS = "/adapters"

FORWARDED = (
    "Content-Type",
    "Accept",
    CUSTOM_ATTRIBUTES,
    INFERENCE_ID,
    TARGET_VARIANT,
    SESSION_ID,
    PREFIX_AWARE_ID,
)
"""The caller's headers that reach a container. AWS, InvokeEndpoint: "Amazon SageMaker AI strips all POST headers except
those supported by the API". The platform sets TARGET_MODEL anew from the checked name."""

TRACE_CONTEXT = ("traceparent", "tracestate", "baggage")
"""W3C's headers of a distributed trace. They reach a container only from an endpoint with `--otel`: AWS strips them."""

SESSION_ANSWERS = (NEW_SESSION_ID, CLOSED_SESSION_ID)
"""The headers by which a stateful model answers that it began or ended a session."""

RETURNED = ("Content-Type", CUSTOM_ATTRIBUTES, *SESSION_ANSWERS)
"""The container's headers that reach the caller."""

INVOCATION_PATH = "X-Amzn-SageMaker-Model-Invocation-Path"
"""Says to a container of many models which of its operations a request is for, by the path that it has at a container
of one (AWS's name, of InvokeEndpointWithBidirectionalStream)."""

PING = "/ping"
MODELS = "/models"
INVOCATIONS = "/invocations"
EXECUTION_PARAMETERS = "/execution-parameters"

# -- Torpor's own --------------------------------------------------------------------------------------------------
SERVER_TIMING = "Server-Timing"
"""Milliseconds per step, `queue;dur=0.1, download;dur=3.2, ...`. See `WaitStep`."""

MODEL_CACHE = "X-Torpor-Model-Cache"
MODEL_CACHE_ONLY = "only"
MODEL_CACHE_HIT, MODEL_CACHE_MISS = "hit", "miss"
"""On a request: the model answers only if it is in memory or on its way there; else the answer has `Fault.ABSENT`. On
an answer: whether the model was in memory as the request arrived. Absent on single-model instances."""

COLD = "X-Torpor-Cold"
"""On a miss: a `ColdLoad` as JSON, what the load of the model took."""

EFFORT = "X-Torpor-Effort"
"""On an answer whose prediction was measured: the seconds of an `EffortFields`, such as `0.000512 0.000003`.

Of many quick predictions in a row, only some are measured."""

FAULT = "X-Torpor-Fault"
"""A `Fault`, set on an answer that is the platform's and not the model's own. The body holds a `message`."""

STREAM = "X-Torpor-Stream"
STREAM_IN_PARTS = "parts"
"""On a request: the caller takes the answer in parts, as the model makes them. On an answer: its body is a sequence of
records (`transport.parts`). An answer without it is whole, such as an error that came before the first part."""

ARTIFACT_VERSION = "X-Torpor-Artifact-Version"
ARTIFACT_VERSION_WANTED = "wanted"
"""On a request: the caller wants to know which version of its artifact answers. On an answer: that version, as its
store names it, such as an ETag. It is absent if the instance does not know the version."""

ARTIFACT_DIGEST = "X-Torpor-Artifact-Digest"
"""On the answer to such a request: the SHA-256 of the artifact's bytes, in hex. It is absent if that is not known."""

LOAD_REASON = "X-Torpor-Load-Reason"
"""With an order to load a model (LOAD_MODEL): why, for a person. The instance's decisions then say so."""

NEIGHBOURS = "X-Torpor-Neighbours"
"""On a request with a target model, a call or the order to load it: a list of `Neighbour` as JSON. The instance asks
them for the artifact before it reads that in S3, if it has yet to fetch it."""

ARTIFACT = "/_torpor/artifact"
"""`GET` with a target model and ARTIFACT_VERSION, to an instance that shares artifacts: the artifact as S3 has it, 404
if the instance has not kept it, or 503 while it gives out as many as it may."""

STATE = "/_torpor/state"
"""`GET`: an `InstanceStatus`. With `?after=N`, only the decisions with a `seq` greater than N."""


RELOAD_MODEL = "/_torpor/reload"
UNLOAD_MODEL = "/_torpor/unload"
LOAD_MODEL = "/_torpor/load"
UPDATE_MODEL = "/_torpor/update"
"""`POST` with a `ModelName` to an instance that keeps its models; it answers a `LeavingModel`. The next request loads
the model anew; those in flight end on the old copy. After `reload`, the load also asks S3 for a newer version. `load`
answers an `OrderedLoad` once the model is in memory, without a call of it; `update` answers once the version that S3
has now answers, which was loaded beside the older one."""

LOAD_ADAPTER = "/_torpor/adapter"
"""`POST` with ADAPTER and ADAPTER_URL, to a foreign container's instance with one model: it answers an `OrderedLoad`
once the container has the adapter, without a call of it."""


TIERS = "/_torpor/tiers"
"""`POST` with `AskedModels` to an instance that keeps its models; it answers a `ModelTiers`."""


MEMORY = "/_torpor/memory"
"""`POST` with a `MemoryChange`: the instance has another budget from now on. It answers a `MemoryChanged`, once the
idle models beyond the budget have left."""
CLOCK = "/_torpor/clock"
"""`POST` with an `AheadOfTime` to an instance of an endpoint whose clock travels; it answers a `MovedClock` when the
models that leave or come by that time have done so."""


OUT_OF_MEMORY = "/_torpor/out-of-memory"
"""`POST` with a `FailingLoads` to an instance of an endpoint with faults: one load finds no memory."""


class WaitStep(StrEnum):
    """What a request waited for, in the order it happens. Together they add up to its wall time."""

    HOLD = "hold"
    WAKE = "wake"
    QUEUE = "queue"
    DOWNLOAD = "download"
    UNPACK = "unpack"
    LOAD = "load"
    PREDICT = "predict"  # of a stream: until its first part
    STREAM = "stream"  # from the first part to the last
    OVERHEAD = "overhead"


UNLOAD = "unload"
"""The effort of one unload that made room for a model. It is not a step: the request waits for it in the queue."""


class Fault(StrEnum):
    """Why an instance could not hand the request to its model. The endpoint turns each into AWS's error."""

    TARGET_MISSING = "target-missing"  # a multi-model instance was called with no target model
    TARGET_FORBIDDEN = "target-forbidden"  # the target leaves the prefix, or is no valid key
    ARTIFACT_MISSING = "artifact-missing"  # no such object, or no permission to read it
    ARTIFACT_INVALID = "artifact-invalid"  # not a tar, truncated, hostile, too large
    STORE_UNREACHABLE = "store-unreachable"  # S3 did not answer
    LOAD_FAILED = "load-failed"  # the model's own code or file failed to load
    NO_ROOM = "no-room"  # it can never fit in this instance's memory or on its disk
    MACHINE_FAILED = "machine-failed"  # its disk is full, or it has no descriptor left: the next call tries again
    NOT_READY = "not-ready"  # still downloading or loading when the caller's time was up; the load goes on
    TIMED_OUT = "timed-out"  # the model took longer than an invocation may
    MODEL_DIED = "model-died"  # the model's process ended while it held the request
    ABSENT = "absent"  # the model is not in memory, and the request may not load it: it goes to another instance


class ContainerCommand(TypedDict, total=False):
    """How a foreign container is started (`TORPOR_CONTAINER`). Placeholders: those of `image.server_command`."""

    command: list[str]  # the program and its arguments
    environment: dict[str, str]
    files: dict[str, str]  # written to its temporary folder before the start
    ready: list[str]  # paths that must all answer 2xx
    opt_ml: bool  # its processes see the instance's base folder at /opt/ml
    protocol: str  # how it loads models: one of `image.server_command.PROTOCOLS`


class DecisionRecord(TypedDict, total=False):
    """One decision about one model, for a person to read: what, why, and what it cost."""

    seq: int
    at_s: float  # epoch seconds
    model: str  # the TargetModel
    action: str  # ordered | load | loaded | evict | unloaded | refuse | failed; on disk also download | …
    reason: str
    bytes: int
    took_s: float
    for_model: str  # the model that needed the room, when this one had to leave


class EffortFields(TypedDict):
    """What a piece of work took, without the wait for a processor."""

    work_s: float  # of a processor
    delay_s: float  # of waits for anything else: a disk, a network, another thread


VICTIMS_REPORTED_MAX = 50
"""A response header names at most this many of the models that one load evicted. The decisions name all of them."""


class FetchedFrom(StrEnum):
    """From where the bytes of an artifact came to an instance that shares artifacts with others."""

    S3 = "s3"
    NEIGHBOUR = "neighbour"


class Neighbour(TypedDict):
    """An instance that may have a model's artifact."""

    at: str  # its Unix socket's path, or its host and port
    ticket: str  # lets the model's artifact be taken from it; empty where none is needed
    certified: NotRequired[str]  # the name in its certificate, where it speaks TLS


class ColdLoad(TypedDict):
    """How a model came into memory."""

    bytes: int  # in memory, measured, with its share of the file that it maps; of an adapter, on disk
    victims: list[str]  # the models that left memory for it
    reason: str  # why it was not there: first use, evicted before, its process ended …
    took_s: float  # from the request that led to it until it was loaded
    joined: NotRequired[bool]  # True in the report of a request that came while another one's load went on
    efforts: dict[str, EffortFields]  # of the steps `unpack` and `load`, and UNLOAD, as far as they were measured
    own_bytes: NotRequired[int]  # memory that no model explains, when this one asked for room
    budget_bytes: NotRequired[int]  # the instance's memory
    left: NotRequired[Mapping[str, tuple[float, int]]]  # models that left memory: see `LastUses.report`
    fetched_bytes: NotRequired[int]  # of its artifact, if it was fetched for this load; the first request reports it
    fetched_from: NotRequired[str]  # a `FetchedFrom`, on an instance that shares artifacts; as `fetched_bytes`
    once_s: NotRequired[float]  # before the load, for what a machine needs once for it: see `Loaded`; absent if nothing
    imports_s: NotRequired[float]  # before the load, for libraries that were not imported yet; absent if it is nothing
    workers: NotRequired[int]  # its own processes, of which each answers one request at a time; 0: it has none
    artifact_version: NotRequired[str]  # as in `LoadedModel`
    digest: NotRequired[str]
    adapters_bytes: NotRequired[int]  # of an adapter: the disk that all adapters of a copy share


class ModelName(TypedDict):
    model: str  # the TargetModel


class OrderedLoad(TypedDict):
    """What came of an order to load a model, or to register an adapter, that is there now."""

    led: bool  # whether the order led a load: otherwise it was there, or on its way for somebody else


class AskedModels(TypedDict):
    models: list[str]  # TargetModels


class ModelTiers(TypedDict):
    """Where each of the models is that were asked about: `memory`, `disk`, or absent if it is on neither."""

    tiers: dict[str, str]


class LeavingModel(TypedDict):
    """What happens to a model that must leave."""

    model: str
    was: str  # `resident`, `loading` or `absent`
    in_flight: int  # calls that end on the old copy


class MemoryChange(TypedDict):
    budget_bytes: int


class MemoryChanged(TypedDict):
    """More may be used than the budget: models in use leave later."""

    budget_bytes: int
    used_bytes: int  # measured


class FailingLoads(TypedDict):
    """The model whose next load is to find no memory."""

    model: str  # the TargetModel; empty: any


class AheadOfTime(TypedDict):
    """How far a clock is ahead of real time."""

    ahead_s: float


class MovedClock(TypedDict):
    """What an instance answers when its clock was moved."""

    due_s: float | None  # seconds until a model leaves or comes by itself; None if none will


class LoadedModel(TypedDict):
    name: str
    size_bytes: int
    in_flight: int
    idle_s: float
    format: str
    hits: int
    workers: NotRequired[int]  # of a single-model container: as in `ColdLoad`
    artifact_version: NotRequired[str]  # of what was loaded, as its store names it; empty if that is not known
    digest: NotRequired[str]  # the SHA-256 of the artifact's bytes in the store, in hex; empty if that is not known
    mapped: NotRequired[bool]  # whether a form of it answers that the machine's instances map, and not its library


class DeviceStatus(TypedDict):
    """The device that an instance predicts on."""

    name: str  # such as `cuda:0`
    model: str  # what its maker calls it
    busy_percent: float  # of the last moments, as its driver reports it
    used_bytes: int  # by all processes
    total_bytes: int
    own_bytes: int  # by this instance
    kept_bytes: int  # of them, what CUDA and the libraries keep until the instance ends
    budget_bytes: int  # what this instance may use, `kept_bytes` included
    models: list[str]  # the names of the models on it
    bound_models: list[str]  # of them, those whose inputs and outputs stay bound between calls


class ToldModels(TypedDict):
    """The models in memory, as far as the caller of `GET /_torpor/state` asks for them: all of them by default."""

    models: list[LoadedModel]
    model_count: NotRequired[int]  # of all, where `most` asked for some
    report: NotRequired[int]  # where `since` asked for differences: the number of this report
    since: NotRequired[int]  # `models` has what changed since the report of this number; absent: it has all
    gone: NotRequired[list[str]]  # the names of those that have left since then


class SharedArtifacts(TypedDict):
    """How many artifacts came and went since the instance started, on one that shares them."""

    from_neighbours: int
    from_s3: int
    given: int  # to neighbours
    kept_bytes: int  # on disk for them, now


class InstanceStatus(ToldModels):
    """The answer to `GET /_torpor/state`."""

    unready: str | None  # why /ping is not 200; None if it is
    fault: str | None  # the Fault behind it, where it is final
    kept: bool  # whether it holds many models and unloads them itself
    budget_bytes: int
    used_bytes: int  # measured, not planned
    own_bytes: NotRequired[int]  # of that, what models in memory do not explain; includes loads in progress
    waiting: int  # models that wait until there is room for them in memory
    disk_bytes: int
    disk_budget_bytes: int
    cpu_s: float  # processor seconds used since it started
    device: NotRequired[DeviceStatus]  # absent where models predict on the processor alone
    shared: NotRequired[SharedArtifacts]  # absent where instances share no artifacts
    decisions: list[DecisionRecord]
    last_seq: int
