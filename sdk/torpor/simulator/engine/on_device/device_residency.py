"""The residency of a simulated instance's device, whose decisions have the names that a live instance gives them."""

from collections.abc import Callable
from dataclasses import replace

from torpor_container.core.devices.tier_actions import ON_DEVICE
from torpor_container.core.eviction import Policy
from torpor_container.core.residency import Decision, Residency


def device_residency(
    budget_bytes: int, policy: Policy, loads_max: int, record: Callable[[Decision], None] | None
) -> Residency | None:
    """None for an instance without a device, whose budget is 0."""
    if not budget_bytes:
        return None
    return Residency(budget_bytes, policy, loads_max, None if record is None else _renamed(record))


def _renamed(record: Callable[[Decision], None]) -> Callable[[Decision], None]:
    return lambda decision: record(replace(decision, action=ON_DEVICE.get(decision.action, decision.action)))
