"""Collects a model's story from an endpoint: the decisions of its instances, and the cold starts in the ledger."""

from torpor.calling.connection import EndpointConnection
from torpor.errors import EndpointRefused
from torpor.pages import clock, ledger, state
from torpor_endpoint.core.pages.cold_starts import TOLD, ColdStart
from torpor_endpoint.core.pages.state import EndpointState
from torpor_endpoint.core.pages.story import Story


def story(connection: EndpointConnection, endpoint: EndpointState, model: str) -> Story:
    """The story of the model. Raises EndpointRefused for an endpoint that is not in service."""
    decisions = tuple(state.decisions(connection, endpoint.name, model))
    resident = tuple(found for instance in endpoint.instances for found in instance.models if found.name == model)
    past = () if decisions else _past(connection, endpoint.name, model)
    return Story(model, decisions, resident, endpoint.variants, past, clock.now_s(connection))


def _past(connection: EndpointConnection, endpoint: str, model: str) -> tuple[ColdStart, ...]:
    try:
        return tuple(ledger.cold_starts(connection, ledger.Which(endpoint), model, TOLD))
    except EndpointRefused:  # the ledger does not know an endpoint without requests
        return ()
