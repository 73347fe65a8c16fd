"""The sizes of SageMaker's hosting instances, as tables with one look-up: those of the EC2 type of the same name."""

from collections.abc import Iterator
from types import MappingProxyType

from torpor_container.frozen_class import frozen

SERVERLESS_DISK_MIB = 5 * 1024
"""Every serverless environment has 5 GB of ephemeral disk, whatever its memory (SageMaker developer guide)."""

INSTANCE_DISK_MIB = 30 * 1024
"""Torpor's default for instances: AWS sizes their volumes by type, but publishes no table."""

# Families whose memory grows with the vCPUs: family, MiB per vCPU, sizes.
_SMALL = "large xlarge 2xlarge 4xlarge"
_GRAVITON = f"{_SMALL} 8xlarge 12xlarge 16xlarge"
_INTEL_6 = f"{_GRAVITON} 24xlarge 32xlarge"
_INTEL_7 = f"{_GRAVITON} 24xlarge 48xlarge"
_FAMILIES = (
    ("c4", 1920, _SMALL),
    ("c5", 2048, f"{_SMALL} 9xlarge 18xlarge"),
    ("c5d", 2048, f"{_SMALL} 9xlarge 18xlarge"),
    ("c6g", 2048, _GRAVITON),
    ("c6gd", 2048, _GRAVITON),
    ("c6gn", 2048, _GRAVITON),
    ("c6i", 2048, _INTEL_6),
    ("c6in", 2048, _INTEL_6),
    ("c7g", 2048, _GRAVITON),
    ("c7i", 2048, _INTEL_7),
    ("c8g", 2048, f"medium {_INTEL_7}"),
    ("m4", 4096, "xlarge 2xlarge 4xlarge 10xlarge 16xlarge"),
    ("m5", 4096, f"{_SMALL} 12xlarge 24xlarge"),
    ("m5d", 4096, f"{_SMALL} 12xlarge 24xlarge"),
    ("m6g", 4096, _GRAVITON),
    ("m6gd", 4096, _GRAVITON),
    ("m6i", 4096, _INTEL_6),
    ("m7i", 4096, _INTEL_7),
    ("m8g", 4096, f"medium {_INTEL_7}"),
    ("r5", 8192, f"{_SMALL} 12xlarge 24xlarge"),
    ("r5d", 8192, f"{_SMALL} 12xlarge 24xlarge"),
    ("r6g", 8192, _GRAVITON),
    ("r6gd", 8192, _GRAVITON),
    ("r6i", 8192, _INTEL_6),
    ("r7gd", 8192, f"medium {_GRAVITON}"),
    ("r7i", 8192, _INTEL_7),
    ("r8g", 8192, f"medium {_INTEL_7}"),
)

# Types without such a rule: name, vCPUs, GiB, GPUs.
_IRREGULAR = (
    ("ml.t2.medium", 2, 4, 0),
    ("ml.t2.large", 2, 8, 0),
    ("ml.t2.xlarge", 4, 16, 0),
    ("ml.t2.2xlarge", 8, 32, 0),
    ("ml.c4.8xlarge", 36, 60, 0),
    ("ml.p2.xlarge", 4, 61, 1),
    ("ml.p2.8xlarge", 32, 488, 8),
    ("ml.p2.16xlarge", 64, 732, 16),
    ("ml.p3.2xlarge", 8, 61, 1),
    ("ml.p3.8xlarge", 32, 244, 4),
    ("ml.p3.16xlarge", 64, 488, 8),
    ("ml.g4dn.xlarge", 4, 16, 1),
    ("ml.g4dn.2xlarge", 8, 32, 1),
    ("ml.g4dn.4xlarge", 16, 64, 1),
    ("ml.g4dn.8xlarge", 32, 128, 1),
    ("ml.g4dn.12xlarge", 48, 192, 4),
    ("ml.g4dn.16xlarge", 64, 256, 1),
    ("ml.g5.xlarge", 4, 16, 1),
    ("ml.g5.2xlarge", 8, 32, 1),
    ("ml.g5.4xlarge", 16, 64, 1),
    ("ml.g5.8xlarge", 32, 128, 1),
    ("ml.g5.12xlarge", 48, 192, 4),
    ("ml.g5.16xlarge", 64, 256, 1),
    ("ml.g5.24xlarge", 96, 384, 4),
    ("ml.g5.48xlarge", 192, 768, 8),
    ("ml.g6.xlarge", 4, 16, 1),
    ("ml.g6.2xlarge", 8, 32, 1),
    ("ml.g6.4xlarge", 16, 64, 1),
    ("ml.g6.8xlarge", 32, 128, 1),
    ("ml.g6.12xlarge", 48, 192, 4),
    ("ml.g6.16xlarge", 64, 256, 1),
    ("ml.g6.24xlarge", 96, 384, 4),
    ("ml.g6.48xlarge", 192, 768, 8),
    ("ml.g6e.xlarge", 4, 32, 1),
    ("ml.g6e.2xlarge", 8, 64, 1),
    ("ml.g6e.4xlarge", 16, 128, 1),
    ("ml.g6e.8xlarge", 32, 256, 1),
    ("ml.g6e.12xlarge", 48, 384, 4),
    ("ml.g6e.16xlarge", 64, 512, 1),
    ("ml.g6e.24xlarge", 96, 768, 4),
    ("ml.g6e.48xlarge", 192, 1536, 8),
    ("ml.p4d.24xlarge", 96, 1152, 8),
    ("ml.p4de.24xlarge", 96, 1152, 8),
    ("ml.p5.4xlarge", 16, 256, 1),
    ("ml.p5.48xlarge", 192, 2048, 8),
)

_LOCAL_DISK = frozenset(
    {"c5d", "c6gd", "m5d", "m6gd", "r5d", "r6gd", "r7gd", "g4dn", "g5", "g6", "g6e", "p4d", "p4de", "p5"}
)
"""The families with disks of their own (EC2's instance store). SageMaker gives them no volume: "When using an ML
instance with NVMe SSD volumes, SageMaker doesn't provision Amazon EBS General Purpose SSD (gp2) storage"."""

_VCPUS = MappingProxyType({"medium": 1, "large": 2, "xlarge": 4})  # and `Nxlarge` is N times an xlarge


@frozen
class InstanceType:
    name: str
    vcpus: int
    memory_mib: int
    gpus: int


def _vcpus(size: str) -> int:
    return _VCPUS.get(size) or 4 * int(size.removesuffix("xlarge"))


def _rows() -> Iterator[tuple[str, int, int, int]]:
    for family, mib_per_vcpu, sizes in _FAMILIES:
        for size in sizes.split():
            yield f"ml.{family}.{size}", _vcpus(size), _vcpus(size) * mib_per_vcpu, 0
    for name, vcpus, gib, gpus in _IRREGULAR:
        yield name, vcpus, gib * 1024, gpus


CATALOGUE = MappingProxyType({row[0]: InstanceType(*row) for row in _rows()})


LARGEST = max(CATALOGUE.values(), key=lambda one: one.memory_mib)
"""The type with the most memory."""


def instance_type(name: str) -> InstanceType | None:
    """The type of this name, such as `ml.m5.large`; None if the catalogue does not have it."""
    return CATALOGUE.get(name)


def has_local_disk(name: str) -> bool:
    """Whether the type has disks of its own, so that SageMaker attaches no volume to it."""
    return name.removeprefix("ml.").partition(".")[0] in _LOCAL_DISK


_BASELINES = MappingProxyType({"ml.t2.medium": 0.2, "ml.t2.large": 0.3, "ml.t2.xlarge": 0.225, "ml.t2.2xlarge": 0.17})
"""EC2's user guide, "Key concepts for burstable performance instances": baseline utilization per vCPU."""


def burstable(name: str) -> float | None:
    """The share of its processors that a burstable type can use without end; None for other types, which have all."""
    return _BASELINES.get(name)


def serverless_vcpus(memory_mib: int) -> float:
    """The vCPUs of a serverless instance with this memory.

    AWS says only that they grow with the memory. Torpor uses AWS Lambda's published rule: 1,769 MB has one vCPU.
    """
    return memory_mib / 1769
