"""What DescribeEndpoint shows of a change that is under way: the VariantStatus of each variant, old and new."""

from typing import Any, Final

from torpor_endpoint.core.resource_records import EndpointRecord, EndpointStatus
from torpor_endpoint.core.rollouts.rollout import RolloutPhase
from torpor_endpoint.core.rollouts.variant_statuses import status_of

OLD_FLEET: Final = frozenset({RolloutPhase.DELETING, RolloutPhase.RESTORING, RolloutPhase.RETURNING})
"""The phases whose status is of the old fleet: its instances end, or start again, or get the traffic back."""

PLAIN: Final = {
    EndpointStatus.CREATING: "Creating",
    EndpointStatus.UPDATING: "Updating",
    EndpointStatus.ROLLING_BACK: "Updating",
    EndpointStatus.DELETING: "Deleting",
}
"""The Status of the variants of an endpoint that changes without a rollout."""


def production_statuses(endpoint: EndpointRecord, variant: str) -> list[dict[str, Any]]:
    """The VariantStatus of a variant of the present configuration. Empty if nothing happens to it."""
    if endpoint.rollout is not None:
        return _of_rollout(endpoint, variant, old=True)
    status = PLAIN.get(endpoint.status)
    return [{"Status": status, "StartTime": endpoint.modified_s}] if status else []


def pending_statuses(endpoint: EndpointRecord, variant: str) -> list[dict[str, Any]]:
    """The VariantStatus of a variant of the configuration that is deployed."""
    if endpoint.rollout is not None:
        return _of_rollout(endpoint, variant, old=False)
    return [{"Status": "Creating", "StartTime": endpoint.modified_s}]


def started_s(endpoint: EndpointRecord) -> float:
    """When the deployment began, in epoch seconds."""
    return (endpoint.rollout is not None and endpoint.rollout.started_s) or endpoint.modified_s


def _of_rollout(endpoint: EndpointRecord, variant: str, *, old: bool) -> list[dict[str, Any]]:
    rollout = endpoint.rollout
    if rollout is None or (rollout.phase in OLD_FLEET) is not old:
        return []
    status = status_of(rollout, variant)
    if status is None:
        return []
    start_s = status.since_s or endpoint.modified_s  # one that is planned has not begun
    return [{"Status": status.state.value, "StatusMessage": status.message, "StartTime": start_s}]
