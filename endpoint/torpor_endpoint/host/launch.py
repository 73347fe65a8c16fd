"""Computes the launch specification of an instance: its size, its environment and its log. It does no I/O."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from math import ceil
from pathlib import Path
from urllib.parse import urlsplit

from torpor_container import wire
from torpor_container.core.devices.asked_device import DeviceKind
from torpor_container.frozen_class import frozen
from torpor_container.image.server_command import LLAMA_SERVER, LLAMA_SWAP, OPEN_INFERENCE, SAGEMAKER
from torpor_container.processes.inherited_variables import CA_BUNDLE, OF_AWS
from torpor_container.processes.process_tree import MEMORY_BOUND
from torpor_container.settings import BY_FIELD, DEFAULTS, MIB, SCRIPT_NETWORKS
from torpor_endpoint.core.memory_shares import MemoryPlan
from torpor_endpoint.core.pricing.catalogue import (
    INSTANCE_DISK_MIB,
    SERVERLESS_DISK_MIB,
    instance_type,
    serverless_vcpus,
)
from torpor_endpoint.core.resource_records import Container, CopyNeeds, Variant
from torpor_endpoint.host import LaunchSpec, Resources, Slot
from torpor_endpoint.host.images import Images, family
from torpor_endpoint.host.processor_shares import CORES

WHOLE_BOX = {
    "TORPOR_REQUIRE_ISOLATION": "true",
    "TORPOR_SCRIPT_BOX": "true",
    "TORPOR_SCRIPT_READS": "",
    "TORPOR_SCRIPT_WRITES": "",
    "TORPOR_SCRIPT_PROCESSES": str(DEFAULTS.script_processes),
    "TORPOR_SCRIPT_DISK_MIB": str(DEFAULTS.script_disk_bytes // MIB),
    "TORPOR_SCRIPT_FILES": str(DEFAULTS.script_files),
}
"""What `--require-isolation` says to each instance, whatever its `Environment` says."""
NETWORK = "TORPOR_SCRIPT_NETWORK"
NO_NETWORK = {NETWORK: "refuse"}
NO_FILE = {"AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_CONFIG_FILE": os.devnull}
"""An SDK looks into the user's own files before it asks for the credentials of a role."""

MEMORY, VCPU, DEVICE = BY_FIELD["memory_bytes"], BY_FIELD["vcpu"], BY_FIELD["device"]
SERVERLESS_BODY_MAX_BYTES = 4 * 1024 * 1024
"""AWS's largest request body for a serverless variant. For other variants, the setting's default holds."""

READY = {OPEN_INFERENCE: ["/v2/health/ready"], LLAMA_SERVER: ["/health"], LLAMA_SWAP: ["/health"]}
"""By protocol, the paths that a server answers once it is ready; else SageMaker's."""


@frozen
class Surroundings:
    """The values that every instance of this endpoint shares."""

    endpoint_url: str
    region: str
    logs: Path  # their output, `<endpoint>/<variant>/<incarnation>.log`; it stays when the instances end
    s3_endpoint: str  # the source of artifacts; empty for AWS itself
    own_store: bool = True  # whether the embedded object store has the artifacts, and not another S3
    components: Path | None = None
    """The output of inference components, `<component>/<variant>/<incarnation>.log`; by default beside the others."""
    s3_folder: Path | None = None  # the folder of the embedded store, for instances that can read it in place
    ca_bundle: Path | None = None
    """The file by which they trust this endpoint's certificate, if they would not anyway."""
    images: Images = field(default_factory=Images)
    refused: frozenset[str] = frozenset()
    """`pickles`, `scripts`: the kinds of code that no container runs, even if its Environment allows them."""
    roles: bool = False
    """Whether execution roles are used: each launch gets the credentials of its role beside these values then."""
    script_network: str = DEFAULTS.script_network
    """What scripts may connect to, unless their container's Environment says otherwise."""
    script_ports: tuple[int, ...] = ()
    """The ports of this machine that they need beside the endpoint's own one."""
    strict: bool = False  # --aws-strict
    faults: bool = False  # --faults
    isolated: bool = False  # --require-isolation
    device: str | None = None  # --device
    hidden: Path | None = None
    """The data folder, of which scripts see nothing but their own models."""
    opt_outs: Mapping[str, str] = field(default_factory=dict)
    """The variables by which the user refuses that libraries send usage data."""
    clock_ahead_s: Callable[[], float] | None = None
    """How far the endpoint's clock is ahead of real time; None for a clock that does not travel."""

    @property
    def component_logs(self) -> Path:
        return self.logs.with_name("components") if self.components is None else self.components

    @property
    def wiring(self) -> dict[str, str]:
        """The variables that lead an AWS client in a container or in a training script to this endpoint's services."""
        region = {"AWS_REGION": self.region, "AWS_DEFAULT_REGION": self.region}
        if not self.own_store:
            return region
        keys = NO_FILE if self.roles else {"AWS_ACCESS_KEY_ID": "torpor", "AWS_SECRET_ACCESS_KEY": "torpor"}
        trust = {} if self.ca_bundle is None else {CA_BUNDLE: str(self.ca_bundle)}
        return region | keys | trust | {"AWS_ENDPOINT_URL": self.endpoint_url}

    @property
    def forgotten(self) -> tuple[str, ...]:
        """The prefixes of the variables that no instance inherits from the process that started the endpoint.

        With the embedded object store, no instance may reach the real AWS by accident.
        """
        return (OF_AWS,) if self.own_store else ()


@frozen
class Size:
    """The resources of one instance."""

    vcpu: int
    memory_mib: int
    disk_mib: int
    gpus: int = 0


def size_of(variant: Variant) -> Size:
    """An instance's size, by its `ml.*` type or its serverless memory. Raises ValueError for an unknown type."""
    if variant.serverless is not None:
        memory_mib = variant.serverless.memory_mib
        return Size(max(1, round(serverless_vcpus(memory_mib))), memory_mib, SERVERLESS_DISK_MIB)
    known = instance_type(variant.instance_type or "")
    if known is None:
        raise ValueError(f"the instance type {variant.instance_type} is not in the catalogue")
    return Size(known.vcpus, known.memory_mib, INSTANCE_DISK_MIB, known.gpus)


def own_memory_bytes(container: Container) -> int | None:
    """The memory that the container's `Environment` gives it, in bytes; None if it gives none. Raises ValueError."""
    text = container.environment.get(MEMORY.variable)
    return None if text is None else MEMORY.read(text)


def memory_plan(variant: Variant) -> MemoryPlan:
    """How the containers of an instance share its memory when they start. Raises ValueError if their own values do not
    fit together; one container alone may have a value beyond the instance's size."""
    copies = variant.copies
    memory_bytes = (size_of(variant).memory_mib if copies is None else copies.bound_mib) * MIB
    if len(variant.containers) == 1:
        return MemoryPlan(memory_bytes, (memory_bytes,), (False,))
    own_bytes = [own_memory_bytes(container) for container in variant.containers]
    return MemoryPlan.of(memory_bytes, own_bytes)


def launch_spec(variant: Variant, slot: Slot, around: Surroundings) -> LaunchSpec:
    """Everything that the host needs. The user's `Environment` overrides Torpor's defaults, but not the wiring."""
    container, size = variant.containers[slot.container], size_of(variant)
    memory_mib = memory_plan(variant).first_bytes[slot.container] // MIB
    gpus = size.gpus if variant.copies is None else ceil(variant.copies.accelerators)
    defaults = {**_defaults(variant, slot.container), **around.opt_outs, NETWORK: around.script_network}
    defaults |= _device(container, gpus, around)
    environment = {**defaults, **container.environment, **_wiring(container, around)}
    resources = Resources(size.vcpu, memory_mib, _gpus_for(environment.get(DEVICE.variable, ""), gpus))
    logs = around.logs / slot.endpoint / slot.variant
    if variant.copies is not None:
        environment |= _bounds(variant.copies, environment)
        logs = around.component_logs / variant.copies.component / variant.copies.placed_on
        resources = replace(resources, vcpu=variant.copies.cores or size.vcpu)
    return LaunchSpec(
        slot,
        environment,
        logs,
        resources,
        around.forgotten,
        container.name if len(variant.containers) > 1 else "",
        role=container.role if around.roles else "",
    )


def _defaults(variant: Variant, place: int) -> dict[str, str]:
    """Containers of one instance use the same processors, and have equal shares of its memory at first, and of its disk
    for good."""
    size, containers, container = size_of(variant), len(variant.containers), variant.containers[place]
    return {
        MEMORY.variable: str(memory_plan(variant).first_bytes[place] // MIB),
        VCPU.variable: str(size.vcpu),
        "TORPOR_DISK_MIB": str(size.disk_mib // containers),
        "TORPOR_MODEL_CACHE": "true" if container.model_cache else "false",
        "TORPOR_BODY_MAX_BYTES": str(SERVERLESS_BODY_MAX_BYTES if variant.serverless else DEFAULTS.body_max_bytes),
    }


def _device(container: Container, gpus: int, around: Surroundings) -> dict[str, str]:
    """The variable that says what the models of the built-in container predict on, unless their Environment does."""
    asked = around.device or ("cuda" if gpus else "")
    return {DEVICE.variable: asked} if asked and not _foreign(container, around) else {}


def _gpus_for(asked: str, gpus: int) -> int:
    """How many of the instance's GPUs its container takes of a machine; one on an instance type without any, where its
    Environment asks for one."""
    kind = asked.partition(":")[0]
    return 0 if kind == DeviceKind.CPU else max(gpus, int(kind == DeviceKind.CUDA))


def _bounds(copies: CopyNeeds, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that bound a copy of an inference component. Its Environment may ask for less, and not for more."""
    memory_mib = min(copies.bound_mib, MEMORY.read(environment[MEMORY.variable]) // MIB)
    bounds = {MEMORY.variable: str(memory_mib), MEMORY_BOUND: str(memory_mib)}
    if copies.cores:
        threads = min(ceil(copies.cores), VCPU.read(environment[VCPU.variable]))
        bounds |= {CORES: f"{copies.cores:g}", VCPU.variable: str(threads)}
    return bounds


def _foreign(container: Container, around: Surroundings) -> str:
    """The command that starts the image's own server, as JSON; empty for the built-in container.

    AWS asks a multi-model container for `GET /models` right after each `/ping`.
    """
    found = around.images.find(container.image)
    if found is None or found.command is None:
        return ""
    ready = [wire.PING, wire.MODELS] if container.multi_model else [wire.PING]
    ready = READY.get(found.command.get("protocol", SAGEMAKER), ready)
    return json.dumps({"ready": ready, **found.command})


def _wiring(container: Container, around: Surroundings) -> dict[str, str]:
    """The variables that connect the container to this endpoint. A user script needs them to read from S3 itself."""
    return {
        "SAGEMAKER_MULTI_MODEL": "true" if container.multi_model else "false",
        "SAGEMAKER_REGION": around.region,
        "TORPOR_PATH_PREFIX": "",  # the endpoint asks for the container's own paths
        "TORPOR_CONTAINER": _foreign(container, around),
        "TORPOR_IMAGE": family(around.images.conventions_of(container.image)),
        "TORPOR_CLOCK_AHEAD_SECONDS": "" if around.clock_ahead_s is None else repr(around.clock_ahead_s()),
        "TORPOR_FAULTS": "true" if around.faults else "false",
        "TORPOR_AWS_STRICT": "true" if around.strict else "false",
        "TORPOR_MODEL_SOURCE": container.model_data_url or "",
        "TORPOR_MODEL_COMPRESSION": "gzip" if container.compressed else "none",
        "TORPOR_S3_ENDPOINT": around.s3_endpoint,
        "TORPOR_S3_FOLDER": "" if around.faults else str(around.s3_folder or ""),  # faults strike reads by S3's API
        **{f"TORPOR_{kind.upper()}": "refuse" for kind in sorted(around.refused)},
        "TORPOR_SCRIPT_HIDDEN": str(around.hidden or ""),
        "TORPOR_SCRIPT_PORTS": ",".join(map(str, (_port(around.endpoint_url), *around.script_ports))),
        **(WHOLE_BOX | _narrowed(container, around) if around.isolated else {}),
        **(NO_NETWORK if container.network_isolated else {}),
        **around.wiring,
    }


def _port(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or {"https": 443}.get(parts.scheme, 80)


def _narrowed(container: Container, around: Surroundings) -> dict[str, str]:
    """The network of a box that no Environment widens: it may refuse more than the default does."""
    narrowest = SCRIPT_NETWORKS.index
    given = container.environment.get(NETWORK, around.script_network)
    return {NETWORK: max(given, around.script_network, key=narrowest)} if given in SCRIPT_NETWORKS else {}
