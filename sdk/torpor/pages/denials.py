"""Reads what an endpoint that verifies its callers has denied, and why."""

from torpor.calling.connection import EndpointConnection
from torpor_account.core.access.explaining.denial import Denial
from torpor_account.core.pages.denials import read_denials
from torpor_endpoint.core.pages import PageName


def latest(connection: EndpointConnection, limit: int = 1) -> list[Denial]:
    """The latest denials, the newest first. Raises EndpointRefused without `torpor:ReadDenials`, or `--auth`."""
    return read_denials(connection.json_page(PageName.DENIALS, {"limit": str(limit)}))


def of_request(connection: EndpointConnection, request_id: str) -> list[Denial]:
    """The denials of one request, by the id that its caller saw. Raises EndpointRefused as `latest`."""
    return read_denials(connection.json_page(PageName.DENIALS, {"id": request_id}))
