"""Divides the bill of instances that run inference components by what each component's copies reserve, over time.

AWS bills the instances, and no component. Whether a copy is called makes no difference to its part, since nobody else
can have what it reserves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from torpor_endpoint.core.components.component_variants import component_of
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.pricing.accounts import VariantUse, Window
from torpor_endpoint.core.pricing.bills import Bill
from torpor_endpoint.core.pricing.catalogue import InstanceType
from torpor_endpoint.core.pricing.quotes import DATA_MOVED

UNRESERVED = "(unreserved)"
"""In place of a component's name: the rest of the instances, which no copy has reserved."""


@dataclass(frozen=True)
class ComponentShare:
    """A component's part of the instances of a production variant."""

    component: str  # UNRESERVED for the rest
    copy_s: float  # the seconds of its copies, all together
    share: float  # of the instances' time, by the largest of the shares of memory, cores and accelerators; from 0 to 1
    usd: float | None


def component_shares(
    account: VariantUse, billed: Bill, window: Window, types: Mapping[str, InstanceType]
) -> tuple[ComponentShare, ...]:
    """The parts of a production variant's bill, without that of data: they add up to it. None without copies."""
    if not account.copies:
        return ()
    mean = _mean(account.lives, window, types)
    ordered = sorted(account.copies, key=_component)
    found: list[tuple[str, float, float]] = []
    for name, lives in groupby(ordered, key=_component):
        copies = list(lives)
        copy_s = sum(map(window.alive_s, copies))
        found.append((name, copy_s, sum(window.alive_s(life) * mean.part(life) for life in copies)))
    reserved_s = sum(taken_s for _, _, taken_s in found)
    whole_s = max(mean.instance_s, reserved_s)  # a copy may outlive its instance's last second
    usd = None if billed.usd is None else billed.usd - billed.usd_of(DATA_MOVED)
    rows = [*found, (UNRESERVED, 0.0, whole_s - reserved_s)]
    return tuple(
        ComponentShare(name, copy_s, part, None if usd is None else usd * part)
        for name, copy_s, taken_s in rows
        for part in [taken_s / whole_s if whole_s else 0.0]
    )


# -- inside --------------------------------------------------------------------------------------------------------
def _component(copy: InstanceLife) -> str:
    return component_of(copy.variant) or copy.variant


@dataclass(frozen=True)
class _MeanInstance:
    """The instances of a variant, which may be of several types: on average over their time."""

    instance_s: float
    memory_mib: float
    cores: float
    gpus: float

    def part(self, copy: InstanceLife) -> float:
        """The part of an instance that a copy reserves: the most that it takes of any of its resources."""
        reserved = (
            (copy.reserved_mib, self.memory_mib),
            (copy.reserved_cores, self.cores),
            (copy.reserved_accelerators, self.gpus),
        )
        return min(1.0, max(part / whole if whole else 0.0 for part, whole in reserved))


def _mean(lives: Sequence[InstanceLife], window: Window, types: Mapping[str, InstanceType]) -> _MeanInstance:
    known = [(window.alive_s(life), types[life.size]) for life in lives if life.size in types]
    known_s = sum(alive_s for alive_s, _ in known) or 1.0
    return _MeanInstance(
        sum(map(window.alive_s, lives)),
        sum(alive_s * one.memory_mib for alive_s, one in known) / known_s,
        sum(alive_s * one.vcpus for alive_s, one in known) / known_s,
        sum(alive_s * one.gpus for alive_s, one in known) / known_s,
    )
