"""What becomes of the inference components of an endpoint that is deleted: AWS leaves them to be deleted alone."""

from collections.abc import Callable, Iterable

from torpor_endpoint.core.components.component_lifecycle import ComponentEvent, component_after, may_component
from torpor_endpoint.core.components.component_records import ComponentRecord
from torpor_endpoint.core.lifecycle import SERVING
from torpor_endpoint.core.resource_records import EndpointRecord, EndpointStatus
from torpor_endpoint.storage.store import Store

EVENT = ComponentEvent.FAILED
ENDPOINT_DELETED = "The endpoint {name} was deleted, and the copies of its inference components ended with it."


def leave_behind(store: Store, changed: Callable[[str], None], endpoint: EndpointRecord) -> None:
    """Say of the endpoint's components that they have failed, so that they belong to no later endpoint of its name.
    DeleteEndpoint does so, and once more the controller before the endpoint's record goes: a process that ends between
    the two leaves none in service."""
    _fail(store, changed, lambda: store.components_of(endpoint))


def leave_orphans_behind(store: Store, changed: Callable[[str], None]) -> None:
    """Say so of the components whose endpoints are gone, or whose deletion goes on, as far as their records do not."""
    there = {(one.name, one.created_s) for one in store.endpoints() if one.status is not EndpointStatus.DELETING}
    _fail(store, changed, lambda: (one for one in store.components() if _endpoint(one) not in there))


def with_endpoint(store: Store) -> list[ComponentRecord]:
    """The components of endpoints that are served, or will be."""
    served = {*SERVING, EndpointStatus.CREATING}
    there = {(one.name, one.created_s) for one in store.endpoints() if one.status in served}
    return [one for one in store.components() if _endpoint(one) in there]


def _endpoint(component: ComponentRecord) -> tuple[str, float]:
    return component.endpoint_name, component.endpoint_created_s


def _fail(store: Store, changed: Callable[[str], None], found: Callable[[], Iterable[ComponentRecord]]) -> None:
    while left := [one for one in found() if may_component(one.status, EVENT)]:
        for component in left:  # again if the fleet has changed one meanwhile
            reason = ENDPOINT_DELETED.format(name=component.endpoint_name)
            store.replace_component(component_after(component, EVENT, reason), expected_status=component.status)
            changed(component.name)
