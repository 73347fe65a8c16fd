"""Adds samples of requests to the series of each variant.

`metrics_observer` decides what to count: it turns ended requests into `AlikeRequests`. This module knows which metrics
that means, looks up the series of a variant once, and keeps them. So the registry is not searched for each request.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from torpor_account.metrics import metrics
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.metrics.series import Series
from torpor_account.metrics.tally import PackedTally
from torpor_endpoint.core.components.component_variants import component_of
from torpor_endpoint.core.ledger import SAGEMAKER_FACE

MICROSECONDS = 1e6
PROVISIONED = (
    metrics.SERVERLESS_PROVISIONED_CONCURRENCY_EXECUTIONS,
    metrics.SERVERLESS_PROVISIONED_CONCURRENCY_UTILIZATION,
    metrics.SERVERLESS_PROVISIONED_CONCURRENCY_INVOCATIONS,
    metrics.SERVERLESS_PROVISIONED_CONCURRENCY_SPILLOVER_INVOCATIONS,
)


class AlikeRequests(NamedTuple):
    """Requests of one variant that differ in their times only. The sequences have one item for each request."""

    instances: int  # active when the requests ended
    status: int | None  # of the container's answer; None if it gave no answer
    hit: bool | None  # None if the variant has no model cache
    model_s: Sequence[float]
    overhead_s: Sequence[float]
    loading_s: Sequence[float] = ()  # if the requests were no hits
    concurrency: "Sequence[Concurrency]" = ()  # of a serverless variant
    queued: bool = False  # of an asynchronous variant: AWS lacks two of its metrics
    deployed_by: str = ""  # the endpoint configuration of the update that deployed the variant, if one did
    face: str = ""  # the protocol by which they came; empty for SageMaker's own


class TalliedRequests(NamedTuple):
    """As `AlikeRequests`, of any number of requests: their times as tallies, in microseconds."""

    instances: int
    status: int | None
    hit: bool | None
    requests: int
    model: PackedTally | None
    overhead: PackedTally | None
    loading: PackedTally | None
    concurrency: "Sequence[tuple[Concurrency, int]]"
    queued: bool
    deployed_by: str
    face: str = ""


class Concurrency(NamedTuple):
    """The requests in flight when one arrived, with that one, and the two limits of the serverless variant."""

    in_flight: int
    most: int
    provisioned: int


class ServerlessMeter:
    """The further series of a serverless variant."""

    def __init__(self, bound: Callable[[metrics.Metric], Series]) -> None:
        self._utilization = bound(metrics.SERVERLESS_CONCURRENT_EXECUTIONS_UTILIZATION)
        self._bound = bound
        self._provisioned: tuple[Series, ...] = ()  # only with provisioned concurrency

    def add(self, seen: Concurrency, at_s: float, count: int = 1) -> None:
        """Add `count` requests that saw the same. `at_s` is in epoch seconds."""
        self._utilization.add(seen.in_flight / seen.most, at_s, count)
        if seen.provisioned:
            self._provisioned = self._provisioned or tuple(map(self._bound, PROVISIONED))
            within, spilt = min(seen.in_flight, seen.provisioned), seen.in_flight > seen.provisioned
            values = (within, within / seen.provisioned, not spilt, spilt)
            for series, value in zip(self._provisioned, values, strict=True):
                series.add(value, at_s, count)


class RequestSeries:
    """The series to which every request of a variant adds."""

    def __init__(self, bound: Callable[[metrics.Metric], Series]) -> None:
        self._invocations = bound(metrics.INVOCATIONS)
        self._per_instance = bound(metrics.INVOCATIONS_PER_INSTANCE)
        self._client_errors = bound(metrics.INVOCATION_4XX_ERRORS)
        self._server_errors = bound(metrics.INVOCATION_5XX_ERRORS)
        self._model_errors = bound(metrics.INVOCATION_MODEL_ERRORS)
        self._model_latency = bound(metrics.MODEL_LATENCY)
        self._overhead_latency = bound(metrics.OVERHEAD_LATENCY)

    def add(self, samples: AlikeRequests, at_s: float) -> None:
        """Add requests of one minute. What is equal in all of them is added once, with their number."""
        self._count(samples, len(samples.model_s), at_s)
        if not samples.queued:
            self._overhead_latency.add_all([took_s * MICROSECONDS for took_s in samples.overhead_s], at_s)
        self._model_latency.add_all([took_s * MICROSECONDS for took_s in samples.model_s], at_s)

    def merge(self, tallied: TalliedRequests, at_s: float) -> None:
        """Add requests of one minute that were added up."""
        self._count(tallied, tallied.requests, at_s)
        if not tallied.queued and tallied.overhead is not None:
            self._overhead_latency.merge(tallied.overhead, at_s)
        if tallied.model is not None:
            self._model_latency.merge(tallied.model, at_s)

    def _count(self, alike: AlikeRequests | TalliedRequests, count: int, at_s: float) -> None:
        status = alike.status or 0
        self._invocations.add(1, at_s, count)
        if not alike.queued:
            self._per_instance.add(1 / max(1, alike.instances), at_s, count)
        self._client_errors.add(400 <= status < 500, at_s, count)
        self._server_errors.add(status >= 500, at_s, count)
        self._model_errors.add(not 200 <= status < 300, at_s, count)


class FaceMeter:
    """The series of the requests to a variant that came by one protocol."""

    def __init__(self, registry: MetricRegistry, dimensions: Mapping[str, str]) -> None:
        self._invocations = registry.series(metrics.FACE_INVOCATIONS, dimensions)
        self._errors = registry.series(metrics.FACE_MODEL_ERRORS, dimensions)

    def add(self, status: int | None, count: int, at_s: float) -> None:
        """Add `count` requests with this status of the container's answer; None if it gave none."""
        self._invocations.add(1, at_s, count)
        self._errors.add(not 200 <= (status or 0) < 300, at_s, count)


class DeploymentMeter(RequestSeries):
    """The series of the fleet that an update has deployed, beside those of its variant."""

    def __init__(self, bound: Callable[[metrics.Metric], Series]) -> None:
        super().__init__(bound)
        self._bound = bound

    def add(self, samples: AlikeRequests, at_s: float) -> None:
        super().add(samples, at_s)
        if samples.hit is not None:
            self._bound(metrics.MODEL_CACHE_HIT).add(samples.hit, at_s, len(samples.model_s))

    def merge(self, tallied: TalliedRequests, at_s: float) -> None:
        super().merge(tallied, at_s)
        if tallied.hit is not None:
            self._bound(metrics.MODEL_CACHE_HIT).add(tallied.hit, at_s, tallied.requests)


class ComponentMeter:
    """The series that an inference component has beside those of the variant that it is on."""

    def __init__(self, registry: MetricRegistry, component: str) -> None:
        def bound(metric: metrics.Metric) -> Series:
            return registry.series(metrics.OF_COMPONENT[metric], {"InferenceComponentName": component})

        self.requests = RequestSeries(bound)
        self.no_capacity = bound(metrics.NO_CAPACITY_INVOCATION_FAILURES)


class VariantMeter:
    """The series of one variant; with `component`, of an inference component on it."""

    def __init__(self, registry: MetricRegistry, endpoint: str, variant: str, component: str | None = None) -> None:
        self._component = None if component is None else ComponentMeter(registry, component)
        dimensions = {"EndpointName": endpoint, "VariantName": variant}

        def bound(metric: metrics.Metric) -> Series:
            return registry.series(metric, dimensions)

        self._requests = RequestSeries(bound)
        self._faces: dict[str, FaceMeter] = {}
        self._deployments: dict[str, DeploymentMeter] = {}  # by the endpoint configuration of an update
        self._cache_hit = bound(metrics.MODEL_CACHE_HIT)
        self._loading_wait = bound(metrics.MODEL_LOADING_WAIT_TIME)
        self._no_capacity = bound(metrics.NO_CAPACITY_INVOCATION_FAILURES)
        self._bound = bound
        self._dimensions = dimensions
        self._containers: dict[str, ContainerMeter] = {}  # of instances with several containers
        self._registry = registry
        self._streams: StreamMeter | None = None  # made for the first stream
        self._serverless: ServerlessMeter | None = None  # made for the first request of a serverless variant

    def add(self, samples: AlikeRequests, at_s: float) -> None:
        """Add requests of one minute."""
        self._requests.add(samples, at_s)
        self._of_face(samples.face).add(samples.status, len(samples.model_s), at_s)
        if self._component is not None:
            self._component.requests.add(samples, at_s)
        if samples.deployed_by:
            self._of_deployment(samples.deployed_by).add(samples, at_s)
        if samples.hit is not None:
            self._cache_hit.add(samples.hit, at_s, len(samples.model_s))
        if samples.hit is False:
            self._loading_wait.add_all([took_s * MICROSECONDS for took_s in samples.loading_s], at_s)
        for seen in samples.concurrency:
            self._of_serverless().add(seen, at_s)

    def merge(self, tallied: TalliedRequests, at_s: float) -> None:
        """Add requests of one minute that were added up."""
        self._requests.merge(tallied, at_s)
        self._of_face(tallied.face).add(tallied.status, tallied.requests, at_s)
        if self._component is not None:
            self._component.requests.merge(tallied, at_s)
        if tallied.deployed_by:
            self._of_deployment(tallied.deployed_by).merge(tallied, at_s)
        if tallied.hit is not None:
            self._cache_hit.add(tallied.hit, at_s, tallied.requests)
        if tallied.hit is False and tallied.loading is not None:
            self._loading_wait.merge(tallied.loading, at_s)
        for seen, count in tallied.concurrency:
            self._of_serverless().add(seen, at_s, count)

    def _of_face(self, face: str) -> FaceMeter:
        if face not in self._faces:
            self._faces[face] = FaceMeter(self._registry, {**self._dimensions, "Face": face or SAGEMAKER_FACE})
        return self._faces[face]

    def _of_serverless(self) -> ServerlessMeter:
        if self._serverless is None:
            self._serverless = ServerlessMeter(self._bound)
        return self._serverless

    def _of_deployment(self, config: str) -> DeploymentMeter:
        """The series of the fleet that the update to this endpoint configuration deployed."""
        if config not in self._deployments:
            self._deployments = dict([*self._deployments.items()][-1:])  # the fleet before still ends its requests
            dimensions = {**self._dimensions, "EndpointConfigName": config}
            self._deployments[config] = DeploymentMeter(
                lambda metric: self._registry.series(metrics.OF_DEPLOYMENT[metric], dimensions)
            )
        return self._deployments[config]

    def add_stream(self, first_s: float, model_s: float, failed: bool, at_s: float) -> None:
        """Add what a streamed answer has beside any other request (see `StreamMeter.add`)."""
        if self._streams is None:
            self._streams = StreamMeter(self._bound)
        self._streams.add(first_s, model_s, failed, at_s)

    def add_container(self, name: str, status: int, took_s: float, overhead_s: float | None, at_s: float) -> None:
        """Add what one container of several did (see `ContainerMeter.add`)."""
        meter = self._containers.get(name)
        if meter is None:
            meter = self._containers[name] = ContainerMeter(self._registry, {**self._dimensions, "ContainerName": name})
        meter.add(status, took_s, overhead_s, at_s)

    def add_setup(self, took_s: float, at_s: float) -> None:
        """Add the time that the launch of a serverless instance took."""
        self._bound(metrics.MODEL_SETUP_TIME).add(took_s * MICROSECONDS, at_s)

    def add_no_capacity(self, at_s: float) -> None:
        """Add one request that failed because no instance was running."""
        self._no_capacity.add(1, at_s)
        if self._component is not None:
            self._component.no_capacity.add(1, at_s)

    def add_dropped(self, at_s: float) -> None:
        """Add one copy of a request that reached no model of this shadow variant."""
        self._bound(metrics.SHADOW_COPIES_DROPPED).add(1, at_s)

    def add_cold_start(self, waited_s: float, at_s: float) -> None:
        """Add a request that waited for an instance or for its model."""
        self._bound(metrics.COLD_START_TIME).add(waited_s * MICROSECONDS, at_s)

    def add_untraced(self, requests: int, at_s: float) -> None:
        """Add sampled requests whose spans did not reach the collector."""
        self._bound(metrics.TRACES_DROPPED).add(requests, at_s)

    def add_captured(self, records: int, delivered: bool, at_s: float) -> None:
        """Add records of data capture that are in S3, or that are lost."""
        in_s3, lost = (
            self._bound(metrics.DATA_CAPTURE_RECORDS),
            self._bound(metrics.DATA_CAPTURE_RECORDS_LOST),
        )
        (in_s3 if delivered else lost).add(records, at_s)


class ContainerMeter:
    """The series of one container of several."""

    def __init__(self, registry: MetricRegistry, dimensions: Mapping[str, str]) -> None:
        self._invocations = registry.series(metrics.CONTAINER_INVOCATIONS, dimensions)
        self._client_errors = registry.series(metrics.CONTAINER_4XX_ERRORS, dimensions)
        self._server_errors = registry.series(metrics.CONTAINER_5XX_ERRORS, dimensions)
        self._latency = registry.series(metrics.CONTAINER_LATENCY, dimensions)
        self._overhead = registry.series(metrics.CONTAINER_OVERHEAD_LATENCY, dimensions)

    def add(self, status: int, took_s: float, overhead_s: float | None, at_s: float) -> None:
        """Add one request: the status of the container's answer, 0 if it gave none. Only a request to one container has
        an overhead beside it."""
        self._invocations.add(1, at_s)
        self._client_errors.add(400 <= status < 500, at_s)
        self._server_errors.add(status >= 500, at_s)
        self._latency.add(took_s * MICROSECONDS, at_s)
        if overhead_s is not None:
            self._overhead.add(overhead_s * MICROSECONDS, at_s)


class StreamMeter:
    """The further series of a variant whose answers are streamed."""

    def __init__(self, bound: Callable[[metrics.Metric], Series]) -> None:
        self._errors = bound(metrics.MID_STREAM_ERRORS)
        self._first = bound(metrics.FIRST_CHUNK_LATENCY)
        self._first_model = bound(metrics.FIRST_CHUNK_MODEL_LATENCY)
        self._first_overhead = bound(metrics.FIRST_CHUNK_OVERHEAD_LATENCY)

    def add(self, first_s: float, model_s: float, failed: bool, at_s: float) -> None:
        """Add one stream: the seconds to its first part, and those of them in the instance."""
        self._errors.add(failed, at_s)
        self._first.add(first_s * MICROSECONDS, at_s)
        self._first_model.add(model_s * MICROSECONDS, at_s)
        self._first_overhead.add((first_s - model_s) * MICROSECONDS, at_s)


class Meters:
    """Holds one meter for each variant, made at its first sample. Points in time are epoch seconds.

    `placed_on` says on which production variant of an endpoint an inference component's copies are; None if it has
    none."""

    def __init__(
        self, registry: MetricRegistry, placed_on: Callable[[str, str], str | None] = lambda endpoint, component: None
    ) -> None:
        self._registry = registry
        self._placed_on = placed_on
        self._meters: dict[tuple[str, str], VariantMeter] = {}

    def of(self, endpoint: str, variant: str) -> VariantMeter:
        """The meter of the variant."""
        meter = self._meters.get((endpoint, variant))
        if meter is None:
            component = component_of(variant)
            production = variant if component is None else self._placed_on(endpoint, component) or variant
            meter = self._meters[endpoint, variant] = VariantMeter(self._registry, endpoint, production, component)
        return meter

    def add(self, endpoint: str, variant: str, samples: AlikeRequests, at_s: float) -> None:
        """Add requests of one minute."""
        self.of(endpoint, variant).add(samples, at_s)

    def merge(self, endpoint: str, variant: str, tallied: TalliedRequests, at_s: float) -> None:
        """Add requests of one minute that were added up."""
        self.of(endpoint, variant).merge(tallied, at_s)

    def set_up(self, endpoint: str, variant: str, took_s: float, at_s: float) -> None:
        """Add the launch of an instance of a serverless variant."""
        self.of(endpoint, variant).add_setup(took_s, at_s)

    def no_capacity(self, endpoint: str, variant: str, at_s: float) -> None:
        """Add a request that failed because no instance of the variant was running."""
        self.of(endpoint, variant).add_no_capacity(at_s)

    def dropped(self, endpoint: str, variant: str, at_s: float) -> None:
        """Add a copy of a request that reached no model of the shadow variant."""
        self.of(endpoint, variant).add_dropped(at_s)

    def untraced(self, endpoint: str, variant: str, requests: int) -> None:
        """Add sampled requests whose spans did not reach the collector."""
        self.of(endpoint, variant).add_untraced(requests, self._registry.clock())

    def captured(self, endpoint: str, variant: str, records: int, delivered: bool) -> None:
        """Add records of data capture that are in S3, or that are lost."""
        self.of(endpoint, variant).add_captured(records, delivered, self._registry.clock())

    def forget(self, endpoint: str, variant: str | None = None) -> None:
        """Drop the meters of an endpoint that was deleted, or of one variant."""
        for key in [key for key in self._meters if key[0] == endpoint and variant in (None, key[1])]:
            del self._meters[key]
