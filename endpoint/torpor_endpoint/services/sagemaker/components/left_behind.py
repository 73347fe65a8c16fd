"""What becomes of the inference components of an endpoint that is deleted: AWS leaves them to be deleted alone."""

from torpor_endpoint.core.components.component_lifecycle import ComponentEvent, component_after, may_component
from torpor_endpoint.core.resource_records import EndpointRecord
from torpor_endpoint.services.sagemaker.context import Control

EVENT = ComponentEvent.FAILED
ENDPOINT_DELETED = "The endpoint {name} was deleted, and the copies of its inference components ended with it."


def leave_behind(control: Control, endpoint: EndpointRecord) -> None:
    """Say of the endpoint's components that they have failed, so that they belong to no later endpoint of its name."""
    reason = ENDPOINT_DELETED.format(name=endpoint.name)
    while left := [one for one in control.store.components_of(endpoint) if may_component(one.status, EVENT)]:
        for component in left:  # again if the fleet has changed one meanwhile
            control.store.replace_component(component_after(component, EVENT, reason), expected_status=component.status)
            control.component_changed(component.name)
