"""A scenario: what is chosen for a variant before it is deployed, in SageMaker's terms, and its cost."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from torpor.errors import ValueRefused
from torpor.simulator.costs.costing import asleep, autoscaled, multi_model, serverless_variant
from torpor.simulator.costs.ways_to_serve import NO_CALLS, TERMS, Calls, Cost, CostTerms, HeldInstances
from torpor.simulator.engine.variant.variant_plan import Machine, Rests, VariantPlan
from torpor.simulator.pipeline_containers import CONTAINERS, others_bytes, starts_s, wrong_containers
from torpor.simulator.serverless_terms import SERVERLESS, title, vcpus
from torpor.time_units import HOUR_S, MINUTE_S
from torpor.value_rules import (
    AMOUNT,
    BYTES,
    COUNT,
    MORE,
    ROOM,
    SWITCH,
    WHOLE,
    Kind,
    ValueRule,
    check,
    one_of,
    one_of_in_any_case,
    optional,
    whole,
)
from torpor.workloads.profile import ContainerProfile
from torpor_container.core.eviction import OFFLINE, POLICIES
from torpor_container.core.keepalive import POLICIES as KEEP_ALIVES
from torpor_container.settings import BY_FIELD, DEFAULTS
from torpor_endpoint.core.pricing.catalogue import CATALOGUE, INSTANCE_DISK_MIB, SERVERLESS_DISK_MIB
from torpor_endpoint.core.resource_records import Serverless
from torpor_endpoint.core.scaling import InstanceRange, serverless_range
from torpor_endpoint.core.variant_setup import FORECAST_SETTINGS

MIB = 1024 * 1024
OWN_BYTES = 20 * MIB
"""What an instance takes beside its models, unless it was measured: 9 MiB when it starts, and 16 to 21 MiB after some
hundred models were loaded and evicted, in 40, 64 and 512 MiB (`python -m benchmarks.room`). An instance is a process
that shares the frameworks with its zygote. Live instances count this as used, so models cannot use it."""

DEVICE_KEPT_BYTES = 628 * MIB
"""What CUDA and ONNX Runtime keep of a device, unless it was measured: of an H200 528 MiB for the process's context,
and about 100 for kernels (`docs/how-to/gpu.md`). The state of an instance says its own."""


IMPLIED = (
    ("instance_type", "memory_mib"),
    ("memory_bytes", "memory_mib"),
    ("memory_mib", "memory_bytes"),
    ("instances", "instances_min"),
    ("instances", "instances_max"),
    *((field, "serverless") for field in ("instance_type", "instances", "instances_min")),
    *(("serverless", field) for field in ("memory_mib", "memory_bytes", "instances_min", "instances_max")),
)
"""Pairs of fields: a change of the first clears the second, unless that is given too."""

TREES = ("auto", "library", "flat")
"""The values of TORPOR_TREES."""
THREADS = {"vcpu": "threads"}
"""The setting whose field has another name here: a scenario's processors are those of its type."""
ENVIRONMENT = {THREADS.get(field, field): BY_FIELD[field].variable for field in FORECAST_SETTINGS}
"""The fields that SageMaker has no setting for, and the variable that sets each of them."""
MEMORY = "TORPOR_MEMORY_MIB"
"""The variable that sets `memory_mib`."""
DEVICE, DEVICE_MEMORY = "TORPOR_DEVICE", "TORPOR_DEVICE_MEMORY_MIB"
"""The variables that ask for a device, and that set `device_mib`."""


KINDS: Mapping[str, Kind] = {
    "instance_type": one_of(CATALOGUE, "is one of the catalogue's types, as ml.m5.large"),
    "instances": (WHOLE, ValueRule("is at least 1: to sleep, give instances_min=0", lambda value: value >= 1)),
    "instances_min": optional(whole(0)),
    "instances_max": optional(COUNT),
    "policy": one_of_in_any_case({**POLICIES, **OFFLINE}),
    "keep_alive": one_of(KEEP_ALIVES),
    "idle_s": MORE,
    "model_idle_s": optional(MORE),
    "model_keep_alive": one_of(KEEP_ALIVES),
    "model_cache": SWITCH,
    "memory_mib": optional(MORE),
    "own_bytes": BYTES,
    "memory_bytes": optional(ROOM),
    "disk_bytes": optional(ROOM),
    "threads": optional(COUNT),
    "processors": optional(COUNT),
    "loads_max": COUNT,
    "concurrency": COUNT,
    "wake_s": AMOUNT,
    "overhead_s": AMOUNT,
    "beside_load_s": AMOUNT,
    "first_predict_s": AMOUNT,
    "imports_s": AMOUNT,
    "containers": CONTAINERS,
    "asynchronous": SWITCH,
    "batch_size": optional(COUNT),
    "batch_delay_s": AMOUNT,
    "device_mib": optional(MORE),
    "device_kept_bytes": BYTES,
    "serverless": optional(SERVERLESS),
    "multi_model": SWITCH,
    "trees": one_of(TREES, "is one of auto, library, flat, as TORPOR_TREES"),
}
"""The rules for every field of a scenario."""


class BadScenario(ValueRefused):
    """A scenario that cannot be deployed or simulated. The message names the field."""


@dataclass(frozen=True)
class Scenario:
    """A multi-model variant.

    With `serverless` it has as many instances as its requests keep busy, and none while nobody calls. With
    `instances_min` it scales between that and `instances_max`, also to zero, and begins with the least. Otherwise it
    always has `instances`. With `containers` each instance is a pipeline of them: models have the room that the others
    leave, and it is ready when the slowest is. Times are in seconds. Raises BadScenario.
    """

    instance_type: str = "ml.m5.large"
    instances: int = 1
    instances_min: int | None = None
    instances_max: int | None = None
    policy: str = DEFAULTS.policy
    keep_alive: str = DEFAULTS.keep_alive
    idle_s: float = DEFAULTS.idle_s
    model_idle_s: float | None = DEFAULTS.model_idle_s  # None: a model leaves memory for another one only
    model_keep_alive: str = DEFAULTS.model_keep_alive
    model_cache: bool = DEFAULTS.model_cache  # ModelCacheSetting
    memory_bytes: int | None = None  # for models, of each instance; None: its memory, less what it takes by itself
    disk_bytes: int | None = None
    threads: int | None = None  # that predict, of each instance; None: the type's vCPUs
    processors: int | None = None  # that loads and predictions share, of each instance; None: the type's vCPUs
    loads_max: int = DEFAULTS.loads_max
    concurrency: int = DEFAULTS.concurrency  # requests in flight that an instance is meant to have
    wake_s: float = 0.1
    overhead_s: float = 0.0  # of each request, on its way: no thread is busy with it
    beside_load_s: float = 0.0  # of a request that waited for its model, beyond the steps of the load
    first_predict_s: float = 0.0  # of the first prediction after a load, beyond a usual one
    imports_s: float = 0.0  # of the first load on the machine, for libraries that all models need
    memory_mib: float | None = None  # of each instance, as TORPOR_MEMORY_MIB and MemorySizeInMB; None: the type's
    own_bytes: int = OWN_BYTES  # that each instance takes of its memory beside its models
    containers: tuple[
        ContainerProfile, ...
    ] = ()  # of a pipeline, in its order; own_bytes is of the one with the models
    asynchronous: bool = False  # requests wait in one queue; each instance has `concurrency` of them at most
    serverless: Serverless | None = None  # ServerlessConfig; instance_type and the numbers of instances mean nothing
    multi_model: bool = True  # False: the forecast of a variant with one model
    batch_size: int | None = DEFAULTS.batch_size  # the most requests of a model in one prediction on a thread; None: 1
    batch_delay_s: float = DEFAULTS.batch_delay_s  # how long a batch smaller than the last one waits for more requests
    device_mib: float | None = None  # of each instance's device, as TORPOR_DEVICE_MEMORY_MIB; None: it has none
    device_kept_bytes: int = DEVICE_KEPT_BYTES  # of these, that CUDA and its libraries keep
    trees: str = DEFAULTS.trees  # TORPOR_TREES: the times that it changes are the profiles'

    def __post_init__(self) -> None:
        check(BadScenario, KINDS, self.__dict__)
        if found := wrong_containers(self.containers):
            raise BadScenario(found)
        if self.memory_mib is not None and self.memory_bytes is not None:
            raise BadScenario("memory_mib is an instance's memory, memory_bytes its room for models: give one of them")
        if self.memory_bytes is None and self.models_bytes < 1:
            has, own = f"{self.instance_mib:,.6g} MiB", f"{self.own_bytes / MIB:,.3g} MiB (own_bytes)"
            others = others_bytes(self.containers) / MIB
            also = f", and its other containers {others:,.6g} MiB (containers)" if others else ""
            raise BadScenario(
                f"memory_mib: of {has} an instance takes {own} by itself{also}: nothing is left for models"
            )
        if self.device_mib is not None and self.device_models_bytes < 1:
            kept = f"{self.device_kept_bytes / MIB:,.6g} MiB (device_kept_bytes)"
            raise BadScenario(f"device_mib: CUDA and its libraries keep {kept} of {self.device_mib:,.6g} MiB")
        if self.device_mib is not None and self.serverless is not None:
            raise BadScenario("serverless excludes device_mib: a serverless instance has no device")
        least, most = self.instances_min, self.instances_max
        if most is not None and least is None:
            raise BadScenario(f"instances_max goes with instances_min, not {most}")
        if most is not None and most < (least or 0):
            raise BadScenario(f"instances_max is at least instances_min, which is {least}, not {most}")
        if self.serverless is not None and (least is not None or self.asynchronous):
            raise BadScenario("serverless excludes instances_min and asynchronous")

    @property
    def name(self) -> str:
        """A short name, for tables and plots."""
        parts = [self._size_name(), self.policy.upper()]
        if self.sleeps:
            parts.append(f"sleeps after {_span(self.idle_s)}{_learned(self.keep_alive)}")
        if self.model_idle_s is not None:
            parts.append(f"models rest after {_span(self.model_idle_s)}{_learned(self.model_keep_alive)}")
        if not self.model_cache:
            parts.append("no model cache")
        if self.device_mib is not None:
            parts.append(f"device of {self.device_mib:,.6g} MiB")
        if self.containers:
            parts.append(f"{len(self.containers)} containers")
        if self.asynchronous:
            parts.append("asynchronous")
        if self.trees != DEFAULTS.trees:
            parts.append(f"{self.trees} trees")
        return ", ".join(parts)

    @property
    def sleeps(self) -> bool:
        """Whether it has no instance while nobody calls."""
        return self.scaled is not None and self.scaled.floor == 0

    @property
    def on_aws(self) -> bool:
        """Whether AWS has it too."""
        return self.cost(0.0).sold_by_aws and not (self.asynchronous and self.multi_model)

    @property
    def scaled(self) -> InstanceRange | None:
        if self.serverless is not None:
            return serverless_range(self.serverless, self.concurrency)
        if self.instances_min is None:
            return None
        return InstanceRange(self.instances_min, self.instances_max or max(1, self.instances_min), self.concurrency)

    @property
    def models_bytes(self) -> int:
        """The bytes for models in the memory of one instance."""
        if self.memory_bytes is not None:
            return int(self.memory_bytes)
        return int(self.instance_mib * MIB - self.own_bytes - others_bytes(self.containers))

    @property
    def device_models_bytes(self) -> int:
        """The bytes for models on the device of one instance; 0 if it has none."""
        return 0 if self.device_mib is None else int(self.device_mib * MIB - self.device_kept_bytes)

    @property
    def instance_mib(self) -> float:
        """The memory of one instance, in MiB."""
        if self.memory_mib is not None:
            return self.memory_mib
        return CATALOGUE[self.instance_type].memory_mib if self.serverless is None else self.serverless.memory_mib

    @property
    def vcpus(self) -> int:
        """The vCPUs of one instance."""
        if self.serverless is not None:
            return vcpus(self.serverless.memory_mib)
        return CATALOGUE[self.instance_type].vcpus

    @property
    def plan(self) -> VariantPlan:
        rests = None if self.model_idle_s is None else Rests(self.model_keep_alive, self.model_idle_s)
        machine = Machine(
            self.models_bytes,
            int(self.disk_bytes or (INSTANCE_DISK_MIB if self.serverless is None else SERVERLESS_DISK_MIB) * MIB),
            self.threads or self.vcpus,
            starts_s(self.containers, self.wake_s),
            self.loads_max,
            self.policy.upper(),
            self.model_cache,
            rests,
            self.processors or self.vcpus,
            self.containers,
            self.batch_size or 1,
            self.batch_delay_s,
            self.device_models_bytes,
            self.imports_s,
        )
        at_once = self.concurrency if self.asynchronous else None
        begins = self.instances if self.scaled is None else self.scaled.floor
        most = None if self.serverless is None else self.serverless.max_concurrency
        return VariantPlan(machine, begins, self.scaled, self.keep_alive, self.idle_s, True, at_once, most)

    def cost(self, instance_s: float, terms: CostTerms = TERMS, calls: Calls = NO_CALLS) -> Cost:
        """The cost of this many seconds of its instances, within the time of `terms.hours` hours, and of these
        requests: of their bytes in and out, and of their processing if the variant is serverless."""
        if self.serverless is not None:
            return serverless_variant(self.serverless, self.multi_model, instance_s, calls, terms)
        moved_bytes = calls.moved_bytes
        if self.instances_min is None:
            return multi_model(HeldInstances(self.instance_type, self.instances), terms, moved_bytes)
        cost_of = asleep if self.instances_min == 0 else autoscaled
        return cost_of(self.instance_type, instance_s, terms, moved_bytes)

    def variant(self, variant: str = "AllTraffic", model: str = "MODEL") -> dict[str, Any]:
        """The member of `ProductionVariants` that deploys the scenario, for `create_endpoint_config`."""
        if self.serverless is not None:
            config = {"MemorySizeInMB": self.serverless.memory_mib, "MaxConcurrency": self.serverless.max_concurrency}
            if self.serverless.provisioned_concurrency:
                config["ProvisionedConcurrency"] = self.serverless.provisioned_concurrency
            return {"VariantName": variant, "ModelName": model, "ServerlessConfig": config}
        made: dict[str, Any] = {
            "VariantName": variant,
            "ModelName": model,
            "InstanceType": self.instance_type,
            "InitialInstanceCount": int(max(1, self.instances if self.instances_min is None else self.instances_min)),
        }
        if self.scaled is not None:
            made["ManagedInstanceScaling"] = {
                "Status": "ENABLED",
                "MinInstanceCount": int(self.scaled.floor),
                "MaxInstanceCount": int(self.scaled.ceiling),
            }
        return made

    def environment(self) -> Mapping[str, str]:
        """The other settings, for the model's `Environment`. Torpor uses them; AWS's endpoints ignore them."""
        plain = Scenario()
        chosen = {field: getattr(self, field) for field in ENVIRONMENT if getattr(self, field) != getattr(plain, field)}
        memory = {} if self.memory_mib is None else {MEMORY: f"{self.memory_mib:.12g}"}
        if self.device_mib is not None:
            memory |= {DEVICE: "cuda", DEVICE_MEMORY: f"{self.device_mib:.12g}"}
        if self.batch_delay_s:
            chosen["batch_delay_s"] = self.batch_delay_s * 1000  # TORPOR_BATCH_DELAY_MS
        return memory | {
            ENVIRONMENT[field]: f"{value:.12g}" if isinstance(value, float) else str(value)
            for field, value in chosen.items()
        }

    def altered(self, **changes: Any) -> "Scenario":
        """The same with other values in some fields. A new instance type comes with its own memory, unless memory_mib
        is given; memory_mib and memory_bytes replace each other, and so do instances, a range of them, and serverless.
        Raises BadScenario, also for an unknown field."""
        if unknown := [name for name in changes if name not in self.__dataclass_fields__]:
            raise BadScenario(f"a scenario has no {unknown[0]}: it has {', '.join(self.__dataclass_fields__)}")
        implied = {name: None for given, name in IMPLIED if changes.get(given) is not None}
        return replace(self, **implied | changes)

    def _size_name(self) -> str:
        if self.serverless is not None:
            return title(self.serverless)
        count = str(self.instances) if self.scaled is None else f"{self.scaled.floor}-{self.scaled.ceiling}"
        return f"{count} x {self.instance_type}"


def _learned(keep_alive: str) -> str:
    return "" if keep_alive == "fixed" else f" ({keep_alive})"


def _span(seconds: float) -> str:
    """`90 s`, `20 min`, `2 h`: in the largest unit that gives a whole number."""
    for unit, size_s in (("h", HOUR_S), ("min", MINUTE_S)):
        if seconds >= size_s and seconds % size_s == 0:
            return f"{seconds / size_s:.0f} {unit}"
    return f"{seconds:g} s"
