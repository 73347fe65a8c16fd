"""Has an endpoint unload or reload a model on every instance that serves it."""

from torpor.calling.connection import EndpointConnection
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pages.state import RetiredModel, read_retired


def retire(connection: EndpointConnection, endpoint: str, model: str, page: PageName) -> list[RetiredModel]:
    """Retire the model; `page` is RELOAD or UNLOAD. Raises EndpointRefused with the reason, or EndpointUnreachable."""
    return read_retired(connection.json_page(page, {"endpoint": endpoint, "model": model}, "POST"))
