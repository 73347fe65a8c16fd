"""Asks an endpoint to let a model go, or to take what S3 has of it now, on every instance that serves it."""

from torpor.calling.connection import EndpointConnection
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pages.state import RetiredModel, read_retired


def retire(connection: EndpointConnection, endpoint: str, model: str, page: PageName) -> list[RetiredModel]:
    """`page` is RELOAD or UNLOAD. Raises EndpointRefused with the endpoint's reason, EndpointUnreachable."""
    return read_retired(connection.json_page(page, {"endpoint": endpoint, "model": model}, "POST"))
