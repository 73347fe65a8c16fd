"""What an instance asks of a Ray cluster, and why it has no place yet. It does no I/O, and needs no Ray.

An instance takes all vCPUs of its type: it is a whole machine on AWS, and Ray's autoscaler adds a node only for what is
asked. `memory` is what Ray books, and not a limit. The containers of one instance use the same processors and
accelerators: the first one asks for them, and the others for their memory alone.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from torpor_container.settings import MIB
from torpor_endpoint.host import LaunchSpec

NAMES: Final = {"CPU": ("CPU", "CPUs"), "memory": ("MiB of memory",) * 2, "GPU": ("GPU", "GPUs")}
"""Ray's resources that instances ask for, and how to say so."""


def asked_by(spec: LaunchSpec) -> dict[str, float]:
    """Ray's resources by name: processors, bytes of memory, accelerators."""
    if spec.resources is None:
        return {"CPU": 0.0}
    first = not spec.slot.container
    asked = {"CPU": float(spec.resources.vcpu if first else 0), "memory": float(spec.resources.memory_mib * MIB)}
    return asked | ({"GPU": float(spec.resources.gpus)} if first and spec.resources.gpus else {})


def why_pending(asked: Mapping[str, float], nodes: Sequence[Mapping[str, float]], free: Mapping[str, float]) -> str:
    """What is asked, and what the cluster has. `nodes` has each node's resources, `free` what nobody uses of all."""
    wanted = f"it asks Ray for {shown(asked)}"
    if not nodes:
        return f"{wanted}, and the cluster has no node"
    if not any(fits(asked, node) for node in nodes):
        largest = max(nodes, key=lambda node: (node.get("CPU", 0.0), node.get("memory", 0.0)))
        return f"{wanted}, which no node of the cluster has: the largest of {len(nodes)} has {shown(largest)}"
    return f"{wanted}; of its {len(nodes)} nodes, {shown(free)} are free"


def fits(asked: Mapping[str, float], node: Mapping[str, float]) -> bool:
    """Whether an empty node has room for it."""
    return all(node.get(name, 0.0) >= amount for name, amount in asked.items())


def shown(resources: Mapping[str, float]) -> str:
    """Such as `2 CPUs, 4,096 MiB of memory`."""
    amounts = {name: int(resources.get(name, 0.0) / (MIB if name == "memory" else 1)) for name in NAMES}
    return ", ".join(
        f"{amount:,} {NAMES[name][amount != 1]}" for name, amount in amounts.items() if amount or name == "CPU"
    )
