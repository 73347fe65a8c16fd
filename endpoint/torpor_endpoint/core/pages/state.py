"""The pages of the current state: endpoints, variants, instances and models; decisions; and retired models."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest

from torpor_container import wire
from torpor_container.typed_json import read, written
from torpor_endpoint.core.pages import Json
from torpor_endpoint.core.pages.model_groups import GroupState

MODELS_LISTED = 100
"""So many models of each container are on the page of endpoints, unless it is asked for another number."""
MODELS_MAX = 10_000
"""So many models of one endpoint are on it at most, in equal shares of its containers."""
ENDPOINTS_LISTED = 100
"""So many endpoints are on a page, unless it is asked for another number. It ends sooner with MODELS_MAX models."""
ENDPOINTS_MAX = 1_000


@dataclass(frozen=True)
class ResidentModel:
    """A model in an instance's memory, as `wire.LoadedModel` has it."""

    name: str
    size_bytes: int
    in_flight: int
    idle_s: float
    format: str
    hits: int
    instance: str = ""
    """The id of the instance that holds it, in a list of the models of several."""
    artifact_version: str = ""
    digest: str = ""


@dataclass(frozen=True)
class ContainerState:
    """One container of an instance. The bytes are 0 if the container did not answer.

    `models` has those that were called last, and `model_count` says how many are in memory.
    """

    name: str
    budget_bytes: int = 0
    used_bytes: int = 0
    disk_bytes: int = 0
    disk_budget_bytes: int = 0
    models: tuple[ResidentModel, ...] = ()
    model_count: int = 0
    gpu_used_bytes: int = 0
    """What the container uses of the memory of its GPU, as the next one: 0 where it predicts on the processor."""
    gpu_budget_bytes: int = 0


@dataclass(frozen=True)
class InstanceState:
    """One instance, with one container or several."""

    id: str
    slot: str
    in_flight: int
    containers: tuple[ContainerState, ...] = ()
    place: str = ""
    """Of a copy of an inference component: the production variant, the slot and the type of the instance it is on."""

    @property
    def models(self) -> tuple[ResidentModel, ...]:
        """The models of all containers, each with this instance's id."""
        return tuple(replace(model, instance=self.id) for container in self.containers for model in container.models)

    def named(self, model: str) -> tuple[ResidentModel, ...]:
        """One model, once for each container that has it, with this instance's id."""
        found = (one for container in self.containers for one in container.models if one.name == model)
        return tuple(replace(one, instance=self.id) for one in found)

    @property
    def model_count(self) -> int:
        """How many models are in memory, counted in each container."""
        return sum(container.model_count for container in self.containers)

    @property
    def budget_bytes(self) -> int:
        """The memory of all containers that answered."""
        return sum(container.budget_bytes for container in self.containers)

    @property
    def used_bytes(self) -> int:
        return sum(container.used_bytes for container in self.containers)

    @property
    def gpu_used_bytes(self) -> int:
        return sum(container.gpu_used_bytes for container in self.containers)

    @property
    def gpu_budget_bytes(self) -> int:
        return sum(container.gpu_budget_bytes for container in self.containers)

    @property
    def disk_bytes(self) -> int:
        return sum(container.disk_bytes for container in self.containers)

    @property
    def disk_budget_bytes(self) -> int:
        return sum(container.disk_budget_bytes for container in self.containers)


def instance_page(
    incarnation: str,
    slot: str,
    in_flight: int,
    containers: Sequence[tuple[str, wire.InstanceStatus | None]],
    place: str = "",
    most_models: int = MODELS_LISTED,
) -> Json:
    """`containers` has each container's name and its own report; None if it does not answer."""
    return {
        **({"place": place} if place else {}),
        "slot": slot,
        "id": incarnation,
        "in_flight": in_flight,
        "containers": [container_page(name, status, most_models) for name, status in containers],
    }


def container_page(name: str, status: wire.InstanceStatus | None, most_models: int) -> Json:
    if status is None:
        return {"name": name}
    device = status.get("device")
    on_gpu = (
        {} if device is None else {"gpu_used_bytes": device["own_bytes"], "gpu_budget_bytes": device["budget_bytes"]}
    )
    return on_gpu | {
        "name": name,
        "models": nsmallest(most_models, status["models"], key=lambda model: model["idle_s"]),
        "model_count": status.get("model_count", len(status["models"])),
        "budget_bytes": status["budget_bytes"],
        "used_bytes": status["used_bytes"],
        "disk_bytes": status["disk_bytes"],
        "disk_budget_bytes": status["disk_budget_bytes"],
    }


@dataclass(frozen=True)
class VariantTraffic:
    """What requests a variant got: counts since the endpoint's process started, and figures of the last minutes."""

    requests: int = 0
    cold: int = 0
    """Requests that waited for an instance or for a model."""
    failed: int = 0
    """Requests whose model did not answer with 2xx."""
    recent_s: float = 0.0
    """How many seconds the figures below are of: the present minute and the one before it."""
    recent_requests: int = 0
    hit_ratio: float | None = None
    """The share of requests whose model was in memory; None without such requests."""
    p50_s: float | None = None
    """Of ModelLatency, as the next one; None without requests."""
    p99_s: float | None = None


@dataclass(frozen=True)
class VariantState:
    """One production variant: the number of instances that it wants, and the instances that are ready."""

    name: str
    wanted: int
    held: int
    """Requests that wait while instances start."""
    instances: tuple[InstanceState, ...]
    weight: float = 1.0
    leaving: int = 0
    """Instances that are draining: they finish their requests and take no others."""
    shadow: bool = False
    """It gets copies of requests, and answers no caller."""
    model_data_url: str = ""
    """Where its models are, of a variant with many models."""
    traffic: VariantTraffic = VariantTraffic()
    groups: tuple[GroupState, ...] = ()
    """The groups of its models, as far as the page lists them."""


def standing(variant: VariantState) -> str:
    """The state of a variant that has no ready instance; empty if it has one."""
    if variant.instances:
        return ""
    return f"none of {variant.wanted} is ready" if variant.wanted else "nothing runs until a request comes"


def variant_page(
    name: str,
    *,
    weight: float,
    wanted: int,
    leaving: int,
    held: int,
    instances: Sequence[Json],
    shadow: bool = False,
    model_data_url: str = "",
    traffic: VariantTraffic = VariantTraffic(),
    groups: Sequence[Json] = (),
) -> Json:
    return {
        "name": name,
        **({"shadow": True} if shadow else {}),
        "weight": weight,
        "wanted": wanted,
        "leaving": leaving,
        "held": held,
        "instances": list(instances),
        "model_data_url": model_data_url,
        "traffic": written(traffic),
        **({"groups": list(groups)} if groups else {}),
    }


@dataclass(frozen=True)
class EndpointState:
    """One endpoint that is in service."""

    name: str
    variants: tuple[VariantState, ...]
    trouble: str = ""
    """Why no instance serves the endpoint, although it is in service."""

    @property
    def instances(self) -> Iterator[InstanceState]:
        return (instance for variant in self.variants for instance in variant.instances)


def endpoint_page(name: str, trouble: str | None, variants: Sequence[Json]) -> Json:
    return {"name": name, **({"trouble": trouble} if trouble else {}), "variants": list(variants)}


def share_of(most_models: int, containers: int) -> int:
    """How many models of each container are listed, of an endpoint with so many containers: one at least, if any."""
    return min(most_models, max(1, MODELS_MAX // max(1, containers)))


def models_on(endpoint: Json) -> int:
    """How many models an endpoint's page lists."""
    instances = (instance for variant in endpoint["variants"] for instance in variant["instances"])
    return sum(len(one.get("models", ())) for instance in instances for one in instance["containers"])


def endpoints_page(endpoints: Sequence[bytes], after: str = "") -> bytes:
    """Of endpoints in JSON. `after` is the name of the last one, if there are more: the next page begins after it."""
    more = b', "next": %b' % json.dumps(after).encode() if after else b""
    return b'{"endpoints": [%b]%b}' % (b", ".join(endpoints), more)


def read_endpoints(page: Json) -> list[EndpointState]:
    return read(list[EndpointState], page["endpoints"])


@dataclass(frozen=True)
class DecisionRow:
    """One decision about one model, in the words of the instance, as `wire.DecisionRecord` has it."""

    at_s: float  # epoch seconds
    model: str
    action: str
    reason: str = ""
    bytes: int = 0
    took_s: float = 0.0
    for_model: str = ""
    instance: str = ""
    """The id of the instance that decided, with the name of the container if it has several."""


def decision_page(decision: wire.DecisionRecord, incarnation: str, container: str) -> Json:
    """`container` is the container's name; empty if the instance has one container."""
    return {**decision, "instance": f"{incarnation}/{container}" if container else incarnation}


def decisions_page(decisions: Sequence[Json]) -> Json:
    """The decisions of all instances, oldest first."""
    return {"decisions": sorted(decisions, key=lambda decision: decision["at_s"])}


def read_decisions(page: Json) -> list[DecisionRow]:
    return read(list[DecisionRow], page["decisions"])


@dataclass(frozen=True)
class RetiredModel:
    """The state of a model on one instance when it was retired. Calls in flight end on the old copy.

    `was` is `resident`, `loading` or `absent`.
    """

    endpoint: str
    variant: str
    instance: str
    was: str
    in_flight: int

    def __str__(self) -> str:
        busy = f", {self.in_flight} in flight end on the old copy" if self.in_flight else ""
        return f"{self.endpoint}/{self.variant}/{self.instance}  {WAS.get(self.was, self.was)}{busy}"


WAS = {"resident": "was in memory", "loading": "was loading", "absent": "was not in memory"}
"""The words for what a model was on an instance when it was retired."""


def retired_page(endpoint: str, variant: str, incarnation: str, outgoing: wire.LeavingModel) -> Json:
    """The state of a model on one instance when it was retired, as the instance reports it."""
    return {"endpoint": endpoint, "variant": variant, "id": incarnation, **outgoing}


def read_retired(page: Json) -> list[RetiredModel]:
    return read(list[RetiredModel], [{**one, "instance": one["id"]} for one in page["instances"]])
