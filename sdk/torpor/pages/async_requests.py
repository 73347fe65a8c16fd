"""Reads where asynchronous requests are, and cancels them."""

from torpor.calling.connection import EndpointConnection
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pages.async_requests import LIMIT, AsyncRequestRow, read_requests


def requests(
    connection: EndpointConnection,
    endpoint: str | None = None,
    id: str | None = None,
    state: str | None = None,
    limit: int = LIMIT,
) -> list[AsyncRequestRow]:
    """The latest requests, the newest first: of an endpoint, of an InferenceId, and in a state, if these are given.

    Raises EndpointRefused for an InferenceId that no request of the last day has.
    """
    query = {"endpoint": endpoint, "id": id, "state": state, "limit": str(limit)}
    given = {name: value for name, value in query.items() if value is not None}
    return read_requests(connection.json_page(PageName.ASYNC, given))


def cancel(connection: EndpointConnection, id: str) -> list[AsyncRequestRow]:
    """Cancel the requests of an InferenceId that wait, and return them; one that runs ends by itself.

    Raises EndpointRefused for an InferenceId that no request of the last day has.
    """
    return read_requests(connection.json_page(PageName.CANCEL, {"id": id}, "POST"))
