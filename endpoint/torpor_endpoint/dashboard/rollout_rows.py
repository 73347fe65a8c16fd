"""The row of a rollout on the page: where it goes, at which step it is, and what happens now, in AWS's sentences."""

from typing import Any

from torpor_endpoint.core.resource_records import EndpointRecord
from torpor_endpoint.core.rollouts.variant_statuses import status_of


def rollout_row(endpoint: EndpointRecord) -> dict[str, Any] | None:
    """None for an endpoint without a rollout. `back` has the reason of a rollback, or is empty."""
    rollout = endpoint.rollout
    if rollout is None:
        return None
    statuses = [status for one in rollout.fleets if (status := status_of(rollout, one.name)) is not None]
    return {
        "to": endpoint.pending_config_name or endpoint.config_name,
        "step": rollout.step,
        "steps": rollout.steps,
        "said": " ".join(dict.fromkeys(status.message for status in statuses)),
        "back": (rollout.reason or "") if rollout.going_back else "",
    }
