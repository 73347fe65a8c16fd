"""Names the endpoint that an assertion looks at, and reads what its failure message tells."""

from dataclasses import dataclass
from typing import Protocol

from torpor.calling.connection import EndpointConnection
from torpor.errors import EndpointRefused
from torpor.pages import ledger, state
from torpor_endpoint.core.pages.cold_starts import ColdStart
from torpor_endpoint.core.pages.state import EndpointState


class ObservedEndpoint(Protocol):
    """An endpoint that assertions can look at: a `torpor.Local`, or a `NamedEndpoint`."""

    @property
    def connection(self) -> EndpointConnection:
        """The connection to its process."""

    @property
    def name(self) -> str:
        """Its name in SageMaker's API."""


@dataclass(frozen=True)
class NamedEndpoint:
    """An endpoint that somebody else deployed, such as the application under test."""

    connection: EndpointConnection
    name: str


def state_of(endpoint: ObservedEndpoint) -> EndpointState:
    """The endpoint's variants, instances and models now. Raises AssertionError if it is not in service."""
    present = state.endpoints(endpoint.connection)
    for found in present:
        if found.name == endpoint.name:
            return found
    known = ", ".join(found.name for found in present) or "none"
    raise AssertionError(f"no endpoint {endpoint.name!r} is in service; in service: {known}")


def cold_start(endpoint: ObservedEndpoint, request_id: str) -> ColdStart | None:
    """The ledger's row of this request; None if the request was warm."""
    return next((one for one in cold_starts(endpoint) if one.request_id == request_id), None)


def cold_starts(endpoint: ObservedEndpoint, model: str | None = None) -> list[ColdStart]:
    """The endpoint's cold starts, oldest first. An endpoint that no request has reached has none."""
    try:
        return ledger.cold_starts(endpoint.connection, ledger.Which(endpoint.name), model, ledger.ALL)
    except EndpointRefused:  # the ledger does not know it yet
        return []
